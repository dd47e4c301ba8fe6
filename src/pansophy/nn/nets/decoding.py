"""The net that tokens are decoded from, by `core.chains.decoding`."""

import torch
from torch import Tensor, nn

from ..layers.recurrent import step_mask
from ..layers.transformer import TransformerEncoder, token_loss


class TokenModel(nn.Module):
    """Embedding, a causal sequence layer, and logits of the next token.

    Parameters
    ----------
    vocabulary : int
    layer : module
        Any sequence layer with `forward(X, lengths, state) -> H, state` and `width`:
        RNN, GRU, LSTM, a causal TransformerEncoder, a state-space layer.
    d : int
        Columns of the embedding, which the layer takes.
    tied : bool, default=False
        Whether the output layer is the embedding, transposed. Otherwise it begins at 0,
        so that a new net gives every token the same chance.
    separator : int or None
        The token that begins a document. `losses` then treats the documents that are
        packed into a row as sequences of their own: none sees another.
    length : int
        Tokens of a training row, for the count of operations.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> model = nn.TokenModel(10, nn.LSTM(8, 16), 8)
    >>> nn.decode(model, torch.tensor([[1, 2]]), max_new=3, temperature=0).shape
    torch.Size([1, 3])
    """

    def __init__(self, vocabulary, layer, d, *, tied=False, separator=None, length=1):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d)
        self.layer = layer
        self.separator = separator
        self.length = int(length)
        # other layers cut packed documents apart, in every step in another way
        self.capturable = isinstance(layer, TransformerEncoder) or separator is None
        self.output = nn.Linear(layer.width, vocabulary, bias=not tied)
        if tied:
            if layer.width != d:
                raise ValueError(
                    f"tied=True needs a layer as wide as the embedding ({d}), got "
                    f"{layer.width}."
                )
            nn.init.normal_(self.embedding.weight, std=0.02)
            self.output.weight = self.embedding.weight
        else:
            nn.init.zeros_(self.output.weight)
            nn.init.zeros_(self.output.bias)

    def forward(self, tokens: Tensor, state=None, lengths=None):
        """Logits (n, L, vocabulary) of what follows each token, and the state."""
        H, state = self.layer(self.embedding(tokens), lengths, state)
        return self.output(H), state

    def hidden(self, tokens: Tensor, lengths=None) -> Tensor:
        """Input of the output layer at every token, (n, L, width), without a state."""
        X = self.embedding(tokens)
        if self.separator is None or lengths is not None:
            return self.layer(X, lengths, return_state=False)[0]
        begins = tokens == self.separator
        if isinstance(self.layer, TransformerEncoder):
            segments = begins.cumsum(1)
            return self.layer(X, return_state=False, segments=segments)[0]
        X, lengths = _unpacked_documents(X, begins)
        H, _ = self.layer(X, lengths, return_state=False)
        return H[step_mask(lengths, X.shape[1])].view(*tokens.shape, -1)

    def losses(self, batch) -> dict[str, Tensor]:
        """Cross-entropy of each token after the first; batch (tokens[, lengths])."""
        tokens, *lengths = batch
        L = tokens.shape[1] - 1
        input_lengths = lengths[0] - 1 if lengths else None
        logits = self.output(self.hidden(tokens[:, :-1], input_lengths))
        mask = step_mask(input_lengths, L) if lengths else None
        return {"loss": token_loss(logits, tokens[:, 1:], mask)}

    def batch_weight(self, batch) -> float:
        """Tokens that are predicted."""
        tokens, *lengths = batch
        return float((lengths[0] - 1).sum() if lengths else tokens[:, 1:].numel())

    def flops(self, n: int) -> float:
        """Operations of a training step on n rows: 6 a weight and token, and attention.

        Weights of tables that are looked up do not count.
        """
        matrices = sum(p.numel() for p in self.parameters() if p.ndim > 1)
        looked_up = 0 if self.output.weight is self.embedding.weight else 1
        work = 6.0 * (matrices - looked_up * self.embedding.weight.numel())
        if isinstance(self.layer, TransformerEncoder):
            work += 12.0 * len(self.layer.stack.blocks) * self.layer.width * self.length
        return n * self.length * work


def _unpacked_documents(X: Tensor, begins: Tensor) -> tuple[Tensor, Tensor]:
    """Documents packed into rows X (n, L, d), as padded rows of their own, and lengths.

    `begins` (n, L) is True where a document begins; what a row begins with is the rest
    of an earlier one.
    """
    first = begins.clone()
    first[:, 0] = True
    starts = first.flatten().nonzero()[:, 0]
    lengths = torch.diff(starts, append=starts.new_tensor([first.numel()]))
    Y = X.new_zeros(len(lengths), int(lengths.max()), X.shape[-1])
    Y[step_mask(lengths, Y.shape[1])] = X.flatten(0, 1)
    return Y, lengths

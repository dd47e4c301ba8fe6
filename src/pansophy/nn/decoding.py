"""Decoding of nets, and the net that tokens are decoded from.

`decode` and `beam_search` are those of `core.decoding`, for a net in place of a
function: its dropout rests and no gradients are kept.
"""

from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ..core import decoding
from ..core.decoding import Advance, Beam
from .recurrent import step_mask
from .transformer import token_loss


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
        Whether the output layer is the embedding, transposed.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> model = nn.TokenModel(10, nn.LSTM(8, 16), 8)
    >>> nn.decode(model, torch.tensor([[1, 2]]), max_new=3, temperature=0).shape
    torch.Size([1, 3])
    """

    def __init__(self, vocabulary, layer, d, *, tied=False):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d)
        self.layer = layer
        self.output = nn.Linear(layer.width, vocabulary, bias=not tied)
        if tied:
            if layer.width != d:
                raise ValueError(
                    f"tied=True needs a layer as wide as the embedding ({d}), got "
                    f"{layer.width}."
                )
            self.output.weight = self.embedding.weight

    def forward(self, tokens: Tensor, state=None, lengths=None):
        """Logits (n, L, vocabulary) of what follows each token, and the state."""
        H, state = self.layer(self.embedding(tokens), lengths, state)
        return self.output(H), state

    def losses(self, batch) -> dict[str, Tensor]:
        """Cross-entropy of each token after the first; batch (tokens[, lengths])."""
        tokens, *lengths = batch
        logits, _ = self.forward(tokens[:, :-1])
        L = tokens.shape[1] - 1
        mask = step_mask(lengths[0] - 1, L) if lengths else None
        return {"loss": token_loss(logits, tokens[:, 1:], mask)}

    def batch_weight(self, batch) -> float:
        """Tokens that are predicted."""
        tokens, *lengths = batch
        return float((lengths[0] - 1).sum() if lengths else tokens[:, 1:].numel())


@contextmanager
def evaluation_mode(net):
    """No dropout and no gradients inside; a function is left as it is."""
    was_training = getattr(net, "training", False)
    if was_training:
        net.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        if was_training:
            net.train()


def decode(advance: Advance, prompt: Tensor, state=None, **options) -> Tensor:
    """Tokens (n, m) that follow the prompt, one at a time.

    Parameters
    ----------
    advance : net or function (tokens, state) -> logits, state
    prompt : tensor of int (n, L), L at least 1
    state : what `advance` takes before the prompt, or None
    options
        Those of `core.decoding.decode`: `max_new`, `temperature`, `top_k`, `top_p`,
        `end`, `allowed`, `random_state`.
    """
    with evaluation_mode(advance):
        return decoding.decode(advance, prompt, state, **options)


def beam_search(advance: Advance, prompt: Tensor, state=None, **options) -> list[Beam]:
    """The best continuations of one prompt (L,), best first.

    Parameters
    ----------
    advance : net or function (tokens, state) -> logits, state
    prompt : tensor of int (L,)
    state : what `advance` takes before the prompt, for one sequence
    options
        Those of `core.decoding.beam_search`: `max_new`, `beams`, `end`, `alpha`,
        `allowed`.
    """
    with evaluation_mode(advance):
        return decoding.beam_search(advance, prompt, state, **options)

"""Nets over sequences: a sequence layer, a pool over its steps, an output layer.

    H = layer(X)                                                                  (1)
    last   z = H_T, of a bidirectional layer [forward H_T, backward H_1]
    sum    z = sum_t H_t
    mean   z = sum_t H_t / T                                                      (2)
    F = W z + b for each sequence, or F_t = W H_t + b for each step               (3)

Steps behind the end of a sequence count nowhere. The loss of a batch is the mean over
sequences, weighted; of nets for each step, the mean over steps, which have the weight
of their sequence, so that a batch of two lengths is the weighted mean of both.

`ARCHITECTURES` lists the sequence layers by name. A layer is a module with `width`,
`causal` (whether outputs depend on no later step) and `forward(X, lengths, state,
return_state=) -> H, state`.

Shapes    X (n, T, d)   lengths (n,)   H (n, T, width)   F (n, k) or (n, T, k)
Refs      [Elman1990]; [Graves2005] bidirectional
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..layers.dropout import Dropout
from ..layers.mamba import Mamba
from ..layers.normalisation import RMSNorm
from ..layers.recurrent import (
    GRU,
    LSTM,
    RNN,
    last_steps,
    reverse_sequences,
    step_mask,
)
from ..layers.ssm import S4D, StateSpaceBlock
from ..layers.transformer import BlockOptions, TransformerEncoder
from .crf_output import ChainOutput
from .heads import HEADS, weighted_mean_loss


class LayerSize(NamedTuple):
    """Sizes of a layer, as a row of `ARCHITECTURES` takes them."""

    d: int  # columns of the input
    hidden: int
    layers: int = 1
    heads: int = 4
    bidirectional: bool = False
    dropout: float = 0.0


class ProjectedLayer(nn.Module):
    """A linear map to the columns of a layer, and the layer."""

    def __init__(self, d, layer):
        super().__init__()
        self.projection = nn.Linear(d, layer.width)
        self.layer = layer
        self.width = layer.width
        self.causal = layer.causal

    def forward(self, X, lengths=None, state=None, *, return_state=True):
        return self.layer(self.projection(X), lengths, state, return_state=return_state)


class EmbeddedTokens(nn.Module):
    """A learnt vector for each of the codes 1, 2, ..., 0 for the code 0, and a layer.

    Codes X (n, T, 1) are whole numbers.
    """

    def __init__(self, n_tokens, d, layer):
        super().__init__()
        self.embedding = nn.Embedding(n_tokens + 1, d, padding_idx=0)
        self.layer = layer
        self.width = layer.width
        self.causal = layer.causal

    def forward(self, X, lengths=None, state=None, *, return_state=True):
        E = self.embedding(X[..., 0])
        return self.layer(E, lengths, state, return_state=return_state)


def _recurrent_layer(make) -> Callable[[LayerSize], nn.Module]:
    """A row of `ARCHITECTURES` for RNN, GRU or LSTM."""
    return lambda size: make(
        size.d,
        size.hidden,
        size.layers,
        bidirectional=size.bidirectional,
        dropout=size.dropout,
    )


def _transformer_layer(size: LayerSize) -> nn.Module:
    """A transformer whose steps see all others, or with one direction the past."""
    heads = min(size.heads, size.hidden)
    if size.hidden % heads:
        raise ValueError(
            f"n_heads must divide hidden_size={size.hidden}, got {size.heads}."
        )
    options = BlockOptions(dropout=size.dropout, positions="sinusoidal")
    encoder = TransformerEncoder(
        size.hidden, heads, size.layers, options=options, causal=not size.bidirectional
    )
    return ProjectedLayer(size.d, encoder)


class StateSpaceNet(nn.Module):
    """A linear map, residual blocks of state-space layers, and a norm."""

    def __init__(self, d, blocks):
        super().__init__()
        self.width = blocks[0].width
        self.causal = True
        self.projection = nn.Linear(d, self.width)
        self.blocks = nn.ModuleList(blocks)
        self.last_norm = RMSNorm(self.width)

    def init_state(self, n: int):
        """The states of all blocks before the first step."""
        return tuple(block.init_state(n) for block in self.blocks)

    def step(self, x: Tensor, state):
        """One step x (n, d): the output (n, width) and the state after it."""
        x, new = self.projection(x), []
        for block, old in zip(self.blocks, state, strict=True):
            x, new_state = block.step(x, old)
            new.append(new_state)
        return self.last_norm(x), tuple(new)

    def advance(self, X: Tensor, state):
        """Further steps X (n, T, d) of sequences, and the state after them."""
        X = self.projection(X)
        new = []
        for block, old in zip(self.blocks, state, strict=True):
            X, new_state = block.advance(X, old)
            new.append(new_state)
        return self.last_norm(X), tuple(new)

    def forward(self, X, lengths=None, state=None, *, return_state=True):
        """Outputs (n, T, width), 0 where a sequence has ended, and the state.

        A state goes with sequences of equal length.
        """
        if state is not None or (return_state and lengths is None):
            if lengths is not None:
                raise ValueError("a state-space net with a state takes no lengths.")
            return self.advance(X, state or self.init_state(len(X)))
        mask = None if lengths is None else step_mask(lengths, X.shape[1])
        X = self.projection(X)
        for block in self.blocks:
            X = block(X, mask)
        X = self.last_norm(X)
        return X if mask is None else X.masked_fill(~mask[:, :, None], 0.0), None


class BothDirections(nn.Module):
    """A layer, and another that reads each sequence from its own last step."""

    def __init__(self, ahead, back):
        super().__init__()
        self.ahead, self.back = ahead, back
        self.width = ahead.width + back.width
        self.causal = False

    def forward(self, X, lengths=None, state=None, *, return_state=False):
        """Outputs of both side by side, (n, T, width)."""
        if state is not None or return_state:
            raise ValueError("a bidirectional layer takes and gives no state.")
        A, _ = self.ahead(X, lengths, return_state=False)
        B, _ = self.back(reverse_sequences(X, lengths), lengths, return_state=False)
        return torch.cat([A, reverse_sequences(B, lengths)], -1), None


def _state_space_layer(make) -> Callable[[LayerSize], nn.Module]:
    """A row of `ARCHITECTURES` for layers of the form `make(width)`."""

    def one_way(size):
        blocks = [
            StateSpaceBlock(make(size.hidden), dropout=size.dropout)
            for _ in range(size.layers)
        ]
        return StateSpaceNet(size.d, blocks)

    def made(size):
        if not size.bidirectional:
            return one_way(size)
        return BothDirections(one_way(size), one_way(size))

    return made


def _mamba_layer(width: int) -> Mamba:
    """Mamba with the largest heads up to 16 channels that divide the inner ones."""
    head = next(h for h in (16, 8, 4, 2, 1) if 2 * width % h == 0)
    return Mamba(width, head_size=head)


ARCHITECTURES: dict[str, Callable[[LayerSize], nn.Module]] = {
    "rnn": _recurrent_layer(RNN),
    "gru": _recurrent_layer(GRU),
    "lstm": _recurrent_layer(LSTM),
    "transformer": _transformer_layer,
    "s4d": _state_space_layer(S4D),
    "mamba": _state_space_layer(_mamba_layer),
}

POOLS = ("last", "sum", "mean")


def pool_steps(H: Tensor, lengths: Tensor | None, pool: str, ways: int = 1) -> Tensor:
    """Eq. (2): one row for each sequence, (n, width)."""
    if pool == "last":
        forward, *backward = H.chunk(ways, -1)
        ends = [last_steps(forward, lengths), *(B[:, 0] for B in backward)]
        return torch.cat(ends, -1)
    total = H.sum(1)  # outputs behind the end are 0
    if pool == "sum":
        return total
    return total / (H.shape[1] if lengths is None else lengths[:, None].to(H.dtype))


class SequenceNet(nn.Module):
    """Eq. (1) to (3) with the loss of a head.

    Parameters
    ----------
    layer : module
        A sequence layer, see the module text.
    n_outputs : int
        k.
    pool : {"last", "sum", "mean"} or None, default="last"
        None gives outputs for each step.
    head : str, default="softmax"
        One of `nn.HEADS`; "crf" (for each step) is a chain over the labels.
    dropout : float, default=0
        Of what the output layer sees.
    ways : int, default=1
        2 if the layer is bidirectional.
    typical_length : float, default=1
        Steps of a sequence, for the count of operations.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> net = nn.SequenceNet(nn.GRU(2, 8), 3)
    >>> net(torch.zeros(4, 6, 2), torch.tensor([6, 2, 1, 3])).shape
    torch.Size([4, 3])
    """

    label_weights: Tensor | None

    def __init__(
        self, layer, n_outputs, *, pool="last", head="softmax", dropout=0.0, ways=1,
        typical_length=1.0,
    ):  # fmt: skip
        super().__init__()
        if pool not in (*POOLS, None):
            raise ValueError(f"pool must be one of {', '.join(POOLS)}, got {pool!r}.")
        self.layer, self.pool, self.head, self.ways = layer, pool, head, ways
        self.typical_length = float(typical_length)
        self.dropout = Dropout(dropout)
        self.output = nn.Linear(layer.width, n_outputs)
        self.chain = ChainOutput(n_outputs) if head == "crf" else None
        # factors of the labels in a loss by steps; a chain takes their mean over the
        # steps of a sequence, which is one observation to it
        self.register_buffer("label_weights", None)

    def flops(self, n: int) -> float:
        """Operations of a training step on n sequences of typical length."""
        size = sum(p.numel() for p in self.parameters())
        return 6.0 * n * self.typical_length * size

    def forward(self, X: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Raw scores F (n, k), or (n, T, k) for each step."""
        # what follows the last step of a sequence is not looked at, and a layer that
        # only looks back does not feel it: no need for the mask
        ahead = self.pool == "last" and getattr(self.layer, "causal", False)
        H, _ = self.layer(X, None if ahead else lengths, return_state=False)
        if self.pool is not None:
            H = pool_steps(H, lengths, self.pool, self.ways)
        return self.output(self.dropout(H))

    def losses(self, batch) -> dict[str, Tensor]:
        """Mean loss of a batch (X, lengths, Y) or (X, lengths, Y, w)."""
        X, lengths, Y, *rest = batch
        w = rest[0] if rest else None
        F = self.forward(X, lengths)
        if self.pool is not None:
            return {"loss": weighted_mean_loss(HEADS[self.head], Y, F, w)}
        is_step = step_mask(lengths, X.shape[1])
        weights_each = self.step_weights(Y, is_step, w)
        if self.chain is not None:
            if weights_each is not None:
                w = (weights_each * is_step).sum(1) / lengths
            return {"loss": self.chain.loss(F, Y, lengths, w)}
        weights_each = None if weights_each is None else weights_each[is_step]
        return {
            "loss": weighted_mean_loss(
                HEADS[self.head], Y[is_step], F[is_step], weights_each
            )
        }

    def step_weights(self, Y, here, w) -> Tensor | None:
        """Weights of all steps (n, T): of their sequence times that of their label."""
        weights_each = None if w is None else w[:, None].expand_as(here)
        if self.label_weights is None:
            return weights_each
        factors = self.label_weights[Y.clamp_min(0)]
        return factors if weights_each is None else factors * weights_each

    def batch_weight(self, batch) -> float:
        """Weight of a batch: its sequences, or its steps, with their weights."""
        _, lengths, Y, *rest = batch
        if self.pool is not None:
            return float(rest[0].sum()) if rest else float(len(lengths))
        if self.label_weights is None:
            return float((rest[0] * lengths).sum() if rest else lengths.sum())
        is_step = step_mask(lengths, Y.shape[1])
        weights_each = self.label_weights[Y.clamp_min(0)]
        if rest:
            weights_each = weights_each * rest[0][:, None]
        return float(weights_each[is_step].sum())

"""Transformer: encoder, decoder, and the full model from one sequence to another.

A block is a chain of sub-layers f in residual links, each with a norm,

    before (default)  x <- x + f(norm x)                                          (1)
    after             x <- norm(x + f(x))                                         (2)

where f is self-attention, in a decoder also attention to a memory, and a feed-forward
map of each step on its own,

    relu, gelu, relu2   W_2 g(W_1 x + b_1) + b_2,   relu2: g(z) = max(z, 0)^2
    swiglu              W_2 (silu(W_1 x) * W_3 x)                                 (3)

An encoder lets every step see every step of its sequence; a causal one, and a decoder,
let it see those not later than itself. Without positions an encoder is equivariant to
the order of the steps.

`STANDARD` has the norm before, GELU and sinusoidal positions. `CLASSIC` is the block of
2017: norm after, ReLU, sinusoidal positions. `MODERN` is what
small language models were found to train fastest with: RMS norm before, rotary
positions, normalised queries and keys, squared ReLU, no biases, and projections back
into the residual stream that begin at 0, so that a new net is the identity.

Decoding is state in, state out. The state holds keys and values of the steps so far, so
that a step costs O(length) and gives the logits of the whole pass.

Cost      O(L^2 d + L d^2) a block
Shapes    X (n, L, d)   tokens (n, L)   logits (n, L, vocabulary)
Refs      [Vaswani2017]; [Xiong2020] (1); [Shazeer2020] swiglu; [So2021] relu2
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from .attention import KeyValueCache, MultiHeadAttention
from .dropout import Dropout
from .normalisation import LayerNorm, RMSNorm
from .positions import LearnedPositions, PositionalEncoding, Rotary
from .recurrent import step_mask


def _squared_relu(z):
    return functional.relu(z).square()


def _tanh_gelu(z):
    """GELU by the hyperbolic tangent, as GPT-2 has it."""
    return functional.gelu(z, approximate="tanh")


FEED_FORWARD_ACTIVATIONS = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": _tanh_gelu,
    "relu2": _squared_relu,
    "swiglu": functional.silu,
}


@dataclass(frozen=True)
class BlockOptions:
    """Parts of a transformer block; see the module text."""

    norm: Literal["layer", "rms"] = "layer"
    norm_first: bool = True  # eq. (1), else (2)
    feed_forward: Literal["relu", "gelu", "gelu_tanh", "relu2", "swiglu"] = "gelu"
    positions: Literal["sinusoidal", "learned", "rotary"] | None = "sinusoidal"
    max_length: int = 1024  # of learned positions
    qk_norm: bool = False
    bias: bool = True
    zero_init: bool = False
    dropout: float = 0.0
    backend: Literal["torch", "blockwise", "plain", "fused"] = "torch"

    def __post_init__(self):
        if self.feed_forward not in FEED_FORWARD_ACTIVATIONS:
            known = ", ".join(FEED_FORWARD_ACTIVATIONS)
            raise ValueError(
                f"feed_forward must be one of {known}, got {self.feed_forward!r}."
            )
        if self.positions not in ("sinusoidal", "learned", "rotary", None):
            raise ValueError(
                'positions must be "sinusoidal", "learned", "rotary" or None, got '
                f"{self.positions!r}."
            )
        if self.norm not in ("layer", "rms"):
            raise ValueError(f'norm must be "layer" or "rms", got {self.norm!r}.')

    def make_norm(self, d) -> nn.Module:
        return LayerNorm(d) if self.norm == "layer" else RMSNorm(d, gain=self.bias)


STANDARD = BlockOptions()
CLASSIC = BlockOptions(norm_first=False, feed_forward="relu")
MODERN = BlockOptions(
    norm="rms",
    feed_forward="relu2",
    positions="rotary",
    qk_norm=True,
    bias=False,
    zero_init=True,
)


class FeedForward(nn.Module):
    """Eq. (3), the same map at every step."""

    def __init__(self, d, hidden, kind="gelu", *, bias=True):
        super().__init__()
        self.kind = kind
        self.W_1 = nn.Linear(d, hidden, bias=bias)
        self.W_3 = nn.Linear(d, hidden, bias=bias) if kind == "swiglu" else None
        self.W_2 = nn.Linear(hidden, d, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        z = FEED_FORWARD_ACTIVATIONS[self.kind](self.W_1(x))
        return self.W_2(z if self.W_3 is None else z * self.W_3(x))


class BlockState(NamedTuple):
    """Keys and values of the steps so far, and of the memory."""

    self_attention: KeyValueCache
    memory: KeyValueCache | None


class TransformerBlock(nn.Module):
    """Self-attention, attention to a memory if there is one, and a feed-forward map."""

    def __init__(self, d, heads, hidden, options: BlockOptions, *, memory=False):
        super().__init__()
        self.options = options
        self.dropout = Dropout(options.dropout)
        rotary = Rotary(d // heads) if options.positions == "rotary" else None
        common = {"bias": options.bias, "backend": options.backend}
        self.attention = MultiHeadAttention(
            d, heads, qk_norm=options.qk_norm, rotary=rotary, **common
        )
        self.cross_attention = (
            MultiHeadAttention(d, heads, qk_norm=options.qk_norm, **common)
            if memory
            else None
        )
        self.feed_forward = FeedForward(
            d, hidden, options.feed_forward, bias=options.bias
        )
        names = ("attention", "cross_attention", "feed_forward")
        used = [n for n in names if getattr(self, n) is not None]
        self.norms = nn.ModuleDict({n: options.make_norm(d) for n in used})
        if options.zero_init:
            last = [self.attention.W_o, self.feed_forward.W_2]
            if self.cross_attention is not None:
                last.append(self.cross_attention.W_o)
            for layer in last:
                nn.init.zeros_(layer.weight)

    def _residual(self, name, x, f):
        """Eq. (1) or (2); f may hand on a state."""
        norm = self.norms[name]
        y, state = f(norm(x) if self.options.norm_first else x)
        y = self.dropout(y)
        return (x + y if self.options.norm_first else norm(x + y)), state

    def forward(
        self, x: Tensor, *, mask=None, causal=False, memory=None, memory_mask=None,
        state: BlockState | None = None,
    ) -> tuple[Tensor, BlockState]:  # fmt: skip
        old = state or BlockState(None, None)  # type: ignore[arg-type]
        attend_to_self = lambda z: self.attention(
            z, mask=mask, causal=causal, state=old.self_attention
        )
        x, own_state = self._residual("attention", x, attend_to_self)
        seen = old.memory
        if self.cross_attention is not None:
            if seen is None:
                seen = self.cross_attention.keys_and_values(memory)
            attend_to_memory = lambda z: self.cross_attention(z, seen, memory_mask)
            x, seen = self._residual("cross_attention", x, attend_to_memory)
        apply = lambda z: (self.feed_forward(z), None)
        x, _ = self._residual("feed_forward", x, apply)
        return x, BlockState(own_state, seen)


class TransformerStack(nn.Module):
    """Positions, blocks and a last norm: what encoder and decoder share."""

    def __init__(self, d, heads, layers, hidden, options, *, memory=False):
        super().__init__()
        self.options, self.width = options, d
        self.dropout = Dropout(options.dropout)
        self.positions = {
            "sinusoidal": lambda: PositionalEncoding(d),
            "learned": lambda: LearnedPositions(options.max_length, d),
        }.get(options.positions, lambda: None)()
        self.blocks = nn.ModuleList(
            TransformerBlock(d, heads, hidden or 4 * d, options, memory=memory)
            for _ in range(layers)
        )
        # with the norm after each sub-layer the last block has normalised already
        self.last_norm = options.make_norm(d) if options.norm_first else None

    def forward(self, X, states, *, steps=None, **masks):
        start = 0 if states is None else states[0].self_attention.length
        if self.positions is not None:
            X = self.positions(X, start, steps)
        X = self.dropout(X)
        new = []
        for i, block in enumerate(self.blocks):
            X, state = block(X, state=None if states is None else states[i], **masks)
            new.append(state)
        return X if self.last_norm is None else self.last_norm(X), tuple(new)


class TransformerEncoder(nn.Module):
    """A stack of blocks of self-attention.

    Parameters
    ----------
    d, heads, layers : int
        Columns, heads of each block, blocks.
    hidden : int or None
        Units of the feed-forward maps; None is 4 d.
    options : BlockOptions
        `nn.MODERN`, `nn.CLASSIC`, or your own.
    causal : bool, default=False
        Whether a step sees only those not later than itself; then `state` may carry
        the steps before.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> encoder = nn.TransformerEncoder(8, 2, 1)
    >>> encoder(torch.zeros(2, 5, 8), lengths=torch.tensor([5, 3]))[0].shape
    torch.Size([2, 5, 8])
    """

    def __init__(
        self, d, heads=4, layers=2, hidden=None, *, options=MODERN, causal=False
    ):
        super().__init__()
        self.width, self.causal = d, causal
        self.stack = TransformerStack(d, heads, layers, hidden, options)

    def init_state(self, n: int, device=None, dtype=None):
        """The state before the first step: nothing seen."""
        return

    def step(self, x: Tensor, state):
        """One step x (n, d) of a causal encoder."""
        y, state = self.forward(x[:, None], state=state)
        return y[:, 0], state

    def forward(
        self, X: Tensor, lengths: Tensor | None = None, state=None, *,
        return_state=True, segments: Tensor | None = None,
    ):  # fmt: skip
        """Outputs (n, L, d), 0 where a sequence has ended, and the state.

        The state is None if the encoder is not causal, or `return_state` is False.
        With `segments`, whole numbers (n, L), a step sees steps of its own number only,
        and positions count from the first of them: sequences packed into one row.
        """
        if state is not None and not self.causal:
            raise ValueError("only a causal encoder carries a state.")
        is_step = None if lengths is None else step_mask(lengths, X.shape[1])
        # behind the end of a sequence nothing sees it, and a causal step sees no later
        mask = None if is_step is None or self.causal else is_step[:, None]
        steps = None
        if segments is not None:
            alike = segments[:, :, None] == segments[:, None]
            steps = alike.tril(-1).sum(-1)  # steps of the same sequence before
            mask = alike if mask is None else mask & alike
        Y, new = self.stack(X, state, steps=steps, mask=mask, causal=self.causal)
        Y = Y if is_step is None else Y.masked_fill(~is_step[:, :, None], 0.0)
        return Y, new if self.causal and return_state else None


class DecoderState(NamedTuple):
    """State of a decoder: its blocks' states, and which memory steps exist."""

    blocks: tuple[BlockState, ...] | None
    memory: Tensor | None  # until the first call has made keys and values of it
    memory_mask: Tensor | None  # (n, 1, S)


class TransformerDecoder(nn.Module):
    """A stack of blocks of causal self-attention and attention to a memory.

    Parameters as those of `TransformerEncoder`.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> decoder = nn.TransformerDecoder(8, 2, 1)
    >>> state = decoder.init_state(torch.ones(2, 4, 8))
    >>> Y, state = decoder(torch.zeros(2, 3, 8), state)
    >>> Y.shape
    torch.Size([2, 3, 8])
    """

    def __init__(self, d, heads=4, layers=2, hidden=None, *, options=MODERN):
        super().__init__()
        self.width = d
        self.stack = TransformerStack(d, heads, layers, hidden, options, memory=True)

    def init_state(self, memory: Tensor, lengths: Tensor | None = None) -> DecoderState:
        """The state before the first step: a memory (n, S, d)."""
        mask = None if lengths is None else step_mask(lengths, memory.shape[1])[:, None]
        return DecoderState(None, memory, mask)

    def forward(self, X: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Outputs of further steps (n, L, d), and the state after them."""
        Y, blocks = self.stack(
            X, state.blocks, causal=True, memory=state.memory,
            memory_mask=state.memory_mask,
        )  # fmt: skip
        return Y, DecoderState(blocks, None, state.memory_mask)


def token_loss(logits: Tensor, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
    """Mean cross-entropy of the tokens where the mask is True, in float32 or better.

    Tokens that are padding count neither in the sum nor in the number.
    """
    dtype = torch.promote_types(logits.dtype, torch.float32)
    flat = logits.flatten(0, -2).to(dtype)
    if mask is None:
        return functional.cross_entropy(flat, tokens.flatten())
    token_losses = functional.cross_entropy(flat, tokens.flatten(), reduction="none")
    kept = mask.flatten()
    return torch.where(kept, token_losses, 0.0).sum() / kept.sum().clamp_min(1)


class Transformer(nn.Module):
    """Encoder and decoder over tokens: from one sequence to another.

    Parameters
    ----------
    source, target : int
        Sizes of the two vocabularies.
    d, heads, layers, hidden, options
        As those of `TransformerEncoder`, for encoder and decoder. Positions that are
        added reach the attention to the memory, rotary ones do not.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> model = nn.Transformer(10, 12, d=8, heads=2, layers=1)
    >>> source, target = torch.ones(2, 4, dtype=int), torch.ones(2, 3, dtype=int)
    >>> P = model(source, target).softmax(-1)
    >>> P.shape, torch.allclose(P.sum(-1), torch.ones(2, 3))
    (torch.Size([2, 3, 12]), True)
    """

    def __init__(
        self, source, target, d=64, heads=4, layers=2, hidden=None, *, options=STANDARD
    ):
        super().__init__()
        self.source_embedding = nn.Embedding(source, d)
        self.target_embedding = nn.Embedding(target, d)
        common = (d, heads, layers, hidden)
        self.encoder = TransformerEncoder(*common, options=options)
        self.decoder = TransformerDecoder(*common, options=options)
        self.output = nn.Linear(d, target)  # not tied to the embedding

    def init_state(self, source: Tensor, lengths: Tensor | None = None) -> DecoderState:
        """The state of decoding after the source (n, S) has been read."""
        memory, _ = self.encoder(self.source_embedding(source), lengths)
        return self.decoder.init_state(memory, lengths)

    def advance(self, tokens: Tensor, state: DecoderState):
        """Logits (n, L, target) of what follows each token, and the state."""
        Y, state = self.decoder(self.target_embedding(tokens), state)
        return self.output(Y), state

    def forward(self, source, target, source_lengths=None) -> Tensor:
        """Logits of what follows each token of the target, (n, L, target)."""
        return self.advance(target, self.init_state(source, source_lengths))[0]

    def losses(self, batch) -> dict[str, Tensor]:
        """Cross-entropy of each target token after the first, given those before.

        A batch is (source, source_lengths, target, target_lengths).
        """
        source, source_lengths, target, target_lengths = batch
        logits = self.forward(source, target[:, :-1], source_lengths)
        mask = step_mask(target_lengths - 1, target.shape[1] - 1)
        return {"loss": token_loss(logits, target[:, 1:], mask)}

    def batch_weight(self, batch) -> float:
        """Tokens that are predicted."""
        return float((batch[3] - 1).sum())

"""Recurrent layers: RNN, GRU and LSTM.

A layer reads x_1..x_T in order and hands a state from step to step. With s the logistic
function and every W_x (h, d), W_h (h, h), b_x, b_h (h,) of one gate,

    RNN    h_t = g(W_x x_t + b_x + W_h h_t-1 + b_h)                               (1)
           identity recurrence: h_t = h_t-1 + g(W_x x_t + b_x), whose Jacobian in
           h_t-1 is I                                                             (2)
    GRU    r, z = s(W_x x_t + b_x + W_h h_t-1 + b_h), each with its own weights
           n = tanh(W_x x_t + b_x + r (W_h h_t-1 + b_h))
           h_t = (1 - z) n + z h_t-1                                              (3)
    LSTM   i, f, o = s(...), g = tanh(...), each with its own weights as in r
           c_t = f c_t-1 + i g,   h_t = o tanh(c_t)                               (4)

An LSTM with f = 1 is the cell of 1997; with i = o = 1 too it is the constant error
carousel. Gates are stacked by rows, in the order r, z, n and i, f, g, o, and there are
two bias vectors, all as in torch, so that weights can be exchanged one by one.

Sequences are padded at the end. The backward direction of a bidirectional layer reads
each sequence from its own last step, so that padding moves no state; the last state is
[forward after step T, backward after step 1]. The state is an argument and a result and
is never kept in the layer: nothing passes from one batch to the next.

Cost      O(n T (d + h) h) for each layer and gate; torch's fused loops where the cell
          is a standard one
Shapes    X (n, T, d)   H (n, T, h), twice as wide if bidirectional
          state: tuple of h, and c of an LSTM, (n, layers, h)
Refs      [Elman1990] RNN; [Cho2014] GRU; [Hochreiter1997] LSTM; [Gers2000] forget gate
"""

import math
import warnings
from abc import abstractmethod

import torch
from torch import Tensor, nn

from .activations import ACTIVATIONS
from .dropout import Dropout

State = tuple[Tensor, ...]


def step_mask(lengths: Tensor, T: int) -> Tensor:
    """True at the steps (n, T) that belong to their sequence."""
    return torch.arange(T, device=lengths.device) < lengths[:, None]


def reverse_sequences(X: Tensor, lengths: Tensor | None) -> Tensor:
    """Each sequence from its last step to its first; padding stays at the end."""
    if lengths is None:
        return X.flip(1)
    t = torch.arange(X.shape[1], device=X.device)
    index = torch.where(t < lengths[:, None], lengths[:, None] - 1 - t, t)
    return X.gather(1, index[:, :, None].expand_as(X))


def last_steps(H: Tensor, lengths: Tensor | None) -> Tensor:
    """The row of each sequence's last step, (n, h)."""
    if lengths is None:
        return H[:, -1]
    return H[torch.arange(len(H), device=H.device), lengths - 1]


class RecurrentLayer(nn.Module):
    """Base class of RNN, GRU and LSTM: layers, directions, padding and the state."""

    n_states = 1  # tensors of the state

    def __init__(
        self, d, h, layers=1, *, bias=True, bidirectional=False, dropout=0.0, gates=1
    ):
        super().__init__()
        self.d, self.h, self.layers, self.gates = d, h, layers, gates
        self.bias, self.bidirectional = bias, bidirectional
        self.dropout = Dropout(dropout)
        self.weights = nn.ParameterDict()
        width = 2 * h if bidirectional else h
        bound = 1 / math.sqrt(h)
        for layer in range(layers):
            for way in self.directions:
                shapes = {
                    "W_x": (gates * h, width if layer else d),
                    "W_h": (gates * h, h),
                    "b_x": (gates * h,),
                    "b_h": (gates * h,),
                }
                for name, shape in shapes.items():
                    if bias or name.startswith("W"):
                        draw = torch.empty(shape).uniform_(-bound, bound)
                        self.weights[f"{name}_{layer}{way}"] = nn.Parameter(draw)

    @property
    def directions(self):
        return ("", "r") if self.bidirectional else ("",)

    @property
    def causal(self) -> bool:
        """Whether an output depends on no later step."""
        return not self.bidirectional

    @property
    def width(self) -> int:
        """Columns of the output."""
        return self.h * len(self.directions)

    def flops(self, n: int, T: int = 1) -> float:
        """Operations of a training step on n sequences of T steps."""
        return 6.0 * n * T * sum(w.numel() for w in self.weights.values())

    def layer_weights(self, layer, way="") -> list[Tensor]:
        """W_x, W_h, b_x, b_h of one layer and direction; without biases, two."""
        names = ("W_x", "W_h", "b_x", "b_h")[: 4 if self.bias else 2]
        return [self.weights[f"{name}_{layer}{way}"] for name in names]

    def init_state(self, n: int, device=None, dtype=None) -> State:
        """A state of zeros, (n, layers, h) each."""
        like = self.weights["W_h_0"]
        shape = (n, self.layers, self.width)
        options = {"device": device or like.device, "dtype": dtype or like.dtype}
        return tuple(torch.zeros(shape, **options) for _ in range(self.n_states))

    @abstractmethod
    def cell(self, a: Tensor, state: State, W_h: Tensor, b_h: Tensor | float) -> State:
        """The next state from a = W_x x_t + b_x and the last one, (n, h) each."""

    @abstractmethod
    def fused(self, X: Tensor, state: State, weights) -> tuple[Tensor, State] | None:
        """All steps by torch's own loop, or None where the cell is not a standard one.

        The state is (1, n, h) each, as torch has it.
        """

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One step of all layers: x (n, d) -> h (n, h), and the state after it."""
        if self.bidirectional:
            raise ValueError("a bidirectional layer reads whole sequences, not steps.")
        new = []
        for layer in range(self.layers):
            W_x, W_h, *b = self.layer_weights(layer)
            a = nn.functional.linear(x, W_x, b[0] if b else None)
            old = tuple(s[:, layer] for s in state)
            new.append(self.cell(a, old, W_h, b[1] if b else 0.0))
            x = new[-1][0]
        return x, tuple(torch.stack(parts, 1) for parts in zip(*new))

    def forward(
        self, X: Tensor, lengths: Tensor | None = None, state: State | None = None, *,
        truncate: int | None = None, return_state: bool = True,
    ) -> tuple[Tensor, State | None]:  # fmt: skip
        """Outputs of every step, 0 where a sequence has ended, and the last state.

        Parameters
        ----------
        X : tensor of shape (n, T, d)
        lengths : tensor of int (n,) or None
            Steps of each sequence; None takes all T.
        state : tuple of tensors (n, layers, h), or None for zeros
        truncate : int or None
            Truncated back-propagation through time: gradients do not pass from one
            block of so many steps to the one before.
        return_state : bool
            False spares an LSTM the slower way that sequences of unequal length need
            to give c; the state is then None.
        """
        if self.bidirectional and (state is not None or truncate is not None):
            raise ValueError("a bidirectional layer takes no state and no truncation.")
        if lengths is not None and bool((lengths == X.shape[1]).all()):
            lengths = None
        if truncate is not None:
            return self._blocks(X, lengths, state, truncate)
        zeros = self.init_state(len(X), X.device, X.dtype)
        results = []
        for layer in range(self.layers):
            X = self.dropout(X) if layer else X
            parts = []
            for k, way in enumerate(self.directions):
                columns = slice(k * self.h, (k + 1) * self.h)
                old = tuple(s[:, layer, columns] for s in state or zeros)
                Z = X if way == "" else reverse_sequences(X, lengths)
                weights = self.layer_weights(layer, way)
                H, last = self._run(Z, lengths, old, weights, return_state)
                H = H if way == "" else reverse_sequences(H, lengths)
                parts.append((H, *(last or ())))
            X, *last = (torch.cat(p, -1) if len(p) > 1 else p[0] for p in zip(*parts))
            results.append(last)
        if not return_state:
            return X, None
        return X, tuple(torch.stack(parts, 1) for parts in zip(*results))

    def _run(self, X, lengths, state, weights, return_state):
        """Outputs (n, T, h) and last state (n, h) each of one layer and direction."""
        hidden = tuple(s[None].contiguous() for s in state)
        ragged_cells = lengths is not None and self.n_states > 1 and return_state
        result = None if ragged_cells else self.fused(X, hidden, weights)
        if result is None:
            return self._loop(X, lengths, state, weights)
        H, last = result
        if lengths is None:
            return H, tuple(s[0] for s in last)
        H = H.masked_fill(~step_mask(lengths, H.shape[1])[:, :, None], 0.0)
        return H, (last_steps(H, lengths),) if return_state else None

    def _loop(self, X, lengths, state, weights):
        """Run step by step: for any cell, and states of unequal lengths."""
        W_x, W_h, *b = weights
        A = nn.functional.linear(X, W_x, b[0] if b else None)
        b_h = b[1] if b else 0.0
        is_step = None if lengths is None else step_mask(lengths, X.shape[1])
        H = []
        for t in range(X.shape[1]):
            new = self.cell(A[:, t], state, W_h, b_h)
            if is_step is None:
                state = new
                h = new[0]
            else:
                is_active = is_step[:, t, None]
                state = tuple(
                    torch.where(is_active, s, old) for s, old in zip(new, state)
                )
                h = new[0].masked_fill(~is_active, 0.0)
            H.append(h)
        return torch.stack(H, 1), state

    def _blocks(self, X, lengths, state, truncate):
        """Block after block of steps, the state detached in between."""
        n, T = X.shape[:2]
        if lengths is None:
            lengths = torch.full((n,), T, device=X.device)
        state = state or self.init_state(n, X.device, X.dtype)
        parts = []
        for begin in range(0, T, truncate):
            left = (lengths - begin).clamp(0, truncate)
            rows = torch.nonzero(left)[:, 0]  # sequences that have not ended
            block = X[rows, begin : begin + truncate]
            old = tuple(s[rows].detach() for s in state)
            H, new = self.forward(block, left[rows], old)
            updates = zip(state, new or (), strict=True)
            state = tuple(s.index_copy(0, rows, q) for s, q in updates)
            full = H.new_zeros((n, *H.shape[1:]))
            parts.append(full.index_copy(0, rows, H))
        return torch.cat(parts, 1), state

    def extra_repr(self):
        return f"{self.d}, {self.h}, layers={self.layers}"


def _fused_loop(function, X, hidden, weights, bias):
    """One of torch's recurrent functions on one layer and direction."""
    with warnings.catch_warnings():  # cuDNN copies weights that are not in one piece
        warnings.filterwarnings("ignore", "RNN module weights are not part")
        return function(X, hidden, weights, bias, 1, 0.0, True, False, True)


class RNN(RecurrentLayer):
    """Elman's recurrent layer, eq. (1), or the identity recurrence, eq. (2).

    Parameters
    ----------
    d, h : int
        Columns of the input and of the state.
    layers : int, default=1
    activation : str, default="tanh"
        g, one of `nn.ACTIVATIONS`.
    recurrence : {"full", "identity"}, default="full"
    bias, bidirectional : bool, default=True, False
    dropout : float, default=0
        Between layers, while training.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> layer = nn.RNN(3, 5)
    >>> H, (h,) = layer(torch.zeros(2, 4, 3), lengths=torch.tensor([4, 2]))
    >>> H.shape, h.shape, bool((H[1, 1] == h[1, 0]).all())
    (torch.Size([2, 4, 5]), torch.Size([2, 1, 5]), True)
    """

    def __init__(
        self, d, h, layers=1, *, activation="tanh", recurrence="full", **options
    ):
        super().__init__(d, h, layers, **options)
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"activation must be one of {', '.join(ACTIVATIONS)}, got {activation}."
            )
        if recurrence not in ("full", "identity"):
            raise ValueError(f'recurrence must be "full" or "identity": {recurrence}.')
        self.activation, self.recurrence = activation, recurrence
        if recurrence == "identity":  # eq. (2) has neither W_h nor b_h
            for name in [k for k in self.weights if "_h_" in k]:
                self.weights[name].requires_grad_(False).zero_()

    def cell(self, a, state, W_h, b_h):
        (h,) = state
        g = ACTIVATIONS[self.activation].value
        if self.recurrence == "identity":
            return (h + g(a),)  # (2)
        return (g(a + nn.functional.linear(h, W_h) + b_h),)  # (1)

    def fused(self, X, state, weights):
        functions = {"tanh": torch.rnn_tanh, "relu": torch.rnn_relu}
        function = functions.get(self.activation)
        if function is None or self.recurrence == "identity":
            return None
        H, h = _fused_loop(function, X, state[0], weights, self.bias)
        return H, (h,)


class GRU(RecurrentLayer):
    """Gated recurrent unit, eq. (3). Parameters as those of `RNN`.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> layer = nn.GRU(3, 5, bidirectional=True)
    >>> layer(torch.zeros(2, 4, 3))[0].shape
    torch.Size([2, 4, 10])
    """

    def __init__(self, d, h, layers=1, **options):
        super().__init__(d, h, layers, gates=3, **options)

    def cell(self, a, state, W_h, b_h):
        (h,) = state
        a_r, a_z, a_n = a.chunk(3, -1)
        u_r, u_z, u_n = (nn.functional.linear(h, W_h) + b_h).chunk(3, -1)
        r, z = torch.sigmoid(a_r + u_r), torch.sigmoid(a_z + u_z)
        n = torch.tanh(a_n + r * u_n)
        return ((1 - z) * n + z * h,)  # (3)

    def fused(self, X, state, weights):
        H, h = _fused_loop(torch.gru, X, state[0], weights, self.bias)
        return H, (h,)


class LSTM(RecurrentLayer):
    """Long short-term memory, eq. (4).

    Parameters
    ----------
    d, h, layers, bias, bidirectional, dropout
        As those of `RNN`.
    forget, input_gate, output_gate : bool, default=True
        A gate that is False is fixed at 1. Without the forget gate the cell is that
        of 1997; without any gate it is the constant error carousel.
    forget_bias : float, default=1
        Added to the first bias of the forget gate, so that a new layer remembers.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> layer = nn.LSTM(3, 5, layers=2)
    >>> H, (h, c) = layer(torch.zeros(2, 4, 3))
    >>> h.shape, bool((H[:, -1] == h[:, 1]).all())
    (torch.Size([2, 2, 5]), True)
    """

    n_states = 2

    def __init__(
        self, d, h, layers=1, *, forget=True, input_gate=True, output_gate=True,
        forget_bias=1.0, **options,
    ):  # fmt: skip
        kept = {"i": input_gate, "f": forget, "g": True, "o": output_gate}
        self_gates = "".join(name for name, is_kept in kept.items() if is_kept)
        super().__init__(d, h, layers, gates=len(self_gates), **options)
        self.gate_names = self_gates
        if forget and self.bias:
            rows = slice(h * self_gates.index("f"), h * (self_gates.index("f") + 1))
            with torch.no_grad():
                for name, b in self.weights.items():
                    if name.startswith("b_x"):
                        b[rows] += forget_bias

    def cell(self, a, state, W_h, b_h):
        h, c = state
        u = a + nn.functional.linear(h, W_h) + b_h
        parts = dict(zip(self.gate_names, u.chunk(self.gates, -1)))
        gate = lambda name: torch.sigmoid(parts[name]) if name in parts else 1.0
        c = gate("f") * c + gate("i") * torch.tanh(parts["g"])  # (4)
        return gate("o") * torch.tanh(c), c

    def fused(self, X, state, weights):
        if self.gates < 4:
            return None
        H, h, c = _fused_loop(torch.lstm, X, state, weights, self.bias)
        return H, (h, c)

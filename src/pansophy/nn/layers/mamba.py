"""Mamba: a selective state-space layer, in the form of Mamba-2.

The parameters of the recurrence are functions of the input, so that a step can keep,
forget or ignore: with u (inner) the values, B and C (N) shared by the heads and one
step length Delta per head, all of them linear in x,

    u, B, C <- silu(causal convolution of 4 steps of [u, B, C])                  (1)
    a_t = exp(Delta_t A),   g_t = (a_t - 1) / A,   Delta = softplus(. + bias)    (2)
    h_t = a_t h_t-1 + g_t u_t B_t',    y_t = h_t C_t + D u_t                     (3)
    output = W (rms_norm(y * silu(z)))                                           (4)

A < 0 is one number per head. (2) is the exact zero-order hold, as in S4D; the paper
takes g = Delta, its first order. With Delta, B and C constant (3) is the recurrence of
a real S4D. (3) is computed by `nn.ssd`: in chunks of matrix products, or with Triton
kernels on a CUDA device; there (1) to (4) are one function of kernels that read and
write columns of shared tensors (`_mamba_triton`).

A step that the mask leaves out has Delta = 0: the state stands still.

Cost      O(L width inner) for the projections, O(L inner (chunk + N)) for (3)
Shapes    x (batch, L, width)   inner = expand width = heads P
          state: convolution (batch, inner + 2 N, 3) and h (batch, heads, P, N)
Refs      [Gu2023] selection; [Dao2024] heads and (4)
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from .normalisation import EPS
from .ssd import loop_ssd, ssd, triton_takes


class MambaState(NamedTuple):
    """State carried from one step to the next."""

    inputs: Tensor  # the last steps before the convolution (batch, channels, width-1)
    h: Tensor  # (batch, heads, P, N)


class SelectiveInputs(NamedTuple):
    """Arguments of `ssd`."""

    u: Tensor
    log_a: Tensor
    B: Tensor
    C: Tensor
    gain: Tensor


class MambaParameters(NamedTuple):
    """The parameters between the projections."""

    kernel: Tensor
    kernel_bias: Tensor
    dt_bias: Tensor
    log_A: Tensor
    D: Tensor
    gain: Tensor


def selective_decays(dt, dt_bias, log_A, mask=None) -> tuple[Tensor, Tensor]:
    """log a_t and g_t of eq. (2) for the projected dt (batch, L, heads)."""
    exact = torch.promote_types(dt_bias.dtype, torch.float32)
    delta = functional.softplus(dt.to(exact) + dt_bias)
    if mask is not None:
        delta = delta.masked_fill(~mask[..., None], 0.0)
    A = -log_A.to(exact).exp()
    log_a = delta * A
    return log_a, torch.expm1(log_a) / A


def _linear_map(W: Tensor) -> nn.Linear:
    """A linear layer without bias that has these weights (outputs, inputs)."""
    layer = nn.utils.skip_init(nn.Linear, W.shape[1], W.shape[0], bias=False)
    layer.weight = nn.Parameter(W)
    return layer


class Mamba(nn.Module):
    """Selective state-space layer, eqs. (1) to (4).

    Parameters
    ----------
    width : int
        Channels of the input and of the output.
    n_states : int
        N, numbers of state for every inner channel.
    expand : int
        Inner channels are `expand` times the width.
    head_size : int
        P, inner channels with a common step length; it must divide them.
    convolution : int
        Steps of the short convolution.
    dt_min, dt_max : float
        Range of the initial step lengths.
    method : {"auto", "loop", "chunked", "triton"}
        Of `nn.ssd`.
    generator : torch.Generator or None

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import Mamba
    >>> layer = Mamba(8, n_states=4, head_size=4)
    >>> x = torch.randn(2, 10, 8)
    >>> y, state = layer(x), layer.init_state(2)
    >>> for t in range(10):
    ...     y_t, state = layer.step(x[:, t], state)
    >>> torch.allclose(y[:, -1], y_t, atol=1e-5)
    True
    """

    def __init__(
        self, width: int, *, n_states: int = 16, expand: int = 2, head_size: int = 16,
        convolution: int = 4, dt_min=1e-3, dt_max=1e-1, method: Any = "auto",
        generator=None,
    ):  # fmt: skip
        super().__init__()
        self.width = int(width)
        self.inner = expand * self.width
        if self.inner % head_size:
            raise ValueError(
                f"head_size must divide the {self.inner} inner channels, got "
                f"{head_size}."
            )
        self.head_size, self.n_states = head_size, n_states
        self.heads = self.inner // head_size
        self.method = method
        self.channels = self.inner + 2 * n_states
        fan = 1 / math.sqrt(self.width)
        uniform = lambda *shape: torch.rand(*shape, generator=generator)
        total = self.inner + self.channels + self.heads
        self.in_projection = _linear_map((2 * uniform(total, self.width) - 1) * fan)
        short = 1 / math.sqrt(convolution)
        kernel = (2 * uniform(self.channels, 1, convolution) - 1) * short
        self.kernel = nn.Parameter(kernel)
        self.kernel_bias = nn.Parameter(torch.zeros(self.channels))
        low = math.log(dt_min)
        dt = torch.exp(low + uniform(self.heads) * (math.log(dt_max) - low))
        self.dt_bias = nn.Parameter(dt + torch.log(-torch.expm1(-dt)))  # softplus^-1
        self.log_A = nn.Parameter(torch.log(1 + 15 * uniform(self.heads)))
        self.D = nn.Parameter(torch.ones(self.heads))
        self.gain = nn.Parameter(torch.ones(self.inner))
        back = 1 / math.sqrt(self.inner)
        output_weights = (2 * uniform(self.width, self.inner) - 1) * back
        self.out_projection = _linear_map(output_weights)

    def _projected(self, x):
        """z, the channels of the convolution, and Delta before its bias."""
        sizes = (self.inner, self.channels, self.heads)
        return self.in_projection(x).split(sizes, dim=-1)

    def _selective(self, channels, dt, mask=None) -> SelectiveInputs:
        """Eq. (2) on the convolved channels (batch, L, .)."""
        channels = functional.silu(channels)
        u, B, C = channels.split((self.inner, self.n_states, self.n_states), dim=-1)
        log_a, gain = selective_decays(dt, self.dt_bias, self.log_A, mask)
        u = u.unflatten(-1, (self.heads, self.head_size))
        return SelectiveInputs(u, log_a, B, C, gain)

    def _normalised(self, y, z):
        """Eq. (4) before W, y being (batch, L, heads, P)."""
        y = y.flatten(-2) * functional.silu(z)
        return functional.rms_norm(y, (self.inner,), self.gain.to(y.dtype), EPS)

    def _convolved(self, window):
        """Eq. (1) before silu: (batch, channels, 3 + L) -> (batch, L, channels)."""
        return functional.conv1d(
            window, self.kernel, self.kernel_bias, groups=self.channels
        ).transpose(1, 2)

    def _runs_kernels(self, x) -> bool:
        """Whether the Triton kernels take an input like x."""
        if self.method not in ("auto", "triton"):
            return False
        dtype = x.dtype
        if torch.is_autocast_enabled(x.device.type):
            dtype = torch.get_autocast_dtype(x.device.type)
        sizes = (self.head_size, self.n_states)
        return self.method == "triton" or triton_takes(x.device, dtype, sizes)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map x to its own shape; steps that the mask leaves out read and give 0."""
        if mask is not None:
            x = x.masked_fill(~mask[..., None], 0.0)
        if self._runs_kernels(x):
            from ._mamba_triton import TritonMambaCore

            parameters = (getattr(self, name) for name in MambaParameters._fields)
            y = TritonMambaCore.apply(self.in_projection(x), mask, EPS, *parameters)
        else:
            z, channels, dt = self._projected(x)
            n_before = self.kernel.shape[-1] - 1
            padded = functional.pad(channels.transpose(1, 2), (n_before, 0))
            parts = self._selective(self._convolved(padded), dt, mask)
            y, _ = ssd(*parts, skip=self.D, method=self.method)
            y = self._normalised(y, z)
        y = self.out_projection(y)
        return y if mask is None else y.masked_fill(~mask[..., None], 0.0)

    def init_state(self, batch: int) -> MambaState:
        """The state before the first step."""
        like = self.kernel
        inputs = like.new_zeros(batch, self.channels, like.shape[-1] - 1)
        exact = torch.promote_types(like.dtype, torch.float32)
        shape = (batch, self.heads, self.head_size, self.n_states)
        return MambaState(inputs, like.new_zeros(shape, dtype=exact))

    def advance(self, x: Tensor, state: MambaState) -> tuple[Tensor, MambaState]:
        """Further steps x (batch, L, width) of a sequence, and the state after them."""
        z, channels, dt = self._projected(x)
        window = torch.cat([state.inputs, channels.transpose(1, 2)], dim=2)
        parts = self._selective(self._convolved(window), dt)
        y, h = ssd(*parts, state.h, skip=self.D, method=self.method)
        n_before = self.kernel.shape[-1] - 1
        last = window[:, :, window.shape[2] - n_before :]
        return self.out_projection(self._normalised(y, z)), MambaState(last, h)

    def step(self, x: Tensor, state: MambaState) -> tuple[Tensor, MambaState]:
        """One step: y_t (batch, width) and the state after it."""
        z, channels, dt = self._projected(x[:, None])
        window = torch.cat([state.inputs, channels.transpose(1, 2)], dim=2)
        channels = (window * self.kernel[:, 0]).sum(-1) + self.kernel_bias
        parts = self._selective(channels[:, None], dt)
        u, log_a, B, C, gain = (p.to(state.h.dtype) for p in parts)
        y, h = loop_ssd(u, log_a, B, C, gain, state.h)
        y = y + self.D.to(y.dtype)[:, None] * u
        y = self.out_projection(self._normalised(y.to(x.dtype), z))[:, 0]
        return y, MambaState(window[:, :, 1:], h)

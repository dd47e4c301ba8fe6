"""State-space duality: the selective recurrence of Mamba as matrix products.

Every head has a state of P x N numbers and, in every step, one decay:

    h_t = a_t h_t-1 + g_t x_t B_t',     y_t = h_t C_t + D x_t                    (1)

with x_t (P,), B_t and C_t (N,), and numbers a_t = exp(log_a_t) in [0, 1], g_t and D,
the skip (0 unless given, and left out below). Of a chunk of c steps, s_ij being the sum
of log_a over j+1..i,

    y_i = sum_{j<=i} (C_i' B_j) exp(s_ij) g_j x_j  +  exp(s_i0) h_before C_i     (2)
    h_after = exp(s_c0) h_before + sum_j exp(s_cj) g_j x_j B_j'                  (3)

(2) is attention whose weights decay with distance, (3) a scan over chunks (`nn.scan`):
all of it products of matrices, O(L c) instead of O(L^2), and linear in L.

No exponential here has a positive exponent, so nothing overflows and nothing is divided
by a product that may underflow. The s_ij are differences of running sums in float64: in
float32 a single step of log_a = -10^4 would cost all of them four digits. States are
carried in float32 also for half-precision input.

Methods: "loop" is (1) as it stands, "chunked" is (2) and (3) in torch on any device,
"triton" fuses them on a CUDA device (`_ssd_triton`); all agree to rounding.

Cost      O(n L H (c (N + P) + N P))
Shapes    x, y (n, L, H, P)   log_a, gain (n, L, H)   B, C (n, L, N)   h (n, H, P, N)
Refs      [Dao2024]
"""

import math
from typing import Literal

import torch
from torch import Tensor

from ...core.loops.triton_support import has_triton
from .scan import HALF, scan


def ssd(
    x: Tensor,
    log_a: Tensor,
    B: Tensor,
    C: Tensor,
    gain: Tensor | None = None,
    h0: Tensor | None = None,
    *,
    skip: Tensor | None = None,
    chunk: int | None = None,
    method: Literal["auto", "loop", "chunked", "triton"] = "auto",
) -> tuple[Tensor, Tensor]:
    """Outputs y of eq. (1), and the state after the last step.

    Parameters
    ----------
    x : (n, L, H, P)
    log_a : (n, L, H)
        Logarithms of the decays, at most 0.
    B, C : (n, L, N)
        Shared by the heads.
    gain : (n, L, H) or None
        g; None is 1.
    h0 : (n, H, P, N) or None
        State before the first step; None is 0.
    skip : (H,) or None
        D, one number for every head; None is 0.
    chunk : int or None
        Steps of a chunk of method "chunked"; None: about twice the root of N P, where
        the work inside chunks equals that on states.
    method : {"auto", "loop", "chunked", "triton"}

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import ssd
    >>> x, B = torch.randn(1, 100, 2, 4), torch.randn(1, 100, 3)
    >>> C = torch.randn(1, 100, 3)
    >>> log_a = -torch.rand(1, 100, 2)
    >>> y, h = ssd(x, log_a, B, C)
    >>> torch.allclose(y, ssd(x, log_a, B, C, method="loop")[0], atol=1e-4)
    True
    """
    n, length, heads, P = x.shape
    N = B.shape[-1]
    if log_a.shape != (n, length, heads):
        raise ValueError(
            f"log_a must have shape {(n, length, heads)}, got {log_a.shape}."
        )
    if B.shape != (n, length, N) or C.shape != B.shape:
        raise ValueError(f"B and C must have shape {(n, length, 'N')}.")
    exact = torch.float32 if x.dtype in HALF else x.dtype
    log_a = log_a.to(exact)
    gain = torch.ones_like(log_a) if gain is None else gain.to(exact)
    if h0 is None:
        h0 = x.new_zeros(n, heads, P, N, dtype=exact)
    h0 = h0.to(exact)
    if method == "auto":
        fits = triton_takes(x.device, x.dtype, (P, N))
        method = "triton" if fits else "chunked"
    if method == "triton":
        from ._ssd_triton import TritonSSD

        D = None if skip is None else skip.to(exact)
        return TritonSSD.apply(x, log_a, B, C, gain, h0, D)
    parts = [part.to(exact) for part in (x, log_a, B, C, gain, h0)]
    if method == "loop":
        y, h = loop_ssd(*parts)
    elif method == "chunked":
        y, h = _chunked_ssd(*parts, chunk=chunk)
    else:
        raise ValueError(
            f'method must be "auto", "loop", "chunked" or "triton", got {method!r}.'
        )
    if skip is not None:
        y = y + skip.to(exact)[:, None] * parts[0]
    return y.to(x.dtype), h


def triton_takes(device, dtype, sizes) -> bool:
    """Whether the Triton kernels, the quickest way by far, take such input.

    They need CUDA and sizes (P, N) that tiles can have.
    """
    tiles = all(s in (16, 32, 64, 128) for s in sizes)
    floats = dtype in HALF or dtype == torch.float32
    return device.type == "cuda" and tiles and floats and has_triton()


def loop_ssd(x, log_a, B, C, gain, h0):
    """Eq. (1), one step after the other."""
    outputs = []
    h = h0
    a = log_a.exp()
    for t in range(x.shape[1]):
        write = (gain[:, t, :, None] * x[:, t])[..., None] * B[:, t, None, None]
        h = a[:, t, :, None, None] * h + write
        outputs.append(h @ C[:, t, None, :, None])
    return torch.stack(outputs, dim=1)[..., 0], h


def _chunked_ssd(x, log_a, B, C, gain, h0, chunk=None):
    """Eqs. (2) and (3)."""
    n, length, heads, P = x.shape
    N = B.shape[-1]
    c = min(chunk or _balanced_chunk(N, P), length)
    K = -(-length // c)
    pad = K * c - length
    if pad:  # decay 1, input 0: the state stands still
        grow = lambda v: torch.cat([v, v.new_zeros(n, pad, *v.shape[2:])], dim=1)
        x, log_a, B, C, gain = map(grow, (x, log_a, B, C, gain))
    x = (x * gain[..., None]).view(n, K, c, heads, P).transpose(2, 3)  # (n,K,H,c,P)
    B = B.view(n, K, c, N)
    C = C.view(n, K, c, N)
    sums = log_a.view(n, K, c, heads).transpose(2, 3).double().cumsum(-1)  # (n,K,H,c)
    decay = _decay_matrix(sums, x.dtype)
    inside = ((C @ B.transpose(-1, -2))[:, :, None] * decay) @ x  # (2), first part
    to_end = (sums[..., -1:] - sums).exp().to(x.dtype)
    chunk_states = (x * to_end[..., None]).transpose(-1, -2) @ B[
        :, :, None
    ]  # (n,K,H,P,N)
    chunk_decays = sums[..., -1].exp().to(x.dtype)[..., None, None]
    states_after = scan(chunk_decays, chunk_states, h0)  # (3)
    states_before = torch.cat([h0[:, None], states_after[:, :-1]], dim=1)
    from_start = sums.exp().to(x.dtype)[..., None]
    y = inside + from_start * (C[:, :, None] @ states_before.transpose(-1, -2))
    y = y.transpose(2, 3).reshape(n, K * c, heads, P)[:, :length]
    return y, states_after[:, -1]


def _balanced_chunk(N, P) -> int:
    """A power of two near 2 sqrt(N P), from 16 to 64."""
    return min(64, max(16, 1 << round(math.log2(2 * math.sqrt(N * P)))))


def _decay_matrix(sums, dtype) -> Tensor:
    """exp(s_ij) for j <= i, else 0, from running sums (..., c)."""
    c = sums.shape[-1]
    late = torch.ones(c, c, dtype=torch.bool, device=sums.device).triu(1)
    # differences of float64 sums as those of their high and low parts
    high = sums.to(dtype)
    low = (sums - high).to(dtype)
    differences = high[..., :, None] - high[..., None, :]
    differences = differences + (low[..., :, None] - low[..., None, :])
    return differences.masked_fill(late, -torch.inf).exp()

"""Scan: the linear recurrence h_t = a_t h_{t-1} + b_t over a whole sequence.

Pairs (a, b) compose as (a, b) then (a', b') = (a a', a' b + b'), which is associative,
so that a sequence can be cut into K chunks of c steps that are worked on side by side:

    g_{k,j} = a_{k,j} g_{k,j-1} + b_{k,j},   A_{k,j} = prod_{i<=j} a_{k,i}       (1)
    h_{k,0} = A_{k,c} h_{k-1,0} + g_{k,c}        state at the end of chunk k     (2)
    h_{k,j} = g_{k,j} + A_{k,j} h_{k-1,0}                                        (3)

(1) takes c steps on all chunks at once, (2) K steps on one row each, (3) one step. With
c about sqrt(L) that is 2 sqrt(L) operations on large arrays instead of L on small ones,
and 3 L products instead of L. Nothing is divided by A, which may underflow to 0: a
chunk then forgets what was before it, as the recurrence itself does.

The gradient is a scan in reverse: with h'_t the derivative of the loss in h_t,

    g_t = h'_t + a_{t+1} g_{t+1},   db_t = g_t,   da_t = g_t h_{t-1}             (4)

Half-precision input is computed in float32, a sum of 16,000 terms included; decays near
1 are better given by their logarithm (`log_a=True`), because a bfloat16 number between
0.996 and 1 does not exist.

Cost      O(L) products; memory 3 times the input
Shapes    a, b (batch, L, ...)   h0 (batch, ...)   h (batch, L, ...)
Refs      [Blelloch1990]; [Martin2018] eq. (4)
"""

import math
from typing import Literal

import torch
from torch import Tensor

from ...core.loops.triton_support import has_triton

HALF = (torch.float16, torch.bfloat16)


def scan(
    a,
    b,
    h0=None,
    *,
    log_a: bool = False,
    reverse: bool = False,
    method: Literal["auto", "loop", "chunked", "triton"] = "auto",
) -> Tensor:
    """All states of h_t = a_t h_{t-1} + b_t, time being the second dimension.

    Parameters
    ----------
    a, b : tensors of shape (batch, L, ...)
        They may be broadcast against each other, but not along time.
    h0 : tensor of shape (batch, ...) or None
        State before the first step; None is 0.
    log_a : bool
        Whether `a` holds logarithms of the factors.
    reverse : bool
        Whether time runs from the last step to the first.
    method : {"auto", "loop", "chunked", "triton"}
        "loop" is the recurrence as it stands; "auto" takes "triton" on a CUDA device
        where Triton is there, else "chunked". All agree to rounding.

    Returns
    -------
    Tensor of shape (batch, L, ...), in the dtype of b.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import scan
    >>> scan(torch.full((1, 4), 0.5), torch.ones(1, 4))
    tensor([[1.0000, 1.5000, 1.7500, 1.8750]])
    """
    a, b = torch.as_tensor(a), torch.as_tensor(b)
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError("a and b must have the shape (batch, length, ...).")
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"a has {a.shape[1]} steps, but b has {b.shape[1]}.")
    if method not in SCAN_METHODS and method != "auto":
        raise ValueError(
            f"method must be one of auto, {', '.join(SCAN_METHODS)}, got {method!r}."
        )
    dtype = b.dtype
    exact = torch.float32 if dtype in HALF else dtype
    a, b = torch.broadcast_tensors(a.to(exact), b.to(exact))
    if b.shape[1] == 0:
        return b.to(dtype)
    if log_a:
        a = a.exp()
    if h0 is None:
        h0 = torch.zeros_like(b[:, 0])
    h0 = torch.as_tensor(h0).to(b).expand_as(b[:, 0])
    if reverse:
        a, b = a.flip(1), b.flip(1)
    if method == "auto":
        on_cuda = b.device.type == "cuda" and exact == torch.float32
        method = "triton" if on_cuda and has_triton() else "chunked"
    if method == "loop":
        h = _loop_scan(a, b, h0)
    else:
        h = LinearScan.apply(a, b, h0, SCAN_METHODS[method])
    return (h.flip(1) if reverse else h).to(dtype)


def _loop_scan(a, b, h0) -> Tensor:
    """The recurrence, one step after the other, by autograd."""
    states = []
    h = h0
    for t in range(b.shape[1]):
        h = a[:, t] * h + b[:, t]
        states.append(h)
    return torch.stack(states, dim=1)


def _chunk_length(length: int) -> int:
    """Steps of a chunk: about the square root, so that both loops are short."""
    return max(1, math.isqrt(length))


@torch.no_grad()
def _chunked_scan(a, b, h0) -> Tensor:
    """Eqs. (1) to (3) without autograd."""
    n, length = b.shape[:2]
    c = _chunk_length(length)
    chunks = -(-length // c)
    rest = b.shape[2:]
    pad = chunks * c - length
    if pad:  # factor 1 and input 0: the state stands still
        a = torch.cat([a, a.new_ones(n, pad, *rest)], dim=1)
        b = torch.cat([b, b.new_zeros(n, pad, *rest)], dim=1)
    a = a.reshape(n, chunks, c, *rest)
    h = b.reshape(n, chunks, c, *rest).clone()
    A = a.clone()
    for j in range(1, c):  # (1)
        h[:, :, j].addcmul_(a[:, :, j], h[:, :, j - 1])
        A[:, :, j].mul_(A[:, :, j - 1])
    states_before = torch.empty_like(h[:, :, 0])
    state = h0
    for k in range(chunks):  # (2)
        states_before[:, k] = state
        state = torch.addcmul(h[:, k, -1], A[:, k, -1], state)
    h.addcmul_(A, states_before.unsqueeze(2))  # (3)
    return h.reshape(n, chunks * c, *rest)[:, :length]


@torch.no_grad()
def _triton_scan(a, b, h0) -> Tensor:
    """Blocks of time and channels on a CUDA device; see `_scan_triton`."""
    from ._scan_triton import launch_scan

    return launch_scan(a, b, h0)


class LinearScan(torch.autograd.Function):
    """A scan whose gradient is the scan of eq. (4); it can be differentiated twice."""

    @staticmethod
    def forward(ctx, a, b, h0, scan_function):
        h = scan_function(a, b, h0)
        ctx.scan_function = scan_function
        ctx.save_for_backward(a, h, h0)
        return h

    @staticmethod
    def backward(ctx, hbar):
        a, h, h0 = ctx.saved_tensors
        # factors of the reversed recurrence: a_{t+1}, and 0 after the last step
        later = torch.cat([a[:, 1:], torch.zeros_like(a[:, :1])], dim=1)
        g = LinearScan.apply(
            later.flip(1), hbar.flip(1), torch.zeros_like(h0), ctx.scan_function
        ).flip(1)
        h_before = torch.cat([h0.unsqueeze(1), h[:, :-1]], dim=1)
        return g * h_before, g, a[:, 0] * g[:, 0], None


SCAN_METHODS = {"loop": _loop_scan, "chunked": _chunked_scan, "triton": _triton_scan}

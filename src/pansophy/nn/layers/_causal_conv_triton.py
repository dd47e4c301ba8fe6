"""Causal depthwise convolution and SiLU in one Triton kernel (CUDA), and its gradient.

With W weights w_k for every channel and x_s = 0 before the sequence,

    p_t = b + sum_k w_k x_{t - (W - 1) + k},        y_t = p_t sigmoid(p_t)       (1)
    p'_t = y'_t sigmoid(p_t) (1 + p_t (1 - sigmoid(p_t)))                        (2)
    x'_t = sum_j w_{W-1-j} p'_{t+j},   w'_k = sum_t p'_t x_{t-(W-1)+k}           (3)

(primes are derivatives of the loss). A program has CHANNELS channels of one row and
goes through a span of steps in order, GROUP steps at a time, keeping the W - 1 steps
before the group in registers. Backward, p is computed anew, so that nothing of the size
of x is kept, and x' of a step is written when p' of the W - 1 steps after it is known;
at the end of a span these are computed by both neighbours. Sums of (3) over time are
partial sums by programs, added afterwards in a fixed order.

x, y and their gradients may be columns of wider tensors: a step and the next are
`x_units` UNIT entries apart (y: `y_units`). The factor is a constant so that the
compiler knows how far rows are aligned, and reads several numbers at once.
Reads and writes: x and y once forward; x, y' and x' once backward.
Shapes    x, y (n, L, channels)   w (W, channels)   b (channels,)
"""

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class ConvTiling(NamedTuple):
    """Tiling of a kernel; a program is one warp."""

    channels: int
    group: int  # steps that are loaded together
    span: int  # steps of a program


FORWARD = ConvTiling(64, 8, 128)
BACKWARD = ConvTiling(128, 8, 128)


@triton.jit
def _quick_sigmoid(p):
    """1 / (1 + exp(-p)); the square of a reciprocal root is quicker than a division."""
    r = tl.rsqrt(1.0 + tl.exp2(-1.4426950408889634 * p))
    return r * r


@triton.jit
def _load_rows(
    ptr, row, first, c, length, channels, step, ROWS: tl.constexpr
):  # fmt: skip
    """Rows first, ..., first + ROWS - 1 as a tuple; 0 outside the sequence."""
    result = ()
    for k in tl.static_range(ROWS):
        t = first + k
        is_valid = (c < channels) & (t >= 0) & (t < length)
        offsets = (row * length + t) * step + c
        result = result + (tl.load(ptr + offsets, mask=is_valid, other=0.0),)
    return result


@triton.jit
def _load_weights(w_ptr, c, channels, W: tl.constexpr):
    """w_0, ..., w_{W-1} in float32."""
    result = ()
    for k in tl.static_range(W):
        w = tl.load(w_ptr + k * channels + c, mask=c < channels, other=0.0)
        result = result + (w.to(tl.float32),)
    return result


@triton.jit
def silu_conv_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, length, channels, x_units, y_units,
    X_UNIT: tl.constexpr, Y_UNIT: tl.constexpr, W: tl.constexpr,
    SPAN: tl.constexpr, GROUP: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Eq. (1)."""
    c = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    first = tl.program_id(1) * SPAN
    row = tl.program_id(2).to(tl.int64)
    inside = c < channels
    x_step = x_units * X_UNIT
    w = _load_weights(w_ptr, c, channels, W)
    b = tl.load(b_ptr + c, mask=inside, other=0.0).to(tl.float32)
    past = _load_rows(x_ptr, row, first - (W - 1), c, length, channels, x_step, W - 1)
    for start in range(first, tl.minimum(first + SPAN, length), GROUP):
        x = past + _load_rows(x_ptr, row, start, c, length, channels, x_step, GROUP)
        for g in tl.static_range(GROUP):
            p = b
            for k in tl.static_range(W):
                p += w[k] * x[g + k].to(tl.float32)
            y = p * _quick_sigmoid(p)
            offsets = (row * length + start + g) * (y_units * Y_UNIT) + c
            is_valid = inside & (start + g < length)
            tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=is_valid)
        past = x[GROUP:]


@triton.jit
def silu_conv_gradient_kernel(
    x_ptr, w_ptr, b_ptr, dy_ptr, dx_ptr, sums_ptr, length, channels, x_units, dy_units,
    X_UNIT: tl.constexpr, Y_UNIT: tl.constexpr, W: tl.constexpr,
    SPAN: tl.constexpr, GROUP: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Eqs. (2) and (3); x' of SPAN - (W - 1) steps."""
    c = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    first = tl.program_id(1) * (SPAN - (W - 1))
    last = tl.minimum(first + SPAN - (W - 1), length)  # of its own, excluded
    row = tl.program_id(2).to(tl.int64)
    inside = c < channels
    x_step = x_units * X_UNIT
    dy_step = dy_units * Y_UNIT
    w = _load_weights(w_ptr, c, channels, W)
    b = tl.load(b_ptr + c, mask=inside, other=0.0).to(tl.float32)
    past = _load_rows(x_ptr, row, first - (W - 1), c, length, channels, x_step, W - 1)
    zero = tl.zeros((CHANNELS,), tl.float32)
    past_dp = ()
    dw = (zero,)
    for _ in tl.static_range(W - 1):
        past_dp = past_dp + (zero,)
        dw = dw + (zero,)
    db = zero
    for start in range(first, last + (W - 1), GROUP):
        x = past + _load_rows(x_ptr, row, start, c, length, channels, x_step, GROUP)
        dy = _load_rows(dy_ptr, row, start, c, length, channels, dy_step, GROUP)
        dp = past_dp
        for g in tl.static_range(GROUP):
            p = b
            for k in tl.static_range(W):
                p += w[k] * x[g + k].to(tl.float32)
            gate = _quick_sigmoid(p)
            dp_t = dy[g].to(tl.float32) * gate * (1 + p * (1 - gate))
            dp = dp + (dp_t,)
            dp_own = tl.where(start + g < last, dp_t, 0.0)
            db += dp_own
            added = ()
            for k in tl.static_range(W):
                added = added + (dw[k] + dp_own * x[g + k].to(tl.float32),)
            dw = added
            dx = zero
            for j in tl.static_range(W):
                dx += w[W - 1 - j] * dp[g + j]
            t = start + g - (W - 1)
            is_valid = inside & (t >= first) & (t < last)
            offsets = (row * length + t) * x_step + c
            tl.store(dx_ptr + offsets, dx.to(dx_ptr.dtype.element_ty), mask=is_valid)
        past = x[GROUP:]
        past_dp = dp[GROUP:]
    part = row * tl.num_programs(1) + tl.program_id(1)
    offsets = part * (W + 1) * channels + c
    for k in tl.static_range(W):
        tl.store(sums_ptr + offsets + k * channels, dw[k], mask=inside)
    tl.store(sums_ptr + offsets + W * channels, db, mask=inside)


def aligned_stride(x) -> tuple[int, int]:
    """Entries between neighbouring rows as a number times a power of two up to 16."""
    row = x.stride(-2)
    unit = math.gcd(row, 16)
    return row // unit, unit


def silu_conv(x, w, b, y):
    """Eq. (1), written into y. A step of x and of y must be a row of numbers."""
    n, length, channels = x.shape
    x_units, x_unit = aligned_stride(x)
    y_units, y_unit = aligned_stride(y)
    block, group, span = FORWARD
    silu_conv_kernel[(triton.cdiv(channels, block), triton.cdiv(length, span), n)](
        x, w, b, y, length, channels, x_units, y_units, X_UNIT=x_unit, Y_UNIT=y_unit,
        W=len(w), SPAN=span, GROUP=group, CHANNELS=block, num_warps=1,
    )  # fmt: skip


def silu_conv_gradient(x, w, b, dy, dx) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of w and b in float32.

    That of x is written into dx, which has the strides of x.
    """
    n, length, channels = x.shape
    W = len(w)
    block, group, span = BACKWARD
    span = group * triton.cdiv(span + W - 1, group)
    spans = triton.cdiv(length, span - (W - 1))
    sums = x.new_empty(n * spans, W + 1, channels, dtype=torch.float32)
    x_units, x_unit = aligned_stride(x)
    y_units, y_unit = aligned_stride(dy)
    silu_conv_gradient_kernel[(triton.cdiv(channels, block), spans, n)](
        x, w, b, dy, dx, sums, length, channels, x_units, y_units,
        X_UNIT=x_unit, Y_UNIT=y_unit, W=W, SPAN=span, GROUP=group, CHANNELS=block,
        num_warps=1,
    )  # fmt: skip
    total = sums.sum(0)
    return total[:W], total[W]

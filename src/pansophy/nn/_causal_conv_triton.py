"""Causal depthwise convolution and SiLU in one Triton kernel (CUDA), and its gradient.

With W weights w_k for every channel and x_s = 0 before the sequence,

    p_t = b + sum_k w_k x_{t - (W - 1) + k},        y_t = p_t sigmoid(p_t)       (1)
    p'_t = y'_t sigmoid(p_t) (1 + p_t (1 - sigmoid(p_t)))                        (2)
    x'_t = sum_j w_{W-1-j} p'_{t+j},   w'_k = sum_t p'_t x_{t-(W-1)+k}           (3)

(primes are derivatives of the loss). A program has TIME steps of CHANNELS channels of
one row. It reads the shifted tiles of x, W of them forward and 2 W - 1 backward, which
the caches serve after the first; p is computed anew on the way back, so nothing of
the size of x is kept. Sums of (3) over time are partial sums by programs, added
afterwards in a fixed order.

x, y and their gradients may be columns of wider tensors: a step and the next are
`x_units` UNIT entries apart (y: `y_row`). The factor is a constant so that the compiler
knows how far rows are aligned, and reads several numbers at once.
Reads and writes: x and y once forward; x, y' and x' once backward.
Shapes    x, y (n, L, channels)   w (W, channels)   b (channels,)
"""

import math

import torch
import triton
import triton.language as tl

TIME, CHANNELS = 32, 64


@triton.jit
def preactivation(
    x_ptr, w_ptr, b_ptr, row, t, c, length, channels, x_row, W: tl.constexpr
):  # fmt: skip
    """p_t of eq. (1) for the steps t and the channels c, in float32."""
    inside = c < channels
    p = tl.zeros((t.shape[0], c.shape[0]), tl.float32)
    p += tl.load(b_ptr + c, mask=inside, other=0.0).to(tl.float32)[None, :]
    for k in tl.static_range(W):
        s = t - (W - 1) + k
        here = ((s >= 0) & (s < length))[:, None] & inside[None, :]
        at = (row * length + s)[:, None] * x_row + c[None, :]
        x = tl.load(x_ptr + at, mask=here, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + k * channels + c, mask=inside, other=0.0).to(tl.float32)
        p += w[None, :] * x
    return p


@triton.jit
def silu_conv_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, length, channels, x_units, y_row,
    UNIT: tl.constexpr, W: tl.constexpr, TIME: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    c = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    t = tl.program_id(1) * TIME + tl.arange(0, TIME)
    row = tl.program_id(2).to(tl.int64)
    x_row = x_units * UNIT
    p = preactivation(x_ptr, w_ptr, b_ptr, row, t, c, length, channels, x_row, W)
    y = p * tl.sigmoid(p)
    at = (row * length + t)[:, None] * y_row + c[None, :]
    here = (t < length)[:, None] & (c < channels)[None, :]
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=here)


@triton.jit
def silu_conv_gradient_kernel(
    x_ptr, w_ptr, b_ptr, dy_ptr, dx_ptr, sums_ptr,
    length, channels, x_units, dy_row,
    UNIT: tl.constexpr, W: tl.constexpr, TIME: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    c = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    t = tl.program_id(1) * TIME + tl.arange(0, TIME)
    row = tl.program_id(2).to(tl.int64)
    x_row = x_units * UNIT
    inside = c < channels
    dx = tl.zeros((TIME, CHANNELS), tl.float32)
    part = (row * tl.num_programs(1) + tl.program_id(1)) * (W + 1)
    for j in tl.static_range(W):
        s = t + j
        p = preactivation(x_ptr, w_ptr, b_ptr, row, s, c, length, channels, x_row, W)
        here = (s < length)[:, None] & inside[None, :]
        at = (row * length + s)[:, None] * dy_row + c[None, :]
        dy = tl.load(dy_ptr + at, mask=here, other=0.0).to(tl.float32)
        open_ = tl.sigmoid(p)
        dp = dy * open_ * (1 + p * (1 - open_))  # (2); 0 after the end, as dy is
        w = tl.load(w_ptr + (W - 1 - j) * channels + c, mask=inside, other=0.0)
        dx += w.to(tl.float32)[None, :] * dp
        if j == 0:
            db = tl.sum(dp, axis=0)
            tl.store(sums_ptr + (part + W) * channels + c, db, mask=inside)
            for k in tl.static_range(W):
                q = t - (W - 1) + k
                there = ((q >= 0) & (q < length))[:, None] & inside[None, :]
                from_ = (row * length + q)[:, None] * x_row + c[None, :]
                x = tl.load(x_ptr + from_, mask=there, other=0.0).to(tl.float32)
                dw = tl.sum(dp * x, axis=0)
                tl.store(sums_ptr + (part + k) * channels + c, dw, mask=inside)
    at = (row * length + t)[:, None] * x_row + c[None, :]
    here = (t < length)[:, None] & inside[None, :]
    tl.store(dx_ptr + at, dx.to(dx_ptr.dtype.element_ty), mask=here)


def row_units(x) -> tuple[int, int]:
    """Entries between neighbouring rows as a number times a power of two up to 16."""
    row = x.stride(-2)
    unit = math.gcd(row, 16)
    return row // unit, unit


def launch_grid(x):
    n, length, channels = x.shape
    return triton.cdiv(channels, CHANNELS), triton.cdiv(length, TIME), n


def silu_conv(x, w, b, y):
    """Eq. (1), written into y. A step of x and of y must be a row of numbers."""
    _, length, channels = x.shape
    units, unit = row_units(x)
    silu_conv_kernel[launch_grid(x)](
        x, w, b, y, length, channels, units, y.stride(1),
        UNIT=unit, W=len(w), TIME=TIME, CHANNELS=CHANNELS, num_warps=4,
    )  # fmt: skip


def silu_conv_gradient(x, w, b, dy, dx) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of w and b in float32.

    That of x is written into dx, which has the strides of x.
    """
    n, length, channels = x.shape
    W = len(w)
    grid = launch_grid(x)
    sums = x.new_empty(n * grid[1], W + 1, channels, dtype=torch.float32)
    units, unit = row_units(x)
    silu_conv_gradient_kernel[grid](
        x, w, b, dy, dx, sums, length, channels, units, dy.stride(1),
        UNIT=unit, W=W, TIME=TIME, CHANNELS=CHANNELS, num_warps=4,
    )  # fmt: skip
    total = sums.sum(0)
    return total[:W], total[W]

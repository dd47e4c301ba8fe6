"""Causal depthwise convolution and SiLU in one Triton kernel (CUDA), and its gradient.

With W weights w_k for every channel and x_s = 0 before the sequence,

    p_t = b + sum_k w_k x_{t - (W - 1) + k},        y_t = p_t sigmoid(p_t)       (1)
    p'_t = y'_t sigmoid(p_t) (1 + p_t (1 - sigmoid(p_t)))                        (2)
    x'_t = sum_j w_{W-1-j} p'_{t+j},   w'_k = sum_t p'_t x_{t-(W-1)+k}           (3)

(primes are derivatives of the loss). A program has TIME steps of CHANNELS channels of
one row and reads W shifted tiles, which the caches serve after the first. Backward, p
is computed anew, so that nothing of the size of x is kept; a first kernel writes p'
over y' and a second makes x' of it. Sums of (3) over time are partial sums by programs,
added afterwards in a fixed order.

x, y and their gradients may be columns of wider tensors: a step and the next are
`x_units` UNIT entries apart (y: `y_row`). The factor is a constant so that the compiler
knows how far rows are aligned, and reads several numbers at once.
Reads and writes: x and y once forward; x, y' and x' once and p' twice backward.
Shapes    x, y (n, L, channels)   w (W, channels)   b (channels,)
"""

import math

import torch
import triton
import triton.language as tl

TIME, CHANNELS = 32, 64
TILES = 8  # of time, that a program sums the gradients of weights over


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
def silu_conv_slope_kernel(
    x_ptr, w_ptr, b_ptr, dy_ptr, sums_ptr, length, channels, x_units, dy_row,
    UNIT: tl.constexpr, W: tl.constexpr, SLOTS: tl.constexpr,
    TILES: tl.constexpr, TIME: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """Eq. (2), p' in the place of y', and sums of (3): of w in slots k, of b in W."""
    c = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    row = tl.program_id(2).to(tl.int64)
    x_row = x_units * UNIT
    inside = c < channels
    slot = tl.arange(0, SLOTS)[:, None]
    sums = tl.zeros((SLOTS, CHANNELS), tl.float32)
    first = tl.program_id(1) * (TILES * TIME)
    for tile in range(TILES):
        t = first + tile * TIME + tl.arange(0, TIME)
        p = preactivation(x_ptr, w_ptr, b_ptr, row, t, c, length, channels, x_row, W)
        here = (t < length)[:, None] & inside[None, :]
        at = (row * length + t)[:, None] * dy_row + c[None, :]
        dy = tl.load(dy_ptr + at, mask=here, other=0.0).to(tl.float32)
        gate = tl.sigmoid(p)
        dp = dy * gate * (1 + p * (1 - gate))  # 0 after the end, as dy is
        tl.store(dy_ptr + at, dp.to(dy_ptr.dtype.element_ty), mask=here)
        sums += tl.where(slot == W, tl.sum(dp, axis=0)[None, :], 0.0)
        for k in tl.static_range(W):
            s = t - (W - 1) + k
            there = ((s >= 0) & (s < length))[:, None] & inside[None, :]
            from_ = (row * length + s)[:, None] * x_row + c[None, :]
            x = tl.load(x_ptr + from_, mask=there, other=0.0).to(tl.float32)
            sums += tl.where(slot == k, tl.sum(dp * x, axis=0)[None, :], 0.0)
    part = row * tl.num_programs(1) + tl.program_id(1)
    to = (part * SLOTS + slot) * channels + c[None, :]
    tl.store(sums_ptr + to, sums, mask=(slot >= 0) & inside[None, :])


@triton.jit
def conv_input_gradient_kernel(
    w_ptr, dp_ptr, dx_ptr, length, channels, x_units, dp_row,
    UNIT: tl.constexpr, W: tl.constexpr, TIME: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    """x' of eq. (3)."""
    c = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    t = tl.program_id(1) * TIME + tl.arange(0, TIME)
    row = tl.program_id(2).to(tl.int64)
    inside = c < channels
    dx = tl.zeros((TIME, CHANNELS), tl.float32)
    for j in tl.static_range(W):
        here = (t + j < length)[:, None] & inside[None, :]
        at = (row * length + t + j)[:, None] * dp_row + c[None, :]
        dp = tl.load(dp_ptr + at, mask=here, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + (W - 1 - j) * channels + c, mask=inside, other=0.0)
        dx += w.to(tl.float32)[None, :] * dp
    to = (row * length + t)[:, None] * (x_units * UNIT) + c[None, :]
    here = (t < length)[:, None] & inside[None, :]
    tl.store(dx_ptr + to, dx.to(dx_ptr.dtype.element_ty), mask=here)


def aligned_stride(x) -> tuple[int, int]:
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
    units, unit = aligned_stride(x)
    silu_conv_kernel[launch_grid(x)](
        x, w, b, y, length, channels, units, y.stride(1),
        UNIT=unit, W=len(w), TIME=TIME, CHANNELS=CHANNELS, num_warps=4,
    )  # fmt: skip


def silu_conv_gradient(x, w, b, dy, dx) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of w and b in float32.

    That of x is written into dx, which has the strides of x; dy is overwritten.
    """
    n, length, channels = x.shape
    W = len(w)
    blocks, times, _ = grid = launch_grid(x)
    walks = triton.cdiv(times, TILES)
    slots = triton.next_power_of_2(W + 1)
    sums = x.new_empty(n * walks, slots, channels, dtype=torch.float32)
    units, unit = aligned_stride(x)
    tiles = {"UNIT": unit, "W": W, "TIME": TIME, "CHANNELS": CHANNELS, "num_warps": 4}
    silu_conv_slope_kernel[(blocks, walks, n)](
        x, w, b, dy, sums, length, channels, units, dy.stride(1),
        SLOTS=slots, TILES=TILES, **tiles,
    )  # fmt: skip
    conv_input_gradient_kernel[grid](
        w, dy, dx, length, channels, units, dy.stride(1), **tiles
    )
    total = sums.sum(0)
    return total[:W], total[W]

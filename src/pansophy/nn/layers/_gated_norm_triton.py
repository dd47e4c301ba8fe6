"""Gated root-mean-square normalisation as Triton kernels (CUDA).

    v = y silu(z),   r = (mean v^2 + eps)^(-1/2),   out = gain r v               (1)
    v' = r (gain out' - r^2 v mean(gain out' v)),   gain' = sum r v out'         (2)
    y' = v' silu(z),   z' = v' y silu'(z)                                        (3)

(primes are derivatives of the loss). A program has whole rows, one after the other, in
registers; sums over rows are partial sums by programs, added in a fixed order. z may be
columns of a wider tensor (`z_units` UNIT entries between a row and the next), and so
may its gradient, of another tensor of that shape.
Reads and writes: y, z and out once forward; y, z, out', y' and z' once backward.
Shapes    y, out (rows, width)   z (rows, width)   gain (width,)
"""

import torch
import triton
import triton.language as tl

from ._causal_conv_triton import aligned_stride

ROWS = 4  # of a program forward
PROGRAMS = 2048  # at most, backward


@triton.jit
def gated_norm_kernel(
    y_ptr, z_ptr, gain_ptr, out_ptr, rows, width, z_units, eps,
    UNIT: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    c = tl.arange(0, WIDTH)
    inside = c < width
    gain = tl.load(gain_ptr + c, mask=inside, other=0.0).to(tl.float32)
    first = tl.program_id(0).to(tl.int64) * ROWS
    for row in range(first, tl.minimum(first + ROWS, rows)):
        offsets = row * width + c
        at_z = row * (z_units * UNIT) + c
        y = tl.load(y_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        z = tl.load(z_ptr + at_z, mask=inside, other=0.0).to(tl.float32)
        v = y * z * tl.sigmoid(z)
        r = tl.rsqrt(tl.sum(v * v, axis=0) / width + eps)
        out = gain * r * v
        tl.store(out_ptr + offsets, out.to(out_ptr.dtype.element_ty), mask=inside)


@triton.jit
def gated_norm_gradient_kernel(
    y_ptr, z_ptr, gain_ptr, dout_ptr, dy_ptr, dz_ptr, dgain_ptr,
    rows, width, z_units, eps, share,
    UNIT: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    c = tl.arange(0, WIDTH)
    inside = c < width
    gain = tl.load(gain_ptr + c, mask=inside, other=0.0).to(tl.float32)
    dgain = tl.zeros((WIDTH,), tl.float32)
    first = tl.program_id(0).to(tl.int64) * share
    last = tl.minimum(first + share, rows)
    for row in range(first, last):
        offsets = row * width + c
        at_z = row * (z_units * UNIT) + c
        y = tl.load(y_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        z = tl.load(z_ptr + at_z, mask=inside, other=0.0).to(tl.float32)
        dout = tl.load(dout_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
        open_ = tl.sigmoid(z)
        gate = z * open_
        v = y * gate
        r = tl.rsqrt(tl.sum(v * v, axis=0) / width + eps)
        dgain += r * v * dout
        g = gain * dout
        dv = r * (g - v * (r * r * (tl.sum(g * v, axis=0) / width)))
        dy = dv * gate
        dz = dv * y * open_ * (1 + z * (1 - open_))
        tl.store(dy_ptr + offsets, dy.to(dy_ptr.dtype.element_ty), mask=inside)
        tl.store(dz_ptr + at_z, dz.to(dz_ptr.dtype.element_ty), mask=inside)
    tl.store(dgain_ptr + tl.program_id(0) * width + c, dgain, mask=inside)


def _lanes(width):
    """Columns of a program and its warps."""
    block = triton.next_power_of_2(width)
    return block, min(8, max(1, block // 256))


def gated_norm(y, z, gain, eps) -> torch.Tensor:
    """Eq. (1) for y (..., width); z has rows of `z.stride(-2)` entries."""
    out = torch.empty_like(y)
    width = y.shape[-1]
    rows = y.numel() // width
    block, warps = _lanes(width)
    units, unit = aligned_stride(z)
    gated_norm_kernel[(triton.cdiv(rows, ROWS),)](
        y, z, gain, out, rows, width, units, eps,
        UNIT=unit, ROWS=ROWS, WIDTH=block, num_warps=warps,
    )  # fmt: skip
    return out


def gated_norm_gradient(y, z, gain, dout, dz, eps):
    """Gradients of y and gain (float32); that of z is written into dz."""
    dy = torch.empty_like(y)
    width = y.shape[-1]
    rows = y.numel() // width
    block, warps = _lanes(width)
    units, unit = aligned_stride(z)
    share = triton.cdiv(rows, min(rows, PROGRAMS))
    programs = triton.cdiv(rows, share)
    dgain = y.new_empty(programs, width, dtype=torch.float32)
    gated_norm_gradient_kernel[(programs,)](
        y, z, gain, dout, dy, dz, dgain, rows, width, units, eps, share,
        UNIT=unit, WIDTH=block, num_warps=warps,
    )  # fmt: skip
    return dy, dgain.sum(0)

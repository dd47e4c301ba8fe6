"""The chunked form of `ssd.py` as Triton kernels (CUDA), forward and backward.

Passes over chunks of Q steps; a program has one chunk of one row of the batch and
goes through a share of the heads, so that what all heads have in common (B, C, and
their product) is loaded once and their gradients are summed in registers:

    sums_kernel      running sums of log_a within every chunk, and the gains, head by
                     head (n, chunks, H, Q), so that the others read neighbours
    state_kernel     S_k = sum_j exp(s_cj) g_j x_j B_j', and the decay of the chunk;
                     with dy, C and exp(s_i0) in their places it is the local gradient
                     of the state before the chunk
    `launch_scan`    the state after every chunk; reversed, its gradient
    output_kernel    y of eq. (2), and the skip D x
    gradient_kernel  all other gradients, those of log_a as ones of its running sums
    steps_kernel     gradients of log_a and of the gains, step by step

Running sums are made in float64 and kept as two float32 numbers each, as in `ssd.py`.
The gradient of the decay over a whole chunk is that of the state after it times this
state, which is what remains of every way through it.
Reads and writes: x twice and y once forward; dy twice, x and dx once backward; states
are N/Q of that in float32.

Parameters of the kernels, in this order
    tensors   those of eq. (1); `sums` holds high parts, low parts and gains (3, n,
              chunks, H, Q); `after` the state after every chunk, `h0` the one before
              the first, `e` the gradient of the state before every chunk, `dlast`
              that of the last state; a `d` in front is a gradient
    sizes     length, heads, share (heads of a program)
    rows      x_row, b_row: numbers between a step of x (of B and C) and the next, so
              that x, B and C may be columns of one tensor; y and dy are whole tensors
    constants PRECISION of products of float32 numbers; Q, P, N
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from ._scan_triton import launch_scan

HEAD_BLOCK = 16  # heads of a program that turns steps into heads


class Cut(NamedTuple):
    """How one kernel is launched."""

    programs: int  # at least, as far as there are heads to share out
    warps: int = 4
    registers: int | None = None  # most of a thread; None: as the compiler likes


class Tiling(NamedTuple):
    """How the work is cut; `benchmarks.gpu_state_space tune` searches them."""

    chunk: int  # Q
    state: Cut
    output: Cut
    gradient: Cut


HALF_TILING = Tiling(32, Cut(8192, 2), Cut(3072, 2), Cut(2048, 2))
TILINGS = {
    torch.float32: Tiling(32, Cut(8192), Cut(3072, warps=8), Cut(3072)),
    torch.bfloat16: HALF_TILING,
    torch.float16: HALF_TILING,
}
# products of float32 numbers: three of tensor cores' 11-bit parts have 22 bits; the
# kernel of gradients compiled so reads outside its memory (Triton 3.6 on sm_90)
FLOAT32_PRODUCTS = {"state": "tf32x3", "output": "tf32x3", "gradient": "ieee"}


@triton.jit
def sums_kernel(
    a_ptr, gain_ptr, sums_ptr, total_ptr, length, heads,
    Q: tl.constexpr, HEADS: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(0)
    row = tl.program_id(1).to(tl.int64)
    h = tl.program_id(2) * HEADS + tl.arange(0, HEADS)
    i = tl.arange(0, Q)
    t = k * Q + i
    here = (t < length)[:, None] & (h < heads)[None, :]
    at = (row * length + t)[:, None] * heads + h[None, :]
    a = tl.load(a_ptr + at, mask=here, other=0.0).to(tl.float64)
    gain = tl.load(gain_ptr + at, mask=here, other=0.0)
    sums = tl.cumsum(a, axis=0)
    high = sums.to(tl.float32)
    low = (sums - high.to(tl.float64)).to(tl.float32)
    place = (row * tl.num_programs(0) + k) * heads + h
    inside = (h < heads)[None, :] & (i >= 0)[:, None]
    to = place[None, :] * Q + i[:, None]
    plane = tl.num_programs(1).to(tl.int64) * tl.num_programs(0) * heads * Q
    tl.store(sums_ptr + to, high, mask=inside)
    tl.store(sums_ptr + plane + to, low, mask=inside)
    tl.store(sums_ptr + 2 * plane + to, gain, mask=inside)
    whole = tl.exp(tl.sum(a, axis=0).to(tl.float32))
    tl.store(total_ptr + place, whole, mask=h < heads)


@triton.jit
def steps_kernel(
    dsums_ptr, da_ptr, dgain_ptr, length, heads,
    Q: tl.constexpr, HEADS: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(0)
    row = tl.program_id(1).to(tl.int64)
    h = tl.program_id(2) * HEADS + tl.arange(0, HEADS)
    i = tl.arange(0, Q)
    t = k * Q + i
    inside = (h < heads)[None, :] & (i >= 0)[:, None]
    place = (row * tl.num_programs(0) + k) * heads + h
    origin = place[None, :] * Q + i[:, None]
    plane = tl.num_programs(1).to(tl.int64) * tl.num_programs(0) * heads * Q
    dsum = tl.load(dsums_ptr + origin, mask=inside, other=0.0)
    dgain = tl.load(dsums_ptr + plane + origin, mask=inside, other=0.0)
    here = (t < length)[:, None] & (h < heads)[None, :]
    at = (row * length + t)[:, None] * heads + h[None, :]
    tl.store(da_ptr + at, tl.cumsum(dsum, axis=0, reverse=True), mask=here)
    tl.store(dgain_ptr + at, dgain, mask=here)


@triton.jit
def state_kernel(
    x_ptr, sums_ptr, b_ptr, s_ptr, length, heads, share, x_row, b_row,
    AT_END: tl.constexpr, PRECISION: tl.constexpr,
    Q: tl.constexpr, P: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(0)
    row = tl.program_id(1).to(tl.int64)
    chunks = tl.num_programs(0)
    first = tl.program_id(2) * share
    i = tl.arange(0, Q)
    t = k * Q + i
    here = t < length
    p = tl.arange(0, P)
    n = tl.arange(0, N)
    step = row * length + t
    at_n = step[:, None] * b_row + n[None, :]
    B = tl.load(b_ptr + at_n, mask=here[:, None], other=0.0)
    plane = tl.num_programs(1).to(tl.int64) * chunks * heads * Q
    last = tl.minimum(first + share, heads)
    for h in range(first, last):
        place = (row * chunks + k) * heads + h
        sums = sums_ptr + place * Q
        high = tl.load(sums + i)
        low = tl.load(sums + plane + i)
        if AT_END:
            high_end = tl.load(sums + Q - 1)
            low_end = tl.load(sums + plane + Q - 1)
            w = tl.exp((high_end - high) + (low_end - low))
            w *= tl.load(sums + 2 * plane + i)
        else:
            w = tl.exp(high + low)
        at = step[:, None] * x_row + (h * P + p)[None, :]
        x = tl.load(x_ptr + at, mask=here[:, None], other=0.0)
        weighted = (x.to(tl.float32) * w[:, None]).to(B.dtype)
        S = tl.dot(tl.trans(weighted), B, input_precision=PRECISION)
        tl.store(s_ptr + place * P * N + p[:, None] * N + n[None, :], S)


@triton.jit
def output_kernel(
    x_ptr, sums_ptr, b_ptr, c_ptr, after_ptr, h0_ptr, skip_ptr, y_ptr,
    length, heads, share, x_row, b_row,
    PRECISION: tl.constexpr,
    Q: tl.constexpr, P: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(0)
    row = tl.program_id(1).to(tl.int64)
    chunks = tl.num_programs(0)
    first = tl.program_id(2) * share
    i = tl.arange(0, Q)
    t = k * Q + i
    here = t < length
    p = tl.arange(0, P)
    n = tl.arange(0, N)
    step = row * length + t
    at_n = step[:, None] * b_row + n[None, :]
    plane = tl.num_programs(1).to(tl.int64) * chunks * heads * Q
    B = tl.load(b_ptr + at_n, mask=here[:, None], other=0.0)
    C = tl.load(c_ptr + at_n, mask=here[:, None], other=0.0)
    causal = i[:, None] >= i[None, :]
    CB = tl.where(causal, tl.dot(C, tl.trans(B), input_precision=PRECISION), 0.0)
    state = p[:, None] * N + n[None, :]
    last = tl.minimum(first + share, heads)
    for h in range(first, last):
        place = (row * chunks + k) * heads + h
        sums = sums_ptr + place * Q
        high = tl.load(sums + i)
        low = tl.load(sums + plane + i)
        gain = tl.load(sums + 2 * plane + i)
        between = (high[:, None] - high[None, :]) + (low[:, None] - low[None, :])
        decay = tl.exp(tl.minimum(between, 0.0))
        at = step[:, None] * x_row + (h * P + p)[None, :]
        x = tl.load(x_ptr + at, mask=here[:, None], other=0.0)
        M = (CB * decay * gain[None, :]).to(x.dtype)
        y = tl.dot(M, x, input_precision=PRECISION)
        if k == 0:
            before = tl.load(h0_ptr + (row * heads + h) * P * N + state)
        else:
            before = tl.load(after_ptr + (place - heads) * P * N + state)
        old = tl.dot(C, tl.trans(before.to(C.dtype)), input_precision=PRECISION)
        y += old * tl.exp(high + low)[:, None]
        y += tl.load(skip_ptr + h) * x.to(tl.float32)
        to = (step * heads + h)[:, None] * P + p[None, :]
        tl.store(y_ptr + to, y.to(y_ptr.dtype.element_ty), mask=here[:, None])


@triton.jit
def gradient_kernel(
    x_ptr, sums_ptr, b_ptr, c_ptr, after_ptr, h0_ptr, skip_ptr, dy_ptr, e_ptr,
    dlast_ptr, dx_ptr, dsums_ptr, dbc_ptr, dskip_ptr,
    length, heads, share, x_row, b_row,
    PRECISION: tl.constexpr,
    Q: tl.constexpr, P: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(0)
    row = tl.program_id(1).to(tl.int64)
    part = tl.program_id(2).to(tl.int64)
    chunks = tl.num_programs(0)
    rows = tl.num_programs(1)
    i = tl.arange(0, Q)
    t = k * Q + i
    here = t < length
    p = tl.arange(0, P)
    n = tl.arange(0, N)
    step = row * length + t
    at_n = step[:, None] * b_row + n[None, :]
    plane = tl.num_programs(1).to(tl.int64) * chunks * heads * Q
    B = tl.load(b_ptr + at_n, mask=here[:, None], other=0.0)
    C = tl.load(c_ptr + at_n, mask=here[:, None], other=0.0)
    causal = i[:, None] >= i[None, :]
    CB = tl.where(causal, tl.dot(C, tl.trans(B), input_precision=PRECISION), 0.0)
    end = i == Q - 1
    dCB = tl.zeros((Q, Q), tl.float32)
    dB = tl.zeros((Q, N), tl.float32)
    dC = tl.zeros((Q, N), tl.float32)
    state = p[:, None] * N + n[None, :]
    first = tl.program_id(2) * share
    last = tl.minimum(first + share, heads)
    for h in range(first, last):
        place = (row * chunks + k) * heads + h
        sums = sums_ptr + place * Q
        high = tl.load(sums + i)
        low = tl.load(sums + plane + i)
        high_end = tl.load(sums + Q - 1)
        low_end = tl.load(sums + plane + Q - 1)
        gain = tl.load(sums + 2 * plane + i)
        between = (high[:, None] - high[None, :]) + (low[:, None] - low[None, :])
        decay = tl.exp(tl.minimum(between, 0.0))
        from_start = tl.exp(high + low)
        to_end = tl.exp((high_end - high) + (low_end - low))
        at = step[:, None] * x_row + (h * P + p)[None, :]
        x = tl.load(x_ptr + at, mask=here[:, None], other=0.0)
        at_y = (step * heads + h)[:, None] * P + p[None, :]
        dy = tl.load(dy_ptr + at_y, mask=here[:, None], other=0.0)
        if k == 0:
            before = tl.load(h0_ptr + (row * heads + h) * P * N + state)
        else:
            before = tl.load(after_ptr + (place - heads) * P * N + state)
        after = tl.load(after_ptr + place * P * N + state)
        if k == chunks - 1:
            dafter = tl.load(dlast_ptr + (row * heads + h) * P * N + state)
        else:
            dafter = tl.load(e_ptr + (place + heads) * P * N + state)
        # inside the chunk
        W = tl.dot(dy, tl.trans(x), input_precision=PRECISION) * decay * gain[None, :]
        dCB += W  # its upper half is left out at the end
        T = W * CB
        dsum = tl.sum(T, axis=1) - tl.sum(T, axis=0)
        M = (CB * decay).to(dy.dtype)
        dxg = tl.dot(tl.trans(M), dy, input_precision=PRECISION)
        # through the state after the chunk
        pushed = tl.dot(B, tl.trans(dafter.to(B.dtype)), input_precision=PRECISION)
        dxg += pushed * to_end[:, None]
        weighted = (x.to(tl.float32) * (to_end * gain)[:, None]).to(x.dtype)
        dB_h = tl.dot(weighted, dafter.to(x.dtype), input_precision=PRECISION)
        dB += dB_h
        # through the state before it
        faded = (dy.to(tl.float32) * from_start[:, None]).to(dy.dtype)
        dC_h = tl.dot(faded, before.to(dy.dtype), input_precision=PRECISION)
        dC += dC_h
        dsum += tl.sum(dC_h * C.to(tl.float32) - dB_h * B.to(tl.float32), axis=1)
        dsum += tl.where(end, tl.sum(tl.sum(after * dafter, 1), 0), 0.0)
        tl.store(dsums_ptr + place * Q + i, dsum)
        dgain = tl.sum(dxg * x.to(tl.float32), axis=1)
        tl.store(dsums_ptr + plane + place * Q + i, dgain)
        direct = dy.to(tl.float32)
        dskip = tl.sum(tl.sum(direct * x.to(tl.float32), 1), 0)
        tl.store(dskip_ptr + place, dskip)
        dx = dxg * gain[:, None] + direct * tl.load(skip_ptr + h)
        tl.store(dx_ptr + at, dx.to(dx_ptr.dtype.element_ty), mask=here[:, None])
    dCB = tl.where(causal, dCB, 0.0)
    dC += tl.dot(dCB.to(B.dtype), B, input_precision=PRECISION)
    dB += tl.dot(tl.trans(dCB).to(C.dtype), C, input_precision=PRECISION)
    place_n = (part * rows * length + step)[:, None] * N + n[None, :]
    parts = tl.num_programs(2)
    tl.store(dbc_ptr + place_n, dB, mask=here[:, None])
    tl.store(dbc_ptr + parts * rows * length * N + place_n, dC, mask=here[:, None])


def step_stride(x):
    """Numbers between a step of x (n, L, ...) and the next, if its steps are rows.

    The numbers of a step must lie side by side, and a row of the batch must follow
    the one before it.
    """
    inner = 1
    for size, stride in zip(reversed(x.shape[2:]), reversed(x.stride()[2:])):
        if size > 1 and stride != inner:
            return None
        inner *= size
    row = x.stride(1)
    if len(x) > 1 and x.stride(0) != x.shape[1] * row:
        return None
    return row


def rows_in_place(x):
    """x itself where the kernels can read it in place, else a copy."""
    return x.contiguous() if step_stride(x) is None else x


class Launch:
    """Grids and sizes of one call."""

    def __init__(self, x, B):
        self.n, self.length, self.heads, self.P = x.shape
        self.N = B.shape[-1]
        self.tiling = TILINGS[x.dtype]
        self.Q = self.tiling.chunk
        self.chunks = triton.cdiv(self.length, self.Q)
        self.exact = x.dtype == torch.float32
        self.sizes = {"Q": self.Q, "P": self.P, "N": self.N}
        self.place_shape = (self.n, self.chunks, self.heads)

    def share(self, kernel) -> int:
        """Heads of a program of this kernel."""
        parts = triton.cdiv(getattr(self.tiling, kernel).programs, self.chunks * self.n)
        return triton.cdiv(self.heads, min(parts, self.heads))

    def parts(self, kernel) -> int:
        """Programs among which the heads of a chunk are shared out."""
        return triton.cdiv(self.heads, self.share(kernel))

    def run(self, kernel, function, *tensors, rows, **options):
        """Launch one of the kernels that go through heads; `rows` are x and B."""
        grid = (self.chunks, self.n, self.parts(kernel))
        cut = getattr(self.tiling, kernel)
        if cut.registers is not None:
            options["maxnreg"] = cut.registers
        function[grid](
            *tensors, self.length, self.heads, self.share(kernel),
            *map(step_stride, rows),
            PRECISION=FLOAT32_PRODUCTS[kernel] if self.exact else "tf32",
            num_warps=cut.warps, **self.sizes, **options,
        )  # fmt: skip

    def by_steps(self, function, *tensors):
        """Launch a kernel between the layouts of steps and of heads."""
        grid = (self.chunks, self.n, triton.cdiv(self.heads, HEAD_BLOCK))
        function[grid](
            *tensors, self.length, self.heads,
            Q=self.Q, HEADS=HEAD_BLOCK, num_warps=4,
        )  # fmt: skip

    def sums(self, log_a, gain):
        """Running sums as two float32 parts, gains, decays of whole chunks."""
        made = log_a.new_empty(3, *self.place_shape, self.Q, dtype=torch.float32)
        total = log_a.new_empty(self.place_shape, dtype=torch.float32)
        self.by_steps(sums_kernel, log_a, gain, made, total)
        return made, total

    def states(self, x, sums, B, at_end):
        """Local sums of every chunk."""
        S = x.new_empty(*self.place_shape, self.P, self.N, dtype=torch.float32)
        self.run("state", state_kernel, x, sums, B, S, rows=(x, B), AT_END=at_end)
        return S


class SSDSaved(NamedTuple):
    """What the way back needs beside the input."""

    sums: torch.Tensor
    after: torch.Tensor
    total: torch.Tensor


def ssd_forward(x, log_a, B, C, gain, h0, skip) -> tuple[torch.Tensor, SSDSaved]:
    """y (n, L, H, P), and what `ssd_backward` needs.

    x, B and C may be columns of a tensor (see `step_stride`), all others are whole.
    """
    launch = Launch(x, B)
    sums, total = launch.sums(log_a, gain)
    made = launch.states(x, sums, B, True)
    after = launch_scan(total, made, h0)
    y = x.new_empty(x.shape)
    launch.run(
        "output", output_kernel, x, sums, B, C, after, h0, skip, y, rows=(x, B)
    )  # fmt: skip
    return y, SSDSaved(sums, after, total)


class SSDGradients(NamedTuple):
    """Derivatives of a loss in what `ssd_forward` takes."""

    log_a: torch.Tensor
    B: torch.Tensor  # float32
    C: torch.Tensor
    gain: torch.Tensor
    h0: torch.Tensor
    skip: torch.Tensor


def ssd_backward(x, B, C, h0, skip, saved, dy, dlast, dx) -> SSDGradients:
    """The gradients, that of x written into dx, which has the strides of x."""
    launch = Launch(x, B)
    sums, after, total = saved
    local = launch.states(dy, sums, C, False)
    # gradient of the state before each chunk
    e = launch_scan(total, local, dlast, reverse=True)
    dsums = torch.empty_like(sums[:2])
    parts = launch.parts("gradient")
    dBC = x.new_empty(2, parts, *B.shape, dtype=torch.float32)
    dskip = x.new_empty(launch.place_shape, dtype=torch.float32)
    launch.run(
        "gradient", gradient_kernel, x, sums, B, C, after, h0, skip, dy, e, dlast,
        dx, dsums, dBC, dskip, rows=(x, B),
    )  # fmt: skip
    da, dgain = x.new_empty(2, *x.shape[:3], dtype=torch.float32)
    launch.by_steps(steps_kernel, dsums, da, dgain)
    dB, dC = dBC[:, 0] if parts == 1 else dBC.sum(1)
    return SSDGradients(da, dB, dC, dgain, e[:, 0], dskip.sum((0, 1)))


class TritonSSD(torch.autograd.Function):
    """`ssd` on a CUDA device."""

    @staticmethod
    def forward(ctx, x, log_a, B, C, gain, h0, skip):
        x = rows_in_place(x)
        B = rows_in_place(B.to(x.dtype))
        C = rows_in_place(C.to(x.dtype))
        if step_stride(C) != step_stride(B):
            B, C = B.contiguous(), C.contiguous()
        log_a, gain, h0, skip = (p.contiguous() for p in (log_a, gain, h0, skip))
        y, saved = ssd_forward(x, log_a, B, C, gain, h0, skip)
        ctx.save_for_backward(x, B, C, h0, skip, *saved)
        return y, saved.after[:, -1].clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy, dlast):
        x, B, C, h0, skip, *saved = ctx.saved_tensors
        if step_stride(x) != x[0, 0].numel():  # dx is a tensor of its own
            x = x.contiguous()
        dx = torch.empty_like(x)
        g = ssd_backward(
            x, B, C, h0, skip, SSDSaved(*saved), dy.contiguous(), dlast.contiguous(), dx
        )
        return dx, g.log_a, g.B.to(B.dtype), g.C.to(C.dtype), g.gain, g.h0, g.skip

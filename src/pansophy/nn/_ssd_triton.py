"""The chunked form of `ssd.py` as Triton kernels (CUDA), forward and backward.

Passes over chunks of CHUNK steps; a program has one chunk of one row of the batch and
goes through a share of the heads, so that what all heads have in common (B, C, and
their product) is loaded once and their gradients are summed in registers:

    sums_kernel      running sums of log_a within every chunk, and the gains, head by
                     head (n, chunks, H, CHUNK), so that the others read neighbours
    state_kernel     S_k = sum_j exp(s_cj) g_j x_j B_j', and the decay of the chunk;
                     with dy, C and exp(s_i0) in their places it is the local gradient
                     of the state before the chunk
    `launch_scan`    the state after every chunk; reversed, its gradient
    output_kernel    y of eq. (2)
    gradient_kernel  all other gradients, those of log_a as ones of its running sums
    steps_kernel     gradients of log_a and of the gains, step by step

Running sums are made in float64 and kept as two float32 numbers each, as in `ssd.py`.
The gradient of the decay over a whole chunk is that of the state after it times this
state, which is what remains of every way through it.
Reads and writes: x twice and y once forward; dy twice, x and dx once backward; states
are N/CHUNK of that in float32.
"""

import torch
import triton
import triton.language as tl

from ._scan_triton import launch_scan

CHUNK_STEPS = 64
HEAD_BLOCK = 16  # heads of a program that turns steps into heads


# programs that each kernel is cut into at least: the best of 36 shapes on an H200
PROGRAMS = {"state": 8192, "output": 3072, "gradient": 1024}


@triton.jit
def sums_kernel(
    a_ptr, gain_ptr, high_ptr, low_ptr, gains_ptr, total_ptr, length, heads,
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
    tl.store(high_ptr + to, high, mask=inside)
    tl.store(low_ptr + to, low, mask=inside)
    tl.store(gains_ptr + to, gain, mask=inside)
    whole = tl.exp(tl.sum(a, axis=0).to(tl.float32))
    tl.store(total_ptr + place, whole, mask=h < heads)


@triton.jit
def steps_kernel(
    dsum_ptr, dgains_ptr, da_ptr, dgain_ptr, length, heads,
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
    dsum = tl.load(dsum_ptr + origin, mask=inside, other=0.0)
    dgain = tl.load(dgains_ptr + origin, mask=inside, other=0.0)
    here = (t < length)[:, None] & (h < heads)[None, :]
    at = (row * length + t)[:, None] * heads + h[None, :]
    tl.store(da_ptr + at, tl.cumsum(dsum, axis=0, reverse=True), mask=here)
    tl.store(dgain_ptr + at, dgain, mask=here)


@triton.jit
def state_kernel(
    x_ptr, high_ptr, low_ptr, gains_ptr, b_ptr, s_ptr, length, heads, share,
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
    B = tl.load(b_ptr + step[:, None] * N + n[None, :], mask=here[:, None], other=0.0)
    last = tl.minimum(first + share, heads)
    for h in range(first, last):
        place = (row * chunks + k) * heads + h
        high = tl.load(high_ptr + place * Q + i)
        low = tl.load(low_ptr + place * Q + i)
        if AT_END:
            high_end = tl.load(high_ptr + place * Q + Q - 1)
            low_end = tl.load(low_ptr + place * Q + Q - 1)
            w = tl.exp((high_end - high) + (low_end - low))
            w *= tl.load(gains_ptr + place * Q + i)
        else:
            w = tl.exp(high + low)
        at = (step * heads + h)[:, None] * P + p[None, :]
        x = tl.load(x_ptr + at, mask=here[:, None], other=0.0)
        weighted = (x.to(tl.float32) * w[:, None]).to(B.dtype)
        S = tl.dot(tl.trans(weighted), B, input_precision=PRECISION)
        tl.store(s_ptr + place * P * N + p[:, None] * N + n[None, :], S)


@triton.jit
def output_kernel(
    x_ptr, high_ptr, low_ptr, gains_ptr, b_ptr, c_ptr, h_ptr, h0_ptr, y_ptr,
    length, heads, share,
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
    at_n = step[:, None] * N + n[None, :]
    B = tl.load(b_ptr + at_n, mask=here[:, None], other=0.0)
    C = tl.load(c_ptr + at_n, mask=here[:, None], other=0.0)
    causal = i[:, None] >= i[None, :]
    CB = tl.where(causal, tl.dot(C, tl.trans(B), input_precision=PRECISION), 0.0)
    state = p[:, None] * N + n[None, :]
    last = tl.minimum(first + share, heads)
    for h in range(first, last):
        place = (row * chunks + k) * heads + h
        high = tl.load(high_ptr + place * Q + i)
        low = tl.load(low_ptr + place * Q + i)
        gain = tl.load(gains_ptr + place * Q + i)
        between = (high[:, None] - high[None, :]) + (low[:, None] - low[None, :])
        decay = tl.exp(tl.minimum(between, 0.0))
        at = (step * heads + h)[:, None] * P + p[None, :]
        x = tl.load(x_ptr + at, mask=here[:, None], other=0.0)
        M = (CB * decay * gain[None, :]).to(x.dtype)
        y = tl.dot(M, x, input_precision=PRECISION)
        if k == 0:
            before = tl.load(h0_ptr + (row * heads + h) * P * N + state)
        else:
            before = tl.load(h_ptr + (place - heads) * P * N + state)
        old = tl.dot(C, tl.trans(before.to(C.dtype)), input_precision=PRECISION)
        y += old * tl.exp(high + low)[:, None]
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=here[:, None])


@triton.jit
def gradient_kernel(
    x_ptr, high_ptr, low_ptr, gains_ptr, b_ptr, c_ptr, h_ptr, h0_ptr, dy_ptr, e_ptr,
    dlast_ptr, dx_ptr, dsum_ptr, dgains_ptr, db_ptr, dc_ptr, length, heads, share,
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
    at_n = step[:, None] * N + n[None, :]
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
        high = tl.load(high_ptr + place * Q + i)
        low = tl.load(low_ptr + place * Q + i)
        high_end = tl.load(high_ptr + place * Q + Q - 1)
        low_end = tl.load(low_ptr + place * Q + Q - 1)
        gain = tl.load(gains_ptr + place * Q + i)
        between = (high[:, None] - high[None, :]) + (low[:, None] - low[None, :])
        decay = tl.exp(tl.minimum(between, 0.0))
        from_start = tl.exp(high + low)
        to_end = tl.exp((high_end - high) + (low_end - low))
        at = (step * heads + h)[:, None] * P + p[None, :]
        x = tl.load(x_ptr + at, mask=here[:, None], other=0.0)
        dy = tl.load(dy_ptr + at, mask=here[:, None], other=0.0)
        if k == 0:
            before = tl.load(h0_ptr + (row * heads + h) * P * N + state)
        else:
            before = tl.load(h_ptr + (place - heads) * P * N + state)
        after = tl.load(h_ptr + place * P * N + state)
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
        tl.store(dsum_ptr + place * Q + i, dsum)
        dgain = tl.sum(dxg * x.to(tl.float32), axis=1)
        tl.store(dgains_ptr + place * Q + i, dgain)
        dx = dxg * gain[:, None]
        tl.store(dx_ptr + at, dx.to(dx_ptr.dtype.element_ty), mask=here[:, None])
    dCB = tl.where(causal, dCB, 0.0)
    dC += tl.dot(dCB.to(B.dtype), B, input_precision=PRECISION)
    dB += tl.dot(tl.trans(dCB).to(C.dtype), C, input_precision=PRECISION)
    place_n = part * rows * length * N + at_n
    tl.store(db_ptr + place_n, dB, mask=here[:, None])
    tl.store(dc_ptr + place_n, dC, mask=here[:, None])


class Launch:
    """Grids and sizes of one call."""

    def __init__(self, x, B):
        self.n, self.length, self.heads, self.P = x.shape
        self.N = B.shape[-1]
        self.chunks = triton.cdiv(self.length, CHUNK_STEPS)
        exact = x.dtype == torch.float32
        self.sizes = {
            "PRECISION": "ieee" if exact else "tf32",  # of float32 operands only
            "Q": CHUNK_STEPS,
            "P": self.P,
            "N": self.N,
        }
        self.place_shape = (self.n, self.chunks, self.heads)

    def share(self, kernel) -> int:
        """Heads of a program of this kernel."""
        parts = triton.cdiv(PROGRAMS[kernel], self.chunks * self.n)
        return triton.cdiv(self.heads, min(parts, self.heads))

    def parts(self, kernel) -> int:
        """Programs among which the heads of a chunk are shared out."""
        return triton.cdiv(self.heads, self.share(kernel))

    def run(self, kernel, function, *tensors, **options):
        """Launch one of the kernels that go through heads."""
        grid = (self.chunks, self.n, self.parts(kernel))
        function[grid](
            *tensors, self.length, self.heads, self.share(kernel),
            num_warps=4, **self.sizes, **options,
        )  # fmt: skip

    def by_steps(self, function, *tensors):
        """Launch a kernel between the layouts of steps and of heads."""
        grid = (self.chunks, self.n, triton.cdiv(self.heads, HEAD_BLOCK))
        function[grid](
            *tensors, self.length, self.heads,
            Q=CHUNK_STEPS, HEADS=HEAD_BLOCK, num_warps=4,
        )  # fmt: skip

    def sums(self, log_a, gain):
        """Running sums as two float32 parts, gains, decays of whole chunks."""
        made = log_a.new_empty(3, *self.place_shape, CHUNK_STEPS, dtype=torch.float32)
        total = log_a.new_empty(self.place_shape, dtype=torch.float32)
        self.by_steps(sums_kernel, log_a, gain, *made, total)
        return made, total

    def states(self, x, sums, B, at_end):
        """Local sums of every chunk."""
        S = x.new_empty(*self.place_shape, self.P, self.N, dtype=torch.float32)
        self.run("state", state_kernel, x, *sums, B, S, AT_END=at_end)
        return S


class TritonSSD(torch.autograd.Function):
    """`ssd` on a CUDA device."""

    @staticmethod
    def forward(ctx, x, log_a, B, C, gain, h0):
        x, log_a, B, C, gain, h0 = (
            part.contiguous()
            for part in (x, log_a, B.to(x.dtype), C.to(x.dtype), gain, h0)
        )
        launch = Launch(x, B)
        sums, total = launch.sums(log_a, gain)
        made = launch.states(x, sums, B, True)
        after = launch_scan(total, made, h0)
        y = torch.empty_like(x)
        launch.run("output", output_kernel, x, *sums, B, C, after, h0, y)
        ctx.launch = launch
        ctx.save_for_backward(x, sums, B, C, h0, after, total)
        return y, after[:, -1].clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy, dlast):
        x, sums, B, C, h0, after, total = ctx.saved_tensors
        launch = ctx.launch
        dy = dy.contiguous()
        dlast = dlast.contiguous()
        local = launch.states(dy, sums, C, False)
        # gradient of the state before each chunk
        e = launch_scan(total, local, dlast, reverse=True)
        dx = torch.empty_like(x)
        dsum, dgains = torch.empty_like(sums[:2])
        shape = (launch.parts("gradient"), *B.shape)
        dB, dC = x.new_empty(2, *shape, dtype=torch.float32)
        launch.run(
            "gradient", gradient_kernel, x, *sums, B, C, after, h0, dy, e, dlast,
            dx, dsum, dgains, dB, dC,
        )  # fmt: skip
        da, dgain = x.new_empty(2, *x.shape[:3], dtype=torch.float32)
        launch.by_steps(steps_kernel, dsum, dgains, da, dgain)
        return dx, da, dB.sum(0).to(B.dtype), dC.sum(0).to(C.dtype), dgain, e[:, 0]

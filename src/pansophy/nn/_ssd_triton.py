"""The chunked form of `ssd.py` as Triton kernels (CUDA), forward and backward.

Four kinds of passes, each over chunks of CHUNK steps; a program has one chunk of one
row of the batch and goes through a share of the heads, so that what all heads have in
common (B, C, and their product) is loaded once and their gradients are summed in
registers:

    state_kernel     S_k = sum_j exp(s_cj) g_j x_j B_j', and the decay of the chunk;
                     with dy, C and exp(s_i0) in their places it is the local gradient
                     of the state before the chunk
    `launch_scan`    the state after every chunk; reversed, its gradient
    output_kernel    y of eq. (2)
    gradient_kernel  all other gradients

Running sums of log_a are float64, as in `ssd.py`: a few hundred of them a chunk.
Reads and writes: x twice and y once forward; dy twice, x and dx once backward; states
are N/CHUNK of that in float32.
"""

import torch
import triton
import triton.language as tl

from ._scan_triton import launch_scan

CHUNK_STEPS = 64
PROGRAMS = 512  # enough to fill a large device


@triton.jit
def load_sums(a_ptr, at, mask):
    """Running sums of log_a in float64, and their last one."""
    a = tl.load(a_ptr + at, mask=mask, other=0.0).to(tl.float64)
    return tl.cumsum(a, axis=0), tl.sum(a, axis=0)


@triton.jit
def decay_tile(sums, causal):
    """exp(s_ij) for j <= i, else 0; sums as high and low float32 parts."""
    high = sums.to(tl.float32)
    low = (sums - high.to(tl.float64)).to(tl.float32)
    between = (high[:, None] - high[None, :]) + (low[:, None] - low[None, :])
    return tl.where(causal, tl.exp(tl.where(causal, between, 0.0)), 0.0)


@triton.jit
def state_kernel(
    x_ptr, a_ptr, b_ptr, gain_ptr, s_ptr, total_ptr, length, heads, share,
    AT_END: tl.constexpr, PRECISION: tl.constexpr,
    Q: tl.constexpr, P: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(0)
    row = tl.program_id(1).to(tl.int64)
    chunks = tl.num_programs(0)
    first = tl.program_id(2) * share
    t = k * Q + tl.arange(0, Q)
    here = t < length
    p = tl.arange(0, P)
    n = tl.arange(0, N)
    step = row * length + t
    B = tl.load(b_ptr + step[:, None] * N + n[None, :], mask=here[:, None], other=0.0)
    for h in range(first, tl.minimum(first + share, heads)):
        sums, total = load_sums(a_ptr, step * heads + h, here)
        if AT_END:
            w = tl.exp((total - sums).to(tl.float32))
            w *= tl.load(gain_ptr + step * heads + h, mask=here, other=0.0)
        else:
            w = tl.exp(sums.to(tl.float32))
        at = (step * heads + h)[:, None] * P + p[None, :]
        x = tl.load(x_ptr + at, mask=here[:, None], other=0.0)
        weighted = (x.to(tl.float32) * w[:, None]).to(B.dtype)
        S = tl.dot(tl.trans(weighted), B, input_precision=PRECISION)
        place = (row * chunks + k) * heads + h
        tl.store(s_ptr + place * P * N + p[:, None] * N + n[None, :], S)
        if AT_END:
            tl.store(total_ptr + place, tl.exp(total.to(tl.float32)))


@triton.jit
def output_kernel(
    x_ptr, a_ptr, b_ptr, c_ptr, gain_ptr, h_ptr, h0_ptr, y_ptr, length, heads, share,
    PRECISION: tl.constexpr, Q: tl.constexpr, P: tl.constexpr, N: tl.constexpr,
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
    CB = tl.dot(C, tl.trans(B), input_precision=PRECISION)
    causal = i[:, None] >= i[None, :]
    for h in range(first, tl.minimum(first + share, heads)):
        sums, _ = load_sums(a_ptr, step * heads + h, here)
        gain = tl.load(gain_ptr + step * heads + h, mask=here, other=0.0)
        decay = decay_tile(sums, causal)
        at = (step * heads + h)[:, None] * P + p[None, :]
        x = tl.load(x_ptr + at, mask=here[:, None], other=0.0)
        M = (CB * decay * gain[None, :]).to(x.dtype)
        y = tl.dot(M, x, input_precision=PRECISION)
        state = p[:, None] * N + n[None, :]
        if k == 0:
            before = tl.load(h0_ptr + (row * heads + h) * P * N + state)
        else:
            place = (row * chunks + k - 1) * heads + h
            before = tl.load(h_ptr + place * P * N + state)
        old = tl.dot(C, tl.trans(before.to(C.dtype)), input_precision=PRECISION)
        y += old * tl.exp(sums.to(tl.float32))[:, None]
        tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=here[:, None])


@triton.jit
def gradient_kernel(
    x_ptr, a_ptr, b_ptr, c_ptr, gain_ptr, h_ptr, h0_ptr, dy_ptr, e_ptr, dlast_ptr,
    dx_ptr, da_ptr, dgain_ptr, db_ptr, dc_ptr, length, heads, share,
    PRECISION: tl.constexpr, Q: tl.constexpr, P: tl.constexpr, N: tl.constexpr,
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
    CB = tl.dot(C, tl.trans(B), input_precision=PRECISION)
    causal = i[:, None] >= i[None, :]
    end = i == Q - 1
    dCB = tl.zeros((Q, Q), tl.float32)
    dB = tl.zeros((Q, N), tl.float32)
    dC = tl.zeros((Q, N), tl.float32)
    first = tl.program_id(2) * share
    for h in range(first, tl.minimum(first + share, heads)):
        at_h = step * heads + h
        sums, total = load_sums(a_ptr, at_h, here)
        gain = tl.load(gain_ptr + at_h, mask=here, other=0.0)
        decay = decay_tile(sums, causal)
        from_start = tl.exp(sums.to(tl.float32))
        to_end = tl.exp((total - sums).to(tl.float32))
        at = at_h[:, None] * P + p[None, :]
        x = tl.load(x_ptr + at, mask=here[:, None], other=0.0)
        dy = tl.load(dy_ptr + at, mask=here[:, None], other=0.0)
        state = p[:, None] * N + n[None, :]
        if k == 0:
            before = tl.load(h0_ptr + (row * heads + h) * P * N + state)
        else:
            place = (row * chunks + k - 1) * heads + h
            before = tl.load(h_ptr + place * P * N + state)
        if k == chunks - 1:
            dafter = tl.load(dlast_ptr + (row * heads + h) * P * N + state)
        else:
            place = (row * chunks + k + 1) * heads + h
            dafter = tl.load(e_ptr + place * P * N + state)
        # inside the chunk
        W = tl.dot(dy, tl.trans(x), input_precision=PRECISION) * decay
        dCB += W * gain[None, :]
        T = W * CB * gain[None, :]
        dsum = tl.sum(T, axis=1) - tl.sum(T, axis=0)
        M = (CB * decay).to(dy.dtype)
        dxg = tl.dot(tl.trans(M), dy, input_precision=PRECISION)
        # through the state after the chunk
        pushed = tl.dot(B, tl.trans(dafter.to(B.dtype)), input_precision=PRECISION)
        dxg += pushed * to_end[:, None]
        weighted = (x.to(tl.float32) * (to_end * gain)[:, None]).to(x.dtype)
        dB_h = tl.dot(weighted, dafter.to(x.dtype), input_precision=PRECISION)
        dB += dB_h
        s = tl.sum(dB_h * B.to(tl.float32), axis=1)
        # through the state before it
        faded = (dy.to(tl.float32) * from_start[:, None]).to(dy.dtype)
        dC_h = tl.dot(faded, before.to(dy.dtype), input_precision=PRECISION)
        dC += dC_h
        dsum += tl.sum(dC_h * C.to(tl.float32), axis=1) - s
        whole = tl.exp(total.to(tl.float32)) * tl.sum(tl.sum(before * dafter, 1), 0)
        dsum += tl.where(end, tl.sum(s, axis=0) + whole, 0.0)
        tl.store(da_ptr + at_h, tl.cumsum(dsum, axis=0, reverse=True), mask=here)
        dgain = tl.sum(dxg * x.to(tl.float32), axis=1)
        tl.store(dgain_ptr + at_h, dgain, mask=here)
        dx = dxg * gain[:, None]
        tl.store(dx_ptr + at, dx.to(dx_ptr.dtype.element_ty), mask=here[:, None])
    dC += tl.dot(dCB.to(B.dtype), B, input_precision=PRECISION)
    dB += tl.dot(tl.trans(dCB).to(C.dtype), C, input_precision=PRECISION)
    place_n = part * rows * length * N + at_n
    tl.store(db_ptr + place_n, dB, mask=here[:, None])
    tl.store(dc_ptr + place_n, dC, mask=here[:, None])


class Launch:
    """Grid and sizes of one call."""

    def __init__(self, x, B):
        self.n, self.length, self.heads, self.P = x.shape
        self.N = B.shape[-1]
        self.chunks = triton.cdiv(self.length, CHUNK_STEPS)
        wanted = triton.cdiv(PROGRAMS, self.chunks * self.n)
        self.share = triton.cdiv(self.heads, min(max(wanted, 1), self.heads))
        self.parts = triton.cdiv(self.heads, self.share)
        self.grid = (self.chunks, self.n, self.parts)
        exact = x.dtype == torch.float32
        self.sizes = {
            "PRECISION": "ieee" if exact else "tf32",  # of float32 operands only
            "Q": CHUNK_STEPS,
            "P": self.P,
            "N": self.N,
            "num_warps": 4,
        }
        self.state_shape = (self.n, self.chunks, self.heads, self.P, self.N)

    def states(self, x, log_a, B, gain, at_end):
        """Local sums of every chunk, and its decay if `at_end`."""
        S = torch.empty(self.state_shape, dtype=torch.float32, device=x.device)
        total = torch.empty(self.state_shape[:3], dtype=torch.float32, device=x.device)
        state_kernel[self.grid](
            x, log_a, B, gain, S, total, self.length, self.heads, self.share,
            AT_END=at_end, **self.sizes,
        )  # fmt: skip
        return S, total


class TritonSSD(torch.autograd.Function):
    """`ssd` on a CUDA device."""

    @staticmethod
    def forward(ctx, x, log_a, B, C, gain, h0):
        x, log_a, B, C, gain, h0 = (
            part.contiguous()
            for part in (x, log_a, B.to(x.dtype), C.to(x.dtype), gain, h0)
        )
        launch = Launch(x, B)
        made, total = launch.states(x, log_a, B, gain, True)
        after = launch_scan(total, made, h0)
        y = torch.empty_like(x)
        output_kernel[launch.grid](
            x, log_a, B, C, gain, after, h0, y, launch.length, launch.heads,
            launch.share, **launch.sizes,
        )  # fmt: skip
        ctx.launch = launch
        ctx.save_for_backward(x, log_a, B, C, gain, h0, after, total)
        return y, after[:, -1].clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy, dlast):
        x, log_a, B, C, gain, h0, after, total = ctx.saved_tensors
        launch = ctx.launch
        dy = dy.contiguous()
        dlast = dlast.contiguous()
        local, _ = launch.states(dy, log_a, C, gain, False)
        # gradient of the state before each chunk
        e = launch_scan(total, local, dlast, reverse=True)
        dx = torch.empty_like(x)
        da = torch.empty_like(log_a)
        dgain = torch.empty_like(gain)
        shape = (launch.parts, *B.shape)
        dB = torch.empty(shape, dtype=torch.float32, device=x.device)
        dC = torch.empty_like(dB)
        gradient_kernel[launch.grid](
            x, log_a, B, C, gain, after, h0, dy, e, dlast, dx, da, dgain, dB, dC,
            launch.length, launch.heads, launch.share,
            **{**launch.sizes, "num_warps": 8},
        )  # fmt: skip
        return dx, da, dB.sum(0).to(B.dtype), dC.sum(0).to(C.dtype), dgain, e[:, 0]

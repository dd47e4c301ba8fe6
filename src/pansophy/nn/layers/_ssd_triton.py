"""The chunked form of `ssd.py` as Triton kernels (CUDA), forward and backward.

    sums_kernel      running sums of log_a within every chunk of Q steps, and the gains,
                     head by head (n, chunks, H, Q), so that the others read neighbours
    states_kernel    the state before every chunk by eq. (3) of `nn.ssd`. A program has
                     some rows of the state of one head and goes through the chunks in
                     order, with the state in registers. With dy and C in the places of
                     x and B, in reverse, it makes the gradient of the state after every
                     chunk
    output_kernel    y of eq. (2), and the skip D x
    gradient_kernel  all other gradients
    steps_kernel     gradients of log_a and of the gains, step by step

A program of output_kernel and gradient_kernel has one chunk of one row of the batch and
goes through a share of the heads, so that B and C are loaded once and their gradients
are summed in registers.

The gradient of log_a_t is made of four kinds of ways through step t: from a step j < t
of the chunk to a step i >= t of it; from the state before the chunk to i; from j to the
state after it; and from the state before it to the one after it. With W_ji, the rounded
(x_j' dy_i) exp(s_ij), the gradients of C and B inside the chunk are W' (g B) and W C,
and the first kind is the reversed running sum of C_i' dC_i - (g_i B_i)' dB_i: what does
not cross t cancels, since both sides have the same W and the same rounded g B. The
other kinds are sums without cancellation. No sums over rows or columns of a matrix
Q x Q are needed.

Gains and decays of one step are multiplied into B and C, which are narrow. Running sums
of log_a / log 2 are made in float64; for float32 input they are kept as two float32
numbers each, as in `nn.ssd`. A step of log_a < -200 counts as -200, whose exponential
is 0 in float32.

Bytes, in multiples of those of x, for bfloat16 and N/Q = 1/4: forward x twice, y once,
states (1/4 each) written and read, 3.5; backward dy twice, x and dx once, three times
states, 4.75.

Parameters of the kernels, in this order
    tensors   those of eq. (1); `sums` holds (planes, n, chunks, H, Q): running sums,
              gains and, if EXACT, low parts of the sums; `before` the state before
              every chunk, `dafter` the gradient of the state after it; a `d` in front
              is a gradient
    sizes     length, heads, share (heads of a program)
    rows      x_row, b_row: numbers between a step of x (of B and C) and the next, so
              that x, B and C may be columns of one tensor; y and dy are whole tensors
    constants EXACT: float32 input; PRECISION of its products; SKIP: whether D is given;
              STAGES of loads ahead of their use; Q, P, N
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl

HEAD_BLOCK = 16  # heads of a program that turns steps into heads
LEAST_LOG_A = tl.constexpr(-200.0)
LOG2_E = tl.constexpr(1.4426950408889634)


class Cut(NamedTuple):
    """Launch settings of one kernel."""

    programs: int  # at least, as far as there are heads (or rows of states) to share
    warps: int = 4
    stages: int = 2
    registers: int | None = None  # most of a thread; None: as the compiler likes


class Tiling(NamedTuple):
    """Tiling of the kernels; `benchmarks.studies.gpu_state_space tune` searches it."""

    chunk: int  # Q
    states: Cut
    output: Cut
    gradient: Cut


HALF_TILING = Tiling(64, Cut(192, 4, 6), Cut(1024, 4, 3, 128), Cut(1024, 4, 3))
TILINGS = {
    torch.float32: Tiling(32, Cut(256, 4, 3), Cut(3072, 4, 1), Cut(3072, 4, 1)),
    torch.bfloat16: HALF_TILING,
    torch.float16: HALF_TILING,
}
# products of float32 numbers: three of tensor cores' 11-bit parts have 22 bits; the
# kernel of gradients compiled so needs more registers than there are (Triton 3.6)
FLOAT32_PRODUCTS = {"states": "tf32x3", "output": "tf32x3", "gradient": "ieee"}


# tensors (Q, P) and (P, N) that a round of a kernel's loop loads
LOADED = {"states": (1, 0), "output": (1, 1), "gradient": (2, 2)}
STAGED_BYTES = 100_000  # of shared memory; the rest is for operands of products


@triton.jit
def sums_kernel(
    a_ptr, gain_ptr, sums_ptr, length, heads,
    EXACT: tl.constexpr, Q: tl.constexpr, HEADS: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(0)
    row = tl.program_id(1).to(tl.int64)
    h = tl.program_id(2) * HEADS + tl.arange(0, HEADS)
    i = tl.arange(0, Q)
    t = k * Q + i
    is_valid = (t < length)[:, None] & (h < heads)[None, :]
    offsets = (row * length + t)[:, None] * heads + h[None, :]
    a = tl.load(a_ptr + offsets, mask=is_valid, other=0.0)
    gain = tl.load(gain_ptr + offsets, mask=is_valid, other=0.0)
    a = tl.maximum(a, LEAST_LOG_A).to(tl.float64) * LOG2_E
    sums = tl.cumsum(a, axis=0)
    high = sums.to(tl.float32)
    place = (row * tl.num_programs(0) + k) * heads + h
    inside = (h < heads)[None, :] & (i >= 0)[:, None]
    targets = place[None, :] * Q + i[:, None]
    plane = tl.num_programs(1).to(tl.int64) * tl.num_programs(0) * heads * Q
    tl.store(sums_ptr + targets, high, mask=inside)
    tl.store(sums_ptr + plane + targets, gain, mask=inside)
    if EXACT:
        low = (sums - high.to(tl.float64)).to(tl.float32)
        tl.store(sums_ptr + 2 * plane + targets, low, mask=inside)


@triton.jit
def steps_kernel(
    dsums_ptr, through_ptr, da_ptr, dgain_ptr, dskip_ptr, length, heads,
    SKIP: tl.constexpr, Q: tl.constexpr, P: tl.constexpr, HEADS: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(0)
    row = tl.program_id(1).to(tl.int64)
    h = tl.program_id(2) * HEADS + tl.arange(0, HEADS)
    i = tl.arange(0, Q)
    p = tl.arange(0, P)
    t = k * Q + i
    inside = (h < heads)[None, :] & (i >= 0)[:, None]
    place = (row * tl.num_programs(0) + k) * heads + h
    origin = place[None, :] * Q + i[:, None]
    plane = tl.num_programs(1).to(tl.int64) * tl.num_programs(0) * heads * Q
    crossed = tl.load(dsums_ptr + origin, mask=inside, other=0.0)
    dgain = tl.load(dsums_ptr + plane + origin, mask=inside, other=0.0)
    left = tl.load(dsums_ptr + 2 * plane + origin, mask=inside, other=0.0)
    at_p = place[None, :] * P + p[:, None]
    passed_on = tl.load(through_ptr + at_p, mask=(h < heads)[None, :], other=0.0)
    to_after = tl.sum(left, axis=0) + tl.sum(passed_on, axis=0)
    da = tl.cumsum(crossed, axis=0, reverse=True) + to_after[None, :]
    is_valid = (t < length)[:, None] & (h < heads)[None, :]
    offsets = (row * length + t)[:, None] * heads + h[None, :]
    tl.store(da_ptr + offsets, da, mask=is_valid)
    tl.store(dgain_ptr + offsets, dgain, mask=is_valid)
    if SKIP:
        direct = tl.load(dsums_ptr + 3 * plane + origin, mask=inside, other=0.0)
        tl.store(dskip_ptr + place, tl.sum(direct, axis=0), mask=h < heads)


@triton.jit
def states_kernel(
    x_ptr, sums_ptr, b_ptr, first_ptr, states_ptr, last_ptr,
    length, heads, chunks, x_row, b_row,
    REVERSE: tl.constexpr, EXACT: tl.constexpr, PRECISION: tl.constexpr,
    STAGES: tl.constexpr, ROWS: tl.constexpr,
    Q: tl.constexpr, P: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    p = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    h = tl.program_id(1)
    row = tl.program_id(2).to(tl.int64)
    n = tl.arange(0, N)
    i = tl.arange(0, Q)
    at_state = p[:, None] * N + n[None, :]
    plane = tl.num_programs(2).to(tl.int64) * chunks * heads * Q
    head = (row * heads + h) * P * N + at_state
    S = tl.load(first_ptr + head).to(tl.float32)
    for step in tl.range(0, chunks, num_stages=STAGES):
        k = chunks - 1 - step if REVERSE else step
        t = k * Q + i
        is_valid = (t < length)[:, None]
        steps = row * length + t
        place = (row * chunks + k) * heads + h
        sums = sums_ptr + place * Q
        x = tl.load(
            x_ptr + steps[:, None] * x_row + (h * P + p)[None, :],
            mask=is_valid,
            other=0.0,
        )
        B = tl.load(
            b_ptr + steps[:, None] * b_row + n[None, :], mask=is_valid, other=0.0
        )
        s = tl.load(sums + i)
        end = tl.load(sums + Q - 1)
        chunk_decay = tl.exp2(end)
        if REVERSE:
            if EXACT:
                s += tl.load(sums + 2 * plane + i)
            w = tl.exp2(s)
        else:
            s = end - s
            if EXACT:
                s += tl.load(sums + 2 * plane + Q - 1) - tl.load(sums + 2 * plane + i)
            w = tl.exp2(s) * tl.load(sums + plane + i)
        targets = states_ptr + place * P * N + at_state
        tl.store(targets, S.to(states_ptr.dtype.element_ty))
        weighted = (B.to(tl.float32) * w[:, None]).to(x.dtype)
        S = tl.dot(tl.trans(x), weighted, S * chunk_decay, input_precision=PRECISION)
    tl.store(last_ptr + head, S)


@triton.jit
def output_kernel(
    x_ptr, sums_ptr, b_ptr, c_ptr, before_ptr, skip_ptr, y_ptr,
    length, heads, share, x_row, b_row,
    EXACT: tl.constexpr, PRECISION: tl.constexpr, SKIP: tl.constexpr,
    STAGES: tl.constexpr, Q: tl.constexpr, P: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    k = tl.program_id(0)
    row = tl.program_id(1).to(tl.int64)
    chunks = tl.num_programs(0)
    first = tl.program_id(2) * share
    i = tl.arange(0, Q)
    t = k * Q + i
    is_valid = (t < length)[:, None]
    p = tl.arange(0, P)
    n = tl.arange(0, N)
    step = row * length + t
    at_n = step[:, None] * b_row + n[None, :]
    plane = tl.num_programs(1).to(tl.int64) * chunks * heads * Q
    B = tl.load(b_ptr + at_n, mask=is_valid, other=0.0)
    C = tl.load(c_ptr + at_n, mask=is_valid, other=0.0)
    causal = i[:, None] >= i[None, :]
    is_diagonal = i[:, None] == i[None, :]
    state = p[:, None] * N + n[None, :]
    at_x = step[:, None] * x_row + p[None, :]
    at_y = step[:, None] * (heads * P) + p[None, :]
    last = tl.minimum(first + share, heads)
    for h in tl.range(first, last, num_stages=STAGES):
        place = (row * chunks + k) * heads + h
        sums = sums_ptr + place * Q
        x = tl.load(x_ptr + h * P + at_x, mask=is_valid, other=0.0)
        S_before = tl.load(before_ptr + place * P * N + state)
        s = tl.load(sums + i)
        gain = tl.load(sums + plane + i)
        differences = s[:, None] - s[None, :]
        if EXACT:
            low = tl.load(sums + 2 * plane + i)
            differences += low[:, None] - low[None, :]
            s += low
        gB = (B.to(tl.float32) * gain[:, None]).to(x.dtype)
        M = tl.dot(C, tl.trans(gB), input_precision=PRECISION)
        M *= tl.exp2(tl.where(causal, differences, float("-inf")))
        if SKIP:
            M += tl.where(is_diagonal, tl.load(skip_ptr + h), 0.0)
        faded = (C.to(tl.float32) * tl.exp2(s)[:, None]).to(x.dtype)
        y = tl.dot(faded, tl.trans(S_before), input_precision=PRECISION)
        y = tl.dot(M.to(x.dtype), x, y, input_precision=PRECISION)
        tl.store(y_ptr + h * P + at_y, y.to(y_ptr.dtype.element_ty), mask=is_valid)


@triton.jit
def gradient_kernel(
    x_ptr, sums_ptr, b_ptr, c_ptr, before_ptr, skip_ptr, dy_ptr, dafter_ptr,
    dx_ptr, dsums_ptr, through_ptr, dbc_ptr,
    length, heads, share, x_row, b_row,
    EXACT: tl.constexpr, PRECISION: tl.constexpr, SKIP: tl.constexpr,
    STAGES: tl.constexpr, Q: tl.constexpr, P: tl.constexpr, N: tl.constexpr,
):  # fmt: skip
    """Matrices Q x Q have a row for every j and a column for every i >= j."""
    k = tl.program_id(0)
    row = tl.program_id(1).to(tl.int64)
    part = tl.program_id(2).to(tl.int64)
    chunks = tl.num_programs(0)
    rows = tl.num_programs(1)
    i = tl.arange(0, Q)
    t = k * Q + i
    is_valid = (t < length)[:, None]
    p = tl.arange(0, P)
    n = tl.arange(0, N)
    step = row * length + t
    at_n = step[:, None] * b_row + n[None, :]
    plane = tl.num_programs(1).to(tl.int64) * chunks * heads * Q
    B = tl.load(b_ptr + at_n, mask=is_valid, other=0.0)
    C = tl.load(c_ptr + at_n, mask=is_valid, other=0.0)
    causal = i[:, None] <= i[None, :]
    is_diagonal = i[:, None] == i[None, :]
    dB = tl.zeros((Q, N), tl.float32)
    dC = tl.zeros((Q, N), tl.float32)
    state = p[:, None] * N + n[None, :]
    at_x = step[:, None] * x_row + p[None, :]
    at_y = step[:, None] * (heads * P) + p[None, :]
    first = tl.program_id(2) * share
    last = tl.minimum(first + share, heads)
    for h in tl.range(first, last, num_stages=STAGES):
        place = (row * chunks + k) * heads + h
        sums = sums_ptr + place * Q
        dsums = dsums_ptr + place * Q
        x = tl.load(x_ptr + h * P + at_x, mask=is_valid, other=0.0)
        dy = tl.load(dy_ptr + h * P + at_y, mask=is_valid, other=0.0)
        S_before = tl.load(before_ptr + place * P * N + state)
        dafter = tl.load(dafter_ptr + place * P * N + state)
        s = tl.load(sums + i)
        end = tl.load(sums + Q - 1)
        gain = tl.load(sums + plane + i)
        differences = s[None, :] - s[:, None]
        to_end = end - s
        if EXACT:
            low = tl.load(sums + 2 * plane + i)
            low_end = tl.load(sums + 2 * plane + Q - 1)
            differences += low[None, :] - low[:, None]
            to_end += low_end - low
            s += low
        decay = tl.exp2(tl.where(causal, differences, float("-inf")))
        to_end = tl.exp2(to_end)
        passed_on = tl.sum(S_before.to(tl.float32) * dafter.to(tl.float32), axis=1)
        tl.store(through_ptr + place * P + p, passed_on * tl.exp2(end))
        gB = (B.to(tl.float32) * gain[:, None]).to(x.dtype)
        # x: from later steps of the chunk, and from the state after it
        M = decay * tl.dot(gB, tl.trans(C), input_precision=PRECISION)
        if SKIP:
            M += tl.where(is_diagonal, tl.load(skip_ptr + h), 0.0)
        dx = tl.dot(M.to(x.dtype), dy, input_precision=PRECISION)
        pushed = (B.to(tl.float32) * (to_end * gain)[:, None]).to(x.dtype)
        dx = tl.dot(pushed, tl.trans(dafter), dx, input_precision=PRECISION)
        tl.store(dx_ptr + h * P + at_x, dx.to(dx_ptr.dtype.element_ty), mask=is_valid)
        # B and C: the same rounded W on both sides, so that what does not cross a
        # step cancels in the gradient of its decay
        G = tl.dot(x, tl.trans(dy), input_precision=PRECISION)
        if SKIP:
            direct = tl.sum(tl.where(is_diagonal, G, 0.0), axis=1)
            tl.store(dsums + 3 * plane + i, direct)
        W = (G * decay).to(x.dtype)
        dB_h = tl.dot(x, dafter, input_precision=PRECISION) * to_end[:, None]
        left = tl.sum(dB_h * gB.to(tl.float32), axis=1)
        tl.store(dsums + 2 * plane + i, left)
        dB_h = tl.dot(W, C, dB_h, input_precision=PRECISION)
        dC_h = tl.dot(dy, S_before, input_precision=PRECISION) * tl.exp2(s)[:, None]
        dC_h = tl.dot(tl.trans(W), gB, dC_h, input_precision=PRECISION)
        crossed = tl.sum(dC_h * C.to(tl.float32) - dB_h * gB.to(tl.float32), axis=1)
        tl.store(dsums + i, crossed)
        tl.store(dsums + plane + i, tl.sum(dB_h * B.to(tl.float32), axis=1))
        dB += dB_h * gain[:, None]
        dC += dC_h
    place_n = (part * rows * length + step)[:, None] * N + n[None, :]
    parts = tl.num_programs(2)
    tl.store(dbc_ptr + place_n, dB, mask=is_valid)
    tl.store(dbc_ptr + parts * rows * length * N + place_n, dC, mask=is_valid)


def _step_stride(x):
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


def _rows_in_place(x):
    """x itself where the kernels can read it in place, else a copy."""
    return x.contiguous() if _step_stride(x) is None else x


class Launch:
    """Grids and sizes of one call."""

    def __init__(self, x, B):
        self.n, self.length, self.heads, self.P = x.shape
        self.N = B.shape[-1]
        self.tiling = TILINGS[x.dtype]
        self.Q = self.tiling.chunk
        self.chunks = triton.cdiv(self.length, self.Q)
        self.exact = x.dtype == torch.float32
        self.place_shape = (self.n, self.chunks, self.heads)

    def share(self, kernel) -> int:
        """Heads of a program of this kernel."""
        parts = triton.cdiv(getattr(self.tiling, kernel).programs, self.chunks * self.n)
        return triton.cdiv(self.heads, min(parts, self.heads))

    def parts(self, kernel) -> int:
        """Programs among which the heads of a chunk are shared out."""
        return triton.cdiv(self.heads, self.share(kernel))

    def stages(self, kernel) -> int:
        """Loads ahead of their use, as many as shared memory has room for."""
        sequences, states = LOADED[kernel]
        entries = sequences * self.Q * self.P + states * self.P * self.N
        room = STAGED_BYTES // (entries * (4 if self.exact else 2))
        return max(1, min(getattr(self.tiling, kernel).stages, room))

    def options(self, kernel) -> dict:
        """Constants of a kernel of products."""
        cut = getattr(self.tiling, kernel)
        result = {
            "EXACT": self.exact, "Q": self.Q, "P": self.P, "N": self.N,
            "PRECISION": FLOAT32_PRODUCTS[kernel] if self.exact else "tf32",
            "STAGES": self.stages(kernel), "num_warps": cut.warps,
        }  # fmt: skip
        if cut.registers is not None:
            result["maxnreg"] = cut.registers
        return result

    def over_heads(self, kernel, function, *tensors, rows, skip):
        """Launch a kernel that goes through heads; `rows` are x and B."""
        function[(self.chunks, self.n, self.parts(kernel))](
            *tensors, self.length, self.heads, self.share(kernel),
            *map(_step_stride, rows), SKIP=skip, **self.options(kernel),
        )  # fmt: skip

    def by_steps(self, function, *tensors, **options):
        """Launch a kernel between the layouts of steps and of heads."""
        grid = (self.chunks, self.n, triton.cdiv(self.heads, HEAD_BLOCK))
        function[grid](
            *tensors, self.length, self.heads,
            Q=self.Q, HEADS=HEAD_BLOCK, num_warps=4, **options,
        )  # fmt: skip

    def sums(self, log_a, gain):
        """Running sums and gains; low parts of the sums for float32 input."""
        planes = 3 if self.exact else 2
        sums = log_a.new_empty(planes, *self.place_shape, self.Q, dtype=torch.float32)
        self.by_steps(sums_kernel, log_a, gain, sums, EXACT=self.exact)
        return sums

    def states(self, x, sums, B, first, *, reverse):
        """State before every chunk, beginning with `first`, and the last one.

        In reverse it is the state after every chunk, and the one before all.
        """
        states = x.new_empty(*self.place_shape, self.P, self.N)
        last = torch.empty_like(first)
        rows = self.P
        blocks = self.tiling.states.programs // (self.n * self.heads)
        while rows > 16 and (self.P // rows < blocks or rows * self.N > 4096):
            rows //= 2
        states_kernel[(self.P // rows, self.heads, self.n)](
            x, sums, B, first, states, last, self.length, self.heads, self.chunks,
            _step_stride(x), _step_stride(B), REVERSE=reverse, ROWS=rows,
            **self.options("states"),
        )  # fmt: skip
        return states, last


class SSDSaved(NamedTuple):
    """Tensors that the backward pass needs beside the input."""

    sums: torch.Tensor
    before: torch.Tensor


class SSDOutput(NamedTuple):
    """Result of `ssd_forward`."""

    y: torch.Tensor
    last: torch.Tensor
    saved: SSDSaved


def ssd_forward(x, log_a, B, C, gain, h0, skip) -> SSDOutput:
    """y (n, L, H, P), the state after the last step, and what `ssd_backward` needs.

    x, B and C may be columns of a tensor (see `_step_stride`), all others are whole.
    The skip is a tensor (H,) or None.
    """
    launch = Launch(x, B)
    sums = launch.sums(log_a, gain)
    states, last = launch.states(x, sums, B, h0, reverse=False)
    y = x.new_empty(x.shape)
    launch.over_heads(
        "output", output_kernel, x, sums, B, C, states, skip, y,
        rows=(x, B), skip=skip is not None,
    )  # fmt: skip
    return SSDOutput(y, last, SSDSaved(sums, states))


class SSDGradients(NamedTuple):
    """Derivatives of a loss in what `ssd_forward` takes."""

    log_a: torch.Tensor
    B: torch.Tensor  # float32
    C: torch.Tensor
    gain: torch.Tensor
    h0: torch.Tensor
    skip: torch.Tensor | None


def ssd_backward(x, B, C, skip, saved, dy, dlast, dx) -> SSDGradients:
    """The gradients, that of x written into dx, which has the strides of x."""
    launch = Launch(x, B)
    sums, states = saved
    has_skip = skip is not None
    dafter, dh0 = launch.states(dy, sums, C, dlast, reverse=True)
    dsums = sums.new_empty(4 if has_skip else 3, *sums.shape[1:])
    passed_on = sums.new_empty(*launch.place_shape, launch.P)
    parts = launch.parts("gradient")
    dBC = sums.new_empty(2, parts, *B.shape)
    launch.over_heads(
        "gradient", gradient_kernel, x, sums, B, C, states, skip, dy, dafter,
        dx, dsums, passed_on, dBC, rows=(x, B), skip=has_skip,
    )  # fmt: skip
    da, dgain = sums.new_empty(2, *x.shape[:3])
    dskip = sums.new_empty(launch.place_shape) if has_skip else None
    launch.by_steps(
        steps_kernel, dsums, passed_on, da, dgain, dskip, SKIP=has_skip, P=launch.P
    )
    dB, dC = dBC[:, 0] if parts == 1 else dBC.sum(1)
    return SSDGradients(
        da, dB, dC, dgain, dh0, None if dskip is None else dskip.sum((0, 1))
    )


class TritonSSD(torch.autograd.Function):
    """`ssd` on a CUDA device, of (x, log_a, B, C, gain, h0, skip)."""

    @staticmethod
    def forward(ctx, x, log_a, B, C, gain, h0, skip):
        x = _rows_in_place(x)
        B = _rows_in_place(B.to(x.dtype))
        C = _rows_in_place(C.to(x.dtype))
        if _step_stride(C) != _step_stride(B):
            B, C = B.contiguous(), C.contiguous()
        log_a, gain, h0 = (p.contiguous() for p in (log_a, gain, h0))
        y, last, saved = ssd_forward(x, log_a, B, C, gain, h0, skip)
        ctx.save_for_backward(x, B, C, skip, *saved)
        return y, last

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy, dlast):
        x, B, C, skip, *saved = ctx.saved_tensors
        if _step_stride(x) != x[0, 0].numel():  # dx is a tensor of its own
            x = x.contiguous()
        dx = torch.empty_like(x)
        g = ssd_backward(
            x, B, C, skip, SSDSaved(*saved), dy.contiguous(), dlast.contiguous(), dx
        )
        return dx, g.log_a, g.B.to(B.dtype), g.C.to(C.dtype), g.gain, g.h0, g.skip

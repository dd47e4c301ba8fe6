"""The scan of `scan.py` as a Triton kernel (CUDA).

A program owns a block of channels of one row of the batch and walks through time in
blocks, inside which Triton's associative scan runs in parallel; the state at the end
of a block goes to the next in registers. Each number is read once and written once.
A factor may be shared by `repeat` neighbouring channels.
"""

import torch
import triton
import triton.language as tl

TIME, CHANNELS = 64, 32


@triton.jit
def _compose_pairs(a, b, c, d):
    """(a, b) then (c, d)."""
    return a * c, b * c + d


@triton.jit
def _scan_kernel(
    a_ptr, b_ptr, h0_ptr, h_ptr, length, channels, repeat,
    REVERSE: tl.constexpr, TIME: tl.constexpr, CHANNELS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(1).to(tl.int64)
    d = tl.program_id(0) * CHANNELS + tl.arange(0, CHANNELS)
    inside = d < channels
    state = tl.load(h0_ptr + row * channels + d, mask=inside, other=0.0)
    steps = tl.arange(0, TIME)
    last = (steps == TIME - 1)[:, None]
    factors = channels // repeat
    for start in range(0, length, TIME):
        t = start + steps
        mask = (t < length)[:, None] & inside[None, :]
        if REVERSE:
            t = length - 1 - t
        offsets = row * length + t[:, None]
        a = tl.load(
            a_ptr + offsets * factors + (d // repeat)[None, :], mask=mask, other=1.0
        )
        b = tl.load(b_ptr + offsets * channels + d[None, :], mask=mask, other=0.0)
        A, g = tl.associative_scan((a, b), 0, _compose_pairs)
        h = g + A * state[None, :]
        tl.store(h_ptr + offsets * channels + d[None, :], h, mask=mask)
        state = tl.sum(tl.where(last, h, 0.0), axis=0)


def launch_scan(a, b, h0, *, reverse=False):
    """States for float32 b (n, L, ...) and h0 (n, ...).

    a has the shape of b, or its first dimensions: one factor for all that follow.
    """
    n, length = b.shape[:2]
    a, b = a.contiguous(), b.contiguous()
    h0 = h0.contiguous()
    h = torch.empty_like(b)
    channels = b[0, 0].numel()
    repeat = channels // a[0, 0].numel()
    grid = (triton.cdiv(channels, CHANNELS), n)
    _scan_kernel[grid](
        a, b, h0, h, length, channels, repeat,
        REVERSE=reverse, TIME=TIME, CHANNELS=CHANNELS, num_warps=4,
    )  # fmt: skip
    return h

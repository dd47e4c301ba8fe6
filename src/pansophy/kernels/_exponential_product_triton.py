"""exp(A B^T) V in one Triton kernel (CUDA): the matrix is never stored.

A program has some rows of A and a share of the rows of B. It goes through these by
tiles, whose entries live in registers: a product with the rows of A, its exponential,
and the product of that with the rows of V. Shares are partial sums, added afterwards in
a fixed order. For float32, A carries the factor 1 / log 2, so that exp is a power of 2.

Bytes are those of A, B and V times the number of row blocks, served by the caches; the
time is that of 2 n m (d + k) multiplications and additions and n m exponentials.

Shapes    A (n, d)   B (m, d)   V (m, k); d and k are filled up to powers of two
"""

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl

LARGEST_WIDTH = 64  # columns of A; wider ones do better by large matrix products
MOST_COLUMNS = 64  # columns of V; more of them make storing tiles worth while
PROGRAMS = 4096  # at least, as far as there are rows to share out
TILES_OF_A_SHARE = 8  # at least
LEAST = 16  # sides of the tiles of a product


class Tile(NamedTuple):
    """Rows of A and of B that meet at a time, and the warps that share them."""

    height: int
    width: int
    warps: int


# others run out of registers for wide A and V and are many times slower there
TILES = {torch.float32: Tile(128, 64, 8), torch.float64: Tile(64, 32, 4)}


@triton.jit(do_not_specialize=["n", "m", "shares", "tiles"])
def _product_kernel(
    a_ptr, b_ptr, v_ptr, out_ptr, n, m, shares, tiles,
    D: tl.constexpr, K: tl.constexpr, HEIGHT: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * HEIGHT + tl.arange(0, HEIGHT)
    share = (tiles + shares - 1) // shares
    first = tl.program_id(1) * share
    last = tl.minimum(first + share, tiles)
    d = tl.arange(0, D)
    k = tl.arange(0, K)
    number = a_ptr.dtype.element_ty
    a = tl.load(a_ptr + i[:, None] * D + d[None, :], mask=(i < n)[:, None], other=0.0)
    if K == 1:
        out = tl.zeros((HEIGHT,), number)
    else:
        out = tl.zeros((HEIGHT, K), number)
    for tile in range(first, last):
        j = tile * WIDTH + tl.arange(0, WIDTH)
        inside = j < m
        b = tl.load(b_ptr + d[:, None] * (tiles * WIDTH) + j[None, :])
        exponent = tl.dot(a, b, input_precision="ieee", out_dtype=number)
        if number == tl.float32:
            entries = tl.exp2(exponent)
        else:
            entries = tl.exp(exponent)
        if K == 1:
            v = tl.load(v_ptr + j, mask=inside, other=0.0)
            out += tl.sum(entries * v[None, :], axis=1)
        else:
            v_offsets = j[:, None] * K + k[None, :]
            v = tl.load(v_ptr + v_offsets, mask=inside[:, None], other=0.0)
            out = tl.dot(entries, v, out, input_precision="ieee", out_dtype=number)
    row = tl.program_id(1).to(tl.int64) * n + i
    if K == 1:
        tl.store(out_ptr + row, out, mask=i < n)
    else:
        out_offsets = row[:, None] * K + k[None, :]
        tl.store(out_ptr + out_offsets, out, mask=(i < n)[:, None])


def takes(A, B, V) -> bool:
    """Whether the kernel takes such tensors; it keeps nothing for gradients."""
    watched = torch.is_grad_enabled() and any(t.requires_grad for t in (A, B, V))
    sizes = A.shape[1] <= LARGEST_WIDTH and V.shape[1] <= MOST_COLUMNS
    return A.dtype in TILES and sizes and not watched


def _zero_padded(X, rows, columns):
    """X with rows and columns of zeros behind."""
    n, d = X.shape
    return torch.nn.functional.pad(X, (0, columns - d, 0, rows - n))


def exponential_product(A, B, V):
    """exp(A B^T) V, a tensor (n, k)."""
    n, d = A.shape
    m, k = V.shape
    height, width, warps = TILES[A.dtype]
    D = max(LEAST, triton.next_power_of_2(d))
    K = 1 if k == 1 else max(LEAST, triton.next_power_of_2(k))
    blocks = triton.cdiv(n, height)
    tiles = triton.cdiv(m, width)
    shares = min(triton.cdiv(PROGRAMS, blocks), triton.cdiv(tiles, TILES_OF_A_SHARE))
    scale = 1 / math.log(2) if A.dtype == torch.float32 else 1.0
    out = A.new_empty(shares, n, K)
    _product_kernel[(blocks, shares)](
        _zero_padded(A * scale, n, D), _zero_padded(B, tiles * width, D).T.contiguous(),
        _zero_padded(V, m, K).contiguous(), out, n, m, shares, tiles,
        D=D, K=K, HEIGHT=height, WIDTH=width, num_warps=warps, num_stages=2,
    )  # fmt: skip
    return out.sum(0)[:, :k]

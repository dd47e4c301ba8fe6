"""Compiled products of small matrices by vector instructions of four numbers.

LLVM makes vector instructions of loops over long rows, but computes a row of 4 or 20
numbers one at a time. These loops are written with explicit instructions instead
(`_intrinsics`). Arrays are float64 and C-contiguous, with rows padded with zeros to a
multiple of FOUR; an index is one of array.ravel().
"""

from ..loops._intrinsics import (
    FOUR,
    add_scaled_four,
    add_two_scaled_four,
    matmul_tile,
    matvec_four,
)
from ..loops.compiled import compiled


@compiled
def skip_zero_matmul(X, Y, C, sign, lower, rows, out):
    """out = C + sign X'Y; if `lower`, without the tiles above the diagonal.

    Rows of Y that are zero are skipped, since transition matrices have many; `rows`
    (k,) is scratch space for the others.
    """
    k = len(X)
    for j in range(0, k, FOUR):
        m = 0
        for q in range(k):
            if Y[q, j] != 0 or Y[q, j + 1] != 0 or Y[q, j + 2] != 0 or Y[q, j + 3] != 0:
                rows[m] = q
                m += 1
        for i in range(j if lower else 0, k, FOUR):
            matmul_tile(X, i, Y, j, rows, m, k, C, i * k + j, sign, out)


@compiled
def mirror_lower_half(S):
    """Copy the lower half of S to the upper."""
    for i in range(len(S)):
        for j in range(i):
            S[j, i] = S[i, j]


@compiled
def transposed_matvec(A, a, start, out):
    """out = start + A'a."""
    for j in range(0, len(a), FOUR):
        matvec_four(A, j, len(a), a, len(a), start, out)


@compiled
def add_scaled(y, a, i, out, j, k):
    """out[j : j + k] += y a[i : i + k]."""
    for q in range(0, k, FOUR):
        add_scaled_four(y, a, i + q, out, j + q)


@compiled
def add_two_scaled(y, a, i, z, b, m, out, j, k):
    """out[j : j + k] += y a[i : i + k] + z b[m : m + k]."""
    for q in range(0, k, FOUR):
        add_two_scaled_four(y, a, i + q, z, b, m + q, out, j + q)

"""Compiled loops that find the nearest centre of a tile of LANES rows.

Rows are transposed, so that a row is a SIMD lane, and meet all centres, four centres
and four features at a time (`nearest_in_tile`). That keeps the multipliers in registers, needs no
reduction across lanes, and finds the nearest and the second nearest centre in the same
sweep. Rows of at most 8 columns are held in registers as a whole (`nearest_few_columns`). Rows of many
columns meet many centres in a matrix product, which is what BLAS is best at (`find_nearest`).
Letters as in `kmeans.py`; no checks, no threads.
"""

import numpy as np
from numba import njit

LANES = 256
STRIDE = LANES + 16  # a power of two would put all lanes of a row into one cache set
FAST = {"contract", "reassoc", "nsz", "arcp"}
FEW = 8  # columns that fit into registers
WIDE_D, WIDE_K = 128, 32  # columns and centres from which a matrix product is faster


def padded_shape(k, d):
    """k and d rounded up to what the loops want."""
    return -(-k // 4) * 4, FEW if d <= FEW else -(-d // 4) * 4


def uses_matrix_product(k, d) -> bool:
    """Whether rows of d columns meet k centres in a matrix product."""
    return d >= WIDE_D and k >= WIDE_K


def nearest_workspace(k, d, dtype):
    """Room for `find_nearest` to work in (made here, it need not be compiled)."""
    k4, d4 = padded_shape(k, d)
    wide = uses_matrix_product(k, d)
    T = np.zeros((LANES, d4) if wide else (d4, STRIDE), dtype)
    D = np.empty((k4 if wide else 4, LANES), dtype)
    best, second, norm, bar = np.empty((4, LANES), dtype)
    rows, near = np.zeros(2 * LANES, np.int64), np.empty(LANES, np.int32)
    return T, D, best, second, norm, bar, rows, near


@njit(cache=True, nogil=True, fastmath=FAST)
def two_smallest(v, j, best, second, label):
    """The two smallest values seen and the label of the smallest, after v."""
    less = v < best
    high = best if less else v
    return (
        v if less else best,
        high if high < second else second,
        j if less else label,
    )


@njit(cache=True, nogil=True, fastmath=FAST)
def reset_nearest(best, second, z):
    """Nothing seen yet."""
    for r in range(LANES):
        best[r] = np.inf
        second[r] = np.inf
        z[r] = 0


@njit(cache=True, nogil=True, fastmath=FAST)
def fold_four_centers(D, q, c2, j, best, second, z):
    """Take c2_j + D_q and the next three into the smallest values."""
    j0, j1, j2, j3 = np.int32(j), np.int32(j + 1), np.int32(j + 2), np.int32(j + 3)
    e0, e1, e2, e3 = c2[j], c2[j + 1], c2[j + 2], c2[j + 3]
    for r in range(LANES):
        b, s, y = two_smallest(D[q, r] + e0, j0, best[r], second[r], z[r])
        b, s, y = two_smallest(D[q + 1, r] + e1, j1, b, s, y)
        b, s, y = two_smallest(D[q + 2, r] + e2, j2, b, s, y)
        best[r], second[r], z[r] = two_smallest(D[q + 3, r] + e3, j3, b, s, y)


@njit(cache=True, nogil=True, fastmath=FAST)
def nearest_in_tile(T, A, c2, D, best, second, z):
    """Smallest and second smallest of c2_j + A_j.x over j, for each lane x of T.

    Shapes    T (d4, STRIDE)   A (k4, d4)   c2 (k4,)   D (4, LANES) scratch
    where d4, k4 are d, k rounded up to a multiple of 4; c2 is inf in the padding.
    """
    d4, k4 = T.shape[0], A.shape[0]
    reset_nearest(best, second, z)
    for j in range(0, k4, 4):
        for q in range(4):
            for r in range(LANES):
                D[q, r] = 0
        for f in range(0, d4, 4):
            a0, a1, a2, a3 = A[j, f], A[j, f + 1], A[j, f + 2], A[j, f + 3]
            b0, b1, b2, b3 = (
                A[j + 1, f],
                A[j + 1, f + 1],
                A[j + 1, f + 2],
                A[j + 1, f + 3],
            )
            g0, g1, g2, g3 = (
                A[j + 2, f],
                A[j + 2, f + 1],
                A[j + 2, f + 2],
                A[j + 2, f + 3],
            )
            h0, h1, h2, h3 = (
                A[j + 3, f],
                A[j + 3, f + 1],
                A[j + 3, f + 2],
                A[j + 3, f + 3],
            )
            for r in range(LANES):
                x0, x1, x2, x3 = T[f, r], T[f + 1, r], T[f + 2, r], T[f + 3, r]
                D[0, r] += a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                D[1, r] += b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
                D[2, r] += g0 * x0 + g1 * x1 + g2 * x2 + g3 * x3
                D[3, r] += h0 * x0 + h1 * x1 + h2 * x2 + h3 * x3
        fold_four_centers(D, 0, c2, j, best, second, z)


@njit(cache=True, nogil=True, fastmath=FAST)
def nearest_few_columns(T, A, c2, best, z):
    """Smallest of c2_j + A_j.x over j, for each lane x of T, with FEW features."""
    for r in range(LANES):
        best[r] = np.inf
        z[r] = 0
    for j in range(0, A.shape[0], 2):
        a, b, ca, cb = A[j], A[j + 1], c2[j], c2[j + 1]
        a0, a1, a2, a3, a4, a5, a6, a7 = a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
        b0, b1, b2, b3, b4, b5, b6, b7 = b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]
        ja, jb = np.int32(j), np.int32(j + 1)
        for r in range(LANES):
            x0, x1, x2, x3 = T[0, r], T[1, r], T[2, r], T[3, r]
            x4, x5, x6, x7 = T[4, r], T[5, r], T[6, r], T[7, r]
            va = ca + a0 * x0 + a1 * x1 + (a2 * x2 + a3 * x3)
            va += (a4 * x4 + a5 * x5) + (a6 * x6 + a7 * x7)
            vb = cb + b0 * x0 + b1 * x1 + (b2 * x2 + b3 * x3)
            vb += (b4 * x4 + b5 * x5) + (b6 * x6 + b7 * x7)
            less = vb < va
            v, y = vb if less else va, jb if less else ja
            less = v < best[r]
            best[r], z[r] = v if less else best[r], y if less else z[r]


@njit(cache=True, nogil=True, fastmath=FAST)
def nearest_of_two(X, m, rows, count, A, c2, z):
    """Which of two centres is nearer: the side of the plane half way between them.

    A_2 is A_1 - A_0.
    """
    shift = c2[1] - c2[0]
    for r in range(count):
        x = X[rows[r]]
        total = shift
        for f in range(X.shape[1]):
            total += (x[f] - m[f]) * A[2, f]
        z[r] = 1 if total < 0 else 0


@njit(cache=True, nogil=True, fastmath=FAST)
def transpose_rows(X, m, rows, count, listed, T):
    """Rows of X less m into the lanes of T.

    `rows` are their numbers if `listed`; else they follow rows[0].
    """
    d, start = X.shape[1], rows[0]
    whole = d // 4 * 4
    for f in range(0, whole, 4):
        m0, m1, m2, m3 = m[f], m[f + 1], m[f + 2], m[f + 3]
        if listed:
            for r in range(count):
                x = X[rows[r]]
                T[f, r], T[f + 1, r] = x[f] - m0, x[f + 1] - m1
                T[f + 2, r], T[f + 3, r] = x[f + 2] - m2, x[f + 3] - m3
        else:
            for r in range(count):
                T[f, r], T[f + 1, r] = X[start + r, f] - m0, X[start + r, f + 1] - m1
                T[f + 2, r] = X[start + r, f + 2] - m2
                T[f + 3, r] = X[start + r, f + 3] - m3
    for f in range(whole, d):
        for r in range(count):
            T[f, r] = X[rows[r] if listed else start + r, f] - m[f]


@njit(cache=True, nogil=True, fastmath=FAST)
def row_norms(X, m, rows, count, norm):
    """|x - m|^2 of some rows. A row is read from end to end, and is near after that."""
    for r in range(count):
        x = X[rows[r]]
        total = m.dtype.type(0)
        for f in range(X.shape[1]):
            v = x[f] - m[f]
            total += v * v
        norm[r] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def copy_rows(X, m, rows, count, V, norm):
    """Rows of X less m into the rows of V, and their squared norms."""
    for r in range(count):
        x, v = X[rows[r]], V[r]
        total = m.dtype.type(0)
        for f in range(X.shape[1]):
            e = x[f] - m[f]
            v[f] = e
            total += e * e
        norm[r] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def find_nearest(X, m, count, listed, both, A, c2, desk):
    """The nearest centre of some rows of X; with `both` also how far, and the next.

    On the desk are the row numbers; left on it are `near` and `best`, which is short
    of |x - m|^2, and with `both` that `norm` and `second`.
    """
    T, D, best, second, norm, _, rows, near = desk
    if D.shape[0] > 4:  # a wide desk
        copy_rows(X, m, rows, count, T, norm)
        np.dot(A, T.T, D)
        reset_nearest(best, second, near)
        for j in range(0, A.shape[0], 4):
            fold_four_centers(D, j, c2, j, best, second, near)
        return
    if both:
        row_norms(X, m, rows, count, norm)
    elif c2.shape[0] == 4 and np.isinf(c2[2]) and T.shape[0] > FEW:
        nearest_of_two(X, m, rows, count, A, c2, near)
        return
    transpose_rows(X, m, rows, count, listed, T)
    if T.shape[0] == FEW and not both:
        nearest_few_columns(T, A, c2, best, near)
    else:
        nearest_in_tile(T, A, c2, D, best, second, near)

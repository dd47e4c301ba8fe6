"""Compiled loops of alternating least squares: one ridge problem for each row.

For row u with ratings j in its part of (indptr, indices),

    minimise  1/2 x^T A x - b.x,   A = G + c_u I + sum_j a_j v_j v_j^T,
                                   b = sum_j t_j v_j

where G is a (k, k) matrix, or has no rows if it is 0. Both loops return the sum of the
values reached, -1/2 x.(b + residual), in double precision: the part of the objective
that depends on these rows. A row without ratings is 0.
"""

from typing import NamedTuple

import numpy as np

from ..core.loops._intrinsics import prefetch
from ..core.loops.compiled import FASTMATH, compiled

PREFETCH_DISTANCE = 8  # ratings between the one in hand and the one asked for


class RowRatings(NamedTuple):
    """The ratings of each row, with the weights a and the targets t of the problem."""

    indptr: np.ndarray
    indices: np.ndarray
    a: np.ndarray
    t: np.ndarray


class Preconditioner(NamedTuple):
    """G = diag(g), and A is about diag(m_u h + c_u)."""

    g: np.ndarray
    h: np.ndarray
    m: np.ndarray  # one for each row


@compiled(fastmath=FASTMATH)
def conjugate_gradient_rows(
    first, last, ratings, V, preconditioner, c, U, steps, enough
):
    """At most `steps` conjugate-gradient steps for each row, from the U given.

    The gradients r are preconditioned, z = r / (m_u h + c_u). A step of length s along
    p, which is z plus earlier directions, lowers the value by s r.z / 2. A row is done
    when r.z has fallen to `enough` of what it was.
    """
    indptr, indices, a, t = ratings
    g, h, m = preconditioner
    k = V.shape[1]
    r, p, q = np.empty(k, V.dtype), np.empty(k, V.dtype), np.empty(k, V.dtype)
    d, e = np.empty(k, V.dtype), np.empty(k, V.dtype)
    zero, unity = V.dtype.type(0), V.dtype.type(1)
    total = 0.0
    for u in range(first, last):
        begin, end = indptr[u], indptr[u + 1]
        x = U[u]
        if begin == end:
            x[:] = zero
            continue
        for f in range(k):
            e[f] = g[f] + c[u]
            d[f] = m[u] * h[f] + c[u]
            d[f] = unity / d[f] if d[f] > 0 else zero
        value = normal_matrix_product(begin, end, indices, a, t, V, e, x, q, True)
        size = zero
        for f in range(k):
            r[f] = -q[f]
            p[f] = d[f] * r[f]
            size += r[f] * p[f]
            value += np.float64(x[f]) * np.float64(r[f])
        stop = max(enough * size, V.dtype.type(1e-30))
        for _ in range(steps):
            if not size > stop:
                break
            normal_matrix_product(begin, end, indices, a, t, V, e, p, q, False)
            bend = zero
            for f in range(k):
                bend += p[f] * q[f]
            if not bend > 0:
                break
            step = size / bend
            value += np.float64(step) * np.float64(size)
            new = zero
            for f in range(k):
                x[f] += step * p[f]
                r[f] -= step * q[f]
                new += r[f] * r[f] * d[f]
            step = new / size
            size = new
            for f in range(k):
                p[f] = d[f] * r[f] + step * p[f]
        total -= 0.5 * value
    return total


@compiled(fastmath=FASTMATH)
def normal_matrix_product(begin, end, indices, a, t, V, e, x, q, start):
    """q = A x, where A has e for G + c I, or with `start` A x - b; returns b.x then.

    Four rows at a time, so that x and q are read and written a quarter as often, while
    the rows after next are on their way from memory. Where fewer are left the last one
    is taken again with weight 0.
    """
    k = len(x)
    zero = V.dtype.type(0)
    value = 0.0
    line = 64 // V.itemsize
    for f in range(k):
        q[f] = e[f] * x[f]
    for j in range(begin, end, 4):
        for ahead in range(j + PREFETCH_DISTANCE, min(end, j + PREFETCH_DISTANCE + 4)):
            for f in range(0, k, line):
                prefetch(V, np.int64(indices[ahead]) * k + f)
        j1, j2, j3 = min(j + 1, end - 1), min(j + 2, end - 1), min(j + 3, end - 1)
        v0, v1, v2, v3 = V[indices[j]], V[indices[j1]], V[indices[j2]], V[indices[j3]]
        s0, s1, s2, s3 = zero, zero, zero, zero
        for f in range(k):
            s0 += x[f] * v0[f]
            s1 += x[f] * v1[f]
            s2 += x[f] * v2[f]
            s3 += x[f] * v3[f]
        d1, d2, d3 = j1 > j, j2 > j1, j3 > j2
        if start:
            value += np.float64(s0 * t[j]) + np.float64(s1 * t[j1] if d1 else zero)
            value += np.float64(s2 * t[j2] if d2 else zero)
            value += np.float64(s3 * t[j3] if d3 else zero)
            s0, s1 = a[j] * s0 - t[j], a[j1] * s1 - t[j1]
            s2, s3 = a[j2] * s2 - t[j2], a[j3] * s3 - t[j3]
        else:
            s0, s1, s2, s3 = a[j] * s0, a[j1] * s1, a[j2] * s2, a[j3] * s3
        s1, s2, s3 = s1 if d1 else zero, s2 if d2 else zero, s3 if d3 else zero
        _add_four_rows(q, s0, s1, s2, s3, v0, v1, v2, v3)
    return value


@compiled(fastmath=FASTMATH)
def _add_four_rows(q, s0, s1, s2, s3, v0, v1, v2, v3):
    """q += s0 v0 + s1 v1 + s2 v2 + s3 v3."""
    for f in range(len(q)):
        q[f] += s0 * v0[f] + s1 * v1[f] + s2 * v2[f] + s3 * v3[f]


@compiled(fastmath=FASTMATH)
def cholesky_rows(first, last, indptr, indices, a, t, V, G, c, U):
    """Each row exactly, by Cholesky; what A does not determine is 0."""
    k = V.shape[1]
    A, b = np.empty((k, k), np.float64), np.empty(k, np.float64)
    total = 0.0
    for u in range(first, last):
        begin, end = indptr[u], indptr[u + 1]
        x = U[u]
        if begin == end:
            x[:] = 0
            continue
        for e in range(k):
            b[e] = 0
            for f in range(e + 1):
                A[e, f] = G[e, f] if len(G) else 0.0
            A[e, e] += c[u]
        for j in range(begin, end):
            v = V[indices[j]]
            for e in range(k):
                s = np.float64(a[j] * v[e])
                b[e] += t[j] * v[e]
                for f in range(e + 1):
                    A[e, f] += s * v[f]
        total -= 0.5 * _solve_rank_deficient(A, b, x)
    return total


@compiled
def _solve_rank_deficient(A, b, x):
    """x = A^-1 b from the lower half of A, which is overwritten; returns x.b.

    A pivot that is nothing but rounding means that a direction is not determined by
    the ratings and not penalised: it is left at 0.
    """
    k = len(b)
    y = np.empty(k)
    for e in range(k):
        diagonal = A[e, e]
        for f in range(e):
            s = A[e, f]
            for g in range(f):
                s -= A[e, g] * A[f, g]
            A[e, f] = s / A[f, f] if A[f, f] > 0 else 0.0
        s = diagonal
        for g in range(e):
            s -= A[e, g] * A[e, g]
        A[e, e] = np.sqrt(s) if s > 1e-12 * diagonal else 0.0
        s = b[e]
        for g in range(e):
            s -= A[e, g] * y[g]
        y[e] = s / A[e, e] if A[e, e] > 0 else 0.0
    value = 0.0
    for e in range(k - 1, -1, -1):
        s = y[e]
        for g in range(e + 1, k):
            s -= A[g, e] * y[g]
        y[e] = s / A[e, e] if A[e, e] > 0 else 0.0
        x[e] = y[e]
        value += y[e] * b[e]
    return value

"""Compiled loops of alternating least squares: one ridge problem for each row.

For row u with ratings j in its part of (indptr, indices),

    minimise  1/2 x^T A x - b.x,   A = G + c_u I + sum_j a_j v_j v_j^T,
                                   b = sum_j t_j v_j

where G is a (k, k) matrix, or has no rows if it is 0. Both loops return the sum of the
values reached in double precision, -1/2 x.(b + residual): the part of the objective
that depends on these rows. A row without ratings is 0.
"""

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(cache=True, nogil=True, fastmath=FAST)
def descend(first, last, indptr, indices, a, t, V, G, c, U, steps):
    """At most `steps` conjugate-gradient steps a row, from the U given."""
    k = V.shape[1]
    b, r = np.empty(k, V.dtype), np.empty(k, V.dtype)
    p, q = np.empty(k, V.dtype), np.empty(k, V.dtype)
    zero = V.dtype.type(0)
    total = 0.0
    for u in range(first, last):
        begin, end = indptr[u], indptr[u + 1]
        x = U[u]
        if begin == end:
            x[:] = zero
            continue
        residual(begin, end, indices, a, t, V, G, c[u], x, b, r)
        size = zero
        for f in range(k):
            p[f] = r[f]
            size += r[f] * r[f]
        for _ in range(steps):
            if not size > 1e-30:
                break
            product(begin, end, indices, a, V, G, c[u], p, q)
            bend = zero
            for f in range(k):
                bend += p[f] * q[f]
            if not bend > 0:
                break
            step = size / bend
            new = zero
            for f in range(k):
                x[f] += step * p[f]
                r[f] -= step * q[f]
                new += r[f] * r[f]
            step = new / size
            size = new
            for f in range(k):
                p[f] = r[f] + step * p[f]
        value = 0.0
        for f in range(k):
            value += np.float64(x[f]) * np.float64(b[f] + r[f])
        total -= 0.5 * value
    return total


@njit(cache=True, nogil=True, fastmath=FAST)
def product(begin, end, indices, a, V, G, c, p, q):
    """q = A p."""
    k = len(p)
    for f in range(k):
        q[f] = c * p[f]
    for e in range(len(G)):
        s, g = p[e], G[e]
        for f in range(k):
            q[f] += s * g[f]
    for j in range(begin, end):
        v = V[indices[j]]
        s = p[0] * v[0]
        for f in range(1, k):
            s += p[f] * v[f]
        s *= a[j]
        for f in range(k):
            q[f] += s * v[f]


@njit(cache=True, nogil=True, fastmath=FAST)
def residual(begin, end, indices, a, t, V, G, c, x, b, r):
    """b and r = b - A x, in one pass over the ratings."""
    k = len(x)
    for f in range(k):
        b[f] = 0
        r[f] = -c * x[f]
    for e in range(len(G)):
        s, g = x[e], G[e]
        for f in range(k):
            r[f] -= s * g[f]
    for j in range(begin, end):
        v = V[indices[j]]
        s = x[0] * v[0]
        for f in range(1, k):
            s += x[f] * v[f]
        s = t[j] - a[j] * s
        for f in range(k):
            r[f] += s * v[f]
            b[f] += t[j] * v[f]


@njit(cache=True, nogil=True, fastmath=FAST)
def solve(first, last, indptr, indices, a, t, V, G, c, U):
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
        total -= 0.5 * cholesky_solve(A, b, x)
    return total


@njit(cache=True, nogil=True)
def cholesky_solve(A, b, x):
    """x = A^-1 b from the lower half of A, which is overwritten; returns x.b.

    A pivot that is nothing but rounding means that a direction is not determined by
    the ratings and not penalised: it is left at 0.
    """
    k = len(b)
    y = np.empty(k)
    for e in range(k):
        own = A[e, e]
        for f in range(e):
            s = A[e, f]
            for g in range(f):
                s -= A[e, g] * A[f, g]
            A[e, f] = s / A[f, f] if A[f, f] > 0 else 0.0
        s = own
        for g in range(e):
            s -= A[e, g] * A[e, g]
        A[e, e] = np.sqrt(s) if s > 1e-12 * own else 0.0
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

"""Loops of coordinate descent on least squares: Gram form, dense and sparse columns.

Gram form keeps q = h - G w, the correlation of every column with the residual, so a
change of one coordinate costs one row of G. The other two keep the residual r.
All three take a separable penalty as (kind, a, b) and visit coordinates in the order
given, `n_epochs` times.
"""

import math

from numba import njit

from ..penalties import _separable as penalties

FAST = {"contract", "reassoc", "nsz", "arcp"}  # infinities and NaN keep their meaning


@njit(cache=True, nogil=True, fastmath=FAST)
def gram_epochs(G, q, w, order, kind, a, b, n_epochs):
    """Passes in Gram form; returns the number of changes in the last one."""
    k = q.shape[0]
    changes = 0
    for _ in range(n_epochs):
        changes = 0
        for j in order:
            if G[j, j] <= 0:
                continue
            step = 1 / G[j, j]
            new = penalties.prox(kind, w[j] + step * q[j], step, a, b)
            change = new - w[j]
            if change != 0:
                changes += 1
                w[j] = new
                row = G[j]
                for i in range(k):
                    q[i] -= row[i] * change
        if changes == 0:
            break
    return changes


@njit(cache=True, nogil=True, fastmath=FAST)
def dense_epochs(X, r, w, curve, order, kind, a, b, n_epochs):
    """Columns X[j] stored as rows, residual r = y - w X."""
    n = r.shape[0]
    for _ in range(n_epochs):
        for j in order:
            if curve[j] <= 0:
                continue
            column = X[j]
            g = 0.0
            for i in range(n):
                g += column[i] * r[i]
            step = 1 / curve[j]
            new = penalties.prox(kind, w[j] + step * g, step, a, b)
            change = new - w[j]
            if change != 0:
                w[j] = new
                for i in range(n):
                    r[i] -= column[i] * change


@njit(cache=True, nogil=True, fastmath=FAST)
def sparse_epochs(
    data, rows, starts, p, mean, r, shift, w, curve, order, kind, a, b, n_epochs
):
    """CSC columns minus their means under weights p; the residual is r + shift.

    A centred column changes every row, all by the same amount: that is `shift`. The
    weighted sum of the residual stays 0, so the mean drops out of the product.
    """
    for _ in range(n_epochs):
        for j in order:
            if curve[j] <= 0:
                continue
            g = 0.0
            for t in range(starts[j], starts[j + 1]):
                i = rows[t]
                g += data[t] * p[i] * (r[i] + shift)
            step = 1 / curve[j]
            new = penalties.prox(kind, w[j] + step * g, step, a, b)
            change = new - w[j]
            if change != 0:
                w[j] = new
                shift += mean[j] * change
                for t in range(starts[j], starts[j + 1]):
                    r[rows[t]] -= data[t] * change
    return shift


@njit(cache=True, nogil=True)
def mirror(G, start, stop):
    """Copy the block G[start:stop, :start] onto G[:start, start:stop]."""
    for j in range(start, stop):
        for i in range(start):
            G[i, j] = G[j, i]


@njit(cache=True, nogil=True)
def correlate_sparse(data, rows, starts, v, out):
    """out_j = sum_i x_ij v_i over CSC columns."""
    for j in range(out.shape[0]):
        total = 0.0
        for t in range(starts[j], starts[j + 1]):
            total += data[t] * v[rows[t]]
        out[j] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def forward(R, s, x):
    """x <- R^-T x for the leading s of an upper triangular R stored by rows."""
    for i in range(s):
        row = R[i]
        x[i] /= row[i]
        t = x[i]
        for j in range(i + 1, s):
            x[j] -= row[j] * t


@njit(cache=True, nogil=True, fastmath=FAST)
def backward(R, s, x):
    """x <- R^-1 x."""
    for i in range(s - 1, -1, -1):
        row = R[i]
        t = 0.0
        for j in range(i + 1, s):
            t += row[j] * x[j]
        x[i] = (x[i] - t) / row[i]


@njit(cache=True, nogil=True, fastmath=FAST)
def drop(R, s, at):
    """The factor of A without row and column `at`: shift, then rotate back to shape."""
    for i in range(at):
        for j in range(at, s - 1):
            R[i, j] = R[i, j + 1]
    v = R[at].copy()
    for i in range(at, s - 1):
        below = R[i + 1]
        # rotate (row i + 1, v) so that v loses its entry i + 1
        length = math.hypot(below[i + 1], v[i + 1])
        if length == 0:
            continue
        cosine, sine = below[i + 1] / length, v[i + 1] / length
        row = R[i]
        for j in range(i + 1, s):
            row[j - 1] = cosine * below[j] + sine * v[j]
            v[j] = cosine * v[j] - sine * below[j]


@njit(cache=True, nogil=True, fastmath=FAST)
def append(R, s, column, corner):
    """The factor of A with one more row and column; False if it is not definite."""
    forward(R, s, column)
    rest = corner
    for i in range(s):
        rest -= column[i] * column[i]
    if not rest > 1e-12 * corner:
        return False
    for i in range(s):
        R[i, s] = column[i]
    R[s, s] = math.sqrt(rest)
    return True

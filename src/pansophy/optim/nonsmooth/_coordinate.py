"""Loops of coordinate descent on least squares: Gram form, dense and sparse columns.

The Gram form maintains q = h - G w, the correlation of every column with the residual,
so a change of one coordinate costs one row of G. The other two maintain the residual
and centre the columns implicitly. All three take a separable penalty as (kind, a, b)
and visit the coordinates in the given order `n_epochs` times.
"""

import math

import numpy as np

from ...core.loops.compiled import FASTMATH, compiled
from ...penalties import _separable as penalties


@compiled(fastmath=FASTMATH)
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
            new = penalties.penalty_prox(kind, w[j] + step * q[j], step, a, b)
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


@compiled(fastmath=FASTMATH)
def _gram_gap(h, q, w, energy, positive, a, b):
    """The duality gap from Gram form, where |r|^2 = |y|^2 - w (h + q); a > 0."""
    l1 = 0.0
    square = energy
    inner = energy
    top = 0.0
    for j in range(w.shape[0]):
        slope = q[j] - b * w[j]
        top = max(top, slope if positive else abs(slope))
        if w[j] != 0:
            l1 += abs(w[j])
            square += w[j] * (b * w[j] - h[j] - q[j])
            inner -= w[j] * h[j]
    s = a / top if top > a else 1.0
    return square / 2 + a * l1 - s * inner + s * s / 2 * square


@compiled(fastmath=FASTMATH)
def gram_rounds(G, h, q, w, energy, order, kind, positive, a, b, tol, n_rounds):
    """Passes over all columns and then over the support, until gap <= tol.

    Returns whether the gap is that small.
    """
    support = np.empty_like(order)
    one_epoch = np.intp(1)  # a number written in a call would be a type of its own
    for _ in range(n_rounds):
        if _gram_gap(h, q, w, energy, positive, a, b) <= tol:
            return True
        gram_epochs(G, q, w, order, kind, a, b, one_epoch)
        k = 0
        for j in order:
            if w[j] != 0:
                support[k] = j
                k += 1
        gram_epochs(G, q, w, support[:k], kind, a, b, 4 * one_epoch)
    return _gram_gap(h, q, w, energy, positive, a, b) <= tol


@compiled(fastmath=FASTMATH)
def dense_lasso_epochs(X, p, mean, u, shift, w, curve, order, kind, a, b, n_epochs):
    """Passes over dense columns; the residual is r = u / p + shift. Returns the shift.

    Columns X[j] are stored as rows and centred implicitly: subtracting the mean changes
    all rows by the same amount, which is added to `shift`. The weighted sum of the
    residual stays 0, so the mean drops out of the inner product.
    """
    n = u.shape[0]
    equal_weights = True
    for i in range(n):
        equal_weights &= p[i] == p[0]
    for _ in range(n_epochs):
        for j in order:
            if curve[j] <= 0:
                continue
            column = X[j]
            g = shift * mean[j]
            for i in range(n):
                g += column[i] * u[i]
            step = 1 / curve[j]
            new = penalties.penalty_prox(kind, w[j] + step * g, step, a, b)
            change = new - w[j]
            if change != 0:
                w[j] = new
                shift += mean[j] * change
                if equal_weights:  # one array less to read
                    change *= p[0]
                    for i in range(n):
                        u[i] -= change * column[i]
                else:
                    for i in range(n):
                        u[i] -= change * p[i] * column[i]
    return shift


@compiled(fastmath=FASTMATH)
def sparse_lasso_epochs(
    columns, p, mean, r, shift, w, curve, order, kind, a, b, n_epochs
):
    """Passes over CSC columns, centred under weights p; the residual is r + shift.

    `columns` is (data, row indices, starts of columns). Returns the shift.
    """
    data, rows, starts = columns
    for _ in range(n_epochs):
        for j in order:
            if curve[j] <= 0:
                continue
            g = 0.0
            for t in range(starts[j], starts[j + 1]):
                i = rows[t]
                g += data[t] * p[i] * (r[i] + shift)
            step = 1 / curve[j]
            new = penalties.penalty_prox(kind, w[j] + step * g, step, a, b)
            change = new - w[j]
            if change != 0:
                w[j] = new
                shift += mean[j] * change
                for t in range(starts[j], starts[j + 1]):
                    r[rows[t]] -= data[t] * change
    return shift


@compiled(fastmath=FASTMATH)
def centered_column_squares(X, index, p, mean, out):
    """Sums sum_i p_i (x_ij - m_j)^2 for some columns X[j], stored as rows."""
    for j in index:
        column = X[j]
        m = mean[j]
        total = 0.0
        for i in range(len(p)):
            total += p[i] * (column[i] - m) ** 2
        out[j] = total


@compiled
def copy_columns(X, index, start, stop, out):
    """Copy some columns of a range of rows, out[j, i] = X[i, j], in small tiles."""
    for low in range(start, stop, 32):
        high = min(low + 32, stop)
        for j in index:
            for i in range(low, high):
                out[j, i] = X[i, j]


@compiled
def copy_upper_from_lower(G, start, stop):
    """Copy the block G[start:stop, :start] onto G[:start, start:stop]."""
    for j in range(start, stop):
        for i in range(start):
            G[i, j] = G[j, i]


@compiled
def correlate_sparse(data, rows, starts, index, v, out):
    """Inner products out_k = sum_i x_ij v_i with the CSC columns j of `index`."""
    for k in range(index.shape[0]):
        total = 0.0
        for t in range(starts[index[k]], starts[index[k] + 1]):
            total += data[t] * v[rows[t]]
        out[k] = total


@compiled(fastmath=FASTMATH)
def correlate_rows(X, index, v, out):
    """Inner products out_k = X[j] v with the rows j of `index`."""
    for k in range(index.shape[0]):
        row = X[index[k]]
        total = 0.0
        for i in range(v.shape[0]):
            total += row[i] * v[i]
        out[k] = total


@compiled(fastmath=FASTMATH)
def forward_substitute(R, s, x):
    """Solve x <- R^-T x for the leading s x s block of an upper triangular R."""
    for i in range(s):
        row = R[i]
        x[i] /= row[i]
        t = x[i]
        for j in range(i + 1, s):
            x[j] -= row[j] * t


@compiled(fastmath=FASTMATH)
def back_substitute(R, s, x):
    """Solve x <- R^-1 x for the leading s x s block of an upper triangular R."""
    for i in range(s - 1, -1, -1):
        row = R[i]
        t = 0.0
        for j in range(i + 1, s):
            t += row[j] * x[j]
        x[i] = (x[i] - t) / row[i]


@compiled(fastmath=FASTMATH)
def remove_from_factor(R, s, at):
    """Downdate the factor of A to that without row and column `at`.

    Columns are shifted left; Givens rotations make R triangular again.
    """
    for i in range(at):
        for j in range(at, s - 1):
            R[i, j] = R[i, j + 1]
    v = R[at].copy()
    for i in range(at, s - 1):
        next_row = R[i + 1]
        # rotate (row i + 1, v) so that v loses its entry i + 1
        length = math.hypot(next_row[i + 1], v[i + 1])
        if length == 0:
            continue
        cosine = next_row[i + 1] / length
        sine = v[i + 1] / length
        row = R[i]
        for j in range(i + 1, s):
            row[j - 1] = cosine * next_row[j] + sine * v[j]
            v[j] = cosine * v[j] - sine * next_row[j]


@compiled(fastmath=FASTMATH)
def append_to_factor(R, s, column, corner):
    """Extend the factor of A by a row and column; False if A is then not definite."""
    forward_substitute(R, s, column)
    pivot = corner
    for i in range(s):
        pivot -= column[i] * column[i]
    if not pivot > 1e-12 * corner:
        return False
    for i in range(s):
        R[i, s] = column[i]
    R[s, s] = math.sqrt(pivot)
    return True

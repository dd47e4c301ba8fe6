"""Compiled loops of L1-penalised logistic regression, over CSC columns.

`logistic_l1.py` has the mathematics: coordinate descent on a quadratic in the raw
predictions of one class plus an elastic net.
"""

from typing import NamedTuple

import numpy as np

from ...core.loops.compiled import FASTMATH, compiled
from ...optim.nonsmooth._coordinate import gram_epochs
from ...penalties import _separable as penalties
from ...penalties.base import ELASTIC_NET

GRAM_SWEEPS = 10  # over the Gram matrix of the block, between two passes over rows


class CSCArrays(NamedTuple):
    """The three arrays of a CSC matrix."""

    data: np.ndarray
    rows: np.ndarray
    starts: np.ndarray


class ColumnQuadratic(NamedTuple):
    """The quadratic that coordinate descent minimises, column by column."""

    h: np.ndarray  # curvature of each row
    mass: float  # sum of h, or 0 without an intercept
    mean: np.ndarray  # h-mean of each column
    curve: np.ndarray  # h-sum of squares of each column about its mean
    block: np.ndarray  # the densest columns
    G: np.ndarray  # their Gram matrix


@compiled(fastmath=FASTMATH)
def column_curvatures(columns, h, mass, mean, curve):
    """Fill `mean` and `curve` of a `ColumnQuadratic`.

    A constant column leaves rounding errors, which count as 0.
    """
    data, rows, starts = columns
    for j in range(curve.shape[0]):
        total, square = 0.0, 0.0
        for s in range(starts[j], starts[j + 1]):
            part = data[s] * h[rows[s]]
            total += part
            square += part * data[s]
        mean[j] = total / mass if mass > 0 else 0.0
        rest = square - mean[j] * total
        curve[j] = rest if rest > 1e-10 * square else 0.0


@compiled(fastmath=FASTMATH)
def block_gram(data, columns, starts, h, G):
    """G += X^T diag(h) X over CSR rows of few columns, sorted: lower triangle."""
    for i in range(h.shape[0]):
        for s in range(starts[i], starts[i + 1]):
            part = h[i] * data[s]
            row = G[columns[s]]
            for t in range(starts[i], s + 1):
                row[columns[t]] += part * data[t]


@compiled(fastmath=FASTMATH)
def column_gradient(columns, r, j):
    """x_j . r for column j."""
    g = 0.0
    for t in range(columns.starts[j], columns.starts[j + 1]):
        g += columns.data[t] * r[columns.rows[t]]
    return g


@compiled(fastmath=FASTMATH)
def update_row_gradients(columns, h, r, j, change):
    """r += h x_j change."""
    for t in range(columns.starts[j], columns.starts[j + 1]):
        i = columns.rows[t]
        r[i] += h[i] * columns.data[t] * change


@compiled(fastmath=FASTMATH)
def block_sweep(columns, quadratic, r, shift, w, a, b):
    """Update all coordinates of the block together, by sweeps over its Gram matrix.

    Returns the shift and the sum and the largest of the distances to optimality.
    """
    h, mass, mean, _, block, G = quadratic
    k = block.shape[0]
    q = np.empty(k)
    u = w[block]
    order = np.arange(k)
    total, most = 0.0, 0.0
    for m in range(k):
        j = block[m]
        g = column_gradient(columns, r, j) - shift * mass * mean[j]
        q[m] = -g
        far = penalties.penalty_distance(ELASTIC_NET, u[m], g, a, b)
        total += far
        most = max(most, far)
    gram_epochs(G, q, u, order, ELASTIC_NET, a, b, GRAM_SWEEPS)
    for m in range(k):
        j = block[m]
        change = u[m] - w[j]
        if change != 0:
            w[j] = u[m]
            shift += mean[j] * change
            update_row_gradients(columns, h, r, j, change)
    return shift, total, most


@compiled(fastmath=FASTMATH)
def quadratic_epochs(columns, quadratic, r, w, order, a, b, accuracy, tol, n):
    """At most n epochs of coordinate descent on the quadratic plus an elastic net.

    r holds the gradients of the rows at entry and follows w: a change of w_j by e adds
    h (x_j - mean_j) e. The part in mean_j is a number times h, which is collected in
    `shift` and not written to r. A coordinate of `order` at 0 whose gradient is well
    inside its interval leaves the epochs until the others have converged; then all
    are checked again. Ends when the distances to optimality add up to at most tol, or
    to `accuracy` times their sum in the first epoch. Returns the change of the
    intercept.
    """
    h, mass, mean, curve, _, _ = quadratic
    shift = r.sum() / mass if mass > 0 else 0.0
    size = order.shape[0]
    margin = np.inf
    for epoch in range(n):
        full = size == order.shape[0]
        shift, total, most = block_sweep(columns, quadratic, r, shift, w, a, b)
        s = 0
        while s < size:
            j = order[s]
            g = column_gradient(columns, r, j) - shift * mass * mean[j]
            old = w[j]
            if old == 0 and abs(g) < a - margin:
                size -= 1
                order[s], order[size] = order[size], j
                continue
            s += 1
            far = penalties.penalty_distance(ELASTIC_NET, old, g, a, b)
            if far == 0 or curve[j] == 0:
                continue
            total += far
            most = max(most, far)
            step = 1 / curve[j]
            w[j] = penalties.penalty_prox(ELASTIC_NET, old - step * g, step, a, b)
            shift += mean[j] * (w[j] - old)
            update_row_gradients(columns, h, r, j, w[j] - old)
        margin = min(most, a / 2)
        if epoch == 0:
            tol = max(tol, accuracy * total)
        elif total <= tol:
            if full:
                break
            size = order.shape[0]
    return -shift


@compiled(fastmath=FASTMATH)
def add_column_changes(columns, change, out):
    """out += X change, from the non-zero entries of change."""
    for j in range(change.shape[0]):
        if change[j] != 0:
            for t in range(columns.starts[j], columns.starts[j + 1]):
                out[columns.rows[t]] += columns.data[t] * change[j]

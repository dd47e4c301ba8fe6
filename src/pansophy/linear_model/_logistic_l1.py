"""Loops of logistic regression with an L1 part, on CSC columns; see `logistic_l1`."""

import numpy as np
from numba import njit

from ..optim._coordinate import gram_epochs
from ..penalties import _separable as penalties
from ..penalties.base import ELASTIC_NET

FAST = {"contract", "reassoc", "nsz", "arcp"}
GRAM_SWEEPS = 10  # over a Gram matrix, between two looks at the rows


@njit(cache=True, nogil=True, fastmath=FAST)
def column_curvatures(data, rows, starts, h, mass, mean, curve):
    """Per CSC column its h-mean and the h-sum of squares about that mean.

    mass is the sum of h, or 0 for means of 0. What is left of a constant column by
    rounding counts as 0.
    """
    for j in range(curve.shape[0]):
        total, square = 0.0, 0.0
        for s in range(starts[j], starts[j + 1]):
            part = data[s] * h[rows[s]]
            total += part
            square += part * data[s]
        mean[j] = total / mass if mass > 0 else 0.0
        rest = square - mean[j] * total
        curve[j] = rest if rest > 1e-10 * square else 0.0


@njit(cache=True, nogil=True, fastmath=FAST)
def block_gram(data, columns, starts, h, G):
    """G += X^T diag(h) X over CSR rows of few columns, sorted: lower triangle."""
    for i in range(h.shape[0]):
        for s in range(starts[i], starts[i + 1]):
            part = h[i] * data[s]
            row = G[columns[s]]
            for t in range(starts[i], s + 1):
                row[columns[t]] += part * data[t]


@njit(cache=True, nogil=True, fastmath=FAST)
def column_gradient(data, rows, starts, r, j):
    """x_j r for one CSC column."""
    g = 0.0
    for t in range(starts[j], starts[j + 1]):
        g += data[t] * r[rows[t]]
    return g


@njit(cache=True, nogil=True, fastmath=FAST)
def update_row_gradients(data, rows, starts, h, r, j, change):
    """r += h x_j change."""
    for t in range(starts[j], starts[j + 1]):
        i = rows[t]
        r[i] += h[i] * data[t] * change


@njit(cache=True, nogil=True, fastmath=FAST)
def block_sweep(data, rows, starts, h, r, drift, mean, w, block, G, a, b):
    """All coordinates of the block at once, by sweeps over their Gram matrix G.

    Returns drift and the sum and the largest of the distances to optimality.
    """
    k = block.shape[0]
    q, u, order = np.empty(k), w[block], np.arange(k)
    total, most = 0.0, 0.0
    for m in range(k):
        j = block[m]
        g = column_gradient(data, rows, starts, r, j) - drift[0] * drift[1] * mean[j]
        q[m] = -g
        far = penalties.distance(ELASTIC_NET, u[m], g, a, b)
        total += far
        most = max(most, far)
    gram_epochs(G, q, u, order, ELASTIC_NET, a, b, GRAM_SWEEPS)
    shift = drift[0]
    for m in range(k):
        j = block[m]
        change = u[m] - w[j]
        if change != 0:
            w[j] = u[m]
            shift += mean[j] * change
            update_row_gradients(data, rows, starts, h, r, j, change)
    return (shift, drift[1]), total, most


@njit(cache=True, nogil=True, fastmath=FAST)
def quadratic_epochs(
    data, rows, starts, h, r, mass, mean, curve, w, block, G, order, a, b, keep, tol, n
):
    """At most n passes on a quadratic with an elastic net; see `logistic_l1`.

    r holds the slopes of the rows at entry and follows w: a change of w_j by e adds
    h (x_j - mean_j) e, of which the part in mean_j, a number times h, is left to
    `drift`. A coordinate of `order` at 0 and well inside its interval leaves the
    passes until the others have settled; then all are seen again. Ends when the
    distances to optimality add up to at most tol or `keep` of their sum in the first
    pass. Returns the change of the intercept.
    """
    drift = (0.0, mass)
    if mass > 0:
        drift = (r.sum() / mass, mass)
    size, margin = order.shape[0], np.inf
    for sweep in range(n):
        full = size == order.shape[0]
        drift, total, most = block_sweep(
            data, rows, starts, h, r, drift, mean, w, block, G, a, b
        )
        shift, s = drift[0], 0
        while s < size:
            j = order[s]
            g = column_gradient(data, rows, starts, r, j) - shift * mass * mean[j]
            old = w[j]
            if old == 0 and abs(g) < a - margin:
                size -= 1
                order[s], order[size] = order[size], j
                continue
            s += 1
            far = penalties.distance(ELASTIC_NET, old, g, a, b)
            if far == 0 or curve[j] == 0:
                continue
            total += far
            most = max(most, far)
            step = 1 / curve[j]
            w[j] = penalties.prox(ELASTIC_NET, old - step * g, step, a, b)
            shift += mean[j] * (w[j] - old)
            update_row_gradients(data, rows, starts, h, r, j, w[j] - old)
        drift, margin = (shift, mass), min(most, a / 2)
        if sweep == 0:
            tol = max(tol, keep * total)
        elif total <= tol:
            if full:
                break
            size = order.shape[0]
    return -drift[0]


@njit(cache=True, nogil=True, fastmath=FAST)
def add_column_changes(data, rows, starts, change, out):
    """out += X change over CSC columns, from the non-zero changes."""
    for j in range(change.shape[0]):
        if change[j] != 0:
            for t in range(starts[j], starts[j + 1]):
                out[rows[t]] += data[t] * change[j]

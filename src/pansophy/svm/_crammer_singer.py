"""Compiled epochs of the Crammer-Singer dual: row by row, all classes together.

W is kept as (d + 1, k), a line for each column of X and the last for the intercept, so
that dense and CSR rows add up lines. Rows that would not change leave the epochs as in
`_dual_coordinate_descent.py`.
"""

from typing import NamedTuple

import numpy as np

from ..core.loops.compiled import FASTMATH, compiled
from ._dual_coordinate_descent import shuffle_active


class RowConstants(NamedTuple):
    """Constants of every row in the dual."""

    labels: np.ndarray  # y, 0..k-1
    costs: np.ndarray  # C
    squared_norms: np.ndarray  # |a_i|^2


@compiled(fastmath=FASTMATH)
def row_multiplier_change(alpha, G, label, q, C, D):
    """Eq. (3): alpha (k,) in place becomes the change; D (k,) is scratch.

    G holds the slopes. Returns the violation and how far the row is from moving;
    where the violation is 0 or less the change is 0.
    """
    k = alpha.shape[0]
    top = -np.inf
    second = -np.inf
    low = np.inf
    loose = 0
    best_class = 0
    for m in range(k):
        g = G[m]
        if g > top:
            top, second = g, top
        elif g > second:
            second = g
        if alpha[m] < (C if m == label else 0.0):
            loose += 1
            if g < low:
                low, best_class = g, m
    far = top - low
    if far <= 0:
        spare = top - second if loose == 1 and G[best_class] == top else 0.0
        alpha[:] = 0.0
        return 0.0, spare
    for m in range(k):
        D[m] = G[m] - q * alpha[m]
        G[m] = D[m]
    D[label] += q * C
    for a in range(1, k):  # k is small: insertion sort, largest first
        x = D[a]
        b = a - 1
        while b >= 0 and D[b] < x:
            D[b + 1] = D[b]
            b -= 1
        D[b + 1] = x
    level = D[0] - q * C
    r = 1
    while r < k and level < r * D[r]:
        level += D[r]
        r += 1
    level /= r
    for m in range(k):
        new = min(C if m == label else 0.0, (level - G[m]) / q)
        alpha[m] = new - alpha[m]
    return far, 0.0


@compiled(fastmath=FASTMATH)
def dense_crammer_singer_epochs(X, s, rows, A, W, order, size, cut, seed, tol, n):
    """At most n epochs over order[:size]; returns size, cut, violation and epochs.

    A (n, k) holds the multipliers. A and W are updated in place.
    """
    labels, C, square = rows
    d, k = X.shape[1], A.shape[1]
    G, D, change = np.empty(k), np.empty(k), np.empty(k)
    worst = np.inf
    count = 0
    while count < n:
        count += 1
        shuffle_active(order, size, seed)
        worst, p = 0.0, 0
        while p < size:
            i = order[p]
            row = X[i]
            for m in range(k):
                G[m] = 1.0 + s * W[d, m]
                change[m] = A[i, m]
            G[labels[i]] -= 1.0
            for j in range(d):
                x, line = row[j], W[j]
                for m in range(k):
                    G[m] += x * line[m]
            far, spare = row_multiplier_change(change, G, labels[i], square[i], C[i], D)
            if spare > cut:
                size -= 1
                order[p], order[size] = order[size], i
                continue
            p += 1
            if far <= 0:
                continue
            worst = max(worst, far)
            for m in range(k):
                A[i, m] += change[m]
                W[d, m] += s * change[m]
            for j in range(d):
                x, line = row[j], W[j]
                for m in range(k):
                    line[m] += x * change[m]
        cut = worst if worst > 0 else np.inf
        if worst <= tol:
            break
    return size, cut, worst, count


@compiled(fastmath=FASTMATH)
def sparse_crammer_singer_epochs(csr, s, rows, A, W, order, size, cut, seed, tol, n):
    """`dense_crammer_singer_epochs` for CSR rows."""
    data, columns, starts = csr
    labels, C, square = rows
    d = W.shape[0] - 1
    k = A.shape[1]
    G, D, change = np.empty(k), np.empty(k), np.empty(k)
    worst = np.inf
    count = 0
    while count < n:
        count += 1
        shuffle_active(order, size, seed)
        worst, p = 0.0, 0
        while p < size:
            i = order[p]
            for m in range(k):
                G[m] = 1.0 + s * W[d, m]
                change[m] = A[i, m]
            G[labels[i]] -= 1.0
            for t in range(starts[i], starts[i + 1]):
                x, line = data[t], W[columns[t]]
                for m in range(k):
                    G[m] += x * line[m]
            far, spare = row_multiplier_change(change, G, labels[i], square[i], C[i], D)
            if spare > cut:
                size -= 1
                order[p], order[size] = order[size], i
                continue
            p += 1
            if far <= 0:
                continue
            worst = max(worst, far)
            for m in range(k):
                A[i, m] += change[m]
                W[d, m] += s * change[m]
            for t in range(starts[i], starts[i + 1]):
                x, line = data[t], W[columns[t]]
                for m in range(k):
                    line[m] += x * change[m]
        cut = worst if worst > 0 else np.inf
        if worst <= tol:
            break
    return size, cut, worst, count


@compiled(fastmath=FASTMATH)
def project_onto_simplices(G, C, q, rho, p):
    """Write eq. (2) of `crammer_singer_newton.py` into p.

    Returns sum p G, sum C max G and |p - q|^2.
    """
    n, k = G.shape
    D = np.empty(k)
    linear, psi, distance = 0.0, 0.0, 0.0
    for i in range(n):
        c = C[i]
        top = -np.inf
        for m in range(k):
            x, b = q[i, m] + G[i, m] / rho, m - 1
            p[i, m] = x
            top = max(top, G[i, m])
            while b >= 0 and D[b] < x:  # insertion sort, largest first
                D[b + 1] = D[b]
                b -= 1
            D[b + 1] = x
        level = D[0] - c
        r = 1
        while r < k and level < r * D[r]:
            level += D[r]
            r += 1
        level /= r
        psi += c * top
        for m in range(k):
            x = max(p[i, m] - level, 0.0)
            p[i, m] = x
            linear += x * G[i, m]
            distance += (x - q[i, m]) ** 2
    return linear, psi, distance

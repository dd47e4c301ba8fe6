"""Compiled epochs of SAGA and SAG, for dense and CSR rows; `saga.py` has the method.

M holds the gradients n v_i l'(y_i, f_i) of every row as last computed, A their mean.
Until every row was drawn once the mean is over the rows drawn so far: eta times n over
their number is the step length.
Coordinates that a CSR row does not touch all take the same step again and again;
`catch_up` applies m of these steps at once when the coordinate is next needed.
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.loops.compiled import FASTMATH, compiled


class SAGAStep(NamedTuple):
    """The numbers of one step, eq. (2) of `saga.py`."""

    eta: float  # step length
    weight: float  # c: 1 for SAGA, 1/n for SAG
    threshold: float  # eta a, of the L1 penalty
    shrinkage: float  # 1 / (1 + eta b2), of the L2 penalty
    intercept: bool


class GradientTable(NamedTuple):
    """The gradients that are remembered, and of which rows."""

    M: np.ndarray  # (n, k)
    A: np.ndarray  # (k, d + 1); (d + 1, k) for CSR rows
    seen: np.ndarray  # (n,) whether M has the gradient of the row
    count: np.ndarray  # (1,) how many rows were seen


@compiled(fastmath=FASTMATH)
def row_loss_gradient(f, y, weight, out):
    """weight times the gradient of the logistic (k = 1) or softmax loss in f."""
    k = f.shape[0]
    if k == 1:
        e = math.exp(-abs(f[0]))
        p = 1 / (1 + e) if f[0] >= 0 else e / (1 + e)
        out[0] = weight * (p - y)
        return
    top = f[0]
    for c in range(1, k):
        top = max(top, f[c])
    total = 0.0
    for c in range(k):
        out[c] = math.exp(f[c] - top)
        total += out[c]
    for c in range(k):
        out[c] *= weight / total
    out[y] -= weight


@compiled(fastmath=FASTMATH)
def elastic_net_prox(w, t, q):
    """The prox of t |w| + b/2 w^2 for q = 1 / (1 + b)."""
    if w > t:
        return q * (w - t)
    if w < -t:
        return q * (w + t)
    return 0.0


@compiled(fastmath=FASTMATH)
def repeated_affine_map(w, s, q, m):
    """w after m applications of w <- q (w - s)."""
    if q == 1.0:
        return w - m * s
    power = q**m
    return power * w - s * q * (1 - power) / (1 - q)


@compiled(fastmath=FASTMATH)
def catch_up(w, c, t, q, m):
    """w after m applications of w <- prox(w - c).

    While w keeps its sign this is an affine map, whose m-th power has a formula. The
    path of w is monotone, so the last step before 0 is found by bisection.
    """
    while m > 0:
        if w == 0 and abs(c) <= t:
            return 0.0
        side = 1.0 if (w > 0 or (w == 0 and c < 0)) else -1.0
        u, s = side * w, side * c + t
        end = repeated_affine_map(u, s, q, m)
        if end > 0:
            return side * end
        low = 0
        high = m  # positive after `low` steps, not after `high`
        while high - low > 1:
            middle = (low + high) // 2
            if repeated_affine_map(u, s, q, middle) > 0:
                low = middle
            else:
                high = middle
        w = side * (repeated_affine_map(u, s, q, low) if low > 0 else u)
        w = elastic_net_prox(w - c, t, q)
        m -= low + 1
    return w


@compiled(fastmath=FASTMATH)
def bring_up_to_date(W, A, j, S, varies, eta, t, q, old, now):
    """Apply the steps `old` to `now` that coordinate j has missed."""
    for c in range(W.shape[1]):
        if varies:
            power = q ** (now - old)
            W[j, c] = power * W[j, c] - A[j, c] * (S[now] - power * S[old])
        else:
            W[j, c] = catch_up(W[j, c], eta * A[j, c], t, q, now - old)


@compiled
def count_row(seen, count, i):
    """Mark row i as seen; returns n over the number of rows seen."""
    if not seen[i]:
        seen[i] = True
        count[0] += 1
    return seen.shape[0] / count[0]


@compiled
def correction_weight(weight, count, n):
    """c of eq. (2); SAGA's, 1, less what the step is longer while rows are unseen."""
    return count[0] / n if weight == 1.0 else weight


@compiled(fastmath=FASTMATH)
def dense_saga_epoch(X, y, v, order, W, b, table, step):
    """One epoch over the rows in `order`, in place."""
    M, A, seen, count = table
    eta0, weight, t, q, intercept = step
    n, d = X.shape
    k = W.shape[0]
    f, r = np.empty(k), np.empty(k)
    for i in order:
        row = X[i]
        for c in range(k):
            s = b[c]
            for j in range(d):
                s += row[j] * W[c, j]
            f[c] = s
        row_loss_gradient(f, y[i], n * v[i], r)
        eta = eta0 * count_row(seen, count, i)
        for c in range(k):
            change = r[c] - M[i, c]
            M[i, c] = r[c]
            scaled = correction_weight(weight, count, n) * change
            mean = change / n
            for j in range(d):
                move = scaled * row[j] + A[c, j]
                A[c, j] += mean * row[j]
                W[c, j] = elastic_net_prox(W[c, j] - eta * move, t, q)
            if intercept:
                b[c] -= eta * (scaled + A[c, d])
                A[c, d] += mean


@compiled(fastmath=FASTMATH)
def sparse_saga_epoch(csr, y, v, order, W, b, table, last, step):
    """`dense_saga_epoch` for CSR rows, with W (d, k) and A (d + 1, k) by columns.

    `last` (d,) is scratch: the number of steps that each coordinate has taken. While
    rows are drawn for the first time eta varies: with S_{s+1} = q (S_s + eta_s), the
    steps from s to u are w <- q^(u-s) w - A (S_u - q^(u-s) S_s), without an L1 penalty.
    """
    data, columns, starts = csr
    M, A, seen, count = table
    eta0, weight, t, q, intercept = step
    n, k, d = M.shape[0], W.shape[1], W.shape[0]
    f, r = np.empty(k), np.empty(k)
    varies = count[0] < n
    S = np.zeros(len(order) + 1 if varies else 1)
    now = 0
    for i in order:
        f[:] = b
        for s in range(starts[i], starts[i + 1]):
            j = columns[s]
            if last[j] < now:
                bring_up_to_date(W, A, j, S, varies, eta0, t, q, last[j], now)
                last[j] = now
            for c in range(k):
                f[c] += data[s] * W[j, c]
        row_loss_gradient(f, y[i], n * v[i], r)
        eta = eta0 * count_row(seen, count, i)
        for c in range(k):
            change = r[c] - M[i, c]
            M[i, c] = r[c]
            r[c] = change
        c_now = correction_weight(weight, count, n)
        now += 1
        if varies:
            S[now] = q * (S[now - 1] + eta)
        for s in range(starts[i], starts[i + 1]):
            j = columns[s]
            for c in range(k):
                move = c_now * r[c] * data[s] + A[j, c]
                A[j, c] += r[c] * data[s] / n
                W[j, c] = elastic_net_prox(W[j, c] - eta * move, t, q)
            last[j] = now
        if intercept:
            for c in range(k):
                b[c] -= eta * (c_now * r[c] + A[d, c])
                A[d, c] += r[c] / n
    for j in range(d):
        if last[j] < now:
            bring_up_to_date(W, A, j, S, varies, eta0, t, q, last[j], now)
        last[j] = 0

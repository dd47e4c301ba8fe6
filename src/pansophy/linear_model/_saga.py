"""Loops of SAGA: one row at a time, dense, or CSR with coordinates kept up to date.

M holds the slopes v n l'(y_i, f_i) of every row as last seen, A their mean gradient.
See `saga.py` for the step. Coordinates that a CSR row does not touch all take the same
step again and again; `catch_up` takes m of them at once.
"""

import math

import numpy as np
from numba import njit

FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(cache=True, nogil=True, fastmath=FAST)
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


@njit(cache=True, nogil=True, fastmath=FAST)
def elastic_net_prox(w, t, q):
    """The prox of t |w| + b/2 w^2 for q = 1 / (1 + b)."""
    if w > t:
        return q * (w - t)
    if w < -t:
        return q * (w + t)
    return 0.0


@njit(cache=True, nogil=True, fastmath=FAST)
def repeated_affine_map(w, s, q, m):
    """w after m times w <- q (w - s)."""
    if q == 1.0:
        return w - m * s
    power = q**m
    return power * w - s * q * (1 - power) / (1 - q)


@njit(cache=True, nogil=True, fastmath=FAST)
def catch_up(w, c, t, q, m):
    """w after m times w <- prox(w - c).

    While w keeps its sign this is a straight map, and m of them have a formula. The
    path of w is monotone, so the last step before 0 can be found by halving.
    """
    while m > 0:
        if w == 0 and abs(c) <= t:
            return 0.0
        side = 1.0 if (w > 0 or (w == 0 and c < 0)) else -1.0
        u, s = side * w, side * c + t
        end = repeated_affine_map(u, s, q, m)
        if end > 0:
            return side * end
        low, high = 0, m  # positive after `low` steps, not after `high`
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


@njit(cache=True, nogil=True, fastmath=FAST)
def dense_saga_epoch(X, y, v, order, W, b, M, A, eta, keep, t, q, intercept):
    """One pass over `order`; `keep` is the weight of a new slope in the step."""
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
        for c in range(k):
            change = r[c] - M[i, c]
            M[i, c] = r[c]
            step, mean = keep * change, change / n
            for j in range(d):
                move = step * row[j] + A[c, j]
                A[c, j] += mean * row[j]
                W[c, j] = elastic_net_prox(W[c, j] - eta * move, t, q)
            if intercept:
                b[c] -= eta * (step + A[c, d])
                A[c, d] += mean


@njit(cache=True, nogil=True, fastmath=FAST)
def sparse_saga_epoch(
    data, columns, starts, y, v, order, W, b, M, A, last, eta, keep, t, q, intercept
):
    """The same for CSR rows, with W (d, k) and A (d + 1, k) by columns."""
    n, k, d = M.shape[0], W.shape[1], W.shape[0]
    f, r = np.empty(k), np.empty(k)
    now = 0
    for i in order:
        f[:] = b
        for s in range(starts[i], starts[i + 1]):
            j = columns[s]
            if last[j] < now:
                for c in range(k):
                    W[j, c] = catch_up(W[j, c], eta * A[j, c], t, q, now - last[j])
                last[j] = now
            for c in range(k):
                f[c] += data[s] * W[j, c]
        row_loss_gradient(f, y[i], n * v[i], r)
        for c in range(k):
            change = r[c] - M[i, c]
            M[i, c] = r[c]
            r[c] = change
        now += 1
        for s in range(starts[i], starts[i + 1]):
            j = columns[s]
            for c in range(k):
                move = keep * r[c] * data[s] + A[j, c]
                A[j, c] += r[c] * data[s] / n
                W[j, c] = elastic_net_prox(W[j, c] - eta * move, t, q)
            last[j] = now
        if intercept:
            for c in range(k):
                b[c] -= eta * (keep * r[c] + A[d, c])
                A[d, c] += r[c] / n
    for j in range(d):
        if last[j] < now:
            for c in range(k):
                W[j, c] = catch_up(W[j, c], eta * A[j, c], t, q, now - last[j])
        last[j] = 0

"""Loops of logistic regression: one pass over rows gives loss and gradient.

`binary` and `binary_sparse` read each row once: its raw prediction, its loss, and its
share of the gradient, last entry for the intercept. `softmax_rows` turns a block of
raw predictions into residuals v (p - onehot), for BLAS to finish.
"""

import math

from numba import njit

FAST = {"contract", "reassoc", "nsz", "arcp"}


@njit(cache=True, nogil=True, fastmath=FAST)
def binary(X, t, v, w, b, g):
    """Loss of rows X with labels t in {0, 1}; the gradient is added to g (d + 1,)."""
    n, d = X.shape
    loss = 0.0
    for i in range(n):
        row = X[i]
        f = 0.0
        for j in range(d):
            f += row[j] * w[j]
        f += b
        e = math.exp(-abs(f))
        p = 1 / (1 + e) if f >= 0 else e / (1 + e)
        loss += v[i] * (max(f, 0.0) + math.log1p(e) - t[i] * f)
        r = v[i] * (p - t[i])
        for j in range(d):
            g[j] += r * row[j]
        g[d] += r
    return loss


@njit(cache=True, nogil=True, fastmath=FAST)
def binary_sparse(data, columns, starts, t, v, w, b, g):
    """The same for CSR rows."""
    d = w.shape[0]
    loss = 0.0
    for i in range(t.shape[0]):
        f = 0.0
        for s in range(starts[i], starts[i + 1]):
            f += data[s] * w[columns[s]]
        f += b
        e = math.exp(-abs(f))
        p = 1 / (1 + e) if f >= 0 else e / (1 + e)
        loss += v[i] * (max(f, 0.0) + math.log1p(e) - t[i] * f)
        r = v[i] * (p - t[i])
        for s in range(starts[i], starts[i + 1]):
            g[columns[s]] += r * data[s]
        g[d] += r
    return loss


@njit(cache=True, nogil=True, fastmath=FAST)
def softmax_rows(F, t, v):
    """Loss of raw predictions F (n, k) with labels t; F becomes v (p - onehot)."""
    n, k = F.shape
    loss = 0.0
    for i in range(n):
        row = F[i]
        top = row[0]
        for c in range(1, k):
            top = max(top, row[c])
        own = row[t[i]]
        total = 0.0
        for c in range(k):
            row[c] = math.exp(row[c] - top)
            total += row[c]
        loss += v[i] * (math.log(total) + top - own)
        share = v[i] / total
        for c in range(k):
            row[c] *= share
        row[t[i]] -= v[i]
    return loss

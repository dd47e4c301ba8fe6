"""Compiled passes of `risk.py`: loss, gradient and Hessian products of rows.

A pass takes a few rows at a time, while they are in the cache: raw predictions, loss
and loss gradient, and their part of the gradient, whose last entry is the intercept's.
`f` comes in as the offsets and leaves as the raw predictions. CSR rows come with
unsigned indices: compiled code then needs no test for indices from the end. Their sums
stay in order (no `reassoc`): gathering in vectors is slower.
"""

import math

import numpy as np

from ..core.loops.compiled import FASTMATH, FASTMATH_ORDERED, compiled
from ..losses import _pointwise as losses
from ..losses.base import LOGISTIC

CHUNK = 64  # rows


def loss_kind(loss):
    """The `kind` of a loss for these loops: None for the logistic one.

    Its first fit then need not wait for the code of all other losses to be compiled.
    """
    return None if loss.kind == LOGISTIC else loss.kind


@compiled(fastmath=FASTMATH)
def loss_and_gradient(kind, a, y, v, f, r):
    """Returns the sum of v l(y, f); r becomes v l'(y, f). See `loss_kind`."""
    loss = 0.0
    if kind is None:  # logistic: one exponential for both
        for i in range(f.shape[0]):
            e = math.exp(-abs(f[i]))
            p = 1 / (1 + e) if f[i] >= 0 else e / (1 + e)
            loss += v[i] * (max(f[i], 0.0) + math.log1p(e) - y[i] * f[i])
            r[i] = v[i] * (p - y[i])
    else:
        for i in range(f.shape[0]):
            loss += v[i] * losses.loss_value(kind, y[i], f[i], a)
            r[i] = v[i] * losses.loss_gradient(kind, y[i], f[i], a)
    return loss


@compiled(fastmath=FASTMATH)
def loss_curvature(kind, a, y, v, f, h):
    """h = v l''(y, f). See `loss_kind`."""
    for i in range(f.shape[0]):
        if kind is None:
            h[i] = v[i] * losses.logistic_curvature(f[i])
        else:
            h[i] = v[i] * losses.loss_curvature(kind, y[i], f[i], a)


@compiled(inner=True, fastmath=FASTMATH)
def add_dense_predictions(X, w, b, f):
    """f += X w + b."""
    for i in range(f.shape[0]):
        row = X[i]
        s = 0.0
        for j in range(w.shape[0]):
            s += row[j] * w[j]
        f[i] += s + b


@compiled(inner=True, fastmath=FASTMATH)
def add_dense_gradient(X, r, g):
    """g += (X, 1)^T r, four rows at a time."""
    n, d = X.shape
    i = 0
    while i + 4 <= n:
        A, B, C, D = X[i], X[i + 1], X[i + 2], X[i + 3]
        a, b, c, e = r[i], r[i + 1], r[i + 2], r[i + 3]
        for j in range(d):
            g[j] += a * A[j] + b * B[j] + c * C[j] + e * D[j]
        i += 4
    while i < n:
        A, a = X[i], r[i]
        for j in range(d):
            g[j] += a * A[j]
        i += 1
    for i in range(n):
        g[d] += r[i]


@compiled(fastmath=FASTMATH)
def dense_loss_gradient(X, y, v, w, b, kind, a, f, g):
    """Loss of dense rows; the gradient is added to g (d + 1,)."""
    n = X.shape[0]
    loss = 0.0
    r = np.empty(CHUNK, f.dtype)
    for i in range(0, n, CHUNK):
        m = min(CHUNK, n - i)
        add_dense_predictions(X[i : i + m], w, b, f[i : i + m])
        loss += loss_and_gradient(kind, a, y[i : i + m], v[i : i + m], f[i : i + m], r)
        add_dense_gradient(X[i : i + m], r[:m], g)
    return loss


@compiled(fastmath=FASTMATH)
def dense_hessian_product(X, h, u, c, g):
    """g += (X, 1)^T diag(h) (X u + c)."""
    n = X.shape[0]
    r = np.empty(CHUNK, h.dtype)
    for i in range(0, n, CHUNK):
        m = min(CHUNK, n - i)
        r[:m] = 0.0
        add_dense_predictions(X[i : i + m], u, c, r[:m])
        for t in range(m):
            r[t] *= h[i + t]
        add_dense_gradient(X[i : i + m], r[:m], g)


@compiled(inner=True, fastmath=FASTMATH_ORDERED)
def add_sparse_predictions(data, columns, starts, w, b, f):
    """f += X w + b for CSR rows."""
    for i in range(f.shape[0]):
        s = 0.0
        for t in range(starts[i], starts[i + 1]):
            s += data[t] * w[columns[t]]
        f[i] += s + b


@compiled(inner=True, fastmath=FASTMATH_ORDERED)
def add_sparse_gradient(data, columns, starts, r, g):
    """g += (X, 1)^T r for CSR rows."""
    total = 0.0
    for i in range(r.shape[0]):
        total += r[i]
        for t in range(starts[i], starts[i + 1]):
            g[columns[t]] += r[i] * data[t]
    g[-1] += total


@compiled(fastmath=FASTMATH)
def sparse_loss_gradient(data, columns, starts, y, v, w, b, kind, a, f, g):
    """`dense_loss_gradient` for CSR rows."""
    n = f.shape[0]
    loss = 0.0
    r = np.empty(CHUNK, f.dtype)
    for i in range(0, n, CHUNK):
        m = min(CHUNK, n - i)
        at = starts[i : i + m + 1]
        add_sparse_predictions(data, columns, at, w, b, f[i : i + m])
        loss += loss_and_gradient(kind, a, y[i : i + m], v[i : i + m], f[i : i + m], r)
        add_sparse_gradient(data, columns, at, r[:m], g)
    return loss


@compiled(fastmath=FASTMATH)
def sparse_hessian_product(data, columns, starts, h, u, c, g):
    """`dense_hessian_product` for CSR rows."""
    n = h.shape[0]
    r = np.empty(CHUNK, h.dtype)
    for i in range(0, n, CHUNK):
        m = min(CHUNK, n - i)
        at = starts[i : i + m + 1]
        r[:m] = 0.0
        add_sparse_predictions(data, columns, at, u, c, r[:m])
        for t in range(m):
            r[t] *= h[i + t]
        add_sparse_gradient(data, columns, at, r[:m], g)


@compiled(fastmath=FASTMATH_ORDERED)
def sparse_diagonal_and_block(data, columns, starts, h, place, D, G):
    """Diagonal D and block G of (X, 1)^T diag(h) (X, 1) for CSR rows, added in place.

    G (lower triangle, intercept last) has the columns whose `place` is not -1.
    """
    m = G.shape[0] - 1
    seen, entry = np.empty(m + 1, np.int64), np.empty(m + 1)
    for i in range(h.shape[0]):
        count = 0
        for t in range(starts[i], starts[i + 1]):
            x, j = data[t], columns[t]
            D[j] += h[i] * x * x
            if place[j] >= 0 and count <= m:
                seen[count] = place[j]
                entry[count] = x
                count += 1
        D[-1] += h[i]
        for p in range(count):
            part = h[i] * entry[p]
            G[m, seen[p]] += part
            for q in range(p + 1):
                a = max(seen[p], seen[q])
                b = min(seen[p], seen[q])
                G[a, b] += part * entry[q]
        G[m, m] += h[i]


@compiled(fastmath=FASTMATH)
def softmax_loss_gradient(F, y, v, R):
    """Returns the loss of logits F (n, k); F becomes p, and R = v (p - one_hot(y))."""
    n, k = F.shape
    loss = 0.0
    for i in range(n):
        row = F[i]
        top = row[0]
        for c in range(1, k):
            top = max(top, row[c])
        own = row[y[i]]
        total = 0.0
        for c in range(k):
            row[c] = math.exp(row[c] - top)
            total += row[c]
        loss += v[i] * (math.log(total) + top - own)
        share = 1 / total
        for c in range(k):
            row[c] *= share
            R[i, c] = v[i] * row[c]
        R[i, y[i]] -= v[i]
    return loss


@compiled(fastmath=FASTMATH)
def softmax_curvature_product(P, v, D):
    """Each row of D becomes v (diag p - p p^T) times that row."""
    n, k = P.shape
    for i in range(n):
        mean = 0.0
        for c in range(k):
            mean += P[i, c] * D[i, c]
        for c in range(k):
            D[i, c] = v[i] * P[i, c] * (D[i, c] - mean)

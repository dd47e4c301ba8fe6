"""Multiplicative updates of NMF, for every beta divergence.

    d_b(x, y) = (x^b + (b-1) y^b - b x y^(b-1)) / (b (b-1))                      (1)
    d_1 = x log(x/y) - x + y        d_0 = x/y - log(x/y) - 1        d_2 = (x-y)^2/2

With Y = W H, each factor is multiplied by a quotient of two sums of nonnegative terms,

    W <- W * [ ((Y^(b-2) X) H^T) / (Y^(b-1) H^T + l1 + l2 W) ]^g                 (2)

and H likewise; g = 1 for b in [1, 2], 1/(2-b) below, 1/(b-1) above keeps the sum of
(1) from rising. Rows go in blocks, so Y is never whole; for b = 2 it is not needed,
and for b = 1 only at the stored entries of a sparse X.

Refs      [LeeSeung2001]; [Fevotte2011] the exponent g
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..core.arrays.rows import as_rows
from ..core.numerics import xlogy
from ._nmf import product_at_entries

TINY = 1e-30


def beta_divergence(x, y, b):
    """Sum of eq. (1) over the entries of two arrays."""
    x = x.astype(float, copy=False)
    y = np.maximum(y, TINY).astype(float, copy=False)
    if b == 2:
        return float(np.sum((x - y) ** 2)) / 2
    if b == 1:
        return float(np.sum(xlogy(x, np.maximum(x, TINY) / y) - x + y))
    if b == 0:
        q = np.maximum(x, TINY) / y
        return float(np.sum(q - np.log(q) - 1))
    mixed = np.sum(x**b) + (b - 1) * np.sum(y**b) - b * np.sum(x * y ** (b - 1))
    return float(mixed / (b * (b - 1)))


def mu_exponent(b):
    """g of eq. (2)."""
    return 1 / (2 - b) if b < 1 else 1 / (b - 1) if b > 2 else 1.0


def block_divergence(x, w, H, b):
    """The divergence of one block; H is (d, k)."""
    if sp.issparse(x) and b == 1:
        y = np.maximum(product_at_entries(w, H, x.indptr, x.indices), TINY)
        stored = xlogy(x.data, np.maximum(x.data, TINY) / y) - x.data
        return float(np.sum(stored)) + float(w.sum(axis=0) @ H.sum(axis=0))
    x = x.toarray() if sp.issparse(x) else x
    return beta_divergence(x, w @ H.T, b)


def mu_quotient_terms(x, w, H, b) -> tuple[Any, Any]:
    """Y^(b-2) X and Y^(b-1) of one block (None for b = 1); H is (d, k)."""
    if sp.issparse(x) and b == 1:
        y = np.maximum(product_at_entries(w, H, x.indptr, x.indices), TINY)
        return type(x)((x.data / y, x.indices, x.indptr), shape=x.shape), None
    x = x.toarray() if sp.issparse(x) else x
    Y = w @ H.T
    np.maximum(Y, TINY, out=Y)
    if b == 1:
        return np.divide(x, Y, out=Y), None
    low = Y ** (b - 2)
    return x * low, low * Y


def kl_from_quotient(x, A):
    """sum x log(x/y) - x over one block, for b = 1, from A = X / Y."""
    x, A = (x.data, A.data) if sp.issparse(x) else (x, A)
    logs = np.log(np.maximum(A, TINY))  # 0 log 0 = 0
    logs *= x
    return float(np.sum(logs, dtype=float)) - float(np.sum(x, dtype=float))


def total_divergence(X, W, H, b):
    """Sum of eq. (1) over X and W H^T."""
    if b == 2 and sp.issparse(X):
        power = 0.5 * float(np.sum(X.data.astype(float) ** 2))
        W = W.astype(float)
        H = H.astype(float)
        grams = 0.5 * float(np.vdot(W.T @ W, H.T @ H))
        D = power - float(np.vdot(X @ H, W)) + grams
        if 1e-6 * power < D:  # else too few digits are left
            return D
    return as_rows(X, W).sum(lambda x, w: block_divergence(x, w, H, b))


def multiplicative_update(W, top, bottom, l1, l2, b):
    """Eq. (2) given its two sums."""
    bottom = bottom + l1 + l2 * W
    quotient = top / np.where(bottom == 0, np.finfo(W.dtype).eps, bottom)
    g = mu_exponent(b)
    return W * (quotient if g == 1 else quotient**g)


def update_left_factor(X, W, H, b, l1, l2):
    """The new W."""
    if b == 2:
        return multiplicative_update(W, X @ H, W @ (H.T @ H), l1, l2, b).astype(W.dtype)

    def stats(x, w):
        A, B = mu_quotient_terms(x, w, H, b)
        bottom = H.sum(axis=0)[None, :] if B is None else B @ H
        return multiplicative_update(w, A @ H, bottom, l1, l2, b).astype(w.dtype)

    return as_rows(X, W).map(stats)


def squared_entries(X) -> float:
    """|X|^2, the sum over the entries of a dense or sparse matrix."""
    values = X.data if sp.issparse(X) else X.ravel(order="K")
    return float(np.vdot(values, values))


def update_right_factor(X, W, H, b, l1, l2, power):
    """The new H (d, k), and the divergence before it; `power` is |X|^2, for b = 2."""
    if b == 2:
        top = (W.T @ X).T
        G = W.T @ W
        # |X - W H|^2 / 2 from products that are there: good to 1e-16 of |X|^2
        D = 0.5 * power - float(np.vdot(top, H)) + 0.5 * float(np.vdot(G, H.T @ H))
        new = multiplicative_update(H, top, H @ G, l1, l2, b)
        return new.astype(H.dtype), max(D, 0.0)

    def stats(x, w):
        A, B = mu_quotient_terms(x, w, H, b)
        top = A.T @ w if sp.issparse(A) else (w.T @ A).T
        if b == 1:
            return top, np.zeros((1, w.shape[1])), kl_from_quotient(x, A)
        return top, B.T @ w, block_divergence(x, w, H, b)

    top, bottom, D = as_rows(X, W).sum(stats)
    if b == 1:
        bottom = W.sum(axis=0)[None, :]
        D += float(bottom[0].astype(float) @ H.sum(axis=0, dtype=float))  # sum y
    return multiplicative_update(H, top, bottom, l1, l2, b).astype(H.dtype), D

"""Compiled loops of `natural_parameters.py`: features, responsibilities, sums."""

import math
from typing import NamedTuple

import numpy as np

from ..core._scalar import LN2_HIGH, LN2_LOW, LOG2_E, exp_series
from ..core.loops.compiled import FASTMATH, FASTMATH_FUSED, compiled


class FeatureMap(NamedTuple):
    """From rows x to features of u = (x - center) / scale, then u W if `rotate`."""

    center: np.ndarray  # (d,)
    scale: np.ndarray  # (d,)
    rotate: bool
    rotation: np.ndarray  # W^T (d, d)
    kind: int  # which products of u follow: see `_fill_features`


BLOCK = 256  # columns of a feature block, which then stays in the cache


@compiled(fastmath=FASTMATH_FUSED)
def exp_in_place(x, bits, powers):
    """exp of numbers <= 0 to 1e-15: 2^t e^r with |r| < 0.35, e^r by its series.

    `powers` is `bits` seen as floats, which turns t into 2^t. Written so that it
    becomes vector instructions.
    """
    for i in range(x.shape[0]):
        v = max(x[i], -708.0)
        t = math.floor(v * LOG2_E + 0.5)
        r = (v - t * LN2_HIGH) - t * LN2_LOW
        bits[i] = (np.int64(t) + 1023) << 52
        x[i] = exp_series(r)
    for i in range(x.shape[0]):
        x[i] *= powers[i]


@compiled(fastmath=FASTMATH)
def _fill_features(X, feature_map, V, F):
    """Features of the rows X as columns of F; unused columns become zero.

    u = (x - c) / s, then u W if `rotate`; then 1, u and by kind: 0 nothing, 1 |u|^2,
    2 u_a^2, 3 u_a u_b for a <= b.
    """
    n, d = X.shape
    B = F.shape[1]
    for a in range(d):
        ca = feature_map.center[a]
        sa = 1.0 / feature_map.scale[a]
        for i in range(n):
            V[a, i] = (X[i, a] - ca) * sa
        for i in range(n, B):
            V[a, i] = 0.0
    U = F[1 : 1 + d]
    if feature_map.rotate:
        np.dot(feature_map.rotation, V, U)
    else:
        for a in range(d):
            for i in range(B):
                U[a, i] = V[a, i]
    for i in range(B):
        F[0, i] = 1.0
    p = 1 + d
    kind = feature_map.kind
    if kind == 1:
        for i in range(B):
            F[p, i] = 0.0
        for a in range(d):
            for i in range(B):
                F[p, i] += U[a, i] * U[a, i]
    elif kind >= 2:
        for a in range(d):
            stop = d if kind == 3 else a + 1
            for b in range(a, stop):
                for i in range(B):
                    F[p, i] = U[a, i] * U[b, i]
                p += 1


@compiled
def _exclude_components(L, n, codes, owner, value):
    """Columns of L at `value` in the rows of components that a label rules out."""
    for i in range(n):
        if codes[i] >= 0:
            for j in range(L.shape[0]):
                if owner[j] != codes[i]:
                    L[j, i] = value


@compiled(fastmath=FASTMATH)
def _column_maxima(L, top):
    k, B = L.shape
    for i in range(B):
        top[i] = L[0, i]
    for j in range(1, k):
        for i in range(B):
            top[i] = max(top[i], L[j, i])


@compiled(fastmath=FASTMATH)
def _fill_responsibilities(
    L, w, n, weighted, codes, owner, labelled, top, bits, powers, R
):
    """Columns of L (k, B) to responsibilities R (B, k) times weights; sum of log p."""
    k, B = L.shape
    if labelled:
        _exclude_components(L, n, codes, owner, -1e300)
    _column_maxima(L, top)
    for j in range(k):
        for i in range(B):
            L[j, i] -= top[i]
        exp_in_place(L[j], bits, powers)
    if labelled:
        _exclude_components(L, n, codes, owner, 0.0)
    loglik = 0.0
    for i in range(n):
        total = 0.0
        for j in range(k):
            total += L[j, i]
        wi = w[i] if weighted else 1.0
        if wi > 0.0:
            loglik += wi * (top[i] + math.log(total))
        scale = wi / total
        for j in range(k):
            R[i, j] = L[j, i] * scale
    for i in range(n, B):
        for j in range(k):
            R[i, j] = 0.0
    return loglik


@compiled
def _fill_hard_memberships(L, w, n, weighted, codes, owner, labelled, R):
    """Columns of L to memberships R: all weight at the largest, the first of equals."""
    k = L.shape[0]
    if labelled:
        _exclude_components(L, n, codes, owner, -1e300)
    R[:] = 0.0
    loglik = 0.0
    for i in range(n):
        best = 0
        for j in range(1, k):
            if L[j, i] > L[best, i]:
                best = j
        wi = w[i] if weighted else 1.0
        R[i, best] = wi
        loglik += wi * L[best, i]
    return loglik


@compiled
def expectation_pass(X, w, weighted, codes, owner, labelled, hard, feature_map, coef):
    """One pass over rows X: sums of features times responsibilities, and log p.

    coef (k, m) holds the natural parameters with the log weights of the components.
    """
    n, d = X.shape
    k, m = coef.shape
    F, V = np.empty((m, BLOCK)), np.empty((d, BLOCK))
    L, R, top = np.empty((k, BLOCK)), np.empty((BLOCK, k)), np.empty(BLOCK)
    bits = np.empty(BLOCK, np.int64)
    powers = bits.view(np.float64)
    S = np.zeros((m, k))
    part = np.empty((m, k))
    loglik = 0.0
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        rows = stop - start
        _fill_features(X[start:stop], feature_map, V, F)
        np.dot(coef, F, L)
        wb = w[start:stop] if weighted else w
        cb = codes[start:stop] if labelled else codes
        if hard:
            loglik += _fill_hard_memberships(
                L, wb, rows, weighted, cb, owner, labelled, R
            )
        else:
            loglik += _fill_responsibilities(
                L, wb, rows, weighted, cb, owner, labelled, top, bits, powers, R
            )
        np.dot(F, R, part)
        S += part
    return S, loglik


@compiled
def fill_log_densities(X, feature_map, coef, out):
    """Log-densities out (n, k) of rows X under natural parameters coef (k, m)."""
    n, d = X.shape
    k, m = coef.shape
    F, V, L = np.empty((m, BLOCK)), np.empty((d, BLOCK)), np.empty((k, BLOCK))
    for start in range(0, n, BLOCK):
        rows = min(BLOCK, n - start)
        _fill_features(X[start : start + rows], feature_map, V, F)
        np.dot(coef, F, L)
        for i in range(rows):
            for j in range(k):
                out[start + i, j] = L[j, i]


@compiled
def weighted_feature_sums(X, R, feature_map, m):
    """Sums (m, k) of the features of rows X times their weights R (n, k)."""
    n, d = X.shape
    k = R.shape[1]
    F = np.empty((m, BLOCK))
    V = np.empty((d, BLOCK))
    P = np.zeros((BLOCK, k))
    S = np.zeros((m, k))
    part = np.empty((m, k))
    for start in range(0, n, BLOCK):
        rows = min(BLOCK, n - start)
        _fill_features(X[start : start + rows], feature_map, V, F)
        for i in range(rows):  # a slice from a slice takes seconds to compile
            for j in range(k):
                P[i, j] = R[start + i, j]
        P[rows:] = 0.0
        np.dot(F, P, part)
        S += part
    return S

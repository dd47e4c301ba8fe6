"""Compiled loops of `class_moments.py`: sums and moments of labelled rows."""

import math

import numpy as np

from ...core.loops.compiled import FASTMATH, compiled

TILE = 1 << 15  # values of a tile: read twice, the second time from cache


@compiled(fastmath=FASTMATH)
def add_rows(X, codes, w, weighted, N, S):
    """Add the weight of each row to N (k,) and the row to S (k, d), by its code."""
    n, d = X.shape
    for i in range(n):
        c = codes[i]
        wi = w[i] if weighted else 1.0
        N[c] += wi
        for j in range(d):
            S[c, j] += wi * X[i, j]


@compiled(fastmath=FASTMATH)
def _add_squares(X, codes, w, weighted, M, S):
    """Add the squared distances of the rows from the means M of their classes."""
    n, d = X.shape
    for i in range(n):
        c = codes[i]
        wi = w[i] if weighted else 1.0
        for j in range(d):
            t = X[i, j] - M[c, j]
            S[c, j] += wi * t * t


@compiled(fastmath=FASTMATH)
def _tile_with_holes(X, codes, w, weighted, N, M, S):
    """Weight, mean and scatter of each column over the rows that have it."""
    n, d = X.shape
    k = M.shape[0]
    for i in range(n):
        c = codes[i]
        wi = w[i] if weighted else 1.0
        for j in range(d):
            if not math.isnan(X[i, j]):
                N[c, j] += wi
                M[c, j] += wi * X[i, j]
    for c in range(k):
        for j in range(d):
            if N[c, j] > 0:
                M[c, j] /= N[c, j]
    for i in range(n):
        c = codes[i]
        wi = w[i] if weighted else 1.0
        for j in range(d):
            if not math.isnan(X[i, j]):
                t = X[i, j] - M[c, j]
                S[c, j] += wi * t * t


@compiled(fastmath=FASTMATH)
def _tile_moments(X, codes, w, weighted, N, M, S):
    """Moments of a tile without missing values; False, nothing written, if any is."""
    d = X.shape[1]
    k = M.shape[0]
    weight = np.zeros(k)
    add_rows(X, codes, w, weighted, weight, M)
    for c in range(k):
        for j in range(d):
            if math.isnan(M[c, j]):
                M[:] = 0.0
                return False
    for c in range(k):
        for j in range(d):
            N[c, j] = weight[c]
            if weight[c] > 0:
                M[c, j] /= weight[c]
    _add_squares(X, codes, w, weighted, M, S)
    return True


@compiled(fastmath=FASTMATH)
def diagonal_moments(X, codes, w, weighted, k):
    """Weight, mean and scatter (k, d), tile by tile, merged as `Moments` merge."""
    n, d = X.shape
    N, M, S = np.zeros((k, d)), np.zeros((k, d)), np.zeros((k, d))
    a, m, s = np.empty((k, d)), np.empty((k, d)), np.empty((k, d))
    rows = max(64, TILE // d)
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        part, tile_codes = X[start:stop], codes[start:stop]
        v = w[start:stop] if weighted else w
        a[:], m[:], s[:] = 0.0, 0.0, 0.0
        if not _tile_moments(part, tile_codes, v, weighted, a, m, s):
            _tile_with_holes(part, tile_codes, v, weighted, a, m, s)
        for c in range(k):
            for j in range(d):
                if a[c, j] > 0:
                    share = a[c, j] / (N[c, j] + a[c, j])
                    gap = m[c, j] - M[c, j]
                    S[c, j] += s[c, j] + N[c, j] * share * gap * gap
                    M[c, j] += share * gap
                    N[c, j] += a[c, j]
    return N, M, S

"""Divergences of rows of probabilities, one pass over both; see `information`."""

import math

import numpy as np

from ...core.loops.compiled import compiled


@compiled
def row_totals(P):
    """Sum of each row, whether all numbers are usable, whether all are whole."""
    n, m = P.shape
    out = np.empty(n)
    usable, all_whole = True, True
    for i in range(n):
        s = 0.0
        for j in range(m):
            v = P[i, j]
            s += v
            usable &= v >= 0.0
            all_whole &= v == np.floor(v)
        out[i] = s
        usable &= 0.0 < s < np.inf
    return out, usable, all_whole


@compiled
def _kl_term(p, q):
    """p log(p/q) - p + q, at least 0."""
    if p <= 0.0:
        return q
    if q <= 0.0:
        return np.inf
    gap = p - q
    if abs(gap) < 0.5 * q:
        return max(p * math.log1p(gap / q) - gap, 0.0)
    r = p / q
    if 1e-300 < r < 1e300:
        return p * math.log(r) - gap
    return p * (math.log(p) - math.log(q)) - gap  # the ratio has no number


@compiled
def row_divergences(P, Q, a, b, middle, out):
    """KL of each row of P/a from that of Q/b, or with `middle` Jensen-Shannon."""
    for i in range(P.shape[0]):
        s = 0.0
        for j in range(P.shape[1]):
            p, q = P[i, j] / a[i], Q[i, j] / b[i]
            if middle:
                m = 0.5 * (p + q)
                s += 0.5 * (_kl_term(p, m) + _kl_term(q, m))
            else:
                s += _kl_term(p, q)
        out[i] = s

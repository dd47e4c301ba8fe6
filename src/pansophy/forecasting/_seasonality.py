"""Compiled seasonal tests and classical decompositions of all series of a panel."""

import numpy as np

from ..core.loops.compiled import compiled


@compiled(inner=True)
def _lagged_product_sum(y, mean, lag):
    """Sum of (y_t - mean)(y_t-lag - mean) over pairs without a missing value."""
    total = 0.0
    for t in range(lag, len(y)):
        product = (y[t] - mean) * (y[t - lag] - mean)
        if product == product:
            total += product
    return total


@compiled(inner=True)
def _mean_of_known(y):
    total = 0.0
    count = 0
    for t in range(len(y)):
        if y[t] == y[t]:
            total += y[t]
            count += 1
    return total / max(count, 1), count


@compiled(inner=True)
def _has_significant_season(y, m, critical):
    """Eq. (1) of `seasonality`."""
    mean, n = _mean_of_known(y)
    if n < 3 * m or m < 2:
        return False
    variance = _lagged_product_sum(y, mean, 0)
    if not variance > 1e-20 * (mean * mean * n + 1e-300):
        return False
    total = 1.0
    for lag in range(1, m):
        r = _lagged_product_sum(y, mean, lag) / variance
        total += 2.0 * r * r
    r = _lagged_product_sum(y, mean, m) / variance
    return abs(r) > critical * np.sqrt(total / n)


@compiled(inner=True)
def _centred_average(y, m, t):
    """Average of the m values around t; the outermost two count half if m is even."""
    half = m // 2
    if t < half or t + half >= len(y):
        return np.nan
    total = 0.0
    if m % 2 == 1:
        for k in range(t - half, t + half + 1):
            total += y[k]
    else:
        total = 0.5 * (y[t - half] + y[t + half])
        for k in range(t - half + 1, t + half):
            total += y[k]
    return total / m


@compiled(inner=True)
def _next_known(y, t, step):
    """The place of the first known value at t + step, t + 2 step, ...; or -1."""
    t += step
    while 0 <= t < len(y):
        if y[t] == y[t]:
            return t
        t += step
    return -1


@compiled(inner=True)
def fill_gaps(y, m, filled):
    """Missing values between those of the same season, else between neighbours."""
    for t in range(len(y)):
        filled[t] = y[t]
        if y[t] == y[t]:
            continue
        a = _next_known(y, t, -m)
        b = _next_known(y, t, m)
        if a < 0 or b < 0:
            a = _next_known(y, t, -1)
            b = _next_known(y, t, 1)
        if a < 0 and b < 0:
            continue
        if a < 0:
            a = b
        if b < 0:
            b = a
        share = (t - a) / (b - a) if b > a else 0.0
        filled[t] = y[a] + share * (y[b] - y[a])


@compiled(inner=True)
def classical_indices(y, filled, m, multiplicative, counts, out):
    """Eq. (2) of `seasonality`; ones or zeros where a season is never seen."""
    neutral = 1.0 if multiplicative else 0.0
    for s in range(m):
        out[s] = 0.0
        counts[s] = 0.0
    for t in range(len(y)):
        trend = _centred_average(filled, m, t)
        ratio = y[t] / trend if multiplicative else y[t] - trend
        if abs(ratio) < np.inf:  # and not NaN
            out[t % m] += ratio
            counts[t % m] += 1.0
    total = 0.0
    for s in range(m):
        out[s] = out[s] / counts[s] if counts[s] > 0.0 else neutral
        total += out[s]
    for s in range(m):
        if multiplicative:
            out[s] = out[s] * m / total if total > 0.0 else 1.0
            if not out[s] > 1e-6:
                out[s] = 1e-6
        else:
            out[s] -= total / m


@compiled(inner=True)
def longest_series(offsets):
    longest = 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest


@compiled
def seasonal_indices_of_all(y, offsets, m, critical, kind, indices, found):
    """Indices (s, m) of every series; kind 1 multiplicative, 0 additive, per series.

    `found` (s,) says which have a significant season; the others get neutral indices.
    A critical value below 0 takes every season that can be estimated.
    """
    counts = np.empty(m)
    filled = np.empty(longest_series(offsets))
    for i in range(len(offsets) - 1):
        part = y[offsets[i] : offsets[i + 1]]
        neutral = 1.0 if kind[i] == 1 else 0.0
        for s in range(m):
            indices[i, s] = neutral
        space = filled[: len(part)]
        fill_gaps(part, m, space)
        _mean, n = _mean_of_known(part)
        if critical < 0.0:
            found[i] = m > 1 and n >= 2 * m
        else:
            found[i] = n >= 3 * m and _has_significant_season(space, m, critical)
        if found[i]:
            classical_indices(part, space, m, kind[i] == 1, counts, indices[i])


@compiled
def filled_series(y, m, filled):
    """Fill the gaps of one series, for those who call from Python."""
    fill_gaps(y, m, filled)

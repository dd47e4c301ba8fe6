"""Slow, obvious versions of what prepares tables."""

import numpy as np


def mean_targets(levels, y, w):
    """{level: mean target drawn towards the mean of all}, one row at a time."""
    N = float(sum(w))
    m = sum(a * b for a, b in zip(w, y)) / N
    rows = {c: [i for i, v in enumerate(levels) if v == c] for c in set(levels)}
    n = {c: sum(w[i] for i in rows[c]) for c in rows}
    mean = {c: sum(w[i] * y[i] for i in rows[c]) / n[c] for c in rows}
    inside = sum(w[i] * (y[i] - mean[c]) ** 2 for c in rows for i in rows[c])
    k = len(rows)
    if k >= N:
        return dict.fromkeys(rows, m)
    s2 = inside / (N - k)
    between = sum(n[c] * (mean[c] - m) ** 2 for c in rows)
    t2 = max(0.0, between - (k - 1) * s2) / (N - sum(v**2 for v in n.values()) / N)
    if t2 == 0:
        return dict.fromkeys(rows, m)
    return {c: m + n[c] / (n[c] + s2 / t2) * (mean[c] - m) for c in rows}


def one_hot(codes, columns):
    """Columns of 0 and 1; `columns` lists the codes that each stands for."""
    out = np.zeros((len(codes), len(columns)))
    for i, c in enumerate(codes):
        for j, kept in enumerate(columns):
            out[i, j] = any(c == k or (c != c and k != k) for k in kept)
    return out

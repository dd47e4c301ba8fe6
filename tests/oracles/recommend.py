"""Slow, obvious recommenders: loops over users, items and subsets."""

from itertools import combinations

import numpy as np


def common_correlation(x, z):
    """Pearson's r over the cells known in both; 0 if undefined."""
    both = ~np.isnan(x) & ~np.isnan(z)
    x, z = x[both], z[both]
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(z) == 0:
        return 0.0
    return float(np.corrcoef(x, z)[0, 1])


def zero_cosine(x, z):
    """Cosine with missing cells as 0."""
    x, z = np.nan_to_num(x), np.nan_to_num(z)
    size = np.linalg.norm(x) * np.linalg.norm(z)
    return float(x @ z / size) if size else 0.0


def adjusted_cosine(x, z, columns):
    """Cosine over common cells of rows less the means of the columns."""
    both = ~np.isnan(x) & ~np.isnan(z)
    x, z = (x - columns)[both], (z - columns)[both]
    size = np.linalg.norm(x) * np.linalg.norm(z)
    return float(x @ z / size) if size > 1e-12 else 0.0


def knn_prediction(Y, similarity, a, i, k):
    """mean_a + sum sim (Y_bi - mean_b) / sum |sim| over the k nearest raters of i."""
    means = np.nanmean(Y, axis=1)
    raters = [b for b in range(len(Y)) if b != a and not np.isnan(Y[b, i])]
    sims = [(similarity(Y[a], Y[b]), b) for b in raters]
    sims = [s for s in sims if abs(s[0]) > 1e-12]
    sims = sorted(sims, key=lambda s: (-round(abs(s[0]), 11), s[1]))[:k]
    bottom = sum(abs(s) for s, _ in sims)
    if bottom == 0:
        return means[a]
    return means[a] + sum(s * (Y[b, i] - means[b]) for s, b in sims) / bottom


def factor_loss(Y, W, U, V, reg):
    """1/2 sum over known cells of w (y - u.v)^2 + reg/2 (|U|^2 + |V|^2)."""
    known = ~np.isnan(Y)
    e = (Y - U @ V.T)[known]
    loss = (W[known] * e**2).sum()
    return 0.5 * (loss + reg * ((U**2).sum() + (V**2).sum()))


def implicit_loss(R, alpha, U, V, reg):
    """The same over all cells with preference and confidence; R is 0 if unknown."""
    P, C = (R > 0).astype(float), 1 + alpha * np.abs(R)
    e = P - U @ V.T
    return 0.5 * ((C * e**2).sum() + reg * ((U**2).sum() + (V**2).sum()))


def conjugate_steps(A, b, M, x, steps):
    """x after steps of conjugate gradients on A x = b, preconditioned with M."""
    r = b - A @ x
    z = np.linalg.solve(M, r)
    p = z
    for _ in range(steps):
        x = x + (r @ z) / (p @ A @ p) * p
        before, r = r @ z, b - A @ x
        z = np.linalg.solve(M, r)
        p = z + (r @ z) / before * p
    return x


def frequent_sets(baskets, least):
    """{items: count} of every set in at least `least` baskets, by trying all."""
    items = sorted({i for b in baskets for i in b})
    out = {}
    for size in range(1, len(items) + 1):
        for s in combinations(items, size):
            count = sum(set(s) <= set(b) for b in baskets)
            if count >= least:
                out[s] = count
    return out


def all_rules(baskets, least, confidence):
    """{(A, C): (support, confidence, lift)} by trying all cuts of all sets."""
    sets, n, out = frequent_sets(baskets, least), len(baskets), {}
    for s, count in sets.items():
        for size in range(1, len(s)):
            for A in combinations(s, size):
                C = tuple(i for i in s if i not in A)
                conf = count / sets[A]
                if conf >= confidence - 1e-12:
                    out[A, C] = (count / n, conf, conf / (sets[C] / n))
    return out

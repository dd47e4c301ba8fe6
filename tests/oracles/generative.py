"""Slow, obvious generative classifiers: one row, one class, one column at a time."""

import math

import numpy as np


def class_moments(X, codes, k, w=None):
    """Weight, mean and sum of squares of each column in each class, NaN left out."""
    n, d = X.shape
    w = np.ones(n) if w is None else w
    N, M, S = np.zeros((k, d)), np.zeros((k, d)), np.zeros((k, d))
    for c in range(k):
        for j in range(d):
            rows = [i for i in range(n) if codes[i] == c and not math.isnan(X[i, j])]
            N[c, j] = math.fsum(w[i] for i in rows)
            if N[c, j] > 0:
                M[c, j] = math.fsum(w[i] * X[i, j] for i in rows) / N[c, j]
            S[c, j] = math.fsum(w[i] * (X[i, j] - M[c, j]) ** 2 for i in rows)
    return N, M, S


def class_scatters(X, codes, k, w=None):
    """Scatter of each class about its mean, (k, d, d)."""
    w = np.ones(len(X)) if w is None else w
    out = np.zeros((k, X.shape[1], X.shape[1]))
    means = class_moments(X, codes, k, w)[1]
    for x, c, v in zip(X, codes, w, strict=True):
        out[c] += v * np.outer(x - means[c], x - means[c])
    return out


def class_sums(X, codes, k, w=None):
    """Weighted sums of the rows of each class."""
    w = np.ones(len(X)) if w is None else w
    out = np.zeros((k, X.shape[1]))
    for x, c, v in zip(X, codes, w, strict=True):
        out[c] += v * x
    return out


def normal_scores(X, mean, var):
    """log density of independent Normals, NaN left out."""
    out = np.zeros((len(X), len(mean)))
    for i, x in enumerate(X):
        for c in range(len(mean)):
            for v, m, s2 in zip(x, mean[c], var[c], strict=True):
                if not math.isnan(v):
                    out[i, c] -= 0.5 * (math.log(2 * math.pi * s2) + (v - m) ** 2 / s2)
    return out


def table_counts(X, codes, k, w=None):
    """One dict of (class, value) -> weight for each column."""
    w = np.ones(len(X)) if w is None else w
    tables = [{} for _ in range(X.shape[1])]
    for x, c, v in zip(X, codes, w, strict=True):
        for table, value in zip(tables, x, strict=True):
            if not math.isnan(value):
                key = (int(c), int(value))
                table[key] = table.get(key, 0.0) + v
    return tables


def posterior(prior, densities):
    """Bayes' rule on plain numbers: prior (k,), densities (n, k)."""
    joint = np.asarray(prior) * np.asarray(densities)
    return joint / joint.sum(axis=1, keepdims=True)


def normal_density(x, m, S):
    """N(x; m, S) as it is written in a book."""
    x, m, S = np.asarray(x, float), np.asarray(m, float), np.asarray(S, float)
    d = len(m)
    q = (x - m) @ np.linalg.inv(S) @ (x - m)
    return math.exp(-0.5 * q) / math.sqrt((2 * math.pi) ** d * np.linalg.det(S))

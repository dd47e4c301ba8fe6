"""Slow, obvious versions of what a forest says beyond its mean."""

import numpy as np


def out_of_bag(models, samples, X, answer):
    """Mean answer of the trees whose sample lacks a row, row by row."""
    out = []
    for i in range(len(X)):
        some = [
            answer(m, X[i : i + 1])[0] for m, s in zip(models, samples) if i not in s
        ]
        out.append(np.mean(some, axis=0) if some else np.nan)
    return out


def weights(models, samples, X, Z):
    """(rows of Z, rows of X) share that each training row has in a prediction."""
    out = np.zeros((len(Z), len(X)))
    for model, sample in zip(models, samples):
        count = np.bincount(sample, minlength=len(X))
        mine, theirs = model.apply(X), model.apply(Z)
        for i, leaf in enumerate(theirs):
            w = count * (mine == leaf)
            out[i] += w / w.sum() / len(models)
    return out


def quantile(y, w, q):
    """Least y with at least q of the weight at or below it."""
    order = np.argsort(y, kind="stable")
    total = np.cumsum(w[order])
    return y[order][np.searchsorted(total, q - 1e-12)]


def infinitesimal_jackknife(models, samples, n, Z):
    """sum_i cov_b(c_bi, t_b)^2 less its noise."""
    C = np.stack([np.bincount(s, minlength=n) for s in samples]).astype(float)
    T = np.stack([m.predict(Z) for m in models])
    B = len(models)
    out = []
    for j in range(len(Z)):
        t = T[:, j] - T[:, j].mean()
        cov = [np.mean((C[:, i] - C[:, i].mean()) * t) for i in range(n)]
        out.append(np.sum(np.square(cov)) - n / B * np.mean(t * t))
    return np.maximum(out, 0.0)


def jackknife_after_bootstrap(models, samples, n, Z):
    """(n - 1)/n sum_i (mean of the trees without i - mean)^2 less its noise."""
    C = np.stack([np.bincount(s, minlength=n) for s in samples])
    T = np.stack([m.predict(Z) for m in models])
    B = len(models)
    out = []
    for j in range(len(Z)):
        t = T[:, j]
        seen = [t[C[:, i] == 0].mean() for i in range(n) if np.any(C[:, i] == 0)]
        V = (n - 1) / n * np.sum((np.array(seen) - t.mean()) ** 2)
        out.append(V - (np.e - 1) * n / B * np.var(t))
    return np.maximum(out, 0.0)


def proximity(models, X, Z):
    """Share of the trees in which two rows share a leaf."""
    return np.mean([m.apply(X)[:, None] == m.apply(Z)[None] for m in models], axis=0)

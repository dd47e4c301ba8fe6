"""Rows with missing values: the density of what was seen, and what the rest may be.

With the coordinates of x split into seen b and missing a,

    p(x_b) = integral of p(x_a, x_b) over x_a                                    (1)

For independent coordinates the factors of the missing ones drop out; a Normal keeps
the block of its mean and covariance that was seen. Rows with the same coordinates
missing are taken together, one factorisation each. What is missing is expected at

    E[x_a | x_b] = m_a + S_ab S_bb^-1 (x_b - m_b)                                (2)

with the covariance S_a|b about it, and the two give the statistics by which EM learns
a Normal from incomplete rows.

Shapes    X (n, d) with NaN where a value is missing
Refs      [LittleRubin2002] ch. 11
"""

import numpy as np

from .normal import Moments, Normal, moments


def patterns(X):
    """(seen columns, row numbers) for each set of columns that rows have."""
    seen = ~np.isnan(X)
    kinds, which = np.unique(seen, axis=0, return_inverse=True)
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(len(kinds) + 1))
    for g, kind in enumerate(kinds):
        yield np.flatnonzero(kind), order[ends[g] : ends[g + 1]]


def observed_log_prob(p: Normal, X):
    """Eq. (1) for a batch of k Normals: (n, k); 0 for a row with nothing."""
    X = np.asarray(X)
    out = np.zeros((len(X), p.k))
    S = p.part.dense(p.covs, p.k, p.d)
    for b, rows in patterns(X):
        if len(b) == p.d:
            q = p
        elif len(b) == 0:
            continue
        else:
            q = Normal(p.means[:, b], S[:, b][:, :, b])
        out[rows] = q.log_prob(X[np.ix_(rows, b)]).reshape(len(rows), p.k)
    return out


def impute(p: Normal, X):
    """Rows of X with what is missing at eq. (2), for one Normal."""
    return expected(p, X)[0]


def expected(p: Normal, X):
    """X filled by eq. (2), and the sum of the covariances about what was filled."""
    X = np.array(X, dtype=np.float64)
    C = np.zeros((p.d, p.d))
    for b, rows in patterns(X):
        a = np.setdiff1d(np.arange(p.d), b)
        if len(a) == 0:
            continue
        if len(b) == 0:
            X[rows], part = p.mean, p.dense
        else:
            S = p.dense
            gain = np.linalg.solve(S[np.ix_(b, b)], S[np.ix_(b, a)]).T
            gap = X[np.ix_(rows, b)] - p.mean[b]
            X[np.ix_(rows, a)] = p.mean[a] + gap @ gain.T
            part = S[np.ix_(a, a)] - gain @ S[np.ix_(b, a)]
        C[np.ix_(a, a)] += len(rows) * part
    return X, C


def incomplete_moments(X, w=None, *, max_iter=200, tol=1e-8) -> Moments:
    """`Moments` of the likeliest Normal for rows X with NaN, by EM from eq. (2)."""
    X = np.asarray(X, dtype=np.float64)
    w = np.ones(len(X)) if w is None else np.asarray(w, dtype=np.float64)
    keep = w > 0
    X, w = X[keep], w[keep]
    start = np.nan_to_num(np.nanmean(X, axis=0)) if len(X) else np.zeros(X.shape[1])
    now = moments(np.where(np.isnan(X), start, X), w)
    if not len(X) or not np.isnan(X).any():
        return now
    kinds = [(v, w == v) for v in np.unique(w)]
    for _ in range(max_iter):
        floor = 1e-10 * max(float(np.trace(now.scatter)), 1e-300) / now.weight
        p = Normal.from_stats(now, floor=floor)
        filled, C = np.empty_like(X), np.zeros((p.d, p.d))
        for v, rows in kinds:
            filled[rows], part = expected(p, X[rows])
            C += v * part
        m = moments(filled, w)
        new = Moments(m.weight, m.mean, m.scatter + C)
        size = max(float(np.abs(new.scatter).max()), 1e-300)
        move = np.abs(new.scatter - now.scatter).max() / size
        now = new
        if move <= tol:
            break
    return now

"""Normal distributions of rows with missing values: density, imputation, EM.

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

from ...core.numerics import LOG_2PI, safe_divide
from .covariance import SHAPES
from .normal import Moments, Normal, moments, unbatched_moments


def missing_patterns(X):
    """(seen columns, row numbers) for each set of columns that rows have."""
    seen = ~np.isnan(X)
    kinds, pattern = np.unique(seen, axis=0, return_inverse=True)
    order = np.argsort(pattern, kind="stable")
    ends = np.searchsorted(pattern[order], np.arange(len(kinds) + 1))
    for g, kind in enumerate(kinds):
        yield np.flatnonzero(kind), order[ends[g] : ends[g + 1]]


def observed_log_prob(p: Normal, X):
    """Eq. (1) for a batch of k Normals: (n, k); 0 for a row with nothing."""
    X = np.asarray(X)
    out = np.zeros((len(X), p.k))
    if p.shape in ("diag", "spherical"):
        seen = ~np.isnan(X)
        P = np.broadcast_to(p.factor.reshape(p.k, -1), p.means.shape)
        for j in range(p.k):
            Z = np.where(seen, (X - p.means[j]) * P[j], 0.0)
            out[:, j] = seen @ (np.log(P[j]) - 0.5 * LOG_2PI) - 0.5 * (Z * Z).sum(1)
        return out
    S = p.part.dense(p.covs, p.k, p.d)
    for b, rows in missing_patterns(X):
        if len(b) == p.d:
            q = p
        elif len(b) == 0:
            continue
        else:
            q = Normal(p.means[:, b], S[:, b][:, :, b])
        out[rows] = q.log_prob(X[np.ix_(rows, b)]).reshape(len(rows), p.k)
    return out


def impute_normal(p: Normal, X):
    """Rows of X with what is missing at eq. (2), for one Normal."""
    X = np.array(X, dtype=np.float64)
    for b, rows in missing_patterns(X):
        a = np.setdiff1d(np.arange(p.d), b)
        gain, _ = conditional_gain(p.dense, a, b)
        X[np.ix_(rows, a)] = p.mean[a] + (X[np.ix_(rows, b)] - p.mean[b]) @ gain.T
    return X


def conditional_gain(S, a, b):
    """The gain S_ab S_bb^-1 of eq. (2) and the covariance S_a|b about it."""
    gain = np.linalg.solve(S[np.ix_(b, b)], S[np.ix_(b, a)]).T
    return gain, S[np.ix_(a, a)] - gain @ S[np.ix_(b, a)]


def expected_moments(p: Normal, X, R) -> Moments:
    """E[`Moments` | what was seen of X] for a batch of k, under weights R (n, k).

    With D the deviations of what was seen from m_b, the filled rows deviate by D G',
    G = (I on b, the gain on a), so sums of D and D D' are all that is needed.
    """
    X, R = np.asarray(X, np.float64), np.asarray(R, np.float64)
    k, d = p.k, p.d
    kept = "full" if p.shape == "low_rank" else p.shape
    M = np.asarray(p.means, np.float64)
    N = R.sum(axis=0)
    if p.shape in ("diag", "spherical"):
        return _expected_diagonal(p, X, R)
    S = np.asarray(p.part.dense(p.covs, k, d), np.float64)
    first, second = np.zeros((k, d)), np.zeros((k, d, d))
    for b, rows in missing_patterns(X):
        a = np.setdiff1d(np.arange(d), b)
        Xb, Rb = X[np.ix_(rows, b)], R[rows]
        for j in range(k):
            gain, C = conditional_gain(S[j], a, b)
            G = np.zeros((d, len(b)))
            G[b, np.arange(len(b))] = 1.0
            G[a] = gain
            D = Xb - M[j, b]
            r = Rb[:, j]
            first[j] += G @ (r @ D)
            second[j] += G @ ((D.T * r) @ D) @ G.T
            second[j][np.ix_(a, a)] += r.sum() * C
    move = safe_divide(first, N[:, None] + 0 * first)
    second -= N[:, None, None] * move[:, :, None] * move[:, None, :]
    return Moments(N, M + move, SHAPES[kept].compress(second), kept)


def _expected_diagonal(p: Normal, X, R) -> Moments:
    """Expected coordinates where they are independent: what is missing stays at m_j."""
    seen = ~np.isnan(X)
    N = R.sum(axis=0)
    M = np.asarray(p.means, np.float64)
    V = np.broadcast_to(p.covs if p.covs.ndim == 2 else p.covs[:, None], M.shape)
    first, second = np.empty_like(M), np.empty_like(M)
    gone = R.T @ (~seen).astype(np.float64)
    for j in range(p.k):
        D = np.where(seen, X - M[j], 0.0)
        first[j], second[j] = R[:, j] @ D, R[:, j] @ (D * D) + gone[j] * V[j]
    move = safe_divide(first, N[:, None] + 0 * first)
    S = np.maximum(second - N[:, None] * move * move, 0.0)
    return Moments(N, M + move, S if p.shape == "diag" else S.sum(1), p.shape)


def seen_moments(rows) -> Moments:
    """Weight, mean and scatter of each column over the rows that have it."""
    from .class_moments import class_moments

    part = lambda X, w=None, *_: class_moments(
        X, np.zeros(len(X), np.int64), 1, w, "diag"
    )
    return rows.sum(part)


def incomplete_moments(X, w=None, *, max_iter=200, tol=1e-8) -> Moments:
    """`Moments` of the maximum-likelihood Normal for rows X with NaN, by EM."""
    X = np.asarray(X, dtype=np.float64)
    w = np.ones(len(X)) if w is None else np.asarray(w, dtype=np.float64)
    has_weight = w > 0
    X, w = X[has_weight], w[has_weight]
    seen = ~np.isnan(X)
    total = np.where(seen, X, 0.0).sum(axis=0)
    start = safe_divide(total, seen.sum(axis=0).astype(float))  # 0 if nobody has it
    current = moments(np.where(seen, X, start), w)
    if not len(X) or not np.isnan(X).any():
        return current
    for _ in range(max_iter):
        floor = 1e-10 * max(float(np.trace(current.scatter)), 1e-300) / current.weight
        p = Normal.from_stats(current.batch(), floor=floor)
        new = unbatched_moments(expected_moments(p, X, w[:, None]))
        size = max(float(np.abs(new.scatter).max()), 1e-300)
        move = np.abs(new.scatter - current.scatter).max() / size
        current = new
        if move <= tol:
            break
    return current

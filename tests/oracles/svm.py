"""Support vector machines the slow way: the definition, and one row after another."""

import numpy as np


def objective(X, y, w, b, C, *, squared=False, l1=False, epsilon=None):
    """The primal with the intercept penalised, straight from its definition."""
    total = np.abs(w).sum() + abs(b) if l1 else (w @ w + b * b) / 2
    for x, t, c in zip(X, y, C, strict=True):
        f = x @ w + b
        e = max(0.0, 1 - t * f if epsilon is None else abs(t - f) - epsilon)
        total += c * (e * e if squared else e)
    return total


def coordinate_pass(X, s, t, low, high, curve, eps, beta):
    """One pass over the rows in order: each beta_i to the best of many candidates.

    The best point of a quadratic with a kink at 0 on an interval is one of: the two
    stationary points, the kink, the two ends.
    """
    A = np.column_stack([X, np.full(len(X), s)])
    beta = beta.copy()
    for i in range(len(t)):
        others = A.T @ beta - A[i] * beta[i]
        q = A[i] @ A[i] + curve[i]
        slope = t[i] - A[i] @ others
        points = [(slope - eps) / q, (slope + eps) / q, 0.0, low[i], high[i]]
        points = [min(max(p, low[i]), high[i]) for p in points]
        points = np.array([p for p in points if np.isfinite(p)])
        values = slope * points - eps * np.abs(points) - q / 2 * points**2
        beta[i] = points[values.argmax()]
    return beta


def simplex_step(alpha, G, own, q, C):
    """The best multipliers of one row of the joint machine, by bisection."""
    bound = np.where(np.arange(len(G)) == own, C, 0.0)
    B = G - q * alpha
    low, high = B.min() - q * C - 1, B.max() + q * C + 1
    for _ in range(200):
        level = (low + high) / 2
        total = np.minimum(bound, (level - B) / q).sum()
        low, high = (level, high) if total < 0 else (low, level)
    return np.minimum(bound, (low - B) / q)


def smo_dual(K, y, a):
    """Half a^T Q a minus the sum of a."""
    Q = K * np.outer(y, y)
    return 0.5 * a @ Q @ a - a.sum()


def pair_steps(K, low, high, split, beta, score, n_steps):
    """Pair steps of SMO by trying every partner; returns multipliers and scores."""
    beta = beta.copy()
    score = score.copy()
    groups = [range(split), range(split, len(beta))]
    for _ in range(n_steps):
        best = (0.0, -1, -1)
        for group in groups:
            up = [v for v in group if beta[v] < high[v]]
            if not up:
                continue
            i = max(up, key=lambda v: score[v])
            for j in group:
                far = score[i] - score[j]
                if beta[j] > low[j] and far > 0:
                    q = K[i, i] + K[j, j] - 2 * K[i, j]
                    best = max(best, (far * far / q, i, j))
        _, i, j = best
        q = K[i, i] + K[j, j] - 2 * K[i, j]
        move = min((score[i] - score[j]) / q, high[i] - beta[i], beta[j] - low[j])
        beta[i] += move
        beta[j] -= move
        score = score - move * (K[:, i] - K[:, j])
    return beta, score

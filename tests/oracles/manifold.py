"""Slow, obvious versions of the loops of `pansophy.manifold`."""

import math

import numpy as np


def push(Y, a=1):
    """F (n, m) and Z of the repulsion, pair by pair; Y (n, m)."""
    n = len(Y)
    F, Z = np.zeros_like(Y, dtype=float), 0.0
    for i in range(n):
        for j in range(n):
            if i != j:
                gap = Y[i] - Y[j]
                base = 1.0 / (1.0 + gap @ gap / a)
                q = base ** (0.5 * (a + 1))
                Z += q
                F[i] += q * base * gap
    return F, Z


def divergence(P, Y, a=1):
    """KL(P | Q) from its definition; P (n, n) dense, Y (n, m)."""
    D = ((Y[:, None, :] - Y[None, :, :]) ** 2).sum(axis=2)
    W = (1.0 + D / a) ** (-0.5 * (a + 1))
    np.fill_diagonal(W, 0.0)
    Q = W / W.sum()
    on = P > 0
    return float(np.sum(P[on] * np.log(P[on] / Q[on])))


def conditional(D, perplexity):
    """Rows of affinities by plain halving of b."""
    P = np.zeros_like(D, dtype=float)
    for i, row in enumerate(np.asarray(D, dtype=float)):
        row = row - row.min()
        low, high = -50.0, 50.0
        for _ in range(200):
            b = math.exp(0.5 * (low + high))
            p = np.exp(-b * row)
            p /= p.sum()
            entropy = -sum(v * math.log(v) for v in p if v > 0)
            if entropy > math.log(perplexity):
                low = math.log(b)
            else:
                high = math.log(b)
        P[i] = p
    return P


def shortest_paths(W):
    """Floyd and Warshall on a dense matrix; inf is no edge."""
    D = W.copy()
    np.fill_diagonal(D, 0.0)
    for k in range(len(D)):
        for i in range(len(D)):
            for j in range(len(D)):
                D[i, j] = min(D[i, j], D[i, k] + D[k, j])
    return D


def trustworthiness(X, Y, k):
    """By ranking every row's neighbours."""
    n, total = len(X), 0
    for i in range(n):
        others = [j for j in range(n) if j != i]
        by_x = sorted(others, key=lambda j: (((X[i] - X[j]) ** 2).sum(), j))
        by_y = sorted(others, key=lambda j: (((Y[i] - Y[j]) ** 2).sum(), j))
        rank = {j: r + 1 for r, j in enumerate(by_x)}
        total += sum(max(0, rank[j] - k) for j in by_y[:k])
    return 1 - 2 * total / (n * k * (2 * n - 3 * k - 1))


def guttman(T, Y):
    """The next points of SMACOF and the stress."""
    n = len(T)
    new, stress = np.zeros_like(Y), 0.0
    for i in range(n):
        for j in range(n):
            if i != j:
                d = np.linalg.norm(Y[i] - Y[j])
                new[i] += T[i, j] / d * (Y[i] - Y[j]) / n
                stress += 0.5 * (T[i, j] - d) ** 2
    return new, stress

"""Bellman's equations on dense arrays with plain loops, and by trying all policies."""

from itertools import product

import numpy as np


def backup(T, r, V, gamma):
    """Q one step ahead of V; T (A, S, S), r (S, A)."""
    A, S, _ = T.shape
    Q = np.empty((S, A))
    for s in range(S):
        for a in range(A):
            Q[s, a] = r[s, a] + gamma * sum(T[a, s, k] * V[k] for k in range(S))
    return Q


def best_by_enumeration(T, r, gamma):
    """The greatest value of each state over all deterministic policies."""
    A, S, _ = T.shape
    best = np.full(S, -np.inf)
    for policy in product(range(A), repeat=S):
        P = np.array([T[a, s] for s, a in enumerate(policy)])
        reward = np.array([r[s, a] for s, a in enumerate(policy)])
        best = np.maximum(best, np.linalg.solve(np.eye(S) - gamma * P, reward))
    return best


def random_mdp(rng, S, A, K):
    """Each action of each state leads to K states."""
    T = np.zeros((A, S, S))
    for a in range(A):
        for s in range(S):
            T[a, s, rng.choice(S, K, replace=False)] = rng.dirichlet(np.ones(K))
    return T, rng.normal(size=(S, A))

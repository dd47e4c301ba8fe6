"""Shapley values of a tree by going through every set of features."""

from itertools import combinations
from math import factorial

import numpy as np


def goes_left(tree, v, x):
    """Which way the value x goes at node v."""
    if np.isnan(x):
        return bool(tree.missing_go_to_left[v])
    sets = getattr(tree, "sets", None)
    if sets is not None and sets[v].any():
        c = int(x)
        return bool((int(sets[v][c // 64]) >> (c % 64)) & 1)
    return bool(x <= tree.threshold[v])


def known(tree, value, x, S, v=0):
    """The prediction if only the features S of x are known: branches by weight."""
    a, b = tree.children_left[v], tree.children_right[v]
    if a < 0:
        return value[v]
    if tree.feature[v] in S:
        return known(
            tree, value, x, S, a if goes_left(tree, v, x[tree.feature[v]]) else b
        )
    w = tree.weighted_n_node_samples
    parts = [w[c] * known(tree, value, x, S, c) for c in (a, b)]
    return sum(parts) / (w[a] + w[b])


def shapley(game, d):
    """phi_j of game(S) for S within {0 .. d-1}."""
    phi = []
    for j in range(d):
        rest = [k for k in range(d) if k != j]
        total = 0.0
        for size in range(d):
            weight = factorial(size) * factorial(d - size - 1) / factorial(d)
            for S in combinations(rest, size):
                total = total + weight * (game({*S, j}) - game(set(S)))
        phi.append(total)
    return np.array(phi)


def interactions(game, d):
    """Halves of the Shapley interaction index, and what is left on the diagonal."""
    own = shapley(game, d)
    phi = np.zeros((d, *own.shape))
    for i, j in combinations(range(d), 2):
        rest = [k for k in range(d) if k not in (i, j)]
        total = 0.0
        for size in range(d - 1):
            weight = factorial(size) * factorial(d - size - 2) / factorial(d - 1)
            for S in combinations(rest, size):
                pair = game({*S, i, j}) - game({*S, i}) - game({*S, j}) + game(set(S))
                total = total + weight * pair / 2
        phi[i, j] = phi[j, i] = total
    for i in range(d):
        phi[i, i] = own[i] - phi[i].sum(axis=0)
    return phi


def path_dependent(tree, value, X):
    game = lambda x: lambda S: known(tree, value, x, S)
    return np.array([shapley(game(x), X.shape[1]) for x in X])


def interventional(f, X, Z):
    """Features left out come from the rows of Z; f takes rows."""

    def game(x):
        def play(S):
            mixed = Z.copy()
            mixed[:, list(S)] = x[list(S)]
            return f(mixed).mean(axis=0)

        return play

    return np.array([shapley(game(x), X.shape[1]) for x in X])

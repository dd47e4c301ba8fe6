"""Compiled loops of factorisation by stochastic gradient descent."""

from typing import NamedTuple

import numpy as np

from ..core.loops.compiled import FASTMATH, compiled


class RatingColumns(NamedTuple):
    """Ratings as columns, and what is subtracted from all of them."""

    users: np.ndarray
    items: np.ndarray
    values: np.ndarray
    weights: np.ndarray  # empty if all are 1
    mean: float


class Factors(NamedTuple):
    """Biases and factors of users and items."""

    b: np.ndarray
    c: np.ndarray
    U: np.ndarray
    V: np.ndarray


@compiled(fastmath=FASTMATH)
def factor_sgd_epoch(rows, ratings, reg, rate, biased, factors):
    """One step for each of the ratings `rows`, in that order; factors change."""
    users, items, r, w, m = ratings
    b, c, U, V = factors
    k = U.shape[1]
    for t in range(len(rows)):
        j = rows[t]
        u, i = users[j], items[j]
        x, v = U[u], V[i]
        e = r[j] - m - b[u] - c[i]
        s = x[0] * v[0]
        for f in range(1, k):
            s += x[f] * v[f]
        e = (e - s) * (w[j] if len(w) else 1)
        if biased:
            b[u] += rate * (e - reg * b[u])
            c[i] += rate * (e - reg * c[i])
        for f in range(k):
            old = x[f]
            x[f] += rate * (e * v[f] - reg * old)
            v[f] += rate * (e * old - reg * v[f])


@compiled(fastmath=FASTMATH)
def squared_error_sum(first, last, ratings, factors):
    """sum_j w_j e_j^2 over the ratings first..last-1."""
    users, items, r, w, m = ratings
    b, c, U, V = factors
    total = 0.0
    for j in range(first, last):
        x, v = U[users[j]], V[items[j]]
        s = x[0] * v[0]
        for f in range(1, len(x)):
            s += x[f] * v[f]
        e = r[j] - m - b[users[j]] - c[items[j]] - s
        total += e * e * (w[j] if len(w) else 1)
    return total

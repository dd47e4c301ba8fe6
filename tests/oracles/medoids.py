"""K-medoids by the book: every gain, every swap, from the definition."""

import numpy as np


def objective(D, w, medoids):
    return float(w @ D[medoids].min(axis=0))


def gains(D, w, near):
    """How much each row of D lowers sum_i w_i near_i."""
    return np.array([w @ (near - np.minimum(near, row)) for row in D])


def build(D, w, k):
    """Each time the row that lowers J most, the first of equals."""
    medoids: list[int] = []
    for _ in range(k):
        free = [c for c in range(len(D)) if c not in medoids]
        costs = [objective(D, w, [*medoids, c]) for c in free]
        medoids.append(free[int(np.argmin(costs))])
    return np.array(medoids)


def two_nearest(M):
    """Of each column the smallest entry, the next, and their rows."""
    order = np.argsort(M, axis=0, kind="stable")
    at = np.arange(M.shape[1])
    return M[order[0], at], M[order[1], at], order[0], order[1]


def losses(D, w, medoids):
    """What J gains when each medoid goes."""
    now = objective(D, w, medoids)
    gone = [[m for m in medoids if m != out] for out in medoids]
    return np.array([objective(D, w, left) - now for left in gone])


def changes(D, w, medoids, candidate):
    """What each medoid's place given to the candidate does to J."""
    now, out = objective(D, w, medoids), []
    for j in range(len(medoids)):
        new = list(medoids)
        new[j] = candidate
        out.append(objective(D, w, new) - now)
    return np.array(out)


def best_of_all(D, w, k):
    """The least J of all sets of k rows."""
    from itertools import combinations

    return min(objective(D, w, list(s)) for s in combinations(range(len(D)), k))

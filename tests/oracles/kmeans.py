"""K-means by the book: every distance, every turn, one row at a time."""

import numpy as np


def distances2(X, C):
    """|x_i - c_j|^2 by differences."""
    return ((X[:, None, :] - C[None, :, :]) ** 2).sum(axis=2)


def assign(X, C):
    return distances2(X, C).argmin(axis=1)


def objective(X, w, C, z):
    return float(sum(wi * ((x - C[j]) ** 2).sum() for x, wi, j in zip(X, w, z)))


def means(X, w, z, C):
    """Weighted means; an empty cell takes the row farthest from its centre."""
    out = C.copy()
    filled = [j for j in range(len(C)) if w[z == j].sum() > 0]
    for j in filled:
        out[j] = np.average(X[z == j], axis=0, weights=w[z == j])
    own = ((X - out[z]) ** 2).sum(axis=1)
    own[w == 0] = -1
    for j in sorted(set(range(len(C))) - set(filled)):
        out[j] = X[own.argmax()]
        own = np.minimum(own, ((X - out[j]) ** 2).sum(axis=1))
    return out


def lloyd(X, w, C, max_iter=300):
    """Centres, labels and the value of J before each update of the centres."""
    trace, old = [], None
    for _ in range(max_iter):
        z = assign(X, C)
        trace.append(objective(X, w, C, z))
        before, C = C, means(X, w, z, C)
        if (old is not None and (z == old).all()) or np.array_equal(C, before):
            break
        old = z
    return C, assign(X, C), trace


def two_nearest(X, C):
    """Label, smallest and second smallest squared distance of each row."""
    D = distances2(X, C)
    ranked = np.sort(D, axis=1)
    return D.argmin(axis=1), ranked[:, 0], ranked[:, 1]


def seed_costs(X, w, chosen, candidates):
    """J with the chosen rows as centres and each candidate as one more."""
    return [
        float(w @ distances2(X, np.vstack([chosen, c[None]])).min(axis=1))
        for c in candidates
    ]

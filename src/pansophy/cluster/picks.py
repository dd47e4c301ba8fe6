"""Rows chosen by what they are to all rows, where there are distances but no columns.

k-means++ with `column(i)`, the distances from row i to all rows, as all there is to
know: for distance matrices and kernels. Draws are along an order `key` of the rows in
which equal rows stand side by side, so that weights equal repetition (see
`initialization.py`, whose eq. (1) this is).

Time O(k log k) columns. Memory O(n log k).

Shapes    w, key (n,)   column(i) (n,)
Refs      [Arthur2007]
"""

import math

import numpy as np

from ._kmeans import sample_along_order


def plusplus_from_distances(column, w, k, rng, key, trials=None):
    """Row numbers of k seeds; P(i) is as w_i times the distance to the nearest seed."""
    order = np.argsort(key, kind="stable")
    trials = trials or 2 + int(math.log(k))
    w = w.astype(np.float64)
    near, chosen = np.full(len(w), np.inf), []
    for j in range(k):
        u = np.sort(rng.random(trials if j else 1))
        found = np.empty(len(u), np.int64)
        if not j or not sample_along_order(order, w * near, u, found) > 0:
            sample_along_order(
                order, w, u[:1], found
            )  # too few distinct rows: seeds coincide
            found = found[:1]
        each = [np.minimum(near, column(int(i))) for i in found]
        best = int(np.argmin([w @ v for v in each])) if len(each) > 1 else 0
        near = each[best]
        chosen.append(int(found[best]))
    return np.asarray(chosen)

"""Compiled quantiles of the training targets that share leaves with a row."""

import numpy as np

from ...core.arrays._weighted import tie_tolerance
from ...core.loops.compiled import compiled


@compiled
def leaf_target_quantiles(leaf, start, rank, weight, y, q, out):
    """Quantiles q (ascending) of the targets that share leaves with each row.

    The targets of leaf v are y[rank[i]] for i from start[v] to start[v + 1], with
    weights that sum to 1; y is ascending. Every tree counts the same.
    """
    most = 0
    for v in range(start.size - 1):
        most = max(most, start[v + 1] - start[v])
    trees = leaf.shape[1]
    ranks = np.empty(most * trees, np.int64)
    shares = np.empty(most * trees)
    for i in range(leaf.shape[0]):
        m = 0
        for t in range(trees):
            for j in range(start[leaf[i, t]], start[leaf[i, t] + 1]):
                ranks[m], shares[m] = rank[j], weight[j]
                m += 1
        order = np.argsort(ranks[:m])
        total, k = 0.0, 0
        tolerance = tie_tolerance(float(trees), m)
        for j in order:
            total += shares[j]
            while k < q.size and total >= q[k] * trees - tolerance:
                out[i, k] = y[ranks[j]]
                k += 1
        while k < q.size:  # rounding: the last target
            out[i, k] = y[ranks[order[m - 1]]]
            k += 1

"""Compiled simulation of a Markov chain."""

import numpy as np

from ...core.loops.compiled import compiled


@compiled
def follow_chain(edges, context, k, u, path):
    """Follow the chain from a context; returns the number of steps taken.

    edges (k^p, k) are running sums of the transition probabilities of each context;
    a u above the last of them ends the walk.
    """
    contexts = len(edges)
    for t in range(len(u)):
        row = edges[context]
        if u[t] >= row[k - 1]:
            return t
        j = np.searchsorted(row, u[t], side="right")
        path[t] = j
        context = (context * k + j) % contexts
    return len(u)

"""Compiled simulation of a Markov chain."""

import numpy as np

from ...core.loops.compiled import compiled


@compiled
def follow_chain(edges, here, k, u, path):
    """Follow the chain from context `here`; returns the number of steps taken.

    edges (k^p, k) are running sums of the transition probabilities of each context;
    a u above the last of them ends the walk.
    """
    contexts = len(edges)
    for t in range(len(u)):
        row = edges[here]
        if u[t] >= row[k - 1]:
            return t
        j = np.searchsorted(row, u[t], side="right")
        path[t] = j
        here = (here * k + j) % contexts
    return len(u)

"""New rows on a map that is already drawn, whose points stay where they are.

A new row x has affinities p_j to its nearest rows of the data, as rows of the data have
to each other (`tsne_affinities.py`), and a place z has q_j to the points y_j of the map:

    KL(z) = sum_j p_j log(p_j / q_j),   q_j = w_j(z) / sum_l w_l(z)                 (1)

with w Student's kernel as in `tsne_descent.py`. Each row is placed on its own, so that where
it lands does not depend on what other rows are asked for. There may be several minima:
the start is the neighbour's point from which sum_j p_j log(1 + |z - y_j|^2 / a) is
least. From there z moves against the slope, as far as would be right if the pull were
a spring and the push constant, half of that as often as needed for KL to fall.

Cost      O(n) a step and row; memory O(n + rows asked)
Shapes    D, neighbours (r, k)   Y (m, n), points in columns   result (r, m)
Refs      [Policar2023] new rows on a fixed map
"""

import numpy as np

from ..core import threads
from . import _tsne_placement
from .tsne_affinities import conditional_affinities

STEPS, SETTLED = 100, 1e-3  # most steps of a row, and a move that counts as none


def place_rows(D, neighbours, Y, a, perplexity):
    """Places (r, m) of rows with squared distances D, and KL but for a constant."""
    P = conditional_affinities(D, perplexity)
    r, m = len(D), len(Y)
    Z, value = np.empty((r, m)), np.empty(r)
    rows = np.ascontiguousarray(neighbours, dtype=np.int64)
    cuts = [(lo, min(lo + 64, r)) for lo in range(0, r, 64)]
    loop = lambda c: _tsne_placement.place_points(
        P, rows, Y, a, *c, STEPS, SETTLED, Z, value
    )
    for _ in threads.run([lambda c=c: loop(c) for c in cuts]):
        pass
    return Z, value

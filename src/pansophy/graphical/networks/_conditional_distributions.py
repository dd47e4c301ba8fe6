"""Compiled sampling of states from the rows of a conditional table."""

import numpy as np

from ...core.loops.compiled import compiled


@compiled
def sample_from_rows(edges, z, u):
    """The state of each draw: row z_i of cumulative sums (k, m), uniform number u_i."""
    m = edges.shape[1]
    out = np.empty(len(z), np.int64)
    for i in range(len(z)):
        row = z[i]
        t = u[i] * edges[row, m - 1]
        k = 0
        while k < m - 1 and t >= edges[row, k]:
            k += 1
        out[i] = k
    return out

"""Compiled loop of SMACOF: the stress and the next points in one pass."""

import numpy as np

from ..core.loops.compiled import FASTMATH, compiled


@compiled(fastmath=FASTMATH)
def guttman_transform(T, Y, lo, hi, out):
    """Rows of eq. (2) of `mds.py`, and their parts of the stress and of sum d^2.

    T (n, n) are the targets, Y (m, n) the points in columns.
    """
    m, n = Y.shape
    w = np.empty(n)
    stress, size = 0.0, 0.0
    for i in range(lo, hi):
        w[:] = 0
        for c in range(m):
            y, coordinate = Y[c], Y[c, i]
            for j in range(n):
                w[j] += (coordinate - y[j]) * (coordinate - y[j])
        row = T[i]
        for j in range(n):
            size += w[j]
            d = np.sqrt(w[j])
            stress += (d - row[j]) * (d - row[j])
            w[j] = row[j] / d if d > 0 else row[j] * 1e5
        for c in range(m):
            y = Y[c]
            coordinate = Y[c, i]
            s = 0.0
            for j in range(n):
                s += w[j] * (coordinate - y[j])
            out[c, i] = s / n
    return stress, size

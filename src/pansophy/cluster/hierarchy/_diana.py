"""Compiled loops of `diana.py`: diameters and splinter groups."""

import numpy as np

from ...core.loops.compiled import compiled


@compiled
def cluster_diameter(D, rows):
    """The largest distance between two of the rows."""
    out = 0.0
    for u in rows:
        for v in rows:
            out = max(out, D[u, v])
    return out


@compiled
def splinter_group(D, rows):
    """Eqs (1) and (2): which of the rows leave for the splinter group."""
    m = len(rows)
    out, stay, gone = np.zeros(m, np.bool_), np.zeros(m), np.zeros(m)
    for i in range(m):
        for v in rows:
            stay[i] += D[rows[i], v]
    best = int(np.argmax(stay))
    left = m
    while True:
        out[best] = True
        left -= 1
        for i in range(m):
            gone[i] += D[rows[i], rows[best]]
            stay[i] -= D[rows[i], rows[best]]
        if left == 1:
            return out
        best, most = -1, 0.0
        for i in range(m):
            if not out[i]:
                # a gain of nothing but rounding is none
                near, far = gone[i] / (m - left), stay[i] / (left - 1)
                if far - near > most + 1e-12 * (far + near):
                    best = i
                    most = far - near
        if best < 0:
            return out

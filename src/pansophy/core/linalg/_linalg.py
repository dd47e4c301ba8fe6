"""Compiled rank-one update of a Cholesky factor, for `linalg.py`."""

from math import sqrt

from ..loops.compiled import compiled


@compiled
def rank_one_update(L, v, sign):
    """In place: L becomes the factor of L L^T + sign v v^T. False if not positive.

    Column k is turned by the rotation (sign > 0) or hyperbolic rotation (sign < 0)
    that clears v_k. v is overwritten.
    """
    n = L.shape[0]
    for k in range(n):
        old, x = L[k, k], v[k]
        square = old * old + sign * x * x
        if not square > 0.0:
            return False
        new = sqrt(square)
        c, s = new / old, x / old
        L[k, k] = new
        for i in range(k + 1, n):
            L[i, k] = (L[i, k] + sign * s * v[i]) / c
            v[i] = c * v[i] - s * L[i, k]
    return True

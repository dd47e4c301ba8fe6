"""Slow, obvious twins of the loops in `core.linalg._linalg`."""

import numpy as np


def rank_one(L, v, sign):
    """The factor of L L^T + sign v v^T, made from scratch."""
    return np.linalg.cholesky(L @ L.T + sign * np.outer(v, v))

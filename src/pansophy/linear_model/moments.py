"""Weighted second moments of rows with a constant: what Hessians are made of.

    sum_i s_i (x_i, 1) (x_i, 1)^T                                                (1)

in tiles of rows that stay in the cache, for arrays, CSR rows and tensors.

Shapes    X (n, d)   s (n,)   result (d + 1, d + 1), NumPy wherever X is
"""

import numpy as np
import scipy.sparse as sp

from ..core import arrays
from ..core.rows import Rows, total

TILE_BYTES = 1 << 20  # of a tile of rows in a product with itself


def weighted_second_moments(X, s):
    """Eq. (1); s may be negative."""
    xp = arrays.namespace(s)
    if sp.issparse(X):
        S = X.multiply(s[:, None]).tocsr()
        return bordered_matrix((X.T @ S).toarray(), np.asarray(S.sum(axis=0)), s.sum())
    step = 1 << 16 if arrays.is_foreign(X) else TILE_BYTES // (8 * X.shape[1]) or 1
    positive = bool(xp.all(s >= 0))

    def tile(X, s):
        if positive:
            R = X * xp.sqrt(s)[:, None]
            A = xp.matrix_transpose(R) @ R  # a product with itself: half the work
        else:
            A = xp.matrix_transpose(X) @ (X * s[:, None])
        return A, s @ X, xp.sum(s)

    tiles = Rows(X, s, block=max(step, 256)).blocks()
    return bordered_matrix(
        *(arrays.to_numpy(a) for a in total(tile(*t) for t in tiles))
    )


def bordered_matrix(A, c, s):
    """A with the border c and the corner s."""
    d = A.shape[0]
    H = np.empty((d + 1, d + 1))
    H[:d, :d], H[d, :d], H[:d, d], H[d, d] = A, c, c, s
    return H


def softmax_second_moments(X, P, v):
    """Eq. (1) with v (diag p - p p^T) in the place of s, class by class."""
    k, m = int(P.shape[1]), int(X.shape[1]) + 1
    H = np.empty((k, m, k, m))
    for c in range(k):
        for e in range(c, k):
            own = P[:, c] * (1 - P[:, c]) if c == e else -P[:, c] * P[:, e]
            H[c, :, e, :] = weighted_second_moments(X, own * v)
            H[e, :, c, :] = H[c, :, e, :].T
    return H.reshape(k * m, k * m)

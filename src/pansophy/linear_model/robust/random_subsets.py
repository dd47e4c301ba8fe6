"""Least squares on many random small subsets of rows, in batches.

Theil-Sen regression and RANSAC both fit thousands of subsets of about as many rows as
there are coefficients. Solving them together, one LAPACK call per
batch, costs a fraction of one fit after the other.

Shapes    X (n, d)   y (n,)   index (m, k)   coefficients (m, p), intercept first
"""

import numpy as np
import scipy.sparse as sp

from ...core.loops import threads

BATCH_ENTRIES = 1 << 18  # numbers in the matrices of one batch


def draw_row_subsets(rng, n, k, m):
    """m subsets of k of n rows, each subset equally likely, as sorted rows (m, k)."""
    if k * k > 4 * n:  # a repeat is likely: shuffle instead of drawing again
        subset = lambda: np.sort(rng.permutation(n)[:k])
        return np.stack([subset() for _ in range(m)])
    out = np.sort(rng.integers(n, size=(m, k)), axis=1)
    while True:
        repeated = np.flatnonzero((out[:, 1:] == out[:, :-1]).any(axis=1))
        if len(repeated) == 0:
            return out
        out[repeated] = np.sort(rng.integers(n, size=(len(repeated), k)), axis=1)


def least_squares_batch(X, y, index, *, intercept):
    """Least squares on every subset, of least norm where that is not unique."""
    A = X[index.ravel()]
    b = y[index][..., None]
    A = (A.toarray() if sp.issparse(A) else A).reshape(*index.shape, -1)
    if intercept:
        A = np.concatenate([np.ones((*index.shape, 1)), A], axis=2)
    k, p = A.shape[1:]
    try:
        if k == p:
            W = np.linalg.solve(A, b)
        elif k > p:
            Q, R = np.linalg.qr(A)
            W = np.linalg.solve(R, np.swapaxes(Q, 1, 2) @ b)
        else:
            W = np.linalg.pinv(A) @ b
    except np.linalg.LinAlgError:  # a subset is singular
        W = np.linalg.pinv(A) @ b
    return W[..., 0]


def least_squares_of_subsets(X, y, index, *, intercept):
    """`least_squares_batch` for all subsets, in batches on threads."""
    m, k = index.shape
    p = X.shape[1] + intercept
    step = max(1, BATCH_ENTRIES // max(k * p, 1))
    task = lambda i: (
        lambda: least_squares_batch(X, y, index[i : i + step], intercept=intercept)
    )
    return np.concatenate(
        list(threads.run_tasks((task(i) for i in range(0, m, step)), blas=True))
    )

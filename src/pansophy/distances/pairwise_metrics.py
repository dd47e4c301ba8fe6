"""Distances between the rows of X and the rows of Z, tile by tile.

    euclidean     |x - z|_2        squared_euclidean   |x - z|_2^2              (1)
    manhattan     |x - z|_1        chebyshev           max_j |x_j - z_j|        (2)
    minkowski     (sum_j |x_j - z_j|^p)^(1/p), p >= 1                           (3)
    cosine        1 - x.z / (|x| |z|)                                           (4)
    mahalanobis   sqrt((x - z)^T Sigma^-1 (x - z))                              (5)
    hamming       the share of columns j with x_j != z_j                        (6)

(1) uses |x|^2 + |z|^2 - 2 x.z, one matrix product, on points moved so that their mean
is 0. The difference cancels where two points are close: a pair whose result is below
CLOSE times |x|^2 + |z|^2 is done again from x - z itself, so every entry has nearly
all its digits. (2) and (3) add up over columns, in tiles that stay in cache. (5) is
(1) on rows multiplied by a root of Sigma^-1.

Everything takes NumPy arrays, torch tensors or other array-API arrays and gives the
same kind; Z = None means X. Memory is the answer plus one tile for each thread.

Shapes    X (n, d)   Z (m, d)   result (n, m)   Sigma (d, d)
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..core.arrays.arrays import (
    as_float,
    asarray,
    device,
    is_foreign,
    namespace,
    to_numpy,
)
from ..core.loops import threads

CLOSE = 1e-3  # below this share of |x|^2 + |z|^2 a squared distance is done again
FEW = 4  # columns for which sums are cheaper than a product
TILE = 256  # rows by columns of a tile of the answer: half a megabyte
DEVICE = 1 << 24  # entries of a block on a device


def as_float_rows(X, Z=None):
    """X and Z (X itself if None) as float arrays of one library and dtype."""
    X = as_float(X if hasattr(X, "dtype") else np.asarray(X))
    if X.ndim != 2:
        raise ValueError(f"expected rows in 2 dimensions, got {X.ndim}.")
    if Z is None:
        return X, X
    Z = as_float(Z if hasattr(Z, "dtype") else np.asarray(Z))
    if Z.ndim != 2 or Z.shape[1] != X.shape[1]:
        raise ValueError(
            f"rows of {X.shape[1]} columns cannot be compared with an array of shape "
            f"{tuple(Z.shape)}."
        )
    xp = namespace(X, Z)
    if X.dtype != Z.dtype:
        common = xp.result_type(X.dtype, Z.dtype)
        X, Z = xp.astype(X, common), xp.astype(Z, common)
    return X, Z


def map_tiles(function: Callable, X, Z, *, blas=True, dtype=None):
    """function(X_b, Z_c) for tiles of the (n, m) answer, put together.

    The answer of NumPy arrays has the dtype of X, or `dtype`.
    """
    n, m = int(X.shape[0]), int(Z.shape[0])
    if is_foreign(X):
        step = max(1, DEVICE // m)
        parts = [function(X[cut, :], Z) for cut in block_slices(n, step)]
        return parts[0] if len(parts) == 1 else namespace(X).concat(parts)
    out = np.empty((n, m), dtype or X.dtype)

    def fill(rows):
        for columns in block_slices(m, TILE):
            out[rows, columns] = function(X[rows], Z[columns])

    for _ in threads.run_tasks(
        ((lambda r=r: fill(r)) for r in block_slices(n, TILE)), blas=blas
    ):
        pass
    return out


def block_slices(n, step):
    """Slices of at most `step` that cover n."""
    return [slice(i, min(i + step, n)) for i in range(0, n, step)]


def squared_block(X, Z, rate=None) -> Any:
    """Eq. (1) for one block, columns multiplied by `rate`, close pairs done again.

    The second time starts from the rows as given: x - z is exact for close rows,
    which (x - mean) - (z - mean) is not.
    """
    xp = namespace(X)
    center = xp.mean(Z, axis=0)
    A, B = X - center, Z - center
    if rate is not None:
        A, B = A * rate, B * rate
    a2 = xp.sum(A * A, axis=1)[:, None]
    b2 = xp.sum(B * B, axis=1)[:, None]
    # one product of [a, |a|^2, 1] and [-2 b, 1, |b|^2]: no further pass over D
    left = xp.concat([A, a2, xp.ones_like(a2)], axis=1)
    right = xp.concat([-2 * B, xp.ones_like(b2), b2], axis=1)
    D = left @ xp.matrix_transpose(right)
    if float(xp.min(D)) > CLOSE * float(xp.max(a2) + xp.max(b2)):
        return D
    close = CLOSE * (a2 + b2[:, 0][None, :]) >= D
    if not bool(xp.any(close)):
        return D
    count = int(xp.sum(xp.astype(close, xp.int64)))
    if 4 * count > D.shape[0] * D.shape[1]:
        return columns_block(X, Z, 2, rate)
    i, j = xp.nonzero(close)
    parts = []
    for cut in block_slices(count, max(1, 2 * TILE * TILE // max(X.shape[1], 1))):
        gap = xp.take(X, i[cut], axis=0) - xp.take(Z, j[cut], axis=0)
        gap = gap if rate is None else gap * rate
        parts.append(xp.sum(gap * gap, axis=1))
    D[close] = parts[0] if len(parts) == 1 else xp.concat(parts)
    return D


def columns_block(X, Z, power, rate=None) -> Any:
    """sum_j |rate_j (x_j - z_j)|^power, or the maximum for an infinite power."""
    xp = namespace(X)
    D = None
    for j in range(X.shape[1]):
        a = xp.abs(X[:, j][:, None] - Z[:, j][None, :])
        if rate is not None:
            a = a * (rate if isinstance(rate, float) else rate[j])
        if power == 2:
            a = a * a
        elif power not in (1, math.inf):
            a = a**power
        if D is None:
            D = a
        elif power == math.inf:
            D = xp.maximum(D, a)
        else:
            D += a
    return D


def _columnwise_distance(X, Z, power):
    X, Z = as_float_rows(X, Z)
    return map_tiles(lambda x, z: columns_block(x, z, power), X, Z, blas=False)


def squared_euclidean(X, Z=None):
    """|x - z|^2 for all pairs, eq. (1).

    Examples
    --------
    >>> squared_euclidean([[1.0, 2.0]], [[3.0, -1.0]])
    array([[13.]])
    """
    X, Z = as_float_rows(X, Z)
    if X.shape[1] <= FEW and not is_foreign(X):
        return _columnwise_distance(X, Z, 2)
    return map_tiles(squared_block, X, Z)


def euclidean(X, Z=None):
    """|x - z| for all pairs, eq. (1)."""
    X, Z = as_float_rows(X, Z)
    has_few_columns = X.shape[1] <= FEW and not is_foreign(X)

    def root(x, z):
        D = columns_block(x, z, 2) if has_few_columns else squared_block(x, z)
        return namespace(D).sqrt(D) if is_foreign(D) else np.sqrt(D, out=D)

    return map_tiles(root, X, Z, blas=not has_few_columns)


def manhattan(X, Z=None):
    """sum_j |x_j - z_j| for all pairs, eq. (2)."""
    return _columnwise_distance(X, Z, 1)


def chebyshev(X, Z=None):
    """max_j |x_j - z_j| for all pairs, eq. (2)."""
    return _columnwise_distance(X, Z, math.inf)


def minkowski(X, Z=None, *, p=2.0):
    """(sum_j |x_j - z_j|^p)^(1/p) for all pairs, eq. (3).

    Examples
    --------
    >>> minkowski([[0.0, 0.0]], [[3.0, 4.0]], p=1).item()
    7.0
    """
    if not p >= 1:
        raise ValueError(f"p of minkowski must be a number of at least 1, got {p}.")
    if p in (1, math.inf):
        return _columnwise_distance(X, Z, p)
    return euclidean(X, Z) if p == 2 else _columnwise_distance(X, Z, p) ** (1 / p)


def unit_rows(X, zero):
    """Rows at length 1; rows of zeros stay, or raise if `zero` is None."""
    xp = namespace(X)
    top = xp.max(xp.abs(X), axis=1)[:, None]  # keeps the squares from overflowing
    if zero is None and bool(xp.any(top == 0)):
        raise ValueError("the cosine of a row of zeros is not defined.")
    X = X / xp.where(top == 0, xp.ones_like(top), top)
    length = xp.sqrt(xp.sum(X * X, axis=1))[:, None]
    return X / xp.where(length == 0, xp.ones_like(length), length), top[:, 0] == 0


def unit_length_rows(X):
    """Rows of X, dense or sparse, scaled to length 1; a row of zeros raises.

    Examples
    --------
    >>> import numpy as np
    >>> unit_length_rows(np.array([[3.0, 4.0], [0.0, 1e200]]))
    array([[0.6, 0.8],
           [0. , 1. ]])
    """
    if not sparse.issparse(X):
        U, zero = unit_rows(X, 0.0)
        _refuse_zero_rows(zero)
        return U
    top = np.abs(X).max(axis=1).toarray().ravel()
    _refuse_zero_rows(top == 0)
    U = sparse.diags_array(1 / top) @ X
    length = np.sqrt(np.asarray(U.multiply(U).sum(axis=1)).ravel())
    return sparse.csr_array(sparse.diags_array(1 / length) @ U).astype(X.dtype)


def _refuse_zero_rows(zero) -> None:
    """Raise ValueError for the first of the rows that have no direction."""
    zero_rows = np.flatnonzero(to_numpy(zero))
    if len(zero_rows):
        raise ValueError(
            f"row {zero_rows[0]} of X has length 0 and so no direction, which "
            "metric='cosine' needs."
        )


def cosine(X, Z=None, *, zero=1.0):
    """1 - cos(x, z) for all pairs, eq. (4), as half the squared chord.

    A row of zeros has no direction. Its distance to other rows is `zero`, and 0 to
    another row of zeros; zero=None raises instead.

    Examples
    --------
    >>> cosine([[1.0, 0.0]], [[2.0, 0.0], [0.0, 5.0], [0.0, 0.0]])
    array([[0., 1., 1.]])
    """
    X, Z = as_float_rows(X, Z)
    xp = namespace(X)
    U, x0 = unit_rows(X, zero)
    V, z0 = unit_rows(Z, zero)
    D = 0.5 * squared_euclidean(U, V)
    if bool(xp.any(x0)) or bool(xp.any(z0)):  # then `zero` is a number
        one_is_zero, both_are_zero = (
            x0[:, None] | z0[None, :],
            x0[:, None] & z0[None, :],
        )
        D = xp.where(one_is_zero, xp.full_like(D, zero), D)
        D = xp.where(both_are_zero, xp.zeros_like(D), D)
    return D


def mahalanobis(X, Z=None, *, cov=None):
    """sqrt((x - z)^T Sigma^-1 (x - z)) for all pairs, eq. (5).

    cov = None estimates Sigma from X and Z together. A singular Sigma is replaced on
    the directions it has (its pseudo-inverse), so distances along the others are 0.
    """
    X, Z = as_float_rows(X, Z)
    d = X.shape[1]
    if cov is None:
        samples = [to_numpy(X)] if Z is X else [to_numpy(X), to_numpy(Z)]
        cov = np.cov(np.concatenate(samples), rowvar=False)
    S = np.asarray(to_numpy(cov), dtype=np.float64).reshape(np.shape(cov) or (1, 1))
    if S.shape != (d, d) or not np.allclose(S, S.T, rtol=1e-8, atol=0):
        raise ValueError(f"cov of mahalanobis must be symmetric and {d} x {d}.")
    values, vectors = np.linalg.eigh(S)
    top = max(values.max(initial=0.0), 0.0)
    if values.min(initial=0.0) < -1e-10 * max(top, 1e-300):
        raise ValueError("cov of mahalanobis must be positive semi-definite.")
    is_kept = values > d * np.finfo(np.float64).eps * top
    W = asarray(vectors[:, is_kept] / np.sqrt(values[is_kept]), like=X)
    return euclidean(X @ W, None if Z is X else Z @ W)


def hamming(X, Z=None):
    """The share of columns in which two rows differ, eq. (6).

    Examples
    --------
    >>> hamming([[1, 0, 1, 1]], [[1, 1, 1, 0]]).item()
    0.5
    """
    X, Z = as_float_rows(X, Z)

    def unequal_share(x, z):
        xp = namespace(x)
        D = xp.zeros((x.shape[0], z.shape[0]), dtype=x.dtype, device=device(x))
        for j in range(x.shape[1]):
            D += xp.astype(x[:, j][:, None] != z[:, j][None, :], x.dtype)
        return D / x.shape[1]

    return map_tiles(unequal_share, X, Z, blas=False)


def distance_matrix_function(metric, **options) -> Callable:
    """A metric given as a function, as a function of (X, Z) to their matrix.

    `metric` may take two rows and return a number, or take X and Z and return the
    matrix. The first pair of rows tells which: a function of matrices does not answer
    two rows with one number.

    Examples
    --------
    >>> import numpy as np
    >>> of_rows = distance_matrix_function(lambda x, z: abs(x - z).max())
    >>> of_rows(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([[4., 1.]])
    """

    def matrix(X, Z):
        shape = (int(X.shape[0]), int(Z.shape[0]))
        if _takes_two_rows(metric, X, Z, options):
            return _matrix_of_row_metric(metric, X, Z, options)
        D = metric(X, Z, **options)
        if tuple(getattr(D, "shape", ())) != shape:
            raise ValueError(
                "the metric must return a number for two rows, or a matrix of shape "
                f"{shape} for two arrays of rows, got "
                f"{getattr(D, 'shape', type(D).__name__)}."
            )
        return D

    return matrix


def _takes_two_rows(metric, X, Z, options) -> bool:
    """Whether the metric answers two rows with one number."""
    try:
        value = metric(*first_rows(X, Z), **options)
        return np.ndim(value) == 0 and np.isscalar(float(value))
    except (TypeError, ValueError, IndexError, AttributeError, RuntimeError):
        return False


def first_rows(X, Z):
    """The first row of each; of a sparse matrix, as scikit-learn has it, (1, d)."""
    return tuple(A[:1] if sparse.issparse(A) else A[0] for A in (X, Z))


def _matrix_of_row_metric(metric, X, Z, options):
    """The metric of every pair of rows: (n, m)."""
    if is_foreign(X):
        rows = [[float(metric(x, z, **options)) for z in Z] for x in X]
        return asarray(np.array(rows), like=X)
    A, B = (
        [M[i : i + 1] for i in range(M.shape[0])] if sparse.issparse(M) else M
        for M in (X, Z)
    )
    D = np.array([[metric(x, z, **options) for z in B] for x in A], np.float64)
    if np.isnan(D).any():
        raise ValueError("the metric returned NaN for a pair of rows.")
    return D.astype(X.dtype, copy=False)


class Nearest(NamedTuple):
    """For every row, the nearest of some points."""

    index: Any  # (n,), the first of equals
    squared: Any  # |x - c|^2, (n,)


def pairwise_argmin(X, C) -> Nearest:
    """The nearest row of C for every row of X: blocked, any array library.

    Examples
    --------
    >>> pairwise_argmin([[0.0], [9.0]], [[1.0], [8.0]])
    Nearest(index=array([0, 1]), squared=array([1., 1.]))
    """
    X, C = as_float_rows(X, C)
    xp = namespace(X)
    n, m = int(X.shape[0]), int(C.shape[0])
    center = xp.mean(C, axis=0)
    Cc = C - center
    half = 0.5 * xp.sum(Cc * Cc, axis=1)[None, :]

    def find(x):
        x = x - center
        nearest = xp.argmin(half - x @ xp.matrix_transpose(Cc), axis=1)
        return nearest, xp.sum((x - xp.take(Cc, nearest, axis=0)) ** 2, axis=1)

    if is_foreign(X):
        parts = [find(X[cut, :]) for cut in block_slices(n, max(1, DEVICE // m))]
    else:
        step = max(TILE, TILE * TILE // m)
        tasks = ((lambda c=cut: find(X[c])) for cut in block_slices(n, step))
        parts = list(threads.run_tasks(tasks, blas=True))
    if len(parts) == 1:
        return Nearest(*parts[0])
    return Nearest(*(xp.concat(list(column)) for column in zip(*parts, strict=True)))

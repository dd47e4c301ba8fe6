"""Mean and scatter matrix of the rows in one pass, for every kind of rows.

    m = (1/n) sum_i x_i        S = sum_i (x_i - m)(x_i - m)^T                    (1)

A block is moved by a common s near the mean before it is squared, so that a large
offset costs no digits; blocks stay in cache and are added up in float64 even if the
rows are float32. `mean_and_total_scatter` gives m and the trace of S alone.

Shapes    X (n, d)   m, s (d,)   S (d, d)
Refs      [Chan1983] shifted sums
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import assert_all_finite

from ..core.arrays.arrays import (
    all_finite,
    asarray,
    is_foreign,
    namespace,
    to_host,
    to_numpy,
)
from ..core.arrays.overflow import refuse_overflowing_squares
from ..core.arrays.rows import DatasetRows, as_rows
from ..core.linalg.least_squares_passes import choose_shift
from ..core.linalg.tall_products import column_sums, tall_product

BLOCK_BYTES = 1 << 20


class MeanAndScatter(NamedTuple):
    n: int
    mean: np.ndarray  # m, float64
    scatter: Any  # S, float64 on X's device; or its trace


def moment_blocks(X):
    """Rows in blocks at least a few times as long as wide."""
    if isinstance(X, DatasetRows) or is_foreign(X) or sp.issparse(X):
        return as_rows(X)
    d = int(X.shape[1])
    return as_rows(X, block=max(256, 4 * d, BLOCK_BYTES // (X.dtype.itemsize * d)))


def shift_near_mean(data, X):
    """s in the dtype of the rows, or None."""
    if sp.issparse(X):
        return None
    like = X if is_foreign(X) else np.empty(0)
    s = choose_shift(data, None, like)
    return None if s is None else asarray(s, like=prototype_array(X))


def prototype_array(X):
    """An array of X's library and dtype."""
    return X if is_foreign(X) else np.empty(0, X.dtype)


def as_float64(a):
    xp = namespace(a)
    return xp.astype(a, xp.float64)


def mean_and_scatter(X) -> MeanAndScatter:
    """Eq. (1)."""
    data = moment_blocks(X)
    n = int(X.shape[0])
    s = shift_near_mean(data, X)
    if is_foreign(X) and s is None:
        data = as_rows(X, block=n)  # no copy is made of a block

    def stats(x):
        if sp.issparse(x):
            total = np.asarray(
                x.sum(axis=0), float
            ).ravel()  # a csr_matrix gives (1, d)
            return (x.T @ x).toarray().astype(float), total
        x = x if s is None else x - s
        xp = namespace(x)
        if is_foreign(x):
            return tall_product(x, x), column_sums(x)
        return as_float64(x.T @ x), as_float64(xp.ones_like(x[:, 0]) @ x)

    with np.errstate(over="ignore", invalid="ignore"):
        S, first = data.sum(stats)
        m = first / n
        S = S - (first[:, None] * m[None, :])
    m = to_numpy(m).ravel() + (0.0 if s is None else to_numpy(s).astype(float))
    return MeanAndScatter(n, m, S)


def mean_and_total_scatter(X) -> MeanAndScatter:
    """m of eq. (1) and the trace of S."""
    data = moment_blocks(X)
    n = int(X.shape[0])
    if sp.issparse(X):  # stored entries are one block
        data = as_rows(X, block=n)
    s = shift_near_mean(data, X)

    def stats(x):
        if sp.issparse(x):
            return np.asarray(x.sum(axis=0), float), float(np.vdot(x.data, x.data))
        x = x if s is None else x - s
        xp = namespace(x)
        if is_foreign(x):
            squares = xp.linalg.vector_norm(x) ** 2
            return column_sums(x), as_float64(squares)
        flat = xp.reshape(x, (-1,))
        return as_float64(xp.ones_like(x[:, 0]) @ x), float(flat @ flat)

    with np.errstate(over="ignore", invalid="ignore"):
        first, square = to_host(*data.sum(stats))
        first = first.ravel()
        trace = max(square - float(first @ first) / n, 0.0)
    m = first / n + (0.0 if s is None else to_numpy(s).astype(float))
    return MeanAndScatter(n, m, trace)


def refuse_table(X, name):
    """Tables on disk are refused where a method needs all rows at once."""
    if isinstance(X, DatasetRows):
        raise TypeError(f"{name} takes X in memory, got a table on disk.")


def refuse_overflowing_sum(X, square, name, limit=np.inf):
    """Raise if a sum of squares of X is not below the limit."""
    if square < limit:
        return
    if not np.isfinite(square):
        refuse_overflowing_squares(name, X, margin=np.inf)
    raise ValueError(f"values of X are too large for {name}: scale the columns.")


def refuse_nonfinite(X, sums, name):
    """Sums that are not finite tell of rows that are not, which are then refused."""
    if np.all(np.isfinite(sums)):
        return
    if is_foreign(X):
        if all_finite(X):
            return
        raise ValueError(f"Input X of {name} contains NaN or infinity.")
    if isinstance(X, DatasetRows):
        raise ValueError(f"Input X of {name} contains NaN or infinity.")
    data = X.data if sp.issparse(X) else X
    assert_all_finite(data, estimator_name=name, input_name="X")

"""Weighted rows: the check of row weights, weighted quantiles, effective sample size.

A row of weight k counts as k equal rows, and a row of weight 0 as none. With the values
sorted and W_i the running sums of their weights, the quantile at level q is where the
weights reach the share q of their sum W,

    low  = first x_i with W_i >= q W,      high = first x_i with W_i > q W         (1)
    quantile = (low + high) / 2                                                    (2)

so that the quantile at 1/2 without weights is the usual median. `low` and `high` differ
only where the running sum meets q W exactly; every number between them then minimises
the quantile loss. Running sums are rounded, hence "exactly" means within
`tie_tolerance`: weights of 0.1 each give the same quantile as weights of 1 each.

Weights w of unequal size estimate a mean as well as this many rows of equal weight:

    effective sample size = (sum w)^2 / sum w^2                                    (3)

`_weighted.py` has the same rules for compiled loops.

Shapes    x (n,) or (n, d)   w (n,) or None for all ones
Refs      [Kish1965] eq. (3)
"""

import math

import numpy as np

from . import arrays
from .unreadable import unreadable_error

FLOATS = (np.float64, np.float32)
EPS = 2.220446049250313e-16  # distance from 1 to the next float64
TIE = 1e-12  # relative difference up to which two sums of weights are equal
RANK_TIE = 1e-9  # absolute difference up to which a sum of counts meets a rank


def tie_tolerance(total, n):
    """Difference up to which a running sum of n weights of this total meets a goal.

    n eps bounds the relative rounding error of a running sum of n numbers.
    """
    return max(TIE, n * EPS) * total


def check_sample_weight(sample_weight, X, name="sample_weight"):
    """Row weights as a float array of X's array library, or None for all ones.

    Parameters
    ----------
    sample_weight : array-like of shape (n,), number or None
        A single number is the weight of every row.
    X : array with n rows, or int
        The rows that are weighted, or how many there are. The weights get the array
        library, device and floating type of X (float64 where X has none).
    name : str
        What the parameter is called in error messages.

    Returns
    -------
    array of shape (n,) or None

    Raises
    ------
    ValueError
        If weights are of the wrong shape, negative, not finite, or all 0.

    Examples
    --------
    >>> from pansophy.core.arrays.weighted import check_sample_weight
    >>> check_sample_weight([1, 0, 2], 3)
    array([1., 0., 2.])
    >>> check_sample_weight([1, -1], 2, "weights")
    Traceback (most recent call last):
    ValueError: weights must be 2 numbers of at least 0, not all 0.
    """
    if sample_weight is None:
        return None
    n = X if isinstance(X, int) else int(X.shape[0])
    problem, w = _converted(sample_weight, X, n)
    if problem and name != "sample_weight":
        problem = f"{name} must be {n} numbers of at least 0, not all 0."
    if problem:
        raise ValueError(problem)
    return w


def _converted(w, X, n) -> tuple:
    """Sentence on what is wrong with weights (None: nothing), and their array."""
    if isinstance(w, str):
        return f"sample_weight must hold numbers, got {w!r}.", None
    if not arrays.is_foreign(w):
        try:
            w = np.asarray(w)
            w = w.astype(np.float64) if w.dtype.kind in "OUS" else w
        except (ValueError, TypeError) as error:
            return str(unreadable_error("sample_weight", w, error)), None
    if arrays.is_foreign(X):
        w = arrays.asarray(w, like=X)
        if w.ndim == 0:
            w = w + arrays.namespace(X).zeros_like(X[:, 0])
    else:
        if np.asarray(w).dtype.kind == "c":
            return "sample_weight must hold real numbers, got complex ones.", None
        dtype = getattr(X, "dtype", None)
        w = np.asarray(w, dtype=dtype if dtype in FLOATS else np.float64)
        if w.ndim == 0:
            w = np.full(n, w)
    if w.ndim != 1:
        return "Sample weights must be 1D array or scalar", None
    if w.shape[0] != n:
        return f"sample_weight.shape == {tuple(w.shape)}, expected {(n,)}!", None
    xp = arrays.namespace(w)
    if not arrays.all_finite(w):
        return "Input sample_weight contains NaN or infinity.", None
    if bool(xp.any(w < 0)):
        return "Negative values in data passed to `sample_weight`.", None
    if not bool(xp.any(w > 0)):
        return "every sample_weight is zero: nothing to fit.", None
    largest = float(xp.max(w))
    bound = largest_weight(float(xp.finfo(w.dtype).max), n)
    if largest > bound:
        return (
            "the sum of sample_weight, or of its squares, overflows: divide the "
            f"weights by {largest:.0e}.",
            None,
        )
    return None, w


def largest_weight(largest_number, n) -> float:
    """The weight up to which the sum of n weights and of their squares are finite.

    Sums of weighted squares of numbers of usual size are finite then as well.
    """
    return math.sqrt(largest_number / max(n, 1)) / 1e3


def weighted_quantile(x, w=None, q=0.5, *, axis=0, tie="midpoint"):
    """Quantile of weighted values, eqs. (1) and (2).

    Parameters
    ----------
    x : array of shape (n,) or (n, d)
        Values without NaN; a NumPy array or an array of another library.
    w : array of shape (n,) or None
        Weights of the values along `axis`; None for all ones.
    q : float
        Level of the quantile, from 0 to 1.
    axis : {0, 1}
        The axis of x over which quantiles are taken.
    tie : {"midpoint", "lower"}
        Where the weights meet the level exactly: halfway to the next value, or the
        value itself (the inverse of the distribution function).

    Returns
    -------
    number, or array of shape (d,), in the array library of x

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.arrays.weighted import weighted_quantile
    >>> float(weighted_quantile(np.array([3.0, 1.0, 2.0, 4.0]), q=0.25))
    1.5
    >>> float(weighted_quantile(np.array([3.0, 1.0]), np.array([3.0, 1.0]), 0.25))
    2.0
    """
    xp = arrays.namespace(x)
    if x.ndim == 2:
        columns = x.T if axis == 1 else x
        if arrays.is_foreign(x):
            each = range(columns.shape[1])
            return xp.stack(
                [weighted_quantile(columns[:, j], w, q, tie=tie) for j in each]
            )
        return _column_quantiles(columns, w, q, tie)
    if w is None:
        w = xp.ones_like(x) if arrays.is_float(x) else xp.ones(x.shape[0])
    kept = w > 0
    x, w = x[kept], w[kept]
    n = int(x.shape[0])
    if n == 0:
        raise ValueError("a quantile needs at least one value of weight above 0.")
    order = xp.argsort(x)
    x, w = xp.take(x, order), xp.astype(xp.take(w, order), xp.float64)
    reached = xp.cumulative_sum(w)
    total = float(reached[-1])
    tolerance = tie_tolerance(total, n)
    below = xp.astype(reached < q * total - tolerance, xp.int64)
    low = min(int(xp.sum(below)), n - 1)
    if tie == "lower":
        return x[low]
    met = xp.astype(reached <= q * total + tolerance, xp.int64)
    high = min(int(xp.sum(met)), n - 1)
    return x[low] if low == high else (x[low] + x[high]) / 2


def _column_quantiles(X, w, q, tie):
    """`weighted_quantile` of every column of a NumPy matrix (n, d)."""
    w = np.ones(len(X)) if w is None else np.asarray(w, np.float64)
    X, w = (X, w) if w.all() else (X[w > 0], w[w > 0])
    n = len(X)
    if n == 0:
        raise ValueError("a quantile needs at least one value of weight above 0.")
    order = np.argsort(X, axis=0, kind="stable")
    reached = np.cumsum(w[order], axis=0)
    goal = q * reached[-1]
    tolerance = tie_tolerance(reached[-1].max(initial=0.0), n)
    column = np.arange(X.shape[1])
    low = np.minimum((reached < goal - tolerance).sum(axis=0), n - 1)
    at_low = X[order[low, column], column]
    if tie == "lower":
        return at_low
    high = np.minimum((reached <= goal + tolerance).sum(axis=0), n - 1)
    at_high = X[order[high, column], column]
    return np.where(low == high, at_low, (at_low + at_high) / 2)


def weighted_median(x, w=None, *, axis=0):
    """Median of weighted values: `weighted_quantile` at 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.arrays.weighted import weighted_median
    >>> float(weighted_median(np.arange(1.0, 7.0), np.full(6, 0.1)))
    3.5
    """
    return weighted_quantile(x, w, 0.5, axis=axis)


def values_at_ranks(x, counts, ranks) -> np.ndarray:
    """The values that stand at these ranks when x_i is repeated counts_i times.

    Ranks go from 1 to the sum of the counts. Counts may be fractions: the value at
    rank r is the first whose running sum of counts reaches r.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.arrays.weighted import values_at_ranks
    >>> values_at_ranks(np.array([7.0, 5.0]), np.array([1, 3]), [1, 3, 4]).tolist()
    [5.0, 5.0, 7.0]
    """
    kept = counts > 0
    x, counts = x[kept], counts[kept]
    order = np.argsort(x, kind="stable")
    at = np.searchsorted(np.cumsum(counts[order]), np.asarray(ranks) - RANK_TIE)
    return x[order][np.minimum(at, len(order) - 1)]


def repeated_quantile(x, counts, q) -> np.ndarray:
    """`numpy.quantile` (linear interpolation) of values repeated counts_i times.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.arrays.weighted import repeated_quantile
    >>> repeated_quantile(np.array([1.0, 2.0]), np.array([3, 2]), [0.5, 1.0]).tolist()
    [1.0, 2.0]
    """
    h = (counts.sum() - 1) * np.asarray(q)
    low = np.floor(h)
    ends = values_at_ranks(x, counts, np.stack([low + 1, low + 2], axis=1))
    return np.array([np.quantile(pair, t) for pair, t in zip(ends, h - low)])


def effective_sample_size(w) -> float:
    """Kish's number of equally weighted rows, eq. (3); 0 where no weight is above 0.

    Examples
    --------
    >>> from pansophy.core.arrays.weighted import effective_sample_size
    >>> effective_sample_size([1.0, 1.0, 0.0]), effective_sample_size([3.0, 1.0])
    (2.0, 1.6)
    """
    w = np.asarray(w, dtype=float)
    square = w @ w
    return float(w.sum() ** 2 / square) if square > 0 else 0.0


def scaled_to_effective_size(w) -> np.ndarray:
    """Weights scaled so that their sum is the effective sample size, eq. (3).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.arrays.weighted import scaled_to_effective_size
    >>> scaled_to_effective_size(np.array([3.0, 1.0])).round(6).tolist()
    [1.2, 0.4]
    """
    w = np.asarray(w, dtype=float)
    square = w @ w
    return w * (w.sum() / square) if square > 0 else w

"""Distance by correlation: rows that rise and fall together are close.

    r(x, z) = sum_j (x_j - mx)(z_j - mz) / sqrt(sum_j (x_j - mx)^2 sum_j (z_j - mz)^2)
    d(x, z) = 1 - r(x, z),                                                       (1)

the cosine distance of the rows less their means, 0 to 2. Adding a constant to a row or
multiplying it by a positive number changes nothing. A row that does not vary has no
correlation with anything.

With missing="common" sums and means are over the columns that neither row lacks (NaN).
All of them are matrix products: with M the mask of known cells and X, Z zero elsewhere,

    n = M M'^T   sx = X M'^T   sxx = X^2 M'^T   sxz = X Z^T   and likewise z.    (2)

Rows are moved by their own means first, which changes no correlation and keeps the
digits of (2). r over two common columns is 1, -1 or undefined, whatever they hold.

Shapes    X (n, d)   Z (m, d)   result (n, m)
"""

from typing import Any

import numpy as np

from ..core.arrays.arrays import namespace
from .pairwise_metrics import as_float_rows, cosine

FLAT = 1e-10  # a variance below this share of the mean square is rounding


def pearson(X, Z=None, *, zero=1.0, missing="refuse"):
    """1 - correlation for all pairs of rows, eq. (1).

    Parameters
    ----------
    X, Z : arrays of shape (n, d) and (m, d)
    zero : float or None
        The distance to a row that does not vary; None raises instead. Two such rows
        are at distance 0 (with missing="common" at `zero`).
    missing : "refuse" or "common"
        What to do with NaN: "common" takes the columns known in both rows, eq. (2),
        for NumPy arrays.

    Examples
    --------
    >>> nan = float("nan")
    >>> ratings = [[5, 3, 4, nan], [4, 2, 3, 5], [1, 5, 2, 1], [4, 3, 5, 4]]
    >>> 1 - pearson(ratings[:1], ratings[1:], missing="common").round(8)
    array([[ 1.        , -0.96076892,  0.5       ]])
    """
    if missing not in ("refuse", "common"):
        raise ValueError(f"missing must be 'refuse' or 'common', got {missing!r}.")
    X, Z = as_float_rows(X, Z)
    xp = namespace(X)
    if bool(xp.any(xp.isinf(X))) or bool(xp.any(xp.isinf(Z))):
        raise ValueError("pearson needs finite numbers, and found an infinity.")
    if missing == "common":
        return _pearson_over_common(np.asarray(X), np.asarray(Z), zero)
    if bool(xp.any(xp.isnan(X))) or bool(xp.any(xp.isnan(Z))):
        raise ValueError("pearson needs numbers without NaN; see missing='common'.")
    return cosine(centered_rows(X), None if Z is X else centered_rows(Z), zero=zero)


def centered_rows(X) -> Any:
    """Rows less their means; exactly 0 where a row does not vary."""
    xp = namespace(X)
    R = X - xp.mean(X, axis=1, keepdims=True)
    top = xp.max(xp.abs(X), axis=1, keepdims=True)
    close = 8 * float(xp.finfo(X.dtype).eps)
    flat = xp.max(xp.abs(R), axis=1, keepdims=True) <= close * top
    return xp.where(flat, xp.zeros_like(R), R)


def _pearson_over_common(X, Z, zero):
    """Eq. (2)."""
    (A, M), (B, N) = _observed_and_mask(X), _observed_and_mask(Z)
    n = M @ N.T
    count = np.maximum(n, 1)
    sx, sz = A @ N.T, M @ B.T
    sxx, szz = (A * A) @ N.T, M @ (B * B).T
    xx, zz = sxx - sx * sx / count, szz - sz * sz / count
    xz = A @ B.T - sx * sz / count
    flat = (xx <= FLAT * sxx) | (zz <= FLAT * szz)
    if zero is None and flat.any():
        raise ValueError("a row does not vary over the columns it has in common.")
    r = xz / np.sqrt(np.where(flat, 1, xx * zz))
    return np.where(flat, 1.0 if zero is None else zero, 1 - np.clip(r, -1, 1))


def _observed_and_mask(X):
    """Rows less their means with 0 for NaN, and the mask of what is not NaN."""
    M = ~np.isnan(X)
    count = np.maximum(M.sum(axis=1, keepdims=True), 1)
    mean = np.where(M, X, 0).sum(axis=1, keepdims=True) / count
    return np.where(M, X - mean, 0), M.astype(X.dtype)

"""Reconciliation: forecasts of totals and parts that add up.

With b the bottom series and S the matrix of sums, all series are y = S b. Forecasts
yhat made for each series by itself do not add up; those reconciled do:

    bottom-up   b = the forecasts of the bottom series
    ols, mint   b minimises (yhat - S b)' W^-1 (yhat - S b)                       (1)

with W = I, or the covariance of the one-step errors of all series, shrunk towards its
diagonal by the share of [Schafer2005]. (1) is the unbiased reconciliation of least
total variance. With b >= 0 it is least squares without negative coefficients, by an
active-set method with a bound on its steps; what does not end in time is clipped.

`aggregate_panel` makes the totals: of the columns (region, store), the series are
all stores, each region, each store.

Cost      O(s^3) once, O(s b^2) a step; non-negative: some such solves a step
Refs      [Wickramasuriya2019] MinT; [Wickramasuriya2020] non-negative
"""

from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.linalg
import scipy.optimize

from ..core.arrays.ragged import Ragged
from .panel import Panel

TOTAL = "(all)"
LEAST_SHRUNK = 1e-6  # share by which correlations shrink, so that R has an inverse
MAX_STEPS = 10  # of the active-set method, for each bottom series


class Hierarchy(NamedTuple):
    """Series of all levels, and how the bottom ones sum to them."""

    panel: Panel  # totals first, bottom series last
    sums: np.ndarray  # S (s, b)
    levels: np.ndarray  # (s,) 0 for the total


def aggregate_panel(panel, columns=None) -> Hierarchy:
    """Totals of a panel by the first 0, 1, 2, ... of its columns of names.

    Parameters
    ----------
    panel : Panel
        The bottom series. A missing value makes the totals of its step missing.
    columns : list of str or None
        From the coarsest to the finest; None for those of the panel.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting import Panel, aggregate_panel
    >>> bottom = Panel.from_list(
    ...     [[1.0, 2.0], [3.0, 4.0]], keys={"shop": np.array(["a", "b"])}
    ... )
    >>> aggregate_panel(bottom).panel.series[0]
    array([4., 6.])
    """
    columns = list(panel.keys if columns is None else columns)
    for name in columns:
        if name not in panel.keys:
            raise ValueError(f"the panel has no column {name!r} of names.")
    texts = [np.asarray(panel.keys[c]).astype(str) for c in columns]
    series, starts, sums, levels = [], [], [], []
    keys: dict[str, list] = {c: [] for c in columns}
    for depth in range(len(columns)):
        labels = np.array(
            ["/".join(t[i] for t in texts[:depth]) for i in range(len(panel))]
        )
        for label in dict.fromkeys(labels):
            members = np.flatnonzero(labels == label)
            start, total = summed_series(panel, members)
            series.append(total)
            starts.append(start)
            row = np.zeros(len(panel))
            row[members] = 1.0
            sums.append(row)
            levels.append(depth)
            for k, c in enumerate(columns):
                keys[c].append(texts[k][members[0]] if k < depth else TOTAL)
    for k, c in enumerate(columns):
        keys[c].extend(texts[k])
    series += list(panel.series)
    base_panel = Panel(
        Ragged.from_list(series),
        np.r_[np.array(starts, np.int64), panel.start],
        panel.frequency,
        {c: np.array(v) for c, v in keys.items()},
        findings=panel.findings,
    )
    levels += [len(columns)] * len(panel)
    return Hierarchy(
        base_panel, np.vstack([*sums, np.eye(len(panel))]), np.array(levels)
    )


def summed_series(panel, members) -> tuple[int, np.ndarray]:
    """Start and sum of some series; before its first value a series counts as 0."""
    start = int(panel.start[members].min())
    end = int(panel.ends[members].max())
    total = np.zeros(end - start)
    for i in members:
        first = panel.start[i] - start
        total[first : first + panel.lengths[i]] += panel.series[i]
        total[first + panel.lengths[i] :] = np.nan
    known = np.flatnonzero(~np.isnan(total))
    return start, total[: known[-1] + 1] if len(known) else total


def shrunk_error_covariance(errors) -> np.ndarray:
    """Covariance (s, s) of errors (n, s), correlations shrunk by an estimated share.

    The share is that which minimises the expected squared error of the correlations.
    """
    errors = errors[np.isfinite(errors).all(axis=1)]
    n, s = errors.shape
    if n < 3:
        return np.eye(s)
    scale = np.sqrt(np.mean(errors**2, axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    z = errors / scale
    R = z.T @ z / n
    spread = (z**2).T @ z**2 / n - R**2  # variance of the products
    off_diagonal = ~np.eye(s, dtype=bool)
    total = (R[off_diagonal] ** 2).sum()
    share = spread[off_diagonal].sum() / n / total if total > 0 else 1.0
    share = float(np.clip(share, LEAST_SHRUNK, 1.0))
    R = (1 - share) * R
    np.fill_diagonal(R, 1.0)
    floor = 1e-8 * max(float(scale.max()), 1e-300)
    scale = np.maximum(scale, floor)
    return R * np.outer(scale, scale)


def reconcile(
    forecasts,
    sums,
    method: Literal["bottom-up", "ols", "mint"] = "mint",
    *,
    errors: Any = None,
    non_negative=False,
) -> np.ndarray:
    """Forecasts (s, h) that add up, eq. (1).

    Parameters
    ----------
    forecasts : array of shape (s, h)
        Of the series of a `Hierarchy`, in its order.
    sums : array of shape (s, b)
        S; the last b rows are the bottom series.
    method : {"bottom-up", "ols", "mint"}
    errors : array of shape (n, s), for "mint"
        One-step errors of all series.
    non_negative : bool
        Whether no bottom series, and so no series, may fall below 0.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting import reconcile
    >>> S = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> reconcile([[12.0], [4.0], [5.0]], S, "ols").ravel()
    array([11.,  5.,  6.])
    """
    y = np.asarray(forecasts, dtype=float)
    S = np.asarray(sums, dtype=float)
    s, b = S.shape
    if y.ndim != 2 or len(y) != s:
        raise ValueError(f"forecasts must have {s} rows, one a series, got {y.shape}.")
    if not np.array_equal(S[s - b :], np.eye(b)):
        raise ValueError("the last rows of sums must be the bottom series themselves.")
    if method not in ("bottom-up", "ols", "mint"):
        raise ValueError(f"method must be bottom-up, ols or mint, got {method!r}.")
    if method == "bottom-up":
        bottom = np.maximum(y[s - b :], 0.0) if non_negative else y[s - b :]
        return S @ bottom
    white, target = S, y
    if method == "mint":
        if errors is None:
            raise ValueError("mint needs the one-step errors of all series.")
        L = np.linalg.cholesky(shrunk_error_covariance(np.asarray(errors, dtype=float)))
        white = scipy.linalg.solve_triangular(L, S, lower=True)
        target = scipy.linalg.solve_triangular(L, y, lower=True)
    bottom = np.linalg.lstsq(white, target)[0]
    if non_negative and (bottom < 0).any():
        for h in np.flatnonzero((bottom < 0).any(axis=0)):
            bottom[:, h] = bounded_solution(white, target[:, h], bottom[:, h])
    return S @ bottom


def bounded_solution(A, y, free) -> np.ndarray:
    """Least squares with x >= 0; the free solution, clipped, if it does not end."""
    try:
        return scipy.optimize.nnls(A, y, maxiter=MAX_STEPS * A.shape[1])[0]
    except RuntimeError:
        return np.maximum(free, 0.0)

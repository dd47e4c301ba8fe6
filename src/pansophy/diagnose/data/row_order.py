"""Rows in an order that no name tells: along the file, or along a column of numbers.

Prices of a stock may come without a date, years may have a Czech name. That rows follow
each other is told by the target, in the order of the file or of a column with (nearly)
as many values as rows. The correlation r of y with the y of the next row is no proof
alone: rows sorted by a column on which y depends, y = f(x) + noise, are alike as well.
A smooth f and a process differ in what is left when a line is taken off every stretch
of w rows. Let s_w^2 be its variance and r_w its correlation from row to row,

    independent rows around a smooth f    r_w = a small negative number e_w, as of
                                          noise (or s_w^2 grows as w^4, if there is
                                          hardly any noise)                        (1)
    a random walk, an autoregression      r_w > e_w, and s_w^2 grows as w at most  (2)

so that an order is *rough* if the mean of r_w over the stretches exceeds e_w beyond
doubt and s_2w^2 < 4 s_w^2. Lines are taken off along the column. In the order of the
file they can only be taken off along the row, where gaps between sorted values make a
smooth f look like a walk; but one that goes one way. There r is also asked
of the residuals of y from a linear model of the columns and from the means of blocks of
equal values: rows that are sorted by species are alike by their species.

What is *certain* decides the folds: a rough order with a large r (arctanh r beyond
`CERTAIN` standard errors) along a column in whose order the file is, or whose values
are evenly spaced; of the file itself only if r > 0.9 and that of the residuals > 0.8,
as of prices, because files are sorted by place and by other things as well.

Cost      n log n for each column, n d^2 for the linear model
"""

from typing import NamedTuple

import numpy as np
import scipy.stats

ROW_ORDER = "row order"  # the name of the order of the file
STRETCH = 10  # w
FEWEST = 100
MOST = 20_000  # rows
SURE = 6.0  # standard errors
CERTAIN = 14.0
SURE_ROUGH = 4.0
ALIKE = 0.3
SMOOTH = 4.0  # growth of the variance from half a stretch to a whole one
DIFFERENT = 0.9  # values for each row
FILE_ALIKE = 0.9, 0.8  # correlations of the target and of the residuals
ONE_WAY = 0.8  # share of the steps of a target by which the file is sorted
ONE_WAY_WALK = 1.6  # a random walk has 0.8 = sqrt(2 / pi), sorted random numbers 3.2
LEAST_EXCESS = 0.2  # of r_w over e_w
LEVELS = 30
MOST_PARTS = 150  # of the linear model


class SerialOrder(NamedTuple):
    """An order of rows along which the target follows itself."""

    column: str  # or ROW_ORDER
    correlation: float  # of the target with that of the next row
    beyond: float  # the same of the residuals; of a column as `correlation`
    rows: int
    certain: bool


def serial_order(view, y) -> SerialOrder | None:
    """The order along which the target follows itself, if there is one.

    Parameters
    ----------
    view : TableView
        The inputs.
    y : array (n,)
        The target, NaN where it is missing; of classes 1 for the most frequent.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose.data.columns import table_view
    >>> from pansophy.diagnose.data.row_order import serial_order
    >>> rng = np.random.default_rng(0)
    >>> walk = rng.normal(size=400).cumsum()
    >>> view = table_view({"rok": 1500 + np.arange(400), "x": rng.normal(size=400)})
    >>> order = serial_order(view, walk)
    >>> order.column, order.certain
    ('rok', True)
    """
    known = np.flatnonzero(~np.isnan(y))
    if len(known) < FEWEST:
        return None
    if len(known) < view.n:
        view, y = view.take(known), y[known]
    if view.n > MOST:
        view, y = view.take(np.arange(MOST)), y[:MOST]
    orders = [o for c in view.columns if (o := _order_of_column(c, y)) is not None]
    if orders:
        return max(orders, key=lambda o: (o.certain, o.correlation))
    return _order_of_file(view, y)


def _order_of_column(c, y) -> SerialOrder | None:
    """The order of one column of numbers, if the target follows itself along it."""
    if c.kind not in ("number", "date") or c.missing.any():
        return None
    x = c.numbers
    if len(np.unique(x)) < DIFFERENT * len(x):
        return None
    order = np.argsort(x, kind="stable")
    r = _lag_correlation(scipy.stats.rankdata(y)[order])
    if not is_beyond_doubt(r, len(y)) or not _is_rough(y[order], x[order]):
        return None
    steps = np.diff(x)
    as_filed = bool(np.all(steps >= 0) or np.all(steps <= 0))
    gaps = np.diff(x[order])
    is_evenly_spaced = bool(np.ptp(gaps) <= 1e-6 * np.abs(gaps).max())
    return SerialOrder(c.name, r, r, len(y), as_filed or is_evenly_spaced)


def _order_of_file(view, y) -> SerialOrder | None:
    """The order of the rows of the file, if the target follows itself along it."""
    y = scipy.stats.rankdata(y)
    n = len(y)
    r = _lag_correlation(y)
    if r < ALIKE or r * np.sqrt(n) < SURE or _is_sorted_by(y):
        return None
    residuals = residuals_of_columns(view, y)
    residual_correlation = _lag_correlation(residuals)
    if (
        residual_correlation < ALIKE
        or residual_correlation * np.sqrt(n) < SURE
        or not _is_rough(y)
    ):
        return None
    alike, alike_beyond = FILE_ALIKE
    certain = (
        r > alike and residual_correlation > alike_beyond and is_beyond_doubt(r, n)
    )
    return SerialOrder(ROW_ORDER, r, residual_correlation, n, bool(certain))


def _lag_correlation(z) -> float:
    """Correlation of each value with the next; 0 where they do not vary."""
    a, b = z[:-1], z[1:]
    if len(z) < 3 or not (np.ptp(a) > 0 and np.ptp(b) > 0):
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


def is_beyond_doubt(r, n) -> bool:
    """Whether arctanh r is beyond `CERTAIN` standard errors."""
    return bool(np.arctanh(min(r, 1 - 1e-12)) * np.sqrt(max(n - 3, 0)) >= CERTAIN)


def _is_sorted_by(y) -> bool:
    """Whether the file is sorted by the target, in one or a few runs."""
    steps = np.sign(np.diff(y))
    moved = steps[steps != 0]
    if len(moved) < len(steps) / 3:  # a class, or a number with few values
        return True
    return bool(np.abs(moved.mean()) > 2 * ONE_WAY - 1)


def _is_rough(y, x=None) -> bool:
    """Whether y in order is a process rather than a smooth function, eqs. (1), (2).

    The lines are taken off along x; by default along the number of the row, whose
    stretches must then go up and down as well.
    """
    n = len(y)
    t = np.arange(n, dtype=float) if x is None else x
    wide, _ = detrended(y, t, 2 * STRETCH)
    narrow, expected = detrended(y, t, STRETCH)
    if len(wide) < 5:
        return False
    sizes = (narrow**2).sum(1)
    varies = sizes > 1e-10 * STRETCH * np.var(y)
    if varies.mean() < 0.5:  # only some steps, as of a threshold
        return False
    r = np.zeros(len(narrow))
    r[varies] = (narrow[varies, 1:] * narrow[varies, :-1]).sum(1) / sizes[varies]
    excess = float(np.mean(r - expected))
    error = max(float(r.std(ddof=1)) / np.sqrt(len(r)), 1e-12)
    if excess < LEAST_EXCESS or excess < SURE_ROUGH * error:
        return False
    growth = np.median((wide**2).sum(1)) / (2 * STRETCH - 2)
    base = np.median(sizes) / (STRETCH - 2)
    return bool(growth < SMOOTH * base and (x is not None or not _goes_one_way(y)))


def _goes_one_way(y) -> bool:
    """Whether stretches of y go up or down, as those of a function of a sorted column.

    A random walk ends within sqrt(sum of its squared steps) of where it began.
    """
    width = 2 * STRETCH
    k = len(y) // width
    Y = np.asarray(y[: k * width], dtype=float).reshape(k, width)
    steps = np.diff(Y, axis=1)
    length = np.sqrt((steps**2).sum(1))
    moved = np.abs(steps.sum(1))[length > 0] / length[length > 0]
    return bool(moved.mean() > ONE_WAY_WALK) if len(moved) else True


def detrended(y, x, width) -> tuple[np.ndarray, np.ndarray]:
    """Stretches (k, width) of y less their regression lines on x, and eq. (1) e_w.

    e_w is the correlation from row to row that independent rows have less a line: the
    trace of I - H next to the diagonal, over the trace.
    """
    k = len(y) // width
    Y = np.asarray(y[: k * width], dtype=float).reshape(k, width)
    X = np.asarray(x[: k * width], dtype=float).reshape(k, width)
    Y = Y - Y.mean(1, keepdims=True)
    X = X - X.mean(1, keepdims=True)
    size = np.maximum((X**2).sum(1, keepdims=True), 1e-300)
    hat = (X[:, 1:] * X[:, :-1]).sum(1) / size[:, 0]
    expected = -((width - 1) / width + hat) / (width - 2)
    return Y - X * ((X * Y).sum(1, keepdims=True) / size), expected


def residuals_of_columns(view, y) -> np.ndarray:
    """Residuals of y from a linear model of the columns, and from means of blocks."""
    z = linear_residuals(view, y)
    for c in view.columns:
        if c.kind == "empty":
            continue
        codes = c.labelled() + 1
        runs = 1 + int(np.count_nonzero(np.diff(codes)))
        levels = int(codes.max())
        if levels <= len(y) / 3 and runs <= 1.05 * levels + 1:
            means = np.bincount(codes, z) / np.maximum(np.bincount(codes), 1)
            z = z - means[codes]
    return z


def linear_residuals(view, y) -> np.ndarray:
    """Residuals of y from a linear model of the columns.

    Numbers enter as they are and with their ranks and squared ranks, texts of few
    levels as indicators; at most `MOST_PARTS` of them.
    """
    n = len(y)
    max_parts = min(n // 5, MOST_PARTS)
    parts = [np.ones(n)]
    for c in view.columns:
        if len(parts) >= max_parts:
            break
        if c.numbers is not None and not c.missing.all():
            x = np.where(c.missing, np.nanmedian(c.numbers), c.numbers)
            ranks = scipy.stats.rankdata(x) / n - 0.5
            parts += [ranks, ranks**2, x / (np.abs(x).max() or 1.0)]
        elif c.numbers is None and len(c.levels) <= LEVELS:
            parts += [c.codes == k for k in range(1, len(c.levels))]
    A = np.column_stack(parts).astype(float)
    return y - A @ np.linalg.lstsq(A, y, rcond=None)[0]

"""Outliers in single columns and in all columns together.

One column: with median m and upper and lower scales s+ = (q90 - m) / 1.28 and s- alike,
a value counts if it is beyond m + z s+ or m - z s-, where z is at least 6 and so large
that only 1 in 20 normal samples of n values has a value beyond it (1). A positive
column with a long tail is log-transformed first. Long tails are no outliers: the value
must also be beyond q99 + 2 (q99 - q90), or the same at the lower end (2).

Several columns: the isolation forest s(x) of the library on the prepared columns. A row
counts if its score exceeds the median by more than 3.2 times the distance from there to
the 95th percentile, which rows of normal, uniform or mixture distributions do not (3).

Refs      [Liu2008] (3)
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from ..findings import Finding, make_finding
from .columns import TableView, numeric_matrix, table_view

LEAST = 6.0
BEYOND = 3.2  # eq. (3)
FEWEST = 20


class ColumnOutliers(NamedTuple):
    """Outliers of one column: their rows and the limits they exceed."""

    name: str
    rows: np.ndarray
    low: float
    high: float
    farthest: float


def column_outliers(c) -> ColumnOutliers | None:
    """Outliers of one column, eqs. (1) and (2); None if there are none."""
    known = np.flatnonzero(~c.missing)
    x = c.numbers[known]
    n = len(x)
    if n < FEWEST or c.kind != "number":
        return None
    q = np.quantile(x, [0.01, 0.1, 0.5, 0.9, 0.99])
    logs = x.min() > 0 and q[3] - q[2] > 1.5 * (q[2] - q[1])
    t = np.log(x) if logs else x
    q = np.quantile(t, [0.01, 0.1, 0.5, 0.9, 0.99]) if logs else q
    scale_up, scale_down = (q[3] - q[2]) / 1.2816, (q[2] - q[1]) / 1.2816
    if not (scale_up > 0 and scale_down > 0):
        return None  # mostly one value: rare ones are no outliers
    z = max(LEAST, float(-ndtri(0.025 / n)))
    high = max(q[2] + z * scale_up, q[4] + 2.0 * (q[4] - q[3]))
    low = min(q[2] - z * scale_down, q[0] - 2.0 * (q[1] - q[0]))
    outlying = np.flatnonzero((t > high) | (t < low))
    if not len(outlying) or len(outlying) > 0.05 * n:
        return None
    far = outlying[
        np.argmax(
            np.where(
                t[outlying] > high,
                (t[outlying] - high) / scale_up,
                (low - t[outlying]) / scale_down,
            )
        )
    ]
    limits = np.exp([low, high]) if logs else (low, high)
    return ColumnOutliers(
        c.name, known[outlying], float(limits[0]), float(limits[1]), float(x[far])
    )


class RowOutliers(NamedTuple):
    """Isolation scores of rows, the limit of eq. (3), and the rows beyond it."""

    scores: np.ndarray
    limit: float
    rows: np.ndarray


def row_outliers(M, random_state=0) -> RowOutliers:
    """Outlying rows of a prepared matrix by an isolation forest, eq. (3)."""
    from ...ensemble import IsolationForest

    n = len(M)
    if n < FEWEST or M.shape[1] < 2:
        return RowOutliers(np.zeros(n), np.inf, np.zeros(0, int))
    forest = IsolationForest(n_estimators=100, random_state=random_state).fit(M)
    scores = -forest.score_samples(M)
    middle, high = np.quantile(scores, [0.5, 0.95])
    limit = max(float(middle + BEYOND * (high - middle)), 0.6)
    rows = np.flatnonzero(scores > limit)
    return RowOutliers(scores, limit, rows[np.argsort(-scores[rows])])


def check_outliers(view: TableView, most=10) -> list[Finding]:
    """Findings about outliers in single columns, the most outliers first."""
    results = [column_outliers(c) for c in view.columns if c.numbers is not None]
    results = sorted((f for f in results if f), key=lambda f: -len(f.rows))
    findings = []
    for f in results[:most]:
        k = len(f.rows)
        value = "value is" if k == 1 else "values are"
        text = (
            f"{f.name!r}: {k} {value} far from the others (outside {f.low:.4g} to "
            f"{f.high:.4g}), the farthest {f.farthest:.6g} in row "
            f"{_row_of(f, view) + 1}."
        )
        findings.append(
            make_finding(
                "outliers", "note", text, column=f.name, count=k, farthest=f.farthest
            )
        )
    if len(results) > most:
        text = f"{len(results) - most} more columns have values far from the others."
        findings.append(make_finding("outliers", "note", text, columns=len(results)))
    return findings


def _row_of(f, view) -> int:
    x = view[f.name].numbers[f.rows]
    return int(f.rows[np.flatnonzero(x == f.farthest)[0]])


def outliers(table, *, rows=20_000, random_state=0):
    """Outliers of a table: findings about single columns, and outlying rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import outliers
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> x[17] = 40.0
    >>> found, _ = outliers({"x": x})
    >>> print(found[0])
    note: 'x': 1 value is far from the others (outside -6.169 to 6.016), the farthest
    40 in row 18.
    """
    view = table_view(table)
    findings = check_outliers(view)
    part = view.sample(rows, random_state)
    return findings, row_outliers(numeric_matrix(part)[0], random_state)

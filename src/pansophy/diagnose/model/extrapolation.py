"""Flags new rows outside the training data, by range, level and nearest neighbour.

A row is flagged if

    one of its numbers is outside the training range by more than a tenth of it,  (1)
    one of its levels was never seen, or                                          (2)
    its nearest training row is farther than s times any training row's own
    nearest, d_max = max_i min_{j != i} |x_i - x_j|                               (3)

on columns of like scale. A training row is at distance 0 of itself, inside its range
and knows its levels, so it is never flagged while all training rows are kept, which
they are up to `rows`; of larger tables a sample is kept and d_max is taken over the
others too.
"""

from dataclasses import dataclass

import numpy as np

from ..data.columns import numeric_matrix, sample_rows, table_view
from ..findings import Finding, make_finding
from ..shift.runtime import stack_common_columns

MARGIN = 0.1
SLACK = 1.5


@dataclass(frozen=True)
class Extrapolation:
    """New rows outside the training data, and why they are."""

    flags: np.ndarray  # (m,) bool
    outside: dict[str, np.ndarray]  # by column: rows out of range or of new levels
    distance: np.ndarray  # (m,) to the nearest training row, in units of d_max
    columns: tuple[str, ...]

    @property
    def share(self) -> float:
        return float(self.flags.mean()) if len(self.flags) else 0.0

    @property
    def findings(self) -> list[Finding]:
        if not self.flags.any():
            return []
        k = int(self.flags.sum())
        m = len(self.flags)
        text = f"{k} of {m} rows ({k / m:.1%}) are outside the training rows"
        worst = sorted(self.outside.items(), key=lambda kv: -len(kv[1]))[:3]
        if worst:
            listed = ", ".join(f"{len(r)} by {c!r}" for c, r in worst)
            text += f": {listed}"
        severity = "warning" if k / m > 0.01 else "note"
        column = worst[0][0] if worst else None
        return [
            make_finding(
                "extrapolation", severity, text + ".", column=column, share=k / m
            )
        ]

    def __str__(self):
        return "\n".join(f.text for f in self.findings) or "No row is outside."

    def why(self, row) -> str:
        """The reasons why one row is flagged."""
        parts = [
            f"{c!r} was never like this" for c, r in self.outside.items() if row in r
        ]
        if self.distance[row] > SLACK:
            parts.append(
                f"its nearest training row is {self.distance[row]:.3g} times as far as "
                "any training row's own"
            )
        return "; ".join(parts) or "inside"


def extrapolation(
    train, new, *, ignore=(), margin=MARGIN, slack=SLACK, rows=5000, random_state=0
) -> Extrapolation:
    """Flag new rows that lie outside the training rows.

    Parameters
    ----------
    train, new : paths, dataframes, Arrow tables, dicts of columns or arrays
    ignore : names of columns, such as the target
    margin : float
        Of eq. (1), as a share of the range.
    slack : float
        s of eq. (3).
    rows : int or None
        Training rows kept for eq. (3).
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import extrapolation
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> print(extrapolation(X, X))
    No row is outside.
    >>> extrapolation(X, [[9.0, 0.0]]).why(0)
    "'x0' was never like this; its nearest training row is 3.82 times as far as any
    training row's own"
    """
    old = table_view(train).without(ignore)
    view = table_view(new).without(ignore)
    outside = {}
    for a in old.columns:
        if a.name in view.names:
            rows_out = _out_of_range(a, view[a.name], margin)
            if len(rows_out):
                outside[a.name] = rows_out
    flags = np.zeros(view.n, bool)
    for outside_rows in outside.values():
        flags[outside_rows] = True
    distance = _scaled_nearest_distance(old, view, rows, random_state)
    return Extrapolation(
        flags | (distance > slack), outside, distance, tuple(old.names)
    )


def _out_of_range(a, b, margin) -> np.ndarray:
    """Rows outside the range or levels of one training column, eqs. (1) and (2)."""
    if a.kind == "empty":
        return np.zeros(0, int)
    if a.categorical != b.categorical:
        return np.flatnonzero(~b.missing)
    if a.categorical:
        if len(a.levels) > 0.5 * len(a) > 10:
            return np.zeros(0, int)  # free text is always new
        known = set(a.levels)
        fresh = np.array([*(v not in known for v in b.levels), False])
        return np.flatnonzero(fresh[b.codes])
    x = a.numbers[~a.missing]
    low = x.min()
    high = x.max()
    allowance = margin * (high - low)
    y = b.numbers
    return np.flatnonzero((y < low - allowance) | (y > high + allowance))


def _scaled_nearest_distance(old, new, rows, seed) -> np.ndarray:
    """Distance of new rows to the nearest training row, in units of d_max, eq. (3)."""
    from ...neighbors import NearestNeighbors

    M, _ = numeric_matrix(stack_common_columns(old, new))
    X, Z = M[: old.n], M[old.n :]
    if old.n < 5 or M.shape[1] == 0:
        return np.zeros(new.n)
    kept = sample_rows(old.n, rows, seed)
    base = X if kept is None else X[kept]
    search = NearestNeighbors(n_neighbors=2).fit(base)
    own_distances = search.kneighbors(base)[0][:, 1]
    if kept is not None:  # rows that were left out are training rows too
        rest = np.setdiff1d(np.arange(old.n), kept)
        pick = sample_rows(len(rest), rows, seed)
        rest = rest if pick is None else rest[pick]
        own_distances = np.r_[
            own_distances, search.kneighbors(X[rest], n_neighbors=1)[0][:, 0]
        ]
    far = search.kneighbors(Z, n_neighbors=1)[0][:, 0]
    top = float(own_distances.max())
    return far / top if top > 0 else np.where(far > 0, np.inf, 0.0)

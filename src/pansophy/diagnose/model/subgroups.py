"""Weak slices: subgroups of one and two columns on which a model does worst.

Every column is cut into parts (`column_parts`); a slice S is one part, or the
intersection of parts of two columns. The excess loss of a slice on held-out rows is

    e_S = mean loss in S - mean loss outside,                                      (1)

with Welch's t for its interval and p value (the number of weighted rows is Kish's
effective sample size, (sum w)^2 / sum w^2). For the M slices of enough rows the p
values are adjusted by Holm and the intervals have level 1 - (1 - level) / M, so that
they hold simultaneously. A slice of two columns is kept only
if it is clearly worse than both of its parts.

Cost      O(n d^2) additions
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import stats

from ...core.arrays.weighted import check_sample_weight
from ..data.column_access import (
    column_labels,
    column_position,
    column_values,
    indexable_rows,
    n_rows,
)
from ..data.column_parts import parts_of_column
from ..findings import Finding, make_finding
from ..intervals import (
    Interval,
    holm,
    shared_level,
    symmetric_interval,
    welch_test_terms,
)

PAIRED = 25  # columns crossed with each other at most


class WeakSlice(NamedTuple):
    """A slice with a higher loss than the rest; prints as a sentence."""

    columns: tuple[str, ...]
    parts: tuple[str, ...]
    rows: int
    loss: float
    rest: float
    excess: Interval
    p_value: float  # adjusted

    @property
    def name(self) -> str:
        pairs = zip(self.columns, self.parts, strict=True)
        return " and ".join(f"{c} = {p}" for c, p in pairs)

    def __str__(self):
        return (
            f"{self.name}: loss {self.loss:.4g} on {self.rows} rows, {self.rest:.4g} "
            f"on the others, worse by {self.excess}."
        )

    def finding(self) -> Finding:
        severity = "warning" if self.loss > 1.5 * self.rest else "note"
        single_column = self.columns[0] if len(self.columns) == 1 else None
        facts = self._asdict()
        del facts["columns"]
        return make_finding(
            "weak slice", severity, str(self), column=single_column, **facts
        )


class SliceSums(NamedTuple):
    """Sums over the rows of each slice, for all slices tested."""

    columns: list[tuple[int, ...]]
    parts: list[tuple[str, ...]]
    n: np.ndarray
    mass: np.ndarray  # sum of weights
    worth: np.ndarray  # effective sample size
    total: np.ndarray
    square: np.ndarray


def subgroups(
    X,
    loss,
    *,
    names=None,
    columns=None,
    weights=None,
    pairs=True,
    min_rows=None,
    level=0.95,
    limit=20,
) -> list[WeakSlice]:
    """Find the slices of a table on which a model performs worst, the weakest first.

    Parameters
    ----------
    X : table of n rows
    loss : array of shape (n,)
        Of each row, by a model that had not seen it; lower is better.
    names : of the columns, where X has none
    columns : names or places to look at, optional
    weights : array of shape (n,), optional
        How much each row counts.
    pairs : bool
        Whether slices of two columns are tested too.
    min_rows : int, optional
        Of a slice; None takes 30, or a hundredth of the rows if that is more.
    level : float
    limit : int
        Most slices given.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import subgroups
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 3, size=(2000, 4))
    >>> loss = rng.random(2000) + (X[:, 1] == 2)
    >>> [s.name for s in subgroups(X, loss)]
    ['x1 = 2']
    """
    X = indexable_rows(X)
    loss = np.asarray(loss, float)
    n = n_rows(X)
    names = column_labels(X, names)
    if len(loss) != n:
        raise ValueError(f"{n} rows but {len(loss)} losses.")
    if np.isnan(loss).any():
        raise ValueError("loss must hold no missing value.")
    w = np.ones(n) if weights is None else check_sample_weight(weights, n, "weights")
    chosen_columns = (
        range(len(names))
        if columns is None
        else [column_position(names, c) for c in columns]
    )
    min_count = max(30, n // 100) if min_rows is None else min_rows
    sums = _slice_sums(X, loss, w, list(chosen_columns), pairs, min_count)
    return _significant_slices(sums, loss, w, names, level)[:limit]


def _slice_sums(X, loss, w, where, pairs, least) -> SliceSums:
    """Sums of weights, losses and squared losses of all slices of enough rows."""
    n = len(loss)
    cuts = {j: parts_of_column(column_values(X, j)) for j in where}
    cuts = {j: c for j, c in cuts.items() if len(c[0]) > 1 and len(c[0]) < n}
    shift = loss - np.average(loss, weights=w)  # small numbers, squared, lose no digits
    subsets = [(j,) for j in cuts]
    if pairs:
        subsets += list(combinations(list(cuts)[:PAIRED], 2))
    sums = SliceSums([], [], [], [], [], [], [])
    for js in subsets:
        labels = [cuts[j][0] for j in js]
        shape = tuple(len(names) for names in labels)
        code = np.ravel_multi_index([cuts[j][1] for j in js], shape)
        m = int(np.prod(shape))
        count = np.bincount(code, minlength=m)
        parts = (w, w**2, w * shift, w * shift**2)
        mass, square, *loss_sums = (np.bincount(code, v, m) for v in parts)
        worth = np.divide(mass**2, square, out=np.zeros(m), where=square > 0)
        is_valid = (
            (count >= least) & (count <= n - least) & (mass > 0) & (mass < w.sum())
        )
        for k in np.flatnonzero(is_valid):
            cell = np.unravel_index(k, shape)
            sums.columns.append(js)
            sums.parts.append(
                tuple(names[i] for names, i in zip(labels, cell, strict=True))
            )
            sums.n.append(count[k])
            sums.mass.append(mass[k])
            sums.worth.append(worth[k])
            sums.total.append(loss_sums[0][k])
            sums.square.append(loss_sums[1][k])
    return SliceSums(sums.columns, sums.parts, *(np.array(v, float) for v in sums[2:]))


def _significant_slices(sums, loss, w, names, level) -> list[WeakSlice]:
    """Slices whose excess loss, eq. (1), is significant, the weakest first."""
    M = len(sums.n)
    mean = np.average(loss, weights=w)
    if M == 0:
        return []
    shift = loss - mean
    A = sums.mass
    B = w.sum() - sums.mass
    a = sums.worth
    b = B**2 / ((w @ w) - A**2 / sums.worth)
    ma, mb = sums.total / A, (w @ shift - sums.total) / B
    va = np.maximum(sums.square / A - ma**2, 0) / np.maximum(a - 1, 1)
    vb = np.maximum((w @ shift**2 - sums.square) / B - mb**2, 0) / np.maximum(b - 1, 1)
    error, df = welch_test_terms(va, a, vb, b)
    excess = ma - mb
    floor = 1e-12 * max(np.abs(loss).max(), 1e-300)
    p = stats.t.sf(excess / np.maximum(error, floor), df)
    adjusted = holm(2 * np.minimum(p, 0.5))
    reach = stats.t.ppf((1 + shared_level(level, M)) / 2, df) * error
    single = {
        (j[0], part[0]): ma[i]
        for i, (j, part) in enumerate(zip(sums.columns, sums.parts, strict=True))
        if len(j) == 1
    }
    results = []
    for i in np.flatnonzero((adjusted < 1 - level) & (excess - reach > 0)):
        js = sums.columns[i]
        parts = sums.parts[i]
        single_excesses = [
            single.get(key, -np.inf) for key in zip(js, parts, strict=True)
        ]
        if len(js) == 2 and ma[i] - 2 * np.sqrt(va[i]) <= max(single_excesses):
            continue  # no worse than one of its columns alone
        span = symmetric_interval(excess[i], reach[i], error[i])
        text = tuple(names[j] for j in js)
        rows = int(sums.n[i])
        slice_loss = float(ma[i] + mean)
        rest = float(mb[i] + mean)
        results.append(
            WeakSlice(text, parts, rows, slice_loss, rest, span, float(adjusted[i]))
        )
    return sorted(results, key=lambda s: -s.excess.low)

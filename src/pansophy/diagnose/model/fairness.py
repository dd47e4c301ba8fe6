"""Fairness: compares rates, errors and calibration of a model between groups.

For a group g, with y = 1 what is predicted and "yes" the decision of the model:

    selection rate   P(yes | g)
    true positives   P(yes | y = 1, g)
    false positives  P(yes | y = 0, g)                                             (1)
    calibration      mean over g of (y - p), what the probabilities leave out

and for numbers the mean error, y - p, and the mean absolute error; of more than two
classes the accuracy and by how much the probabilities exceed it. The gap of a measure
is that between the groups that differ most; its interval is of the level that holds
for all pairs of groups and all measures together. Groups cannot in general be equal in
all measures at once when their base rates differ: which gap matters is a decision, not
a number. A row of whole weight k counts as k rows everywhere; of other weights a group
has Kish's effective sample size (`row_counts`, eq. (2)).

Refs      [Hardt2016] (1); [Chouldechova2017]
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from ...core.arrays.codes import as_column
from ...core.arrays.weighted import check_sample_weight
from ..data.column_parts import parts_of_column
from ..data.row_counts import are_whole, effective_counts, weights_as_counts
from ..findings import Finding, findings_text, make_finding
from ..intervals import (
    Interval,
    mean_gap,
    mean_interval,
    rate_gap,
    rate_interval,
    shared_level,
)

GRAVE = 0.1  # a gap of rates from which it is called an alarm


class Gap(NamedTuple):
    """The largest difference of a measure between two groups."""

    measure: str
    high: str  # the group with the larger value
    low: str
    gap: Interval

    @property
    def clear(self) -> bool:
        return self.gap.low > 0


class Sample(NamedTuple):
    """Values of a measure in the rows of one group."""

    values: np.ndarray
    counts: np.ndarray | None  # how many rows each of them is, if not one

    @property
    def n(self):
        return len(self.values) if self.counts is None else self.counts.sum()

    @property
    def total(self):
        return self.values.sum() if self.counts is None else self.counts @ self.values


class Fairness(NamedTuple):
    """Measures by group and their gaps; prints one line for each gap."""

    column: str
    groups: tuple[str, ...]
    counts: tuple[int, ...]  # of rows; whole weights count them
    measures: dict[str, tuple[Interval, ...]]  # one interval a group
    gaps: tuple[Gap, ...]
    left_out: tuple[str, ...]  # groups of too few rows

    def findings(self) -> list[Finding]:
        """The gaps that are clear of 0."""
        return [_fairness_sentence(self.column, g) for g in self.gaps if g.clear]

    def __str__(self):
        no_difference = f"No clear difference between the groups of '{self.column}'."
        words = findings_text(self.findings(), no_difference)
        if self.left_out:
            words += f"\nToo few rows to judge: {', '.join(self.left_out)}."
        return words


def _fairness_sentence(column, g: Gap) -> Finding:
    rate = g.measure == "accuracy" or g.measure.endswith("rate")
    severity = "alarm" if rate and g.gap.mean > GRAVE else "warning"
    text = (
        f"The {g.measure} differs by {g.gap} between '{g.high}' and '{g.low}' of "
        f"'{column}'."
    )
    return make_finding(
        "fairness",
        severity,
        text,
        column=column,
        measure=g.measure,
        high=g.high,
        low=g.low,
        gap=g.gap,
    )


def fairness(
    y,
    p,
    group,
    *,
    task=None,
    positive=None,
    threshold=0.5,
    weights=None,
    column="group",
    min_rows=20,
    level=0.95,
) -> Fairness:
    """Compare the errors of a model between groups of rows.

    Parameters
    ----------
    y : array of shape (n,)
        Codes of classes 0, 1, ... or numbers.
    p : array of shape (n,) or (n, K)
        Probabilities (of class 1, or of every class), or predicted numbers.
    group : array of shape (n,)
        The column that names the groups; numbers of many values are cut in four.
    task : {"classification", "regression", "count"}, optional
        None: classes where p has several columns or y holds only 0 and 1.
    positive : int, optional
        The class that counts as "yes"; None takes class 1 of two, and of more classes
        compares how often the most probable one is right.
    threshold : float
        "yes" from this probability on.
    weights : array of shape (n,), optional
        How often each row counts.
    column : str
        Name of the group column.
    min_rows : int
        Smaller groups are named but not compared.
    level : float

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import fairness
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat(["a", "b"], 500)
    >>> y = rng.integers(0, 2, 1000)
    >>> p = np.where((group == "b") & (rng.random(1000) < 0.4), 0.1, 0.2 + 0.6 * y)
    >>> audit = fairness(y, p, group, column="town")
    >>> [(g.measure, g.high) for g in audit.gaps if g.clear][0]
    ('true positive rate', 'a')
    """
    y, p = np.asarray(y), np.asarray(p, float)
    if task is None:
        task = "classification" if p.ndim > 1 or set(np.unique(y)) <= {0, 1} else ""
    group = as_column(group)
    w = check_sample_weight(weights, len(y), "weights")
    has_whole_weights = True
    if not len(y) == len(p) == len(group):
        raise ValueError(f"{len(y)} rows of y, {len(p)} of p, {len(group)} of group.")
    if w is not None:
        has_weight = w > 0
        y, p, group, w = y[has_weight], p[has_weight], group[has_weight], w[has_weight]
        has_whole_weights = are_whole(w)
    labels, codes = parts_of_column(
        group, counts=None if w is None else weights_as_counts(w)
    )
    counts = np.bincount(codes, w if has_whole_weights else None, len(labels))
    kept = [k for k in range(len(labels)) if counts[k] >= min_rows]
    small = [labels[k] for k in range(len(labels)) if 0 < counts[k] < min_rows]
    pick = _class_parts if task == "classification" else _number_parts
    measured = pick(y, p, positive, threshold)
    m = len(measured) * len(kept) * (len(kept) - 1) // 2
    level_each = shared_level(level, m)
    measures = {}
    gaps = []
    for name, (values, rate) in measured.items():
        known = ~np.isnan(values)
        parts = [
            _group_sample(values, w, (codes == k) & known, has_whole_weights)
            for k in kept
        ]
        measures[name] = tuple(_group_rate_interval(v, rate, level) for v in parts)
        gaps += _largest_group_difference(
            name, parts, [labels[k] for k in kept], rate, level_each
        )
    gaps.sort(key=lambda g: (not g.clear, -g.gap.mean))
    return Fairness(
        str(column),
        tuple(labels[k] for k in kept),
        tuple(int(counts[k]) for k in kept),
        measures,
        tuple(gaps),
        tuple(small),
    )


def _class_parts(y, p, positive, threshold):
    """Measures of a classifier by name: (value of each row or NaN, whether a rate)."""
    if positive is None and p.ndim == 2 and p.shape[1] > 2:
        right = (p.argmax(1) == y).astype(float)
        return {"accuracy": (right, True), "overconfidence": (p.max(1) - right, False)}
    positive = 1 if positive is None else positive
    q = p if p.ndim == 1 else p[:, positive]
    true = y == positive
    yes = (q >= threshold).astype(float)
    rate_among = lambda rows: np.where(rows, yes, np.nan)
    return {
        "selection rate": (yes, True),
        "true positive rate": (rate_among(true), True),
        "false positive rate": (rate_among(~true), True),
        "calibration error": (true - q, False),
    }


def _number_parts(y, p, positive, threshold):
    """Measures of a regressor by name: (value of each row, whether a rate)."""
    return {
        "mean error": (y - p, False),
        "mean absolute error": (np.abs(y - p), False),
    }


def _group_sample(values, w, rows, whole) -> Sample:
    return Sample(values[rows], None if w is None else effective_counts(w[rows], whole))


def _group_rate_interval(s: Sample, rate, level) -> Interval:
    if rate:
        return rate_interval(s.total, s.n, level)
    no_interval = Interval(np.nan, np.nan, np.nan, np.nan)
    return mean_interval(s.values, level, s.counts) if len(s.values) else no_interval


def _largest_group_difference(name, parts, labels, rate, level) -> list[Gap]:
    """The pair of groups with the clearest difference, as a list of at most one."""
    results = []
    for i, j in combinations(range(len(parts)), 2):
        a, b = parts[i], parts[j]
        if min(a.n, b.n) < 2:
            continue
        flip = a.total / a.n < b.total / b.n
        i, j, a, b = (j, i, b, a) if flip else (i, j, a, b)
        gap = (
            rate_gap(
                _group_rate_interval(a, True, level),
                _group_rate_interval(b, True, level),
            )
            if rate
            else mean_gap(a.values, b.values, level, (a.counts, b.counts))
        )
        results.append(Gap(name, labels[i], labels[j], gap))
    return [max(results, key=lambda g: (g.gap.low, g.gap.mean))] if results else []

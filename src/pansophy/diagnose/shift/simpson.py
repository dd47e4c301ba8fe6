"""Simpson's paradox: a comparison that reverses within levels of a third column.

For a treatment a (two levels, 1 against 0), an outcome y and a context c,

    overall   E[y | a=1] - E[y | a=0]                                            (1)
    within c  E[y | a=1, c] - E[y | a=0, c]                                      (2)
    adjusted  sum_c P(c) [E[y | a=1, c] - E[y | a=0, c]]                         (3)

The sign is reversed if (1) and (3) differ in sign, by more than their error, and so do
(1) and (2) in levels that hold most of the rows. It happens if the context
influences both treatment and outcome: triage sends the hard cases to the better
hospital, which then looks worse. Whether (1) or (3) is the causal effect cannot be
decided from the table, only that they disagree.

Refs      [Simpson1951]; [Pearl2014]
"""

from dataclasses import dataclass

import numpy as np

from ...tables import TableError
from ..data.columns import table_view
from ..findings import Finding, make_finding
from ..intervals import Interval, symmetric_interval
from ..leakage.target_columns import target_column_of

FEWEST = 5  # rows of each kind in a stratum


@dataclass(frozen=True)
class Stratum:
    """One level of the context: numbers of rows and mean outcomes by treatment."""

    level: str
    rows: tuple[int, int]
    means: tuple[float, float]

    @property
    def difference(self) -> float:
        return self.means[1] - self.means[0]


@dataclass(frozen=True)
class Simpson:
    """Overall, stratified and adjusted comparison of two treatments."""

    outcome: str
    treatment: str
    context: str
    levels: tuple[str, str]  # of the treatment: 0 and 1
    overall: Interval
    adjusted: Interval
    strata: tuple[Stratum, ...]
    reversed: bool

    @property
    def findings(self) -> list[Finding]:
        if not self.reversed:
            return []
        text = (
            f"The effect of {self.treatment!r} on {self.outcome!r} turns round: "
            f"overall {self.overall.mean:+.4g}, but {self.adjusted.mean:+.4g} among "
            f"rows of like {self.context!r}. Compare within {self.context!r}."
        )
        return [
            make_finding(
                "simpson reversal",
                "warning",
                text,
                column=self.treatment,
                context=self.context,
                overall=self.overall.mean,
                adjusted=self.adjusted.mean,
            )
        ]

    def __str__(self):
        b, a = self.levels[::-1]
        lines = [
            f"{self.outcome!r}, {b} less {a}: overall {self.overall}; adjusted for "
            f"{self.context!r} {self.adjusted}."
        ]
        for s in self.strata:
            lines.append(
                f"  {s.level}: {s.means[1]:.4g} ({s.rows[1]} rows) less "
                f"{s.means[0]:.4g} ({s.rows[0]} rows) = {s.difference:+.4g}"
            )
        lines += [f.text for f in self.findings]
        return "\n".join(lines)


def simpson(table, outcome, treatment, by=None, *, bins=5, weight=None):
    """Compare two treatments overall and within levels of a context.

    Parameters
    ----------
    table : path, dataframe, Arrow table or dict of columns
    outcome : str
        A column of numbers or yes/no; of two levels the second counts as 1.
    treatment : str
        A column of two levels, or numbers, which are cut at their median.
    by : str, optional
        The context; numbers are cut into `bins` parts. None tries every other column
        and gives a list, reversals first.
    bins : int
    weight : str, optional
        A column that says how often each row counts.

    Examples
    --------
    >>> from pansophy.diagnose import simpson
    >>> cases = [("A", "small", 1, 81), ("A", "small", 0, 6), ("A", "large", 1, 192),
    ...     ("A", "large", 0, 71), ("B", "small", 1, 234), ("B", "small", 0, 36),
    ...     ("B", "large", 1, 55), ("B", "large", 0, 25)]
    >>> columns = dict(zip(["how", "stone", "cured", "n"], zip(*cases)))
    >>> print(simpson(columns, "cured", "how", "stone", weight="n"))
    'cured', 'B' less 'A': overall 0.0457 [-0.0132, 0.105]; adjusted for 'stone'
    -0.0537 [-0.12, 0.0125].
      'small': 0.8667 (270 rows) less 0.931 (87 rows) = -0.06437
      'large': 0.6875 (80 rows) less 0.73 (263 rows) = -0.04254
    The effect of 'how' on 'cured' turns round: overall +0.04571, but -0.05367 among
    rows of like 'stone'. Compare within 'stone'.
    """
    view = table_view(table)
    y = _outcome_of(view[outcome])
    a, levels = binary_codes(view[treatment])
    w = np.ones(view.n) if weight is None else view[weight].numbers
    if w is None or np.any(~(w >= 0)):
        raise TableError(f"Column {weight!r} must hold numbers of at least 0.")
    if by is not None:
        z, words = strata_of(view[by], bins)
        return compare_within_levels(
            y, a, z, w, words, (outcome, treatment, by), levels
        )
    comparisons = []
    for c in view.columns:
        if c.name in (outcome, treatment, weight):
            continue
        z, words = strata_of(c, bins)
        if 2 <= len(words) <= 50:
            names = (outcome, treatment, c.name)
            comparisons.append(compare_within_levels(y, a, z, w, words, names, levels))
    return sorted(comparisons, key=lambda s: not s.reversed)


def _outcome_of(c) -> np.ndarray:
    """The outcome as numbers; the second of two levels is 1."""
    target = target_column_of(c)
    if target.kind == "number":
        return target.y
    if target.k != 2:
        if not c.categorical:
            return c.numbers
        raise TableError(
            f"Column {c.name!r} has {target.k} levels; an outcome has two."
        )
    words = sorted(range(2), key=lambda k: target.classes[k])
    return np.where(target.y < 0, np.nan, (target.y == words[1]).astype(float))


def binary_codes(c):
    """Codes 0 and 1 of a treatment, -1 where missing, and the names of the levels."""
    target = target_column_of(c)
    if target.kind == "class" and target.k == 2:
        order = np.argsort(target.classes)
        code = np.array([*np.argsort(order), -1])
        return code[target.y], tuple(target.classes[i] for i in order)
    if c.categorical:
        raise TableError(
            f"Column {c.name!r} has {len(c.levels)} levels; a treatment has two."
        )
    middle = np.nanmedian(c.numbers)
    a = np.where(np.isnan(c.numbers), -1, c.numbers > middle)
    return a.astype(int), (f"at most {c.show(middle)}", f"above {c.show(middle)}")


def strata_of(c, bins):
    """Codes of the levels of the context, and their names."""
    if c.categorical:
        return c.codes, [repr(v) for v in c.levels]
    z = c.labelled()
    if z.max(initial=0) < 2 * bins:
        values = np.unique(c.numbers[~c.missing])
        return z, [c.show(v) for v in values]
    edges = np.unique(np.nanquantile(c.numbers, np.linspace(0, 1, bins + 1)[1:-1]))
    z = np.where(c.missing, -1, np.searchsorted(edges, c.numbers))
    ends = ["", *(c.show(e) for e in edges), ""]
    return z, [f"{ends[i]} to {ends[i + 1]}".strip() for i in range(len(edges) + 1)]


def _weighted_mean_error(y, w):
    """Total weight, weighted mean, and squared standard error of the mean."""
    total = w.sum()
    if total <= 1:
        return total, np.nan, np.nan
    mean = float(w @ y / total)
    return total, mean, float(w @ (y - mean) ** 2 / (total - 1) / total)


def compare_within_levels(y, a, z, w, words, names, levels) -> Simpson:
    """Overall, stratified and adjusted comparison, eqs. (1) to (3)."""
    y_, a_, c_ = names
    known = ~np.isnan(y) & (a >= 0) & (z >= 0) & (w > 0)
    y, a, z, w = y[known], a[known], z[known], w[known]
    sides = [_weighted_mean_error(y[a == k], w[a == k]) for k in (0, 1)]
    overall = _difference_of_means(*sides)
    strata = []
    parts = []
    for level, word in enumerate(words):
        in_level = z == level
        group_means = [
            _weighted_mean_error(y[in_level & (a == k)], w[in_level & (a == k)])
            for k in (0, 1)
        ]
        rows = int(group_means[0][0]), int(group_means[1][0])
        if min(rows) < FEWEST:
            continue
        strata.append(Stratum(word, rows, (group_means[0][1], group_means[1][1])))
        parts.append((sum(rows), _difference_of_means(*group_means)))
    if not parts:
        empty = Interval(np.nan, np.nan, np.nan, np.nan)
        return Simpson(y_, a_, c_, levels, overall, empty, (), False)
    share = np.array([p for p, _ in parts], float)
    share /= share.sum()
    mean = float(share @ [g.mean for _, g in parts])
    error = float(np.sqrt(np.square(share) @ [g.error**2 for _, g in parts]))
    adjusted = symmetric_interval(mean, 1.96 * error, error)
    opposite_share = sum(
        s for s, (_, g) in zip(share, parts) if g.mean * overall.mean < 0
    )
    # the two estimates share their rows, so their difference has about this error
    apart = abs(overall.mean - mean) > 1.96 * max(abs(overall.error - error), error / 2)
    is_reversed = bool(overall.mean * mean < 0 and opposite_share > 0.5 and apart)
    return Simpson(y_, a_, c_, levels, overall, adjusted, tuple(strata), is_reversed)


def _difference_of_means(low, high) -> Interval:
    mean = high[1] - low[1]
    error = np.sqrt(low[2] + high[2])
    return symmetric_interval(mean, 1.96 * error, error)

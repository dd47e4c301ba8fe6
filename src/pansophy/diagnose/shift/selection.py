"""Selection bias: compares a sample with known numbers of the population.

For a column with a known mean m (and perhaps spread s) the sample mean is compared by

    z = (mean - m) / (s / sqrt n),                                               (1)

for known shares q_v of levels the counts by

    chi2 = sum_v (n_v - n q_v)^2 / (n q_v).                                      (2)

With Holm's correction over all columns an unbiased sample raises no finding in 19 of
20 tables. Since large samples make trivial differences significant, the size of the
difference, in standard deviations or as the largest gap of shares, must exceed a
threshold as well.

A column that differs shows that rows were selected: a model fitted to them describes
the people in the table, not those in the reference.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.stats

from ...tables import TableError
from ..data.columns import table_view
from ..findings import Finding, make_finding
from ..intervals import holm

SMALL = {"mean": 0.1, "share": 0.02}


class ColumnBias(NamedTuple):
    """Difference of one column from its reference statistics."""

    column: str
    measure: str  # "mean" or "share"
    level: str | None  # of the largest gap
    here: float
    there: float
    size: float  # in standard deviations, or of shares
    p: float  # after Holm
    biased: bool

    def __str__(self):
        if self.measure == "mean":
            return (
                f"{self.column!r} has mean {self.here:.4g} here and {self.there:.4g} "
                f"in the reference, {self.size:+.2f} standard deviations "
                f"(p = {self.p:.2g})"
            )
        return (
            f"{self.column!r} is {self.level} in {self.here:.1%} of the rows here and "
            f"{self.there:.1%} in the reference (p = {self.p:.2g})"
        )


@dataclass(frozen=True)
class SelectionBias:
    """Differences of columns from a reference, the smallest p values first."""

    columns: tuple[ColumnBias, ...]

    @property
    def biased(self) -> list[str]:
        return [c.column for c in self.columns if c.biased]

    @property
    def findings(self) -> list[Finding]:
        return [
            make_finding(
                "selection bias",
                "warning",
                f"{c}: rows were selected.",
                column=c.column,
                here=c.here,
                there=c.there,
                p=c.p,
            )
            for c in self.columns
            if c.biased
        ]

    def __str__(self):
        if not self.biased:
            return f"No difference from the reference in {len(self.columns)} columns."
        return "\n".join(f"{c}." for c in self.columns if c.biased)


def selection_bias(table, reference, *, level=0.05) -> SelectionBias:
    """Compare a table with known statistics of the population.

    Parameters
    ----------
    table : path, dataframe, Arrow table, dict of columns or array
    reference : dict by column, or a table
        A number is a mean; {"mean": m, "sd": s} both; {level: share, ...} the shares of
        levels. A table gives its own statistics.
    level : float
        Chance of a false finding over all columns.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import selection_bias
    >>> rng = np.random.default_rng(0)
    >>> people = {"age": rng.normal(52, 15, 400), "sex": ["m", "m", "m", "f"] * 100}
    >>> known = {"age": {"mean": 44, "sd": 17}, "sex": {"m": 0.49, "f": 0.51}}
    >>> print(selection_bias(people, known))
    'sex' is 'm' in 75.0% of the rows here and 49.0% in the reference (p = 4.9e-25).
    'age' has mean 51.45 here and 44 in the reference, +0.44 standard deviations
    (p = 1.9e-18).
    """
    view = table_view(table)
    if not isinstance(reference, dict) or _looks_like_table(reference):
        reference = _statistics_of(table_view(reference), view.names)
    results = []
    for name, known in reference.items():
        c = view[name]
        if isinstance(known, dict) and "mean" not in known:
            results.append(_by_shares(c, known))
        else:
            known = known if isinstance(known, dict) else {"mean": known}
            results.append(_by_mean(c, **known))
    p = holm(np.array([f.p for f in results])) if results else []
    column_biases = [
        f._replace(
            p=float(q), biased=bool(q < level and abs(f.size) >= SMALL[f.measure])
        )
        for f, q in zip(results, p)
    ]
    return SelectionBias(
        tuple(sorted(column_biases, key=lambda f: (not f.biased, f.p)))
    )


def _looks_like_table(reference) -> bool:
    """Whether a dict holds columns of values rather than statistics."""
    values = list(reference.values())
    return bool(values) and all(
        not isinstance(v, (dict, int, float, np.number)) for v in values
    )


def _statistics_of(view, wanted) -> dict:
    """Means, standard deviations and level shares of a reference table."""
    statistics = {}
    for c in view.columns:
        if c.name not in wanted or c.missing.all():
            continue
        if c.categorical:
            counts = np.bincount(c.codes[c.codes >= 0], minlength=len(c.levels))
            if len(c.levels) <= 200:
                statistics[c.name] = dict(
                    zip(c.levels, (counts / counts.sum()).tolist())
                )
        else:
            x = c.numbers[~c.missing]
            statistics[c.name] = {"mean": float(x.mean()), "sd": float(x.std())}
            statistics[c.name]["rows"] = len(x)
    return statistics


def _by_mean(c, mean, sd=None, rows=None) -> ColumnBias:
    """Tests a mean, eq. (1); `rows` adds the sampling error of the reference."""
    if c.categorical:
        raise TableError(f"Column {c.name!r} holds no numbers; give shares of levels.")
    x = c.numbers[~c.missing]
    n = len(x)
    sample_sd = float(x.std(ddof=1)) if n > 1 else np.nan
    s = sample_sd if sd is None else float(sd)
    if n < 2 or not s >= 0:
        return ColumnBias(c.name, "mean", None, np.nan, float(mean), 0.0, 1.0, False)
    error = s * np.sqrt(1 / n + (1 / rows if rows else 0.0))
    sample_mean = float(x.mean())
    z = (
        (sample_mean - mean) / error
        if error > 0
        else np.inf * np.sign(sample_mean - mean or np.nan)
    )
    p = float(2 * scipy.stats.norm.sf(abs(z))) if not np.isnan(z) else 1.0
    size = (
        (sample_mean - mean) / s if s > 0 else (0.0 if sample_mean == mean else np.inf)
    )
    return ColumnBias(
        c.name, "mean", None, sample_mean, float(mean), float(size), p, False
    )


def _by_shares(c, shares) -> ColumnBias:
    """Tests the shares of levels, eq. (2)."""
    words = [v if c.categorical else c.show(v) for v in _selection_levels(c)]
    known = {str(k).casefold(): float(v) for k, v in shares.items()}
    total = sum(known.values())
    if not (total > 0 and min(known.values()) >= 0):
        raise TableError(f"The shares of {c.name!r} must be at least 0 and not all 0.")
    all_words = list(dict.fromkeys([*(str(k) for k in shares), *words]))
    z = c.labelled()
    counts = dict(zip(words, np.bincount(z[z >= 0], minlength=len(words)).tolist()))
    n = sum(counts.values())
    seen = np.array([counts.get(w, _matches_word(counts, w)) for w in all_words], float)
    fair = np.array([known.get(w.casefold(), 0.0) for w in all_words]) / total
    if n == 0:
        return ColumnBias(c.name, "share", None, np.nan, np.nan, 0.0, 1.0, False)
    gap = seen / n - fair
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(fair > 0, (seen - n * fair) ** 2 / (n * fair), 0.0)
    # levels the reference does not know: as if half a row had been expected
    terms = np.where(fair > 0, terms, np.where(seen > 0, (seen - 0.5) ** 2 / 0.5, 0.0))
    p = float(scipy.stats.chi2.sf(terms.sum(), max(len(all_words) - 1, 1)))
    top = int(np.abs(gap).argmax())
    return ColumnBias(
        c.name,
        "share",
        repr(all_words[top]),
        here=float(seen[top] / n),
        there=float(fair[top]),
        size=float(gap[top]),
        p=p,
        biased=False,
    )


def _selection_levels(c):
    return c.levels if c.categorical else np.unique(c.numbers[~c.missing])


def _matches_word(counts, word) -> int:
    return sum(k for w, k in counts.items() if w.casefold() == word.casefold())

"""Patterns of missing values: columns that miss together, and what predicts it.

With masks R_j (1 where column j is missing), the patterns are the different rows of R;
columns are missing together if the correlation of their masks is high; the missingness
of column j depends on a column x if the values of x differ between rows where j is
missing and rows where it is not, by the area

    A = P(x of a row where j is missing > x of a row where it is not)            (1)

(for categories Cramer's V of mask and level), which is 1/2 if values are missing at
random. Missingness that depends on an observed column can be modelled by imputation;
otherwise dependence on the missing value itself cannot be excluded.
"""

from dataclasses import dataclass

import numpy as np
import scipy.stats

from ..findings import Finding, make_finding
from ..intervals import holm
from .columns import TableView, table_view
from .related_columns import cramers_v, pairwise_correlation

TOGETHER = 0.9
APART = 0.65  # area of eq. (1), or its complement, from which it is reported


@dataclass(frozen=True)
class Missingness:
    """Missing shares by column, frequent patterns, and dependence of missingness."""

    rows: int
    complete: int  # rows without a missing value
    shares: dict[str, float]  # of the columns that have any
    patterns: list[tuple[tuple[str, ...], int]]  # (columns missing, rows), most first
    together: list[tuple[str, str, float]]  # correlation of masks
    depends: list[tuple[str, str, float]]  # (missing, on, area or V)

    @property
    def findings(self) -> list[Finding]:
        return list(_missingness_findings(self))

    def __str__(self):
        if not self.shares:
            return "No value is missing."
        top = sorted(self.shares.items(), key=lambda kv: -kv[1])[:5]
        words = ", ".join(f"{n!r} {s:.1%}" for n, s in top)
        head = (
            f"{self.complete} of {self.rows} rows are complete; most missing: {words}."
        )
        return "\n".join([head, *(f.text for f in self.findings)])


def missingness(table, *, most=10) -> Missingness:
    """Describe the missing values of a table.

    Examples
    --------
    >>> from pansophy.diagnose import missingness
    >>> print(missingness({"a": [1, None, 3, None], "b": ["x", None, "y", None]}))
    2 of 4 rows are complete; most missing: 'a' 50.0%, 'b' 50.0%.
    """
    view = table_view(table)
    holes = [(c, c.missing) for c in view.columns]
    holes = [(c, m) for c, m in holes if m.any()]
    if not holes:
        return Missingness(view.n, view.n, {}, [], [], [])
    R = np.column_stack([m for _, m in holes])
    shares = {c.name: float(m.mean()) for c, m in holes}
    patterns = _frequent_missing_patterns(R, [c.name for c, _ in holes], most)
    masks = [(c, m) for c, m in holes if 10 <= m.sum() <= len(m) - 10][:100]
    return Missingness(
        view.n,
        int((~R.any(1)).sum()),
        shares,
        patterns,
        _jointly_missing_columns(masks),
        _missingness_dependence(view, masks[:40]),
    )


def _frequent_missing_patterns(R, names, most):
    """The most frequent sets of missing columns, with their numbers of rows."""
    packed = np.packbits(R, axis=1)
    _, first, counts = np.unique(packed, axis=0, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    return [
        (tuple(n for n, gone in zip(names, R[first[i]]) if gone), int(counts[i]))
        for i in order
    ]


def _jointly_missing_columns(masks):
    """Pairs of columns that are missing in the same rows."""
    if len(masks) < 2:
        return []
    r = pairwise_correlation(np.column_stack([m for _, m in masks]).astype(float))
    pairs = [
        (masks[i][0].name, masks[j][0].name, float(r[i, j]))
        for i, j in np.argwhere(np.triu(r >= TOGETHER, 1))
    ]
    return sorted(pairs, key=lambda p: -p[2])


def _missingness_dependence(view: TableView, masks):
    """Pairs (missing column, predictor, area) significant after Holm, eq. (1)."""
    results = []
    ranked = {}
    for c, gone in masks:
        for other_column in view.columns:
            if other_column.name == c.name:
                continue
            if other_column.categorical:
                if not 2 <= len(other_column.levels) <= 50:
                    continue
                V = cramers_v(gone.astype(int), other_column.codes)
                known = int((other_column.codes >= 0).sum())
                p = scipy.stats.chi2.sf(V * V * known, len(other_column.levels) - 1)
                results.append((c.name, other_column.name, 0.5 + V / 2, p))
                continue
            if other_column.name not in ranked:
                known = np.flatnonzero(~other_column.missing)
                ranks = scipy.stats.rankdata(other_column.numbers[known])
                ranked[other_column.name] = known, ranks
            known, ranks = ranked[other_column.name]
            g = gone[known]
            k = int(g.sum())
            m = int((~g).sum())
            if min(k, m) < 10:
                continue
            area = (ranks[g].sum() - k * (k + 1) / 2) / (k * m)
            error = np.sqrt((k + m + 1) / (12 * k * m))
            p = 2 * scipy.stats.norm.sf(abs(area - 0.5) / error)
            results.append((c.name, other_column.name, max(area, 1 - area), p))
    if not results:
        return []
    sure = holm(np.nan_to_num([f[3] for f in results], nan=1.0)) < 0.01
    dependent = [
        (a, b, float(s)) for (a, b, s, _), ok in zip(results, sure) if ok and s >= APART
    ]
    return sorted(dependent, key=lambda d: -d[2])


def _missingness_findings(m, most=5):
    for a, b, r in m.together[:most]:
        text = f"{a!r} and {b!r} are missing in the same rows (correlation {r:.3f})."
        yield make_finding("missing together", "note", text, column=a, of=b, r=r)
    reported = set()
    for a, b, s in m.depends:
        if a not in reported and len(reported) < most:
            reported.add(a)
            text = (
                f"{a!r} is not missing at random: whether it is depends on {b!r} "
                f"(area {s:.3f}, 0.5 being none)."
            )
            yield make_finding(
                "missing not at random", "note", text, column=a, on=b, area=s
            )
    if m.shares and m.complete == 0 and m.rows > 1:
        text = (
            f"No row of {m.rows} is complete: dropping incomplete rows leaves nothing."
        )
        yield make_finding("no complete row", "note", text)

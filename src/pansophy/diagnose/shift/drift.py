"""Data drift: tests of change, column by column and for the whole table.

    numbers      D = max |F_old - F_new|, Kolmogorov and Smirnov                 (1)
    categories   chi2 of the two rows of counts; size: half the sum of the
                 absolute differences of shares, the share of rows that moved    (2)
    missing      the difference of the shares of missing values                  (3)
    as a whole   a classifier that tells old from new, and MMD (`two_sample`)

p values are adjusted by Holm over all columns; as large tables make trivial changes
significant, a change must also move a tenth of the rows (D or (2) at least 0.1) to be
called drift. Schema mismatches come first: missing or new columns, other types or
units, unseen levels.

A `Reference` summarises the old table (256 quantiles or the shares of levels of each
column), so that a saved model can check new rows without the old ones.

Refs      [Rabanser2019]
"""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from ...kernels.kernel_tests import Discrepancy, mmd
from ..data.columns import TableView, numeric_matrix, table_view
from ..data.duplicates import row_keys
from ..findings import Finding, by_severity, json_ready, make_finding
from ..intervals import Interval, holm
from .runtime import (
    Reference,
    ReferenceColumn,
    reference_of,
    schema_mismatches,
    stack_common_columns,
)
from .two_sample import classifier_two_sample_test

MOVED = 0.1
LARGE = 0.3
GONE = 0.05  # change of the share of missing values


class ColumnDrift(NamedTuple):
    """Test of one column for a difference between old and new rows."""

    column: str
    test: str  # "KS", "chi2" or "missing"
    size: float  # share of rows that moved
    p: float  # after Holm
    drifted: bool
    about: str  # what changed, in words

    def __str__(self):
        return f"{self.column!r} drifted: {self.about} ({self.test}, p = {self.p:.2g})."


@dataclass(frozen=True)
class DriftReport:
    """Schema mismatches, drift of columns, and drift of whole rows."""

    rows: tuple[int, int]
    form: tuple[Finding, ...]
    columns: tuple[ColumnDrift, ...]  # drifted ones first, by size
    auc: Interval | None  # old against new out of fold; 0.5 is no difference
    discrepancy: Discrepancy | None

    @property
    def drifted(self) -> list[str]:
        return list(dict.fromkeys(c.column for c in self.columns if c.drifted))

    @property
    def found(self) -> bool:
        return bool(self.findings)

    @property
    def findings(self) -> list[Finding]:
        return by_severity(_drift_sentences(self))

    def to_dict(self) -> dict[str, Any]:
        return json_ready(asdict(self))

    def __str__(self):
        lines = [f.text for f in self.findings] or ["No drift was found."]
        if self.auc is not None:
            lines.append(f"A classifier tells old from new with AUC {self.auc}.")
        if self.discrepancy is not None:
            lines.append(f"{self.discrepancy}.")
        return "\n".join(lines)


def drift(
    reference, table, *, ignore=(), whole=True, rows=2000, level=0.05, random_state=0
) -> DriftReport:
    """Test whether the distribution of new rows differs from that of old rows.

    Parameters
    ----------
    reference : path, dataframe, Arrow table, dict of columns, array or Reference
        The old rows, or what `reference_of` kept of them.
    table : as before
        The new rows.
    ignore : names of columns
    whole : bool
        Whether rows are compared as a whole too; needs the old rows.
    rows : int
        Rows of each side that are compared as a whole.
    level : float
        Chance of a false finding over all columns.
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import drift
    >>> rng = np.random.default_rng(0)
    >>> old = {"a": rng.normal(size=500), "b": rng.normal(size=500)}
    >>> new = {"a": rng.normal(1.0, size=500), "b": rng.normal(size=500)}
    >>> print(drift(old, new, whole=False))
    'a' drifted: median -0.0502025 became 1.1242 (KS, p = 2.6e-38).
    """
    old = reference if isinstance(reference, Reference) else table_view(reference)
    kept = old if isinstance(old, Reference) else reference_of(old, values=None)
    new = table_view(table).without(ignore)
    form = tuple(f for f in schema_mismatches(kept, new) if f.column not in ignore)
    findings = []
    for c in new.columns:
        past = kept.columns.get(c.name)
        if past is not None and c.name not in ignore:
            findings += list(_column_drift_tests(past, c))
    p = holm(np.array([f.p for f in findings])) if findings else []
    column_drifts = [
        f._replace(p=float(q), drifted=f.drifted and q < level)
        for f, q in zip(findings, p)
    ]
    column_drifts.sort(key=lambda f: (not f.drifted, -f.size))
    auc = distance = None
    if whole and isinstance(old, TableView) and min(old.n, new.n) >= 20:
        auc, distance = _whole_table_tests(old, new, rows, random_state)
    return DriftReport((kept.rows, new.n), form, tuple(column_drifts), auc, distance)


def _column_drift_tests(past: ReferenceColumn, c):
    """Drift tests of one column: its missing values and its distribution."""
    gone = float(c.missing.mean())
    n = past.rows
    m = len(c)
    k = [round(past.missing * n), int(c.missing.sum())]
    p = _proportions_test(k, [n, m])
    words = f"missing values went from {past.missing:.1%} to {gone:.1%}"
    big = abs(gone - past.missing) >= GONE
    yield ColumnDrift(c.name, "missing", abs(gone - past.missing), p, big, words)
    if gone == 1.0 or past.missing == 1.0 or past.categorical != c.categorical:
        return
    if past.categorical:
        yield _category_drift(past, c)
    else:
        yield _number_drift(past, c)


def _proportions_test(k, n) -> float:
    """p value of the pooled normal test of two proportions."""
    share = sum(k) / sum(n)
    error = np.sqrt(share * (1 - share) * (1 / n[0] + 1 / n[1]))
    if not error > 0:
        return 1.0
    return float(2 * scipy.stats.norm.sf(abs(k[0] / n[0] - k[1] / n[1]) / error))


def _number_drift(past, c) -> ColumnDrift:
    """Kolmogorov-Smirnov test of numbers, eq. (1), against stored values."""
    x = np.sort(c.numbers[~c.missing])
    old = past.values
    n = max(round(past.rows * (1 - past.missing)), 1)
    m = len(x)
    grid = np.concatenate([old, x])
    F = np.searchsorted(old, grid, side="right") / len(old)
    G = np.searchsorted(x, grid, side="right") / m
    D = float(np.abs(F - G).max())
    slack = 0.5 / len(old) if len(old) < n else 0.0  # quantiles know F up to this
    D = max(D - slack, 0.0)
    p = float(scipy.stats.kstwo.sf(D, max(round(n * m / (n + m)), 1))) if D > 0 else 1.0
    words = f"median {c.show(np.median(old))} became {c.show(np.median(x))}"
    if abs(np.median(old) - np.median(x)) < 0.2 * np.std(old):
        wide = [np.subtract(*np.quantile(v, [0.9, 0.1])) for v in (old, x)]
        if c.kind == "number":
            words = f"its spread (10 to 90 %) went from {wide[0]:.4g} to {wide[1]:.4g}"
    return ColumnDrift(c.name, "KS", D, p, D >= MOVED, words)


def _category_drift(past, c) -> ColumnDrift:
    """Chi-squared test of levels, eq. (2), with rare levels pooled."""
    n = max(round(past.rows * (1 - past.missing)), 1)
    counts = np.bincount(c.codes[c.codes >= 0], minlength=len(c.levels))
    new = {v: k for v, k in zip(c.levels, counts.tolist()) if k}
    m = max(sum(new.values()), 1)
    words = list(dict.fromkeys([*past.shares, *new]))
    table = np.array([[past.shares.get(w, 0.0) * n, new.get(w, 0)] for w in words]).T
    gap = table[1] / m - table[0] / n
    size = float(np.abs(gap).sum() / 2)
    expected = table.sum(0)
    rare = expected < 10
    part = np.column_stack([table[:, ~rare], table[:, rare].sum(1)])
    part = part[:, part.sum(0) > 0]
    p = 1.0
    if part.shape[1] > 1:
        fit = np.outer(part.sum(1), part.sum(0)) / part.sum()
        p = float(
            scipy.stats.chi2.sf(((part - fit) ** 2 / fit).sum(), part.shape[1] - 1)
        )
    top = int(np.abs(gap).argmax())
    description = (
        f"{words[top]!r} went from {table[0, top] / n:.1%} to {table[1, top] / m:.1%}"
    )
    return ColumnDrift(c.name, "chi2", size, p, size >= MOVED, description)


def _whole_table_tests(old, new, rows, seed):
    """AUC of a two-sample classifier, and MMD, over the common columns."""
    old = old.sample(rows, seed)
    new = new.sample(rows, seed)
    stacked = stack_common_columns(old, new)
    M, _ = numeric_matrix(stacked)
    holes = [c.missing for c in stacked.columns]
    holes = [h.astype(float) for h in holes if 0 < h.sum() < len(h)]
    M = np.column_stack([M, *holes]) if holes else M
    if M.shape[1] == 0:
        return None, None
    X, Z = M[: old.n], M[old.n :]
    auc = classifier_two_sample_test(X, Z, keys=row_keys(stacked), random_state=seed)
    return auc, mmd(X, Z, random_state=seed)


def _drift_sentences(d):
    yield from d.form
    for c in d.columns:
        if c.drifted:
            severity = "warning" if c.size >= LARGE or c.test == "missing" else "note"
            yield make_finding(
                "drift", severity, str(c), column=c.column, size=c.size, p=c.p
            )
    if d.auc is not None and d.auc.low > 0.5 and d.auc.mean >= 0.55:
        text = (
            f"Old and new rows can be told apart with AUC {d.auc} (0.5 would be no "
            "difference)."
        )
        severity = "warning" if d.auc.mean >= 0.7 else "note"
        yield make_finding("drift", severity, text, auc=d.auc.mean, low=d.auc.low)

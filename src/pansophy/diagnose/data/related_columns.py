"""Related columns: copies, and strong association between columns of any kind.

    numbers           |r| of ranks or of values, the larger                      (1)
    categories        V = sqrt(chi2 / (n (min(k, l) - 1))), less its bias        (2)
    number, category  eta = sqrt(variance between levels / variance)             (3)

V is corrected for the expected chi2 of independent columns, so that many levels alone
do not raise it. All three are 1 if one column determines the other (by a monotone
function for ranks, a linear one for r) and about 0 for independent columns.

Refs      [Bergsma2013] (2)
"""

import re

import numpy as np
import scipy.stats

from ...core.loops.threads import single_blas
from ..findings import Finding, make_finding
from .columns import TableView
from .duplicates import column_bits, mix_hash

ENTITY = re.compile(
    r"(^|[_\s.-])(patient|subject|participant|respondent|person|user|customer|client|"
    r"member|household|family|student|pupil|session|device|machine|vehicle|animal|mouse|"
    r"account|player|driver|employee|donor)s?([_\s.-]?(id|no|nr|number|name|key))?$",
    re.IGNORECASE,
)  # names of people and things that come in several rows
STRONG = 0.95
SAME = 0.999
MOST = 5  # pairs reported one by one


def _copied_columns(view: TableView) -> list[tuple[str, str]]:
    """Pairs of columns with the same values, or the same levels by other names."""
    first: dict = {}
    copies = []
    for c in view.columns:
        if c.missing.all() or not _has_two_values(c):
            continue
        key = _content_hash(c)
        if key in first:
            copies.append((first[key], c.name))
        else:
            first[key] = c.name
    return copies


def _has_two_values(c) -> bool:
    """Whether a column has at least two different values."""
    a = c.codes if c.numbers is None else c.numbers[~c.missing]
    return bool(np.any(a != a[0]))


def _content_hash(c):
    """A hash of the values; for texts, of the partition of rows by level."""
    if c.numbers is not None:
        words = column_bits(c)
    else:
        _, start, back = np.unique(c.codes, return_index=True, return_inverse=True)
        words = np.where(c.codes < 0, -1, start[back]).astype(np.int64).view(np.uint64)
    with np.errstate(over="ignore"):
        places = mix_hash(np.arange(len(words), dtype=np.uint64))
        return c.categorical, int(np.bitwise_xor.reduce(mix_hash(words + places)))


class Association:
    """Association of all pairs of columns; NaN where it is undefined."""

    def __init__(self, view: TableView, most_levels=200):
        useful = lambda c: not c.categorical or 2 <= len(c.levels) <= most_levels
        self.columns = [c for c in view.columns if useful(c) and _has_variation(c)]
        self.names = [c.name for c in self.columns]
        self.matrix = np.full((len(self.names),) * 2, np.nan)
        plain = [i for i, c in enumerate(self.columns) if not c.categorical]
        coded = [i for i, c in enumerate(self.columns) if c.categorical]
        if plain:
            X = np.column_stack([self.columns[i].numbers for i in plain])
            self.matrix[np.ix_(plain, plain)] = _number_matrix(X)
        for n_before, i in enumerate(coded):
            a = self.columns[i].codes
            for j in coded[:n_before]:
                self._set(i, j, cramers_v(a, self.columns[j].codes))
            for j in plain:
                self._set(i, j, adjusted_correlation_ratio(a, self.columns[j].numbers))
        np.fill_diagonal(self.matrix, 1.0)

    def _set(self, i, j, value):
        self.matrix[i, j] = self.matrix[j, i] = value


def _has_variation(c) -> bool:
    if c.categorical:
        return len(c.levels) > 1
    x = c.numbers[~c.missing]
    return len(x) > 2 and x.min() < x.max()


def _number_matrix(X) -> np.ndarray:
    """The larger of Pearson's and Spearman's correlation of all pairs, eq. (1)."""
    r = pairwise_correlation(X)
    ranks = np.column_stack([scipy.stats.rankdata(x, nan_policy="omit") for x in X.T])
    s = pairwise_correlation(ranks)
    return np.where(np.abs(s) > np.abs(r), s, r)


def pairwise_correlation(X) -> np.ndarray:
    """Pearson's r of all pairs; each over the rows where both are known."""
    known = (~np.isnan(X)).astype(float)
    middle = np.nanmean(X, axis=0)
    size = np.nanstd(X, axis=0)
    Z = np.nan_to_num((X - middle) / np.where(size > 0, size, 1.0))
    # one thread: tall thin products gain little from more and wait on busy machines
    with single_blas(), np.errstate(divide="ignore", invalid="ignore"):
        n = known.T @ known
        mean = (Z.T @ known) / n  # of column i over the rows where j is known
        square = ((Z * Z).T @ known) / n
        cov = (Z.T @ Z) / n - mean * mean.T
        var = square - mean**2
        r = cov / np.sqrt(var * var.T)
    r[~(n >= 3) | ~(var > 1e-12) | ~(var.T > 1e-12)] = np.nan
    return np.clip(r, -1.0, 1.0)


def cramers_v(a, b) -> float:
    """Bias-corrected Cramer's V of two columns of codes, eq. (2)."""
    known = (a >= 0) & (b >= 0)
    a, b = (np.unique(v[known], return_inverse=True) for v in (a, b))
    k = len(a[0])
    m = len(b[0])
    n = int(known.sum())
    if k < 2 or m < 2:
        return np.nan
    table = np.bincount(a[1] * m + b[1], minlength=k * m).reshape(k, m).astype(float)
    fit = np.outer(table.sum(1), table.sum(0)) / n
    phi = float(((table - fit) ** 2 / fit).sum()) / n
    excess = max(phi - (k - 1) * (m - 1) / (n - 1), 0.0)
    rows, columns = k - (k - 1) ** 2 / (n - 1), m - (m - 1) ** 2 / (n - 1)
    free = min(rows, columns) - 1
    return float(np.sqrt(min(excess / free, 1.0))) if free > 0 else np.nan


def adjusted_correlation_ratio(codes, x) -> float:
    """Correlation ratio eta of levels and numbers, eq. (3), adjusted for its bias."""
    known = (codes >= 0) & ~np.isnan(x)
    z = np.unique(codes[known], return_inverse=True)[1]
    x = x[known]
    n = len(x)
    k = int(z.max(initial=-1)) + 1
    total = float(((x - x.mean()) ** 2).sum()) if n else 0.0
    if k < 2 or n <= k or total <= 0:
        return np.nan
    counts = np.bincount(z)
    means = np.bincount(z, x) / counts
    within_groups = float(((x - means[z]) ** 2).sum())
    return float(np.sqrt(max(1 - (within_groups / (n - k)) / (total / (n - 1)), 0.0)))


GROUP_NAME = re.compile(
    r"(^|[_\s.-])(ids?|uid|uuid|guid|key|group|grp|batch|site|cluster|household|block)$",
    re.IGNORECASE,
)
FEW_LEVELS = 10


def _names_groups(c) -> bool:
    """Whether a column names rows or groups of rows: ids, patients, sites."""
    return c.role == "id" or bool(GROUP_NAME.search(c.name) or ENTITY.search(c.name))


def _says_the_same(a, b) -> bool:
    """Whether a strong association goes both ways.

    A category of many levels determines any number that is constant in each of them;
    the number says the same only if rows of a level are neighbours in its order and
    hardly any two levels share a value.
    """
    if a.categorical == b.categorical:
        return True
    c, x = (a, b) if a.categorical else (b, a)
    if len(c.levels) <= FEW_LEVELS:
        return True
    known = (c.codes >= 0) & ~np.isnan(x.numbers)
    codes, numbers = c.codes[known], x.numbers[known]
    order = np.lexsort((codes, numbers))
    change = np.diff(codes[order]) != 0
    tied = np.diff(numbers[order]) == 0
    runs = 1 + int(np.count_nonzero(change))
    k = len(np.unique(codes))
    return runs <= 2 * k and np.count_nonzero(change & tied) <= k / 10


def check_related(view: TableView, association=None, *, groups=()) -> list[Finding]:
    """Findings for copied and for strongly associated columns.

    Columns that name rows or groups of rows, by their role, by their name or as one of
    `groups`, are not said to be like others, whose values they merely determine.
    """
    findings = []
    unnamed = {c.name for c in view.columns if _names_groups(c)} | {*groups}
    copies = _copied_columns(view)
    for a, b in copies:
        text = f"{b!r} is a copy of {a!r}: one of them adds nothing."
        findings.append(
            make_finding("duplicated column", "warning", text, column=b, of=a)
        )
    result = association or Association(view)
    M = np.abs(result.matrix)
    gone = {b for _, b in copies}
    pairs = [
        (M[i, j], result.names[j], result.names[i])
        for i, j in np.argwhere(np.tril(M >= STRONG, -1))
        if not {result.names[i], result.names[j]} & (gone | unnamed)
        and _says_the_same(result.columns[i], result.columns[j])
    ]
    pairs.sort(key=lambda p: -p[0])
    for value, a, b in pairs[:MOST]:
        text = f"{a!r} and {b!r} say nearly the same: association {value:.4f}."
        findings.append(
            make_finding(
                "correlated columns", "note", text, column=b, of=a, value=value
            )
        )
    if len(pairs) > MOST:
        n_hidden = len(pairs) - MOST
        text = f"{n_hidden} more pairs of columns have an association above {STRONG}."
        findings.append(
            make_finding("correlated columns", "note", text, pairs=len(pairs))
        )
    return findings

"""Clusters of errors: groups of rows on which a model errs in the same way.

Rows on which a model errs are clustered among themselves (DBSCAN on columns of like
scale, those in which errors differ from other rows if there are any). Errors that are
chance are distributed as the rows are. A group is reported if errors are denser in it,

    p = P(Binomial(n, q) >= k),   q: share of errors in all rows,                (1)

for k errors among the n rows within the radius of the group, corrected by the number
of groups. Of several radii, multiples of the usual distance between neighbours, the
one whose best group has the smallest p value is used. A group is described by levels or
ranges of columns that are rare outside it.

Cost      that of neighbours within a radius among at most `rows` rows
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.stats

from ...core.random import make_rng
from ..data.columns import TableView, numeric_matrix, table_view
from ..findings import Finding, make_finding

FEWEST = 5
RADII = (1.0, 2.0, 4.0, 6.0, 9.0)


@dataclass(frozen=True)
class ErrorGroup:
    """A cluster of errors: its rows, and the error rate in its neighbourhood."""

    rows: np.ndarray
    size: int
    rate: float  # share of errors among the rows of the neighbourhood
    elsewhere: float
    log_p: float  # of eq. (1), corrected
    about: tuple[str, ...]  # what sets it apart

    @property
    def p(self) -> float:
        return float(np.exp(min(self.log_p, 0.0)))

    def __str__(self):
        description = "; ".join(self.about) or "no single column tells them apart"
        return (
            f"{self.size} errors of one kind ({description}): {self.rate:.3g} of the "
            f"rows there are wrong, {self.elsewhere:.2g} of those elsewhere (p = "
            f"{self.p:.2g})."
        )


@dataclass(frozen=True)
class ErrorGroups:
    """Clusters of errors, the largest first; the other errors look random."""

    groups: tuple[ErrorGroup, ...]
    errors: int
    rows: int

    @property
    def findings(self) -> list[Finding]:
        return [
            make_finding(
                "repeated errors", "warning", str(g), size=g.size, rate=g.rate, p=g.p
            )
            for g in self.groups
        ]

    def __str__(self):
        head = f"{self.errors} errors in {self.rows} rows"
        if not self.groups:
            return f"{head}; none repeat."
        return "\n".join([f"{head}:", *(str(g) for g in self.groups)])


def group_errors(
    table, errors, *, ignore=(), share=0.1, rows=5000, random_state=0
) -> ErrorGroups:
    """Cluster the errors of a model by what their rows have in common.

    Parameters
    ----------
    table : path, dataframe, Arrow table, dict of columns or array
    errors : array of shape (n,)
        Whether each row is wrong, or its loss or residual: the `share` of largest size
        then counts as wrong.
    ignore : names of columns
    share : float
    rows : int or None
        Rows examined at most; all errors are kept.
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import group_errors
    >>> rng = np.random.default_rng(0)
    >>> X = {"size": rng.normal(size=600), "kind": rng.choice(["a", "b", "c"], 600)}
    >>> wrong = (X["kind"] == "b") & (X["size"] > 1) | (rng.random(600) < 0.03)
    >>> found = group_errors(X, wrong)
    >>> len(found.groups), found.groups[0].about[1]
    (1, "'kind' is 'b' in 100% of them and 31% elsewhere")
    """
    view = table_view(table).without(ignore)
    wrong = _wrong_rows(errors, view.n, share)
    chosen = np.arange(view.n)
    if rows is not None and view.n > rows:
        right = np.flatnonzero(~wrong)
        n_right_kept = max(rows - int(wrong.sum()), rows // 2)
        right_kept = make_rng(random_state).permutation(right)[:n_right_kept]
        bad = make_rng(random_state).permutation(np.flatnonzero(wrong))[:rows]
        chosen = np.sort(np.r_[right_kept, bad])
    part = view.take(chosen)
    M, _ = numeric_matrix(part)
    bad = np.flatnonzero(wrong[chosen])
    weight = np.where(
        wrong[chosen], 1.0, max((~wrong).sum() / max((~wrong[chosen]).sum(), 1), 1.0)
    )
    if len(bad) < FEWEST or M.shape[1] == 0:
        return ErrorGroups((), int(wrong.sum()), view.n)
    result = _error_clusters(M, bad, weight, part)
    groups_of_table = tuple(replace(g, rows=chosen[g.rows]) for g in result)
    return ErrorGroups(groups_of_table, int(wrong.sum()), view.n)


def _wrong_rows(errors, n, share) -> np.ndarray:
    """Mask of the wrong rows; of losses, the given share of the largest."""
    e = np.asarray(errors)
    if e.shape != (n,):
        raise ValueError(f"errors must be one for each of {n} rows, got {e.shape}.")
    if e.dtype == bool or set(np.unique(e).tolist()) <= {0, 1}:
        return e.astype(bool)
    size = np.abs(np.nan_to_num(e.astype(float)))
    k = max(round(share * n), 1)
    limit = np.partition(size, n - k)[n - k]
    return (size >= limit) & (size > 0)


def _error_clusters(M, bad, weight, part: TableView):
    """The clusters of errors at the radius with the smallest p value."""
    from ...neighbors import NearestNeighbors

    mask = _row_mask(bad, len(M))
    M = _distinguishing_columns(M, mask)
    search = NearestNeighbors(n_neighbors=min(FEWEST + 1, len(M))).fit(M)
    usual = float(np.quantile(search.kneighbors(M)[0][:, -1], 0.75)) or 1e-9
    best = []
    top = 0.0
    for factor in RADII:
        result = _groups_at_radius(M, mask, weight, search, factor * usual, part)
        surest = min((g.log_p for g in result), default=0.0)
        if surest < top:
            best = result
            top = surest
    return sorted(best, key=lambda g: -g.size)


def _distinguishing_columns(M, mask):
    """The columns in which errors differ from the other rows; all if none does."""
    p = [scipy.stats.ks_2samp(x[mask], x[~mask], method="asymp").pvalue for x in M.T]
    differs = np.array(p) < 1e-3 / len(p)
    return M[:, differs] if differs.any() else M


def _groups_at_radius(M, mask, weight, search, radius, part):
    """Clusters of errors by DBSCAN that pass the test of eq. (1)."""
    from ...cluster import DBSCAN

    bad = np.flatnonzero(mask)
    labels = DBSCAN(eps=radius, min_samples=FEWEST).fit_predict(M[bad])
    groups = []
    all_rows = float(weight.sum())
    total = float(weight[bad].sum())
    count = int(labels.max(initial=-1)) + 1
    for k in range(count):
        members = bad[labels == k]
        lists = search.radius_neighbors(M[members], radius, return_distance=False)
        near = _row_mask(np.unique(np.concatenate([*lists, members])), len(M))
        n = float(weight[near].sum())
        hits = float(weight[near & mask].sum())
        q = total / all_rows
        rest = (total - hits) / (all_rows - n) if n < all_rows else q
        log_p = float(scipy.stats.binom.logsf(round(hits) - 1, round(n), q))
        log_p = max(log_p, -700.0) + np.log(count * len(RADII))
        if log_p < np.log(0.01) and hits / n >= 2 * q:
            descriptions = tuple(_distinguishing_values(part, members))
            groups.append(
                ErrorGroup(members, len(members), hits / n, rest, log_p, descriptions)
            )
    return groups


def _row_mask(bad, n) -> np.ndarray:
    """A mask (n,) that is True at these rows."""
    mask = np.zeros(n, bool)
    mask[bad] = True
    return mask


def _distinguishing_values(part: TableView, rows, most=3):
    """Descriptions of the values that distinguish the rows of a group."""
    inside = _row_mask(rows, part.n)
    descriptions = []
    for c in part.columns:
        known = ~c.missing
        if not (known & inside).any() or not (known & ~inside).any():
            continue
        if c.categorical:
            top = np.bincount(c.codes[known & inside]).argmax()
            share_inside = np.mean(c.codes[inside] == top)
            share_outside = np.mean(c.codes[~inside] == top)
            text = (
                f"{c.name!r} is {c.levels[top]!r} in {share_inside:.0%} of them and "
                f"{share_outside:.0%} elsewhere"
            )
            descriptions.append(
                (share_inside - share_outside if share_inside > 0.8 else 0.0, text)
            )
            continue
        low, high = np.quantile(c.numbers[known & inside], [0.05, 0.95])
        x = c.numbers[known & ~inside]
        share_outside = float(np.mean((x >= low) & (x <= high)))
        span = f"{c.show(low)} to {c.show(high)}"
        text = f"{c.name!r} is {span}, as {share_outside:.0%} elsewhere"
        descriptions.append((0.9 - share_outside, text))
    descriptions = [s for s in sorted(descriptions, key=lambda s: -s[0]) if s[0] > 0.3]
    return [text for _, text in descriptions[:most]]

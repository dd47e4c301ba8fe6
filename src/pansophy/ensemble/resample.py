"""Drawing rows and columns for the members of an ensemble.

Each member has a whole number as its seed and draws from a generator of its own, so
what it sees depends neither on threads nor on how many members were asked for, and
can be drawn again later instead of being stored. Rows drawn with replacement are kept
as counts c_1 .. c_n: a count is a weight, and no row is copied. A row is drawn by a
member of n draws with probability

    1 - (1 - 1/n)^n  ->  1 - 1/e = 0.632...                                     (1)

and is out of the bag otherwise.

Shapes    counts (n,)   features (k,)   seeds (members,)
Refs      [Breiman1996] bagging; [Ho1998] subspaces; [Louppe2012] patches
"""

from numbers import Integral
from typing import NamedTuple

import numpy as np

from ..core.random import rng_from


class ResamplingPlan(NamedTuple):
    """How a member draws: enough to draw the same again from its seed."""

    n: int  # rows
    d: int  # columns
    rows: int  # rows to draw
    columns: int  # columns to draw
    bootstrap: bool  # rows with replacement
    bootstrap_columns: bool
    p: np.ndarray | None = None  # probabilities of the rows; None: all alike

    @property
    def all_columns(self) -> bool:
        return self.columns == self.d and not self.bootstrap_columns

    @property
    def all_rows(self) -> bool:
        return self.rows == self.n and not self.bootstrap

    def draw(self, seed):
        """Columns (k,) and counts of rows (n,) of the member with this seed."""
        rng = np.random.default_rng(seed)
        columns = np.arange(self.d)
        if not self.all_columns:
            columns = draw_feature_subset(
                rng, self.d, self.columns, self.bootstrap_columns
            )
        if self.bootstrap:
            return columns, bootstrap_counts(rng, self.n, self.rows, self.p)
        return columns, subset_counts(rng, self.n, self.rows)


def member_seeds(random_state, n, skip=0) -> np.ndarray:
    """Seeds (31 bits) of members skip .. n; the first ones are the same for any n."""
    return rng_from(random_state).integers(0, 2**31 - 1, size=n)[skip:]


def bootstrap_counts(rng, n, size=None, p=None) -> np.ndarray:
    """Counts (n,) of `size` rows drawn with replacement, all alike or by p.

    >>> bootstrap(np.random.default_rng(0), 6)
    array([1, 2, 0, 2, 0, 1])
    """
    size = n if size is None else size
    if p is None:
        return np.bincount(rng.integers(0, n, size=size), minlength=n)
    steps = np.cumsum(p)
    last = np.flatnonzero(p)[-1]  # rounding may leave the last step short of the sum
    drawn = np.searchsorted(steps, np.sort(rng.random(size)) * steps[-1], side="right")
    return np.bincount(np.minimum(drawn, last), minlength=n)


def subset_counts(rng, n, size) -> np.ndarray:
    """Counts (n,), 0 or 1, of `size` different rows."""
    counts = np.ones(n, np.int64)
    if size < n:
        counts[:] = 0
        counts[rng.choice(n, size, replace=False, shuffle=False)] = 1
    return counts


def draw_feature_subset(rng, d, size, replace=False) -> np.ndarray:
    """`size` columns in ascending order, with or without repetition."""
    if replace:
        return np.sort(rng.integers(0, d, size=size))
    return np.sort(rng.choice(d, size, replace=False, shuffle=False))


def number_of_rows_to_draw(max_samples, n, w=None) -> int:
    """None: n; a whole number: itself; a fraction: of n, or of the total weight."""
    if max_samples is None:
        return n
    if isinstance(max_samples, Integral):
        return int(max_samples)
    return max(1, int(max_samples * (n if w is None else float(np.sum(w)))))


def number_of_columns_to_draw(max_features, d) -> int:
    """A whole number: itself; a fraction: of d, at least one."""
    if isinstance(max_features, Integral):
        return int(max_features)
    return max(1, int(max_features * d))


def share_of_distinct_rows(counts) -> float:
    """Share of the rows that were drawn at least once, see eq. (1).

    >>> distinct_share(np.array([2, 0, 1, 1]))
    0.75
    """
    return float(np.mean(np.asarray(counts) > 0))

"""Tables of categorical columns: counts of each value in each class, side by side.

The values of d columns, m_j for column j, stand in one row of M = sum_j m_j counts for
each class, so that counting and scoring are one look-up per value. Tables of different
widths add up: a block that has seen more values makes room for them.

Shapes    x (b, d) values 0 .. m_j - 1   counts (k, M)   start (d + 1,)
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..core import arrays
from ..core.numerics import safe_log
from ..distributions import Categorical, Dirichlet
from ..distributions.base import Sums
from ..distributions.grouped import row_weights
from . import _column_families as loops


@dataclass(frozen=True, eq=False)
class CategoryCounts:
    """Counts (k, M) of the values of d columns side by side; they add, and widen."""

    counts: Any
    widths: Any  # (d,) number of values of each column, M in all

    @cached_property
    def start(self):
        return np.concatenate([[0], np.cumsum(self.widths)])

    def widened(self, widths) -> "TableCounts":
        if np.array_equal(widths, self.widths):
            return self
        out = CategoryCounts(np.zeros((len(self.counts), int(widths.sum()))), widths)
        at = np.arange(int(self.start[-1]))
        shift = np.repeat(out.start[:-1] - self.start[:-1], self.widths)
        out.counts[:, at + shift] = self.counts
        return out

    def __add__(self, other: "TableCounts") -> "TableCounts":
        widths = np.maximum(self.widths, other.widths)
        both = [t.widened(widths).counts for t in (self, other)]
        return CategoryCounts(both[0] + both[1], widths)

    def tables(self) -> list:
        """The counts of each column, (k, m_j)."""
        return np.split(self.counts, self.start[1:-1], axis=1)


def categorical_statistics(x, codes, k, w) -> CategoryCounts:
    x, codes = arrays.to_numpy(x), arrays.to_numpy(codes)
    if w is not None:
        w = arrays.to_numpy(w)
        if not w.all():  # rows of weight 0 make no room in the tables
            x, codes, w = x[w > 0], codes[w > 0], w[w > 0]
    x = np.ascontiguousarray(x)
    top = np.full(x.shape[1], -1, np.int64)
    raise_bad_category(loops.largest_categories(x, top))
    t = CategoryCounts(np.zeros((k, int((top + 1).sum()))), top + 1)
    loops.count_categories(x, codes, *row_weights(w), t.start, t.counts)
    return t


def raise_bad_category(j, widths=None):
    """Raise if column j holds something other than the values of its table."""
    if j >= 0 and widths is None:
        raise ValueError(
            "Negative values in data passed to categorical columns, or numbers that "
            f"are not whole: the values of column {j} must be 0, 1, 2, ..."
        )
    if j >= 0 and widths is not None:
        raise ValueError(
            f"column {j} holds a value that was not seen in fit: its table has the "
            f"values 0 to {widths[j] - 1}. min_categories makes room for more."
        )


def categorical_fit(t: CategoryCounts, N, alpha, prior) -> list[Categorical]:
    made = []
    for counts in t.tables():
        own = prior or Dirichlet(np.full(counts.shape[1] or 1, alpha + 1.0))
        counts = counts if counts.shape[1] else np.zeros((len(counts), 1))
        made.append(Categorical.from_stats(Sums(counts.sum(axis=1), (counts,)), own))
    return made


def categorical_scorer(ps: list[Categorical]):
    T = np.ascontiguousarray(np.concatenate([safe_log(p.prob).T for p in ps]))
    widths = np.array([p.prob.shape[1] for p in ps])
    start = np.concatenate([[0], np.cumsum(widths)])

    def score(x):
        out = np.empty((x.shape[0], T.shape[1]))
        rows = np.ascontiguousarray(arrays.to_numpy(x))
        raise_bad_category(loops.category_scores(rows, start, T, out), widths)
        return (
            arrays.asarray(out, like=arrays.as_float(x))
            if arrays.is_foreign(x)
            else out
        )

    return score


def draw_categories_by_class(ps, z, rng):
    return np.hstack([p.draw(z, rng) for p in ps])

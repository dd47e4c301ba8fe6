"""Which columns can hold the best split of a stump: the others need no search.

For two classes a split is a point (v, u): the weight on the left and the part of it in
the second class. The gain is a convex function of that point. Walking through the rows
of a coarse bin in order of their values, the point moves from one limit of the bin to
the other, each row adding to v and, in the second class, as much to u. So it stays in
the parallelogram whose corners are the two limits and the two ways to take one class
before the other, and the gain is nowhere larger than at a corner:

    gain within a bin <= max over its four corners                              (1)

A column whose bound over all bins is below the best gain found at any limit of bins
cannot hold the best split. What is left, a few columns, goes to the exact search of
the engine. So the stump is the same as without the screen; one pass over bytes stands
for most of the passes over sorted columns.

Time O(n d) with a small constant. Memory one byte per value.

Shapes    codes (n, d)   H (d, 256, 2)
"""

import numpy as np

from ..tree._layout import MISSING
from . import _screen as loops

MIN_SCREENED_ROWS = 2048  # rows from which the screen pays
ROUNDING_SLACK = 1e-9  # share by which rounding may mislead


class StumpScreen:
    """Coarse bins of a table, made once, and the columns worth a search."""

    def __init__(self, columns):
        d, n = columns.order.shape
        self.codes = np.empty((n, d), np.uint8)
        self.H = np.empty((d, loops.BINS, 2))
        self.found, self.most = np.empty((2, d))
        for f in range(d):
            loops.coarse_bin_codes(columns.x[f], columns.order[f], f, self.codes)

    def columns(self, y, w):
        """Numbers of the columns that may hold the best split, ascending."""
        loops.class_weight_by_bin(self.codes, w, y, self.H)
        W, S = self.H[0].sum(axis=0)
        loops.column_gain_bounds(self.H, float(S), float(W), self.found, self.most)
        return np.flatnonzero(self.most >= self.found.max() * (1.0 - ROUNDING_SLACK))


def can_screen_stumps(columns, criterion, limits, n) -> bool:
    """Whether the stumps of these settings can be screened."""
    d = len(columns.meta)
    whole = len(columns.order) == d > 1 and not np.any(columns.meta[:, MISSING])
    free = limits.min_leaf == 1 and limits.min_weight == 0 and limits.signs is None
    every = not limits.random and limits.max_features in (0, d)
    stump = limits.max_depth == 1 and limits.max_leaves in (0, 2)
    return (
        n >= MIN_SCREENED_ROWS and criterion.one and whole and free and every and stump
    )

"""A k-d tree of rows: see `_kdtree.py` for its layout.

Rows are split at the median of their widest column, level by level; the nodes of a
level are independent of each other and shared between threads. O(d n log n).
"""

import math
from typing import NamedTuple

import numpy as np

from ..core import threads
from . import _kdtree


class Tree(NamedTuple):
    """Rows by columns in tree order, and the box of every node: see `_kdtree.py`."""

    XT: np.ndarray  # (d, n)
    order: np.ndarray  # (n,), the row number of each place
    lo: np.ndarray  # (nodes, d)
    hi: np.ndarray
    levels: int


def plant(X, leaf, *, sort=True) -> Tree:
    """A k-d tree of the rows; without `sort`, of consecutive rows as they stand."""
    n = len(X)
    levels = max(0, math.ceil(math.log2(max(n, 1) / max(leaf, 1))))
    levels = min(levels, max(0, int(math.log2(max(n, 1)))))
    order = np.arange(n)
    if sort:
        X = X.copy()
        for level in range(levels):
            nodes = 1 << level
            parts = min(nodes, 64)
            tasks = (
                lambda level=level, a=nodes * t // parts, b=nodes * (t + 1) // parts: (
                    _kdtree.split_level(X, order, level, a, b)
                )
                for t in range(parts)
            )
            for _ in threads.run(tasks):
                pass
    XT = np.ascontiguousarray(X.T)
    return Tree(XT, order, *_kdtree.boxes(XT, levels), levels)

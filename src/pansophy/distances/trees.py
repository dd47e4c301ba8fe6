"""A k-d tree of rows, and the questions it answers: see `_kdtree.py` for its layout.

Rows are split at the median of their widest column; the nodes of a level, and then
what is below them, are independent of each other and shared between threads.
O(d n log n).

Queries are put in a tree as well: each of its leaves is a group of near queries, that
share a walk (`_walks.py`). Here `how` is (kind, p), radii and distances are reduced,
and Q None asks for the rows of the tree.
"""

import math
from typing import NamedTuple

import numpy as np

from ..core import threads
from . import _kdtree, _walks

LEAF = 32  # rows of a leaf at most
TOP, SMALL = 4, 4096  # levels shared one by one; rows for which threads do not pay


class Tree(NamedTuple):
    """Rows by columns in tree order, and the box of every node: see `_kdtree.py`."""

    XT: np.ndarray  # (d, n + WIDE)
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
        top = min(levels, TOP) if n > SMALL else 0
        for level in range(top):
            grow(X, order, level, level + 1)
        grow(X, order, top, levels)
    XT = np.zeros((X.shape[1], n + _kdtree.WIDE), X.dtype)
    XT[:, :n] = X.T
    lo, hi = _kdtree.boxes(XT, n, levels)
    return Tree(XT, order, lo, hi, levels)


def grow(X, order, level, levels):
    """Split the nodes of a level, and what is below them, as one task each."""
    nodes = range(1 << level)
    tasks = (lambda j=j: _kdtree.split(X, order, level, j, levels) for j in nodes)
    for _ in threads.run_tasks(tasks):
        pass


def grouped(tree, Q) -> Tree:
    """Queries in a tree whose leaves are about as wide as those of the rows."""
    if Q is None:
        return tree
    return plant(Q, max(1, min(LEAF, LEAF * len(Q) // len(tree.order))))


def room_of(tree):
    """A factor that covers the rounding of a reduced distance."""
    d, kind = len(tree.XT), tree.XT.dtype
    return kind.type(1 + 4 * (d + 2) * np.finfo(kind).eps)


def leaf_tasks(find, asked, rows=1024):
    """find(first, last) as tasks over all leaves of queries, some rows in each."""
    leaves = 1 << asked.levels
    step = max(1, rows * leaves // max(1, len(asked.order)))
    return (
        (lambda a=a: find(a, min(a + step, leaves))) for a in range(0, leaves, step)
    )


def nearest(how, tree, Q, k):
    """The k nearest rows of every query: (D, J), each (m, k)."""
    asked = grouped(tree, Q)
    m, room = len(asked.order), room_of(tree)
    D, J = np.empty((m, k), tree.XT.dtype), np.empty((m, k), np.int64)
    both = (tuple(tree), tuple(asked))

    def find(first, last):
        _walks.k_nearest(how, *both, first, last, Q is None, room, D, J)

    for _ in threads.run_tasks(leaf_tasks(find, asked)):
        pass
    return D, J


def lists(how, tree, Q, r):
    """(ends, rows, distances) of the rows within r (m,), in order of the queries."""
    asked = grouped(tree, Q)
    order, leaves = asked.order, 1 << asked.levels
    both = (tuple(tree), tuple(asked))
    found = _walks.within(how, *both, 0, leaves, r[order], room_of(tree))
    return _walks.restored(order, *found)


def near_lists(how, tree, Q, r, block):
    """The same in blocks of near queries, each with their numbers in front."""
    asked, room = grouped(tree, Q), room_of(tree)
    r, m, both = r[asked.order], len(asked.order), (tuple(tree), tuple(asked))

    def find(first, last):
        ends, rows, far = _walks.within(how, *both, first, last, r, room)
        start = (m * first) >> asked.levels
        return asked.order[start : start + len(ends) - 1], ends, rows, far

    yield from threads.run_tasks(leaf_tasks(find, asked, block))


def counts(how, tree, Q, r, w, out):
    """The weight of the rows within r of every query, into out (m,)."""
    asked, room, n = grouped(tree, Q), room_of(tree), len(tree.order)
    w = np.ones(n, np.int64) if w is None else np.asarray(w, np.float64)
    w = w[tree.order]
    W = np.concatenate([w[:1] * 0, np.cumsum(w)])
    r, both = r[asked.order], (tuple(tree), tuple(asked))

    def find(first, last):
        _walks.count_within(how, *both, first, last, r, room, w, W, out)

    for _ in threads.run_tasks(leaf_tasks(find, asked)):
        pass
    return out

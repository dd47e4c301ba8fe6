"""K-d tree of rows and its queries; `_kd_tree.py` describes the layout.

Rows are split at the median of their widest column; the nodes of a level, and then
their descendants, are independent of each other and shared between threads.
O(d n log n).

Queries are put in a tree as well: each of its leaves is a group of near queries, that
share a traversal (`_kd_tree_queries.py`). Here `metric` is (kind, p), radii and
distances are reduced, and Q None asks for the rows of the tree.
"""

import math
from typing import NamedTuple

import numpy as np

from ..core.loops import threads
from ..persist.saved_state import FloatArray, IntArray, Whole, saved_state
from . import _kd_tree, _kd_tree_queries

LEAF = 32  # rows of a leaf at most
TOP, SMALL = 4, 4096  # levels shared one by one; rows for which threads do not pay


def is_sound_kd_tree(tree) -> bool:
    """Whether a loaded tree has the nodes of its levels, and rows that are numbers."""
    n = len(tree.order)
    if 1 << tree.levels > max(n, 1) or len(tree.lo) != (2 << tree.levels) - 1:
        return False
    return bool(np.isfinite(tree.XT).all())


@saved_state(
    XT=FloatArray("columns", f"rows+{_kd_tree.WIDE}"),
    order=IntArray("rows", low=0, below="rows", dtype=np.int64),
    lo=FloatArray("nodes", "columns"),
    hi=FloatArray("nodes", "columns"),
    levels=Whole(high=40),
    check=is_sound_kd_tree,
)
class KDTree(NamedTuple):
    """Rows by columns in tree order, and the box of every node: see `_kd_tree.py`."""

    XT: np.ndarray  # (d, n + WIDE)
    order: np.ndarray  # (n,), the row number of each place
    lo: np.ndarray  # (nodes, d)
    hi: np.ndarray
    levels: int


def build_kd_tree(X, leaf, *, sort=True) -> KDTree:
    """A k-d tree of the rows; without `sort`, its leaves are consecutive rows."""
    n = len(X)
    levels = max(0, math.ceil(math.log2(max(n, 1) / max(leaf, 1))))
    levels = min(levels, max(0, int(math.log2(max(n, 1)))))
    order = np.arange(n)
    if sort:
        X = X.copy()
        top = min(levels, TOP) if n > SMALL else 0
        for level in range(top):
            _split_level(X, order, level, level + 1)
        _split_level(X, order, top, levels)
    XT = np.zeros((X.shape[1], n + _kd_tree.WIDE), X.dtype)
    XT[:, :n] = X.T
    lo, hi = _kd_tree.node_boxes(XT, n, levels)
    return KDTree(XT, order, lo, hi, levels)


def _split_level(X, order, level, levels):
    """Split the nodes of a level and their descendants, one task for each node."""
    nodes = range(1 << level)
    tasks = (
        lambda j=j: _kd_tree.split_nodes(X, order, level, j, levels) for j in nodes
    )
    for _ in threads.run_tasks(tasks):
        pass


def kd_tree_of_queries(tree, Q) -> KDTree:
    """Queries in a tree whose leaves are about as wide as those of the rows."""
    if Q is None:
        return tree
    return build_kd_tree(Q, max(1, min(LEAF, LEAF * len(Q) // len(tree.order))))


def rounding_factor(tree):
    """A factor that covers the rounding of a reduced distance."""
    d = len(tree.XT)
    kind = tree.XT.dtype
    return kind.type(1 + 4 * (d + 2) * np.finfo(kind).eps)


def leaf_tasks(find, queries, rows=1024):
    """find(first, last) as tasks over all leaves of queries, some rows in each."""
    leaves = 1 << queries.levels
    step = max(1, rows * leaves // max(1, len(queries.order)))
    return (
        (lambda a=a: find(a, min(a + step, leaves))) for a in range(0, leaves, step)
    )


def tree_k_nearest(metric, tree, Q, k):
    """The k nearest rows of every query: (D, J), each (m, k)."""
    queries = kd_tree_of_queries(tree, Q)
    m = len(queries.order)
    slack = rounding_factor(tree)
    D, J = np.empty((m, k), tree.XT.dtype), np.empty((m, k), np.int64)
    arrays = (tuple(tree), tuple(queries))

    def find(first, last):
        _kd_tree_queries.query_k_nearest(
            metric, *arrays, first, last, Q is None, slack, D, J
        )

    for _ in threads.run_tasks(leaf_tasks(find, queries)):
        pass
    return D, J


def tree_within(metric, tree, Q, r):
    """(ends, rows, distances) of the rows within r (m,), in order of the queries."""
    queries = kd_tree_of_queries(tree, Q)
    order = queries.order
    leaves = 1 << queries.levels
    arrays = (tuple(tree), tuple(queries))
    result = _kd_tree_queries.query_radius(
        metric, *arrays, 0, leaves, r[order], rounding_factor(tree)
    )
    return _kd_tree_queries.restore_query_order(order, *result)


def tree_within_blocks(metric, tree, Q, r, block):
    """Rows within r, in blocks of near queries with their numbers in front."""
    queries = kd_tree_of_queries(tree, Q)
    slack = rounding_factor(tree)
    r = r[queries.order]
    m = len(queries.order)
    arrays = (tuple(tree), tuple(queries))

    def find(first, last):
        ends, rows, far = _kd_tree_queries.query_radius(
            metric, *arrays, first, last, r, slack
        )
        start = (m * first) >> queries.levels
        return queries.order[start : start + len(ends) - 1], ends, rows, far

    yield from threads.run_tasks(leaf_tasks(find, queries, block))


def tree_count_within(metric, tree, Q, r, w, out):
    """The weight of the rows within r of every query, into out (m,)."""
    queries = kd_tree_of_queries(tree, Q)
    slack = rounding_factor(tree)
    n = len(tree.order)
    w = np.ones(n, np.int64) if w is None else np.asarray(w, np.float64)
    w = w[tree.order]
    W = np.concatenate([w[:1] * 0, np.cumsum(w)])
    r = r[queries.order]
    arrays = (tuple(tree), tuple(queries))

    def find(first, last):
        _kd_tree_queries.query_radius_weight(
            metric, *arrays, first, last, r, slack, w, W, out
        )

    for _ in threads.run_tasks(leaf_tasks(find, queries)):
        pass
    return out

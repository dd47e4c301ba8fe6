"""Boruvka's minimum spanning tree of rows of few columns, by a k-d tree.

The length of an edge is m_ij = max(c_i, c_j, d(x_i, x_j)). All rows are parts of their
own at first; in each round every part takes its shortest edge that leads out,

    min over i in the part, j not in it, of m_ij                                 (1)

which is in some lightest tree, whatever the other parts are (the rounds of Boruvka).
So at least half of the parts are gone after each round. (1) is searched in the k-d tree
of the rows: the best edge of the part so far is the limit for all its later rows, nodes
all of whose rows are in the part are passed over, and what a row found once is a lower
bound for it in all later rounds, since parts only grow. Of several edges of equal
length any may be taken; one that would close a circle is left out.

Cost      O(n log n) queries in few columns, O(n d) memory; Prim's O(n^2 d) is best for
          few rows and many columns, hence `boruvka_is_faster`
Shapes    X (n, d)   c (n,)   edges (n - 1,)
Refs      [March2010] the rounds in a tree; [Campello2013] m; [Prim1957] one part that
          grows, instead of all
"""

import numpy as np

from ...distances.kd_tree import LEAF, build_kd_tree
from ...distances.neighbor_search import metric_kind
from ...graphs.spanning_trees import (
    METRIC_KINDS,
    SpanningTree,
    comparison_scales,
    point_spanning_tree,
    sort_edges,
)
from . import _boruvka as loops


def boruvka_is_faster(shape, metric):
    """Whether tree queries beat all pairs, and the metric has box distances."""
    n, d = shape
    boxes = (
        metric in METRIC_KINDS
        and metric != "cosine"
        and metric_kind(metric, 2.0)[0] >= 0
    )
    return boxes and d <= 8 and n >= 1500 * (d + 1)


def boruvka_tree(X, *, metric="euclidean", p=2.0, core=None) -> SpanningTree:
    """The minimum spanning tree of m over the rows of X, by Boruvka's rounds.

    Examples
    --------
    >>> boruvka_tree(np.array([[0.0], [1.0], [3.0], [7.0]])).weight
    array([1., 2., 4.])
    """
    X = np.ascontiguousarray(X, np.float64)
    kind, p = metric_kind(metric, p)
    n = len(X)
    (shorten, lengthen) = comparison_scales("chebyshev" if kind == 0 else metric, p)
    tree = build_kd_tree(X, LEAF)
    edges = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    c = np.zeros(n) if core is None else np.asarray(core, np.float64)
    boxes = (tree.XT, tree.lo, tree.hi, tree.levels)
    reduced = shorten(c[tree.order])
    if loops.boruvka_rounds(boxes, reduced, (kind, p), *edges) < n - 1:
        return point_spanning_tree(X, metric=metric, p=p, core=core)  # squares overflow
    left, right, weight = edges
    return sort_edges(
        SpanningTree(tree.order[left], tree.order[right], weight), lengthen
    )

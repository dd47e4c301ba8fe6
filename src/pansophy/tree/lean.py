"""Growing a tree in one thread by the short loop of `_serial_grower.py`."""

from typing import NamedTuple

import numpy as np

from . import _serial_grower as loops
from . import _several as several
from . import _structures as lay
from ._split_search import CHOICE, FEW
from .plan import rare_of
from .tree import Tree, resolve_missing_sides


class Lean(NamedTuple):
    """Finished nodes, whole numbers and reals, see `_serial_grower.py`."""

    A: np.ndarray
    Q: np.ndarray
    V: np.ndarray | None = None  # (nodes, M) sums, where there are several

    @property
    def start(self):
        return self.A[loops.A_START].copy()

    @property
    def stop(self):
        return self.A[loops.A_STOP].copy()


def grow(plan, table, fixed, M, seed) -> Lean:
    """All nodes of a tree; the rows of `table` are put in their order.

    `fixed` are whole numbers where one sum is enough, and None for M sums.
    """
    rows, n = table.lists[0].view(np.uint32), table.lists.shape[1]
    A = np.empty((loops.WHOLES, 2 * n), np.int64)
    Q = np.empty((loops.REALS, 2 * n))
    stack = np.empty((n + 1, loops.ENTRY), np.int64)
    marks = np.zeros(-(-plan.d // 64), np.uint64)
    codes = x = near = goes = place = rare = V = tools = more = None
    if len(table.x):  # random thresholds between values, which need no order
        x, near = table.x, np.empty(n + 3, np.float32)
    else:
        codes = table.codes.reshape(table.codes.shape[:2])
        near = np.empty(n, np.uint8) if plan.random or fixed is None else None
    if fixed is None:
        V, line = np.empty((2 * n, M)), np.empty((table.y.shape[1] + 1, n))
        goes = np.empty(n, np.bool_) if plan.random else None
        place = None if plan.random else np.empty(several.MANY, np.int64)
        rare = rare_of(plan.kind)
        spare, first, more = np.empty(n, np.uint32), (seed, 0, 0), for_several(M)
    else:
        line, spare, tools = fixed.line, fixed.spare[0].view(np.uint32), for_one()
        first = seed, fixed.sum_z, fixed.sum_h
    draws = np.tile(np.arange(plan.d), (3, 1))  # order of drawing, and scratch
    choice, cut, best = np.empty(CHOICE, np.int64), np.empty(1), np.zeros(lay.RECORD)
    m = loops.grow_lean(
        plan, fixed, rows, codes, x, table.edges, table.meta, table.y, table.w, first,
        stack, marks, spare, near, goes, place, line, line.view(np.int64), draws,
        choice, cut, best, np.zeros(lay.SUMS + M), tools, more, rare, A, Q, V
    )  # fmt: skip
    if V is None:
        nodes = Lean(A[:, :m], Q[:, :m])
        loops.sum_leaves(rows, table.y, table.w, *nodes[:2])
        return nodes
    return Lean(A[:, :m], Q[:, :m], V[:m])


def for_one():
    """Small arrays for the search of `_split_search.py`, some of them seen in two ways."""
    cells, room = np.zeros((256, 2), np.int64), np.zeros((4, 256))
    keys, ranks = np.empty(FEW, np.uint16), np.empty(2 * FEW, np.uint16)
    seen, bins = np.zeros(4, np.uint64), np.empty(256, np.int64)
    lines, sums = room.view(np.int64), np.zeros(lay.SUMS + 1)
    return cells, cells.ravel(), seen, keys, ranks, bins, room, lines, sums


def for_several(M):
    """Small arrays for the search of `_several.py` with M sums."""
    keys, ranks = np.empty(FEW, np.uint16), np.empty(FEW, np.uint16)
    seen, counts = np.zeros(4, np.uint64), np.zeros(256, np.int64)
    bins, ends = np.empty(256, np.int64), np.empty(256, np.int64)
    own = keys, ranks, seen, counts, bins, ends, np.empty((4, 256))
    return own, np.empty((256, 2 + M)), np.empty(M)


def finish(nodes: Lean, criterion, offset, d) -> Tree:
    """The tree as users see it."""
    A, Q, V = nodes
    V = Q[loops.Q_SUM, :, None] if V is None else V
    weight = Q[loops.Q_WEIGHT].copy()
    children = A[loops.A_LEFT].copy(), A[loops.A_RIGHT].copy()
    return Tree(
        *children,
        feature=A[loops.A_FEATURE].copy(),
        threshold=Q[loops.Q_THRESHOLD].copy(),
        impurity=Q[loops.Q_IMPURITY].copy(),
        n_node_samples=A[loops.A_STOP] - A[loops.A_START],
        weighted_n_node_samples=weight,
        value=criterion.values(V, weight, offset),
        missing_go_to_left=resolve_missing_sides(A[loops.A_MISSING], *children, weight),
        n_features=d,
        sets=None,
    )

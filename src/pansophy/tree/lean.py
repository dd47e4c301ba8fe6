"""Growing a tree in one thread by the short loop of `_lean.py`."""

from typing import NamedTuple

import numpy as np

from . import _layout as lay
from . import _lean as loops
from .plan import is_one
from .structure import Tree, missing_sides


class Lean(NamedTuple):
    """Finished nodes, whole numbers and reals, see `_lean.py`."""

    A: np.ndarray
    Q: np.ndarray

    @property
    def start(self):
        return self.A[loops.A_START].copy()

    @property
    def stop(self):
        return self.A[loops.A_STOP].copy()


def is_plain(kind, limits, forms) -> bool:
    """Whether splits are by threshold, free of constraints, and judged by squares."""
    signs = limits.signs is not None and np.any(limits.signs)
    free = not limits.max_leaves and limits.groups is None and not signs
    return bool(kind == lay.SQUARE and free and not np.any(forms))


def is_lean(plan, columns, limits, many) -> bool:
    """Whether a tree can be grown here, and other threads would be of no use to it."""
    alone = many or plan.random or plan.max_features < plan.d
    plain = is_plain(plan.kind, limits, columns.meta[:, lay.FORM])
    return bool(alone and plain and columns.codes.shape[2] == 1)


def needs_order(criterion, limits, forms, n) -> bool:
    """Whether columns of many values must be sorted: not for random thresholds here."""
    plain = is_plain(criterion.kind, limits, forms) and is_one(criterion, n)
    return not (limits.random and plain)


def grow(plan, table, fixed, seed) -> Lean:
    """All nodes of a tree; the rows of `table` are put in their order."""
    rows, n = table.lists[0].view(np.uint32), table.lists.shape[1]
    A = np.empty((loops.WHOLES, 2 * n), np.int64)
    Q = np.empty((loops.REALS, 2 * n))
    stack = np.empty((n + 1, loops.ENTRY), np.int64)
    marks = np.zeros(-(-plan.d // 64), np.uint64)
    if len(table.x):  # random thresholds between values, which need no order
        codes, x, near = None, table.x, np.empty(n + 3, np.float32)
    else:
        codes, x = table.codes.reshape(table.codes.shape[:2]), None
        near = fixed.spare[1].view(np.uint8) if plan.random else None
    m = loops.grow_lean(
        plan, fixed, rows, codes, x, table.edges, table.meta, table.y, table.w,
        (seed, fixed.sum_z, fixed.sum_h), stack, marks, near, A, Q
    )  # fmt: skip
    nodes = Lean(A[:, :m], Q[:, :m])
    loops.sum_leaves(rows, table.y, table.w, *nodes)
    return nodes


def finish(nodes: Lean, criterion, offset, d) -> Tree:
    """The tree as users see it."""
    A, Q = nodes
    weight = Q[loops.Q_WEIGHT].copy()
    children = A[loops.A_LEFT].copy(), A[loops.A_RIGHT].copy()
    return Tree(
        *children,
        feature=A[loops.A_FEATURE].copy(),
        threshold=Q[loops.Q_THRESHOLD].copy(),
        impurity=Q[loops.Q_IMPURITY].copy(),
        n_node_samples=A[loops.A_STOP] - A[loops.A_START],
        weighted_n_node_samples=weight,
        value=criterion.values(Q[loops.Q_SUM, :, None], weight, offset),
        missing_go_to_left=missing_sides(A[loops.A_MISSING], *children, weight),
        n_features=d,
        sets=None,
    )

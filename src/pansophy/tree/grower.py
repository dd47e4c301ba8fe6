"""Growing a tree: the one engine under every tree, forest and booster.

A tree is grown by splitting, again and again, a node at the feature and threshold
that most lower the summed impurity (criteria.py). The engine has two views of a
column and picks one per column, once, before growth:

- *bytes*: up to 255 distinct values (or `max_bins` bins of about equal weight). The
  sums of a node by byte are a histogram; of two children only the smaller one is
  counted, the other's histogram is the parent's minus its sibling's.
- *list*: more distinct values. The rows are kept sorted by the column; splitting a
  node parts its slice of each list in two, so the column is sorted once per fit.

Both look at every place between two different values of the node, so both are exact
whenever bins hold one value each. Rows with weight zero are left out beforehand. A
column of codes (categories, parts of a circle) is split by a set of them (`_category_split.py`).

Where all columns are bytes and one sum is enough (one real target, two classes,
boosting), sums are whole numbers (`_histograms.py`): exact, so that neither the order of rows
nor threads nor subtraction changes them.

Threads share the rows and columns of each node there (`_shared_work.py`); otherwise large
nodes are searched by several threads, a share of the features each, and once nodes are
small, whole subtrees go to threads. Each node draws from its own random stream, named
by its path from the root. So the tree is the same for any number of threads. One of
many trees has one thread, and so has a tree that looks at few features of a node: both
are grown by a short loop of their own (`_serial_grower.py`), with the same result: each node is
searched by itself, and random thresholds are drawn between the values themselves, of
which nothing needs to be sorted. What is shared between nodes here (frontier,
histograms, lists, threads) has its price where there is nothing to share: the same
search of a node inside the general loop took 1.2 (two classes) to 1.6 times (numbers)
the processor time of a fully grown forest, 1.5 times that of a random tree.

Time O(n d) for sorting and for each level of the tree; memory 8 bytes per value of a
listed column (4 if it is not sorted), 1 byte per value otherwise, and O(n) per tree.
The first call on a machine compiles for 9 s (a tree, a forest), 12 s (criteria not made
of squares) or 12 to 14 s (boosting), prediction included, once.

Shapes    X (n, d)   y (n, m)   w (n,)
Refs      [Breiman1984] CART; [Mehta1996] lists sorted once; [Ke2017] histograms
"""

from typing import NamedTuple

import numpy as np

from . import _structures as lay
from . import lean
from ._frontier import preorder
from .criteria import Criterion
from .parallel_grower import Job, renumber
from .plan import (
    fixed_of,
    is_whole,
    members,
    plan_of,
    sizes,
    sum_again,
    table_of,
    targets,
)
from .prepared_columns import PreparedColumns
from .tree import Tree, resolve_missing_sides

NO_DEPTH_LIMIT = 2**31 - 1
LARGE = 1e150  # sums whose squares are still numbers


class GrowthLimits(NamedTuple):
    """When to stop, and what to try at each node."""

    max_depth: int = NO_DEPTH_LIMIT
    min_split: int = 2
    min_leaf: int = 1
    min_weight: float = 0.0
    min_gain: float = 0.0  # least fall of the summed impurity
    max_leaves: int = 0  # 0: no limit, depth first; else best first
    max_features: int = 0  # 0: all
    random: bool = False  # one random threshold per feature
    signs: np.ndarray | None = None  # -1, 0 or 1 by feature: monotone constraints
    groups: np.ndarray | None = None  # (k, d) bool: features that may meet on a path


class TreeWithRows(NamedTuple):
    """A tree and the training rows of each node: rows[start[v] : stop[v]]."""

    tree: Tree
    rows: np.ndarray
    start: np.ndarray
    stop: np.ndarray


def is_unconstrained(kind, limits, forms) -> bool:
    """Whether splits are by threshold, free of constraints, and judged by sums."""
    signs = limits.signs is not None and np.any(limits.signs)
    free = not limits.max_leaves and limits.groups is None and not signs
    summed = kind not in (lay.ABSOLUTE, lay.NEWTON)
    return bool(summed and free and not np.any(forms))


def suits_serial_growth(plan, columns, limits, many) -> bool:
    """Whether a tree can be grown here, and other threads would be of no use to it."""
    alone = many or plan.random or plan.max_features < plan.d
    free = is_unconstrained(plan.kind, limits, columns.meta[:, lay.FORM])
    unsorted = columns.codes.shape[2] == 1 and not len(columns.order)
    return bool(alone and free and unsorted)


def needs_sorted_columns(criterion, limits, forms) -> bool:
    """Whether columns of many values must be sorted: not for random thresholds here."""
    return not (limits.random and is_unconstrained(criterion.kind, limits, forms))


def grow_tree(
    columns: PreparedColumns, y, w, criterion: Criterion, limits: GrowthLimits, seed=0
) -> Tree:
    """One tree on the prepared columns. y is (n, m): numbers, or classes from 0."""
    return Grower(columns, criterion, limits).grow(y, w, seed=seed).tree


class Grower:
    """Grows any number of trees on the same columns, one after the other."""

    def __init__(
        self,
        columns: PreparedColumns,
        criterion: Criterion,
        limits: GrowthLimits,
        many: bool = False,  # other trees are grown beside this one
    ):
        self.columns, self.criterion, self.limits = columns, criterion, limits
        self.many = many
        self.member = members(limits.groups, len(columns.meta))
        self.keep = {}  # large scratch, for the next tree

    def grow(self, y, w=None, *, seed=0, rows=None) -> TreeWithRows:
        """A tree for the targets y (n, m) with weights w, on some rows or all.

        Classes are numbers from 0. `rows` are ascending row numbers; y and w have an
        entry for every row of the table all the same. Under the Newton criterion y is
        minus the first derivative and w the second, both weighted already.
        """
        columns, criterion, limits = self.columns, self.criterion, self.limits
        y, w, offset = targets(y, w, criterion, rows)
        n, d = len(y) if rows is None else len(rows), len(columns.meta)
        plan = plan_of(criterion, limits, n, d, len(columns.codes))
        table = table_of(columns, y, w, criterion, limits, plan, rows, self.member)
        size, mass = sizes(table, criterion.kind)
        if max(size, mass) > LARGE:
            raise ValueError(
                "y or sample_weight is too large for sums of squares: divide it by a "
                "power of ten."
            )
        mean = min(size / max(mass + plan.l2, 1e-300), LARGE)
        plan = plan._replace(unit=mean**2)
        short = suits_serial_growth(plan, columns, limits, self.many)
        whole = is_whole(columns, criterion, n) and (short or not plan.random)
        fixed = fixed_of(table, plan, size, mass, self.keep) if whole else None
        if short:
            nodes = lean.grow(plan, table, fixed, criterion.sums, seed)
            tree = lean.finish(nodes, criterion, offset, d)
            return TreeWithRows(tree, table.lists[0, :n], nodes.start, nodes.stop)
        read = table
        if fixed is not None:  # the loops need not be compiled for what they never read
            read = table._replace(x=None, z=None, bits=None, sums=None, side=None)
            read = read._replace(y=None) if plan.kind == lay.NEWTON else read
        nodes = Job(plan, read, fixed, n, criterion.sums, seed, self.keep).run()
        if not plan.best_first:
            order = np.empty(len(nodes.N), np.int64)
            preorder(nodes.N[:, lay.LEFT], nodes.N[:, lay.RIGHT], order)
            nodes = renumber(nodes, order)
        if fixed is not None:
            sum_again(plan, table, nodes)
        tree = finish(nodes, criterion, limits, columns, offset)
        start, stop = nodes.N[:, lay.START].copy(), nodes.N[:, lay.STOP].copy()
        return TreeWithRows(tree, table.lists[0, :n], start, stop)


def finish(nodes, criterion, limits, columns, offset) -> Tree:
    """The tree as users see it."""
    N, R, S = nodes
    leaf = N[:, lay.LEFT] < 0
    weight = R[:, lay.WEIGHT].copy()
    value = criterion.values(R[:, lay.SUMS :], weight, offset)
    if limits.signs is not None:
        value = criterion.clip(value, R[:, lay.LOW] + offset, R[:, lay.HIGH] + offset)
    children = N[:, lay.LEFT].copy(), N[:, lay.RIGHT].copy()
    return Tree(
        *children,
        feature=np.where(leaf, -2, N[:, lay.FEATURE]),
        threshold=np.where(leaf, -2.0, R[:, lay.THRESHOLD]),
        impurity=R[:, lay.IMPURITY].copy(),
        n_node_samples=N[:, lay.STOP] - N[:, lay.START],
        weighted_n_node_samples=weight,
        value=value,
        missing_go_to_left=resolve_missing_sides(
            N[:, lay.MISSING_LEFT], *children, weight
        ),
        n_features=len(columns.meta),
        sets=sets_of(S, leaf) if np.any(columns.meta[:, lay.FORM]) else None,
    )


def sets_of(S, leaf):
    """Codes that go left, of the nodes that split by set."""
    return np.where(leaf[:, None], np.uint64(0), S[:, : lay.SET])

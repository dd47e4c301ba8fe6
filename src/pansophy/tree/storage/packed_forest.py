"""Packed forest: many trees in compact arrays, and fast prediction with all of them.

The nodes of a tree are kept level by level with siblings side by side, so which nodes
are leaves says the whole shape: the children of the j-th inner node (from 0) are nodes
2j + 1 and 2j + 2. An inner node has a feature, a float32 threshold and a bit for
missing values; a leaf has its value. Each array is held in the smallest type that
holds its numbers exactly.

For prediction this becomes one table of 16 bytes a node (`_packed_forest.py`). Rows go
through it in blocks: a block's values stay in the nearest cache while tree after tree
is read once for all of them. Values are added tree after tree, whatever the blocks
and threads, so the sum is the same for any of them.

Thresholds are rounded down to float32, where x <= threshold has the same answer as in
double precision for every float32 x.

Shapes    X (n, d) float32   trees T   values K = outputs times classes
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...core.loops import threads
from ...persist.saved_state import (
    FloatArray,
    IntArray,
    NumberArray,
    Offsets,
    Row,
    Whole,
    saved_state,
)
from . import _packed_forest as loops
from .tree import LEAF, Tree, round_down_float32

SMALL = 1 << 12
NEAR = 1 << 14
FAR = 1 << 21  # bytes: small tree; near and far cache
TASK = 1 << 21  # node visits, about, worth a thread


class ForestArrays(NamedTuple):
    """Trees, one after the other."""

    feature: np.ndarray  # (nodes,) -1 at leaves
    threshold: np.ndarray  # (inner,) float32, NaN where a set decides
    missing: np.ndarray  # bits of (inner,): a missing value goes left
    value: np.ndarray  # (leaves, K)
    start: np.ndarray  # (T + 1,) first node of each tree
    shape: tuple[int, int]  # outputs, classes (1 for numbers)
    n_features: int
    sets: np.ndarray | None = None  # (splits by set, 4) uint64: codes that go left
    weight: np.ndarray | None = None  # (leaves,) sum of weights
    count: np.ndarray | None = None  # (leaves,) rows
    impurity: np.ndarray | None = None  # (leaves,), or (nodes,) leaves first
    inner: np.ndarray | None = None  # (inner, K) values of inner nodes


class NodeTable(NamedTuple):
    """The form that the loops read."""

    W: np.ndarray
    V: np.ndarray
    sets: np.ndarray
    start: np.ndarray
    depth: np.ndarray


def is_sound_forest(forest) -> bool:
    """Whether the arrays of a loaded forest are trees, level by level.

    In each tree the j-th inner node comes before node 2j + 1, its first child, and
    there are as many nodes as children and a root.
    """
    inner = forest.feature >= 0
    n_inner, n_leaves = len(forest.threshold), len(forest.value)
    before = np.concatenate(([0], np.cumsum(inner)))  # inner nodes before each node
    first = before[forest.start]
    size = np.diff(forest.start)
    at = np.flatnonzero(inner)
    tree = np.repeat(np.arange(len(size)), np.diff(first))
    if before[-1] != n_inner or len(inner) - n_inner != n_leaves:
        return False
    if not np.array_equal(size, 2 * np.diff(first) + 1):
        return False
    if not (at - forest.start[tree] <= 2 * (np.arange(n_inner) - first[tree])).all():
        return False
    n_sets = 0 if forest.sets is None else len(forest.sets)
    if np.count_nonzero(np.isnan(forest.threshold)) > n_sets:
        return False
    if forest.value.shape[1] != forest.shape[0] * forest.shape[1]:
        return False
    return forest.impurity is None or len(forest.impurity) in (n_leaves, len(inner))


@saved_state(
    feature=IntArray("nodes", low=-1, below="n_features"),
    threshold=FloatArray("splits", dtype=np.float32),
    missing=IntArray(None, dtype=np.uint8),
    value=NumberArray("leaves", None),
    start=Offsets("trees", "nodes"),
    shape=Row(Whole(low=1), Whole(low=1)),
    n_features=Whole(low=1),
    sets=IntArray(None, 4, dtype=np.uint64, optional=True),
    weight=NumberArray("leaves", optional=True),
    count=NumberArray("leaves", optional=True),
    impurity=NumberArray(None, optional=True),
    inner=NumberArray("splits", None, optional=True),
    check=is_sound_forest,
)
class PackedForest(ForestArrays):
    """Packed trees."""

    def __len__(self):
        return len(self.start) - 1

    @property
    def node_count(self) -> int:
        return len(self.feature)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(a.nbytes for a in self if isinstance(a, np.ndarray))

    @cached_property
    def leaf_start(self):
        """Number of the first leaf of each tree."""
        return np.concatenate(([0], np.cumsum(self.feature < 0)))[self.start]

    @cached_property
    def table(self) -> NodeTable:
        """Nodes of 16 bytes for prediction."""
        W = np.zeros((self.node_count, loops.WORDS), np.uint32)
        V = W.view(np.float32)
        depth = np.zeros((len(self), 2), np.int64)
        inner = len(self.threshold)
        missing = np.unpackbits(self.missing, count=inner)
        by_set = np.isnan(self.threshold)
        pick = np.where(by_set, np.cumsum(by_set) - 1, -1).astype(np.int64)
        scratch = np.empty((5, int(np.diff(self.start).max(initial=0)) + 1), np.int64)
        nodes = self.feature, self.threshold, missing, pick, self.start
        loops.fill_node_table(*nodes, W, V, depth, scratch)
        sets = np.empty((0, 4), np.uint64) if self.sets is None else self.sets
        return NodeTable(W.ravel(), V.ravel(), sets, self.start, depth)

    @cached_property
    def real_value(self):
        """Values of the leaves as the loops add them."""
        kind = np.float32 if self.value.dtype.itemsize < 8 else np.float64
        return np.ascontiguousarray(self.value, kind)

    @cached_property
    def leaf_number(self):
        """Node number of each leaf in its tree, counted root, left, right branch."""
        number = np.empty(self.node_count, np.int32)
        loops.preorder_numbers(self.feature, self.start, number)
        return number[self.feature < 0]

    def sum(self, X, start=0, stop=None, *, out=None, column=None):
        """Sum of the leaf values of trees start .. stop for each row of X: (n, K).

        Parameters
        ----------
        X : array of shape (n, d)
            Float32 (float64 is rounded on the way), NaN for missing.
        out : float64 array of shape (n, K) or None
            Added to if given.
        column : int array of length T, or None
            Where the only value of each tree is added, e.g. one tree per class.
        """
        K = self.value.shape[1]
        if column is not None:
            column = np.asarray(column, np.int64)
            K = int(column.max(initial=-1)) + 1
        out = np.zeros((len(X), K)) if out is None else out
        self.walk(X, start, stop, column, out, None)
        return out

    def leaves(self, X, start=0, stop=None):
        """(n, trees) numbers of the leaves, counted through all trees."""
        stop = len(self) if stop is None else stop
        out = np.empty((len(X), stop - start), np.int32)
        self.walk(X, start, stop, None, None, out)
        return out

    def apply(self, X, start=0, stop=None):
        """(n, trees) node numbers of the leaves within their trees."""
        leaf = self.leaves(X, start, stop)
        return self.leaf_number[leaf] if leaf.size else leaf

    def walk(self, X, start, stop, column, out, leaf):
        """Find the leaves of all rows in trees start .. stop, on threads if faster."""
        stop = len(self) if stop is None else stop
        n = len(X)
        if n == 0 or start >= stop:
            return
        table, value = self.table, self.real_value
        column = np.empty(0, np.int64) if column is None else column
        width = 4 * max(1, self.n_features)
        near = 16 * self.node_count // len(self) <= SMALL
        block = max(64, min(8192, (NEAR if near else FAR) // width)) // 8 * 8
        steps = max(1.0, float(table.depth[start:stop, 1].sum()))
        task = max(block, int(TASK / steps) // block * block)

        def call(i):
            x = np.empty(block * X.shape[1], np.float32)
            to = np.empty(loops.LANES, np.uint32)
            rows, trees = (i, min(i + task, n)), (start, stop)
            loops.traverse_forest(
                X, rows, block, table, trees, column, value, out, leaf, x, to
            )

        for _ in threads.run_tasks((lambda i=i: call(i)) for i in range(0, n, task)):
            pass

    def tree(self, t) -> Tree:
        """One tree with all its arrays, numbered root, left, right branch."""
        return unpack_tree(self, t)


def smallest_exact_dtype(a):
    """Convert to the smallest type that holds all numbers exactly."""
    for kind in (np.uint8, np.uint16, np.float32):
        with np.errstate(invalid="ignore", over="ignore"):
            small = a.astype(kind)
        if np.array_equal(small, a, equal_nan=kind is np.float32):
            return small
    return a


class PackedTree(NamedTuple):
    """One tree on its way into a forest: the fields of `ForestArrays` by node."""

    feature: np.ndarray
    threshold: np.ndarray
    missing: np.ndarray
    value: np.ndarray
    sets: np.ndarray | None
    weight: np.ndarray | None = None
    count: np.ndarray | None = None
    impurity: np.ndarray | None = None
    inner: np.ndarray | None = None


# What a part keeps of a tree beyond what a prediction needs
KEEP_NOTHING = 0
KEEP_LEAVES = 1
KEEP_IMPURITIES = 2
KEEP_ALL = 3


def pack_tree(tree: Tree, keep=KEEP_NOTHING) -> PackedTree:
    """A tree's nodes level by level.

    `keep=LEAVES` is enough to rebuild every array where the impurity is a variance
    (squared error, Gini): that of a node is the mean of its children's and of their
    squared distance to it. Other criteria keep the impurity of all nodes, and values
    that are not means (medians, bounded values) are kept at all nodes as well.
    """
    order = np.empty(tree.node_count, np.int64)
    loops.breadth_first_order(tree.children_left, tree.children_right, order)
    leaf = tree.children_left[order] == LEAF
    inner, ends = order[~leaf], order[leaf]
    threshold = round_down_float32(tree.threshold[inner]).astype(np.float32)
    sets = tree.sets
    if sets is not None:
        by_set = sets[inner].any(axis=1)
        threshold[by_set] = np.nan
        sets = sets[inner][by_set]
    wide = tree.n_features > np.iinfo(np.int16).max
    value = tree.value.reshape(tree.node_count, -1)
    return PackedTree(
        np.where(leaf, -1, tree.feature[order]).astype(np.int32 if wide else np.int16),
        threshold,
        tree.missing_go_to_left[inner],
        value[ends],
        sets,
        tree.weighted_n_node_samples[ends] if keep else None,
        tree.n_node_samples[ends] if keep else None,
        tree.impurity[np.append(ends, inner) if keep > KEEP_LEAVES else ends]
        if keep
        else None,
        value[inner] if keep == KEEP_ALL else None,
    )


def pack_forest(trees, keep=KEEP_NOTHING) -> PackedForest:
    """A forest of grown trees."""
    trees = list(trees)
    shape = trees[0].value.shape[1:]
    d = trees[0].n_features
    return join_packed_trees([pack_tree(tree, keep) for tree in trees], shape, d)


def join_packed_trees(parts, shape, n_features) -> PackedForest:
    """A forest of trees in parts, all with values of the same shape."""

    def chain(name):
        arrays = [getattr(p, name) for p in parts]
        return (
            None if arrays[0] is None else smallest_exact_dtype(np.concatenate(arrays))
        )

    sets = [p.sets for p in parts if p.sets is not None and len(p.sets)]
    return PackedForest(
        np.concatenate([p.feature for p in parts]),
        np.concatenate([p.threshold for p in parts]),
        np.packbits(np.concatenate([p.missing for p in parts])),
        chain("value"),
        np.concatenate(([0], np.cumsum([len(p.feature) for p in parts]))),
        (int(shape[0]), int(shape[1])),
        int(n_features),
        np.concatenate(sets) if sets else None,
        chain("weight"),
        chain("count"),
        chain("impurity"),
        chain("inner"),
    )


def packed_tree_at(forest: PackedForest, t) -> PackedTree:
    """The part that a tree of a forest was made of."""
    a, b = forest.start[t], forest.start[t + 1]
    u, v = forest.leaf_start[t], forest.leaf_start[t + 1]
    i, j = a - u, b - v  # inner nodes
    missing = np.unpackbits(forest.missing, count=len(forest.threshold))[i:j]
    threshold = forest.threshold[i:j]
    sets = None
    if forest.sets is not None:
        first = int(np.isnan(forest.threshold[:i]).sum())
        sets = forest.sets[first : first + int(np.isnan(threshold).sum())]
    impurity = forest.impurity
    if impurity is not None:
        everywhere = len(impurity) == forest.node_count
        impurity = impurity[a:b] if everywhere else impurity[u:v]
    of = lambda array, p, q: None if array is None else array[p:q]
    return PackedTree(
        forest.feature[a:b],
        threshold,
        missing.astype(bool),
        forest.value[u:v],
        sets,
        of(forest.weight, u, v),
        of(forest.count, u, v),
        impurity,
        of(forest.inner, i, j),
    )


def unpack_tree(forest: PackedForest, t) -> Tree:
    """A tree of a forest with all its arrays; what was not kept is zero."""
    part = packed_tree_at(forest, t)
    n = len(part.feature)
    K = part.value.shape[1]
    leaf = part.feature < 0
    number = np.empty(n, np.int32)
    child = np.full(n, LEAF)
    loops.preorder_numbers(part.feature, np.array([0, n]), number)
    child[~leaf] = 1 + 2 * np.arange(n // 2)
    kept = lambda a: np.zeros(leaf.sum()) if a is None else a.astype(float)
    weight, count, impurity = np.zeros((3, n))
    value = np.zeros((n, K))
    weight[leaf] = kept(part.weight)
    count[leaf] = kept(part.count)
    value[leaf] = part.value
    everywhere = part.impurity is not None and len(part.impurity) == n
    impurity[leaf] = kept(part.impurity)[: leaf.sum()]
    loops.fill_inner_nodes(child, weight, count, value, impurity, forest.shape[0])
    if part.impurity is not None and everywhere:
        impurity[~leaf] = part.impurity[leaf.sum() :]
    if part.inner is not None:
        value[~leaf] = part.inner
    spread = lambda a, fill, kind: scatter_into(a, ~leaf, fill, kind)
    sets = None
    if forest.sets is not None:
        sets = np.zeros((n, 4), np.uint64)
        sets[np.flatnonzero(~leaf)[np.isnan(part.threshold)]] = part.sets
    left = np.where(leaf, LEAF, number[child]).astype(np.int64)
    right = np.where(leaf, LEAF, number[child + ~leaf]).astype(np.int64)
    back = np.argsort(number)
    arrays = (
        left,
        right,
        np.where(leaf, -2, part.feature).astype(np.int64),
        spread(part.threshold, -2.0, np.float64),
        impurity,
        count.astype(np.int64),
        weight,
        value.reshape(n, *forest.shape),
        spread(part.missing, False, bool),
    )
    sets = None if sets is None else sets[back]
    fields: list[Any] = [*(a[back] for a in arrays), forest.n_features, sets]
    return Tree(*fields)


def scatter_into(a, where, fill, kind):
    """An array with `a` at some places and `fill` elsewhere."""
    out = np.full(len(where), fill, kind)
    out[where] = a
    return out

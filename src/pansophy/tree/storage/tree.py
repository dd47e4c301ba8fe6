"""A grown binary tree: arrays with one entry per node, prediction and importances.

Node 0 is the root. An inner node sends a row left if x[feature] <= threshold, right
otherwise; a missing value goes left if `missing_go_to_left`. Leaves have children -1.
A node whose row of `sets` is not all zero splits by set: x is then a code of
`tree/growing/input_encoding.py` and goes left if bit x of the 256 is one; its threshold
is NaN.

Instead of taking one side, a missing value may go down both (`spread`), each with the
share of the training weight that went there:

    f(v, x) = (W_l f(l, x) + W_r f(r, x)) / W_v     where x[feature of v] is missing (1)

The same sum over rows in which all but a few columns are missing is the partial
dependence on those columns, as the tree itself knows the others' distribution.
"""

import sys
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...core.arrays.rows import DatasetRows
from ...core.loops import threads
from ...persist.saved_state import (
    FloatArray,
    IntArray,
    NumberArray,
    Whole,
    are_binary_trees,
    saved_state,
)
from ..growing._structures import UNASKED

BLOCK = 1 << 14  # rows handed to a thread at a time
LEAF = -1


class PredictionArrays(NamedTuple):
    """Arrays that a prediction needs, 20 bytes a node."""

    feature: np.ndarray  # uint32, 0 at leaves
    threshold: np.ndarray  # float32, rounded down
    child: np.ndarray  # (nodes, 2) uint32: right, left; a leaf is its own child
    missing: np.ndarray  # uint32, 1: left
    sets: np.ndarray | None  # (nodes, 4) uint64, of trees with splits by set


class BinaryTreeArrays(NamedTuple):
    """The arrays of a tree."""

    children_left: np.ndarray
    children_right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    impurity: np.ndarray
    n_node_samples: np.ndarray
    weighted_n_node_samples: np.ndarray
    value: np.ndarray  # (nodes, outputs, 1 or classes)
    missing_go_to_left: np.ndarray
    n_features: int
    sets: np.ndarray | None = None  # (nodes, 4) uint64: codes that go left, by bit


def map_dense_blocks(X, function, values=1 << 22):
    """function of the rows of X; a sparse X is spread out a block at a time.

    Rows of a table on disk come a block at a time too, as float32.
    """
    if isinstance(X, DatasetRows):

        def block(x):
            with np.errstate(over="ignore"):
                return function(x.astype(np.float32))

        return X.map(block, blas=False)
    if not sp.issparse(X):
        return function(X)
    X = X.tocsr()
    step = max(1, values // max(1, X.shape[1]))
    cuts = range(0, X.shape[0], step)
    return np.concatenate([function(X[i : i + step].toarray()) for i in cuts])


def round_down_float32(v):
    """The greatest float32 at or below each threshold: float32 x compare the same."""
    out = v.astype(np.float32)
    return np.where(out > v, np.nextafter(out, np.float32(-np.inf)), out)


def resolve_missing_sides(learned, left, right, weight):
    """Whether missing values go left: as learned, else to the heavier side."""
    heavier = weight[left] > weight[right]
    return (left != LEAF) & np.where(learned == UNASKED, heavier, learned == 1)


def is_sound_tree(tree) -> bool:
    """Whether the arrays of a loaded tree are those of one tree."""
    left, right = tree.children_left, tree.children_right
    splits = tree.feature[left != LEAF]
    return bool((splits >= 0).all()) and are_binary_trees(left, right)


@saved_state(
    children_left=IntArray("nodes", low=-1, below="nodes", dtype=np.int64),
    children_right=IntArray("nodes", low=-1, below="nodes", dtype=np.int64),
    feature=IntArray("nodes", below="n_features", dtype=np.int64),
    threshold=FloatArray("nodes"),
    impurity=FloatArray("nodes"),
    n_node_samples=NumberArray("nodes"),
    weighted_n_node_samples=FloatArray("nodes"),
    value=NumberArray("nodes", None, None),
    missing_go_to_left=NumberArray("nodes"),
    n_features=Whole(low=1),
    sets=IntArray("nodes", 4, dtype=np.uint64, optional=True),
    check=is_sound_tree,
)
class Tree(BinaryTreeArrays):
    """A grown tree.

    It has the attributes and methods of scikit-learn's low-level tree and, unless it
    splits by set, is an instance of it for tools that ask (shap does).
    """

    @property
    def __class__(self):
        module = sys.modules.get("sklearn.tree._tree")
        return type(self) if module is None or self.splits_by_set else module.Tree

    def __reduce__(self):  # by the type that it has, without what can be computed again
        return type(self), tuple(self)

    def __str__(self):
        text = f"a tree of {self.node_count} nodes, {self.n_leaves} of them leaves"
        if not self.splits_by_set:
            return text
        return (
            f"{text}, that splits by set: use pansophy.tree.shap_values to explain it"
        )

    @property
    def splits_by_set(self) -> bool:
        """Whether some node sends a set of codes left."""
        return self.sets is not None and bool(self.sets.any())

    @property
    def node_count(self) -> int:
        return len(self.children_left)

    @property
    def capacity(self) -> int:
        return self.node_count

    @property
    def n_leaves(self) -> int:
        return int(np.sum(self.children_left == LEAF))

    @property
    def n_outputs(self) -> int:
        return self.value.shape[1]

    @property
    def max_n_classes(self) -> int:
        return self.value.shape[2]

    @property
    def n_classes(self):
        """(outputs,) number of classes, 1 for numbers. Drawing tools ask for it."""
        if self.splits_by_set:
            raise TypeError(
                "this tree splits by sets of levels or angles, which scikit-learn's "
                "functions cannot show: use pansophy.tree.export_text, export_graphviz "
                "or export_svg."
            )
        k = self.value.shape[2]
        if self.n_outputs == 1 or k == 1:
            return np.full(self.n_outputs, k)
        # every class of an output has a share of the root
        return np.array([np.flatnonzero(share).max() + 1 for share in self.value[0]])

    @property
    def max_depth(self) -> int:
        return int(self.places[0].max())

    @cached_property
    def places(self):
        """Depth and parent of every node."""
        from . import _tree as loops

        depth = np.empty(self.node_count, np.int64)
        parent = np.empty(self.node_count, np.int64)
        loops.node_depths(self.children_left, self.children_right, depth, parent)
        return depth, parent

    @cached_property
    def packed(self) -> PredictionArrays:
        """Compact arrays for prediction."""
        leaf = self.children_left == LEAF
        own = np.arange(self.node_count)
        sides = (self.children_right, self.children_left)
        child = np.stack([np.where(leaf, own, c) for c in sides], axis=1)
        return PredictionArrays(
            np.where(leaf, 0, self.feature).astype(np.uint32),
            round_down_float32(self.threshold),
            np.ascontiguousarray(child, np.uint32),
            self.missing_go_to_left.astype(np.uint32),
            self.sets if self.sets is not None and self.sets.any() else None,
        )

    def apply(self, X):
        """The leaf of each row of X (float32 or CSR, NaN for missing)."""
        from . import _tree as loops

        if sp.issparse(X):
            return map_dense_blocks(X, self.apply)
        n = X.shape[0]
        out = np.empty(n, np.int64)
        p = self.packed
        loop = loops.leaf_of_rows if p.sets is None else loops.leaf_of_rows_by_set
        p = p[:-1] if p.sets is None else p
        if n <= BLOCK:
            loop(X, *p, 0, n, out)
            return out
        cut = lambda i: loop(X, *p, i, min(i + BLOCK, n), out)
        for _ in threads.run_tasks((lambda i=i: cut(i)) for i in range(0, n, BLOCK)):
            pass
        return out

    def spread(self, X, value):
        """Rows of `value` (nodes, ...) by row of X; missing values go both ways."""
        from . import _tree as loops

        out = value[self.apply(X)]
        gone = np.flatnonzero(np.isnan(X).any(axis=1))
        if len(gone):
            flat = np.ascontiguousarray(value.reshape(len(value), -1), float)
            mixed = np.zeros((len(gone), flat.shape[1]))
            p = self.packed
            sets = np.empty((0, 4), np.uint64) if p.sets is None else p.sets
            weight = self.weighted_n_node_samples
            loops.add_split_rows(
                X[gone], *p[:-1], sets, weight, flat, self.max_depth, mixed
            )
            out[gone] = mixed.reshape(len(gone), *value.shape[1:])
        return out

    def predict(self, X):
        """Values of the leaves that the rows fall into."""
        return self.value[self.apply(X)]

    def compute_partial_dependence(self, X, target_features, out):
        """Add to `out` the mean prediction where some columns are held at rows of X.

        Parameters
        ----------
        X : array of shape (n, k)
            Values (or codes) of the columns held fixed.
        target_features : array of shape (k,)
            Their numbers.
        out : array of shape (n,)
            Eq. (1) of the first output is added to it.
        """
        rows = np.full((len(X), self.n_features), np.nan, np.float32)
        rows[:, target_features] = X
        out += self.spread(rows, self.value[:, 0, 0])

    def decision_path(self, X):
        """(n, nodes) CSR matrix of ones where a row passes a node."""
        from . import _tree as loops

        leaf = self.apply(X)
        depth, parent = self.places
        indptr = np.zeros(len(leaf) + 1, np.int64)
        indices = np.empty(int(depth[leaf].sum() + len(leaf)), np.int64)
        loops.node_paths(leaf, parent, depth, indptr, indices)
        ones = np.ones(len(indices), np.int64)
        return sp.csr_matrix((ones, indices, indptr), (len(leaf), self.node_count))

    def compute_feature_importances(self, normalize=True):
        """Fall of the summed impurity at the splits of each feature."""
        total = self.weighted_n_node_samples * self.impurity
        inner = np.flatnonzero(self.children_left != LEAF)
        fall = total[inner] - total[self.children_left[inner]]
        fall -= total[self.children_right[inner]]
        out = np.bincount(self.feature[inner], fall, minlength=self.n_features)
        out = out / self.weighted_n_node_samples[0]
        return out / out.sum() if normalize and out.sum() > 0 else out

"""Many trees end to end: what a booster keeps of its rounds.

A tree is a slice of every array, its children numbered within the slice. `forest` is
the packed form that predictions walk, made when it is first asked for.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..tree.packed import Forest, pack
from ..tree.structure import Tree


class TreeArrays(NamedTuple):
    """The arrays of trees, one tree after the other."""

    start: np.ndarray  # (T + 1,) first node of each tree
    children_left: np.ndarray
    children_right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    impurity: np.ndarray
    n_node_samples: np.ndarray
    weighted_n_node_samples: np.ndarray
    value: np.ndarray  # (nodes,)
    missing_go_to_left: np.ndarray
    n_features: int
    sets: np.ndarray | None = None  # (nodes, 4)


class BoostedTrees(TreeArrays):
    """Trees end to end."""

    @property
    def total(self) -> int:
        """How many trees there are."""
        return len(self.start) - 1

    def tree(self, t) -> Tree:
        """Tree t by itself."""
        cut = slice(self.start[t], self.start[t + 1])
        part = lambda a: a[cut].astype(tree_dtype(a))
        return Tree(
            part(self.children_left),
            part(self.children_right),
            part(self.feature),
            part(self.threshold),
            part(self.impurity),
            part(self.n_node_samples),
            part(self.weighted_n_node_samples),
            part(self.value)[:, None, None],
            part(self.missing_go_to_left),
            self.n_features,
            None if self.sets is None else self.sets[cut],
        )

    def all(self) -> list[Tree]:
        """Every tree."""
        return [self.tree(t) for t in range(self.total)]

    @cached_property
    def forest(self) -> Forest | None:
        """Packed for prediction; None if there is no tree."""
        return pack(self.all()) if self.total else None

    def gains(self):
        """Fall of the impurity at the splits of each feature, over all trees."""
        parts = [t.compute_feature_importances(normalize=False) for t in self.all()]
        return np.sum(parts, axis=0) if parts else np.zeros(self.n_features)


def tree_dtype(a):
    """The type that `Tree` has for an array of this kind."""
    return {"i": np.int64, "f": np.float64}.get(a.dtype.kind, a.dtype)


def concatenate_trees(trees, n_features) -> BoostedTrees:
    """Trees put end to end."""
    trees = list(trees)
    start = np.concatenate(([0], np.cumsum([t.node_count for t in trees], dtype=int)))

    def joined(name, kind):
        parts = [getattr(t, name) for t in trees]
        return np.concatenate(parts).astype(kind) if parts else np.empty(0, kind)

    sets = None
    if any(t.sets is not None for t in trees):
        blank = lambda t: np.zeros((t.node_count, 4), np.uint64)
        sets = np.concatenate([blank(t) if t.sets is None else t.sets for t in trees])
    return BoostedTrees(
        start,
        joined("children_left", np.int32),
        joined("children_right", np.int32),
        joined("feature", np.int32),
        joined("threshold", np.float64),
        joined("impurity", np.float64),
        joined("n_node_samples", np.int32),
        joined("weighted_n_node_samples", np.float64),
        joined("value", np.float64).reshape(-1),
        joined("missing_go_to_left", bool),
        int(n_features),
        sets,
    )

"""Growth curve: training and held-out score of a tree at every size of its growth.

A tree grown best first always splits the leaf whose split gains most. Splits do not
depend on the order in which they are made, so one fully grown tree holds all the
smaller ones: starting from the root, the inner node of greatest gain among the leaves
so far is opened next. Opening node t changes the cost by

    sum of c(children of t) - c(t)                                              (1)

c being the cost of a node as a leaf (`tree/pruning/held_out_cost.py`), on training rows
and on held-out rows alike. So the whole curve costs one fit, two passes over the rows
and a heap.

A split's children answer their own majority, so training accuracy never falls; nor
does R^2 where leaves hold means. Held-out accuracy rises, peaks and falls.

Refs      [Mitchell1997] section 3.7
"""

import heapq
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ..tree.multiway_tree import MultiwayTree
from ..tree.pruning import held_out_cost


class GrowthCurve(NamedTuple):
    """Scores by size of the tree, from the root alone to the full tree."""

    leaves: np.ndarray
    nodes: np.ndarray
    train: np.ndarray
    validation: np.ndarray
    order: np.ndarray  # the inner nodes in the order in which they are opened
    score: str  # "accuracy" or "R2", as the model's `score`

    @property
    def peak(self) -> int:
        """Place of the best held-out score; of equals the smallest tree."""
        return int(np.argmax(self.validation >= self.validation.max() - 1e-12))

    @property
    def best_leaves(self) -> int:
        """Leaves at the peak: a good `max_leaf_nodes`."""
        return int(self.leaves[self.peak])


def growth_curve(model, X, y, X_val, y_val, *, sample_weight=None) -> GrowthCurve:
    """Training and held-out score of a tree at every size of its best-first growth.

    Parameters
    ----------
    model : DecisionTreeClassifier, DecisionTreeRegressor or ID3Classifier
        Fitted or not; a copy is grown with its parameters but without
        `max_leaf_nodes`.
    X, y : training rows and targets
    X_val, y_val : held-out rows and targets
    sample_weight : array of shape (n,), default=None
        Weights of the training rows.

    Returns
    -------
    GrowthCurve

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pansophy.teaching import growth_curve
    >>> from pansophy.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = growth_curve(
    ...     DecisionTreeClassifier(), X[::2], y[::2], X[1::2], y[1::2]
    ... )
    >>> curve.leaves[:4], curve.train[:3].round(2), curve.best_leaves
    (array([1, 2, 3, 4]), array([0.33, 0.67, 0.97]), 4)
    """
    full = clone(model)
    if "max_leaf_nodes" in full.get_params():
        full.set_params(max_leaf_nodes=None)
    full.fit(X, y, sample_weight=sample_weight)
    tree = held_out_cost.single_path_tree(full)
    order, fewer = _best_first_order(tree)
    leaves = 1 + np.cumsum(
        np.concatenate(([0], fewer)) - (np.arange(len(order) + 1) > 0)
    )
    nodes = 1 + np.concatenate(([0], np.cumsum(fewer)))
    train = _scores_by_size(full, order, X, y, sample_weight)
    validation = _scores_by_size(full, order, X_val, y_val, None)
    name = "accuracy" if hasattr(full, "classes_") else "R2"
    return GrowthCurve(leaves, nodes, train, validation, order, name)


def _children_function(tree):
    """Function from a node to its children."""
    if isinstance(tree, MultiwayTree):
        return lambda v: tree.children(v).tolist()
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    return lambda v: [left[v], right[v]]


def _best_first_order(tree):
    """Inner nodes in the order of best-first growth, and how many children each has."""
    parent, _ = held_out_cost.node_parents(tree)
    total = tree.weighted_n_node_samples * tree.impurity
    children_total = (
        np.bincount(parent[1:], total[1:], len(total)) if len(total) > 1 else total
    )
    gain, leaf = (
        (total - children_total).tolist(),
        held_out_cost.leaf_mask(tree).tolist(),
    )
    children = _children_function(tree)
    order = []
    fewer = []
    heap = [] if leaf[0] else [(-gain[0], 0)]
    while heap:
        v = heapq.heappop(heap)[1]
        kids = children(v)
        order.append(v)
        fewer.append(len(kids))
        for c in kids:
            if not leaf[c]:
                heapq.heappush(heap, (-gain[c], c))
    return np.array(order, int), np.array(fewer, int)


def _scores_by_size(model, order, X, y, sample_weight):
    """Score after each opening, by eq. (1)."""
    node_costs, split_costs, total = held_out_cost.held_out_costs(
        model, X, y, sample_weight
    )
    tree = model.tree_
    parent, _ = held_out_cost.node_parents(tree)
    change = np.where(held_out_cost.leaf_mask(tree), 0.0, split_costs) - node_costs
    np.add.at(change, parent[1:], node_costs[1:])
    cost = node_costs[0] + np.concatenate(([0.0], np.cumsum(change[order])))
    return 1.0 - np.maximum(cost, 0.0) / total

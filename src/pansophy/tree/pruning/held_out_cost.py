"""Held-out cost of every node of a tree, for reduced-error pruning and growth curves.

If a node were a leaf it would answer its value to all rows that pass it. Its cost is
then the weight of the rows it gets wrong, the sum of their squared errors, or for
angles that of 1 - cos(error). Squared errors of several outputs are divided by the
spread of each. So the summed cost of the leaves, divided by a total that no tree
changes, is 1 - accuracy or 1 - R^2, as `score` counts them.

The cost of every node comes from sums at the leaves, added up the tree: O(n) for the
rows and O(nodes) for the rest.
"""

import numpy as np

from ...core.arrays.weighted import check_sample_weight
from ..explanation.tree_view import fitted_tree, node_parents, rows_as_codes
from ..multiway_tree import MultiwayTree
from ..storage.tree import LEAF


def leaf_mask(tree):
    """Mask of the leaves."""
    if isinstance(tree, MultiwayTree):
        return tree.is_leaf
    return tree.children_left == LEAF


def single_path_tree(model):
    """The tree of a model whose rows each end at one node."""
    tree = fitted_tree(model)
    if isinstance(tree, MultiwayTree) and not hasattr(model, "apply"):
        raise TypeError(
            f"{type(model).__name__} sends parts of rows to several leaves; it prunes "
            "by its own `confidence`."
        )
    return tree


def held_out_costs(model, X, y, sample_weight=None):
    """Cost of each node as a leaf, and of the rows that stop there; the total weight.

    Returns
    -------
    alone : array of shape (nodes,)
        Cost over all rows that pass a node.
    here : array of shape (nodes,)
        Cost over the rows that stop at it (all of them, at a leaf).
    total : float
        Such that the score is 1 - (sum of the leaves' cost) / total.
    """
    tree = single_path_tree(model)
    codes = rows_as_codes(model, X)
    y = np.asarray(y)
    Y = y[:, None] if y.ndim == 1 else y
    if len(Y) != len(codes):
        raise ValueError(f"X has {len(codes)} rows, but y has {len(Y)} entries.")
    w = check_sample_weight(sample_weight, len(Y))
    w = np.ones(len(Y)) if w is None else w
    if getattr(model, "missing", "default") == "both" and np.isnan(codes).any():
        raise TypeError(
            "a row with missing='both' ends at several leaves: none counts."
        )
    stop = tree.apply(codes)
    if hasattr(model, "classes_"):
        return *misclassification_costs(model, tree, stop, Y, w), float(w.sum())
    Y = np.asarray(Y, float)
    if hasattr(model, "period"):
        return angular_error_costs(tree, stop, Y[:, 0] / model.period, w, model.period)
    return *squared_error_costs(tree, stop, Y, w), 1.0


def misclassification_costs(model, tree, stop, Y, w):
    """Weight of the rows with some wrong class."""
    classes = model.classes_ if isinstance(model.classes_, list) else [model.classes_]
    best = tree.value.argmax(axis=2)
    label, back = label_row_codes(Y, classes)
    answer = np.stack([c[b] for c, b in zip(classes, best.T)], axis=1)
    predicted, _ = label_row_codes(answer, classes, back)
    n = tree.node_count
    K = len(back) + 1
    mass = np.bincount(stop * K + label, w, n * K).reshape(n, K)
    alone = lambda m: m.sum(axis=1) - m[np.arange(n), predicted]
    return alone(sums_of_subtrees(tree, mass)), alone(mass)


def label_row_codes(Y, classes, known=None):
    """Rows of labels as numbers, the last standing for all that are unknown."""
    codes = np.zeros(len(Y), np.int64)
    for column, c in zip(Y.T, classes):
        at = np.searchsorted(c, column).clip(max=len(c) - 1)
        result = np.where(c[at] == column, at, len(c))
        codes = codes * (len(c) + 1) + result
    if known is None:
        known, index = np.unique(codes, return_inverse=True)
        return index, known
    at = np.searchsorted(known, codes).clip(max=len(known) - 1)
    return np.where(known[at] == codes, at, len(known)), known


def squared_error_costs(tree, stop, Y, w):
    """Squared errors, summed over outputs in units of their spread."""
    centre = np.average(Y, axis=0, weights=w)
    Z, V = Y - centre, tree.value[:, :, 0] - centre
    spread = w @ (Z * Z)
    unit = 1.0 / np.where(spread > 0, spread, 1.0) / Y.shape[1]
    n = tree.node_count
    add = lambda v: np.bincount(stop, v, n)
    W = add(w)[:, None]
    S = np.stack([add(w * z) for z in Z.T], axis=1)
    Q = np.stack([add(w * z * z) for z in Z.T], axis=1)
    cost = lambda W, S, Q: np.maximum(Q - 2 * V * S + V * V * W, 0.0) @ unit
    return cost(*(sums_of_subtrees(tree, a) for a in (W, S, Q))), cost(W, S, Q)


def angular_error_costs(tree, stop, turns, w, period):
    """1 - cos of the errors of angles, given in turns."""
    both = lambda t: np.stack([np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)], axis=1)
    rows = np.concatenate([np.ones((len(w), 1)), both(turns)], axis=1) * w[:, None]
    sums = np.stack([np.bincount(stop, v, tree.node_count) for v in rows.T], axis=1)
    u = both(tree.value[:, 0, 0] / period)
    cost = lambda s: np.maximum(s[:, 0] - np.sum(u * s[:, 1:], axis=1), 0.0)
    whole = sums.sum(axis=0)
    total = float(whole[0] - np.hypot(*whole[1:]))
    return cost(sums_of_subtrees(tree, sums)), cost(sums), total if total > 0 else 1.0


def sums_of_subtrees(tree, sums):
    """Sums over the rows that pass a node from those over the rows that stop there."""
    parent, depth = node_parents(tree)
    out = sums.copy()
    order = np.argsort(depth, kind="stable")
    cuts = np.searchsorted(depth[order], np.arange(1, depth.max() + 2))
    for a, b in zip(cuts[-2::-1], cuts[:0:-1]):
        level = order[a:b]
        np.add.at(out, parent[level], out[level])
    return out

"""Sums of trees as ONNX nodes.

Our trees compare float32 values with float32 thresholds, so X is rounded to float32
first and then compared in double precision, which decides every split alike. A tree
with K values in each leaf becomes K trees with one value each: the operator has one
number a leaf.
"""

from typing import NamedTuple

import numpy as np

from ..tree.storage.additive_trees import as_additive_trees
from ..tree.storage.tree import LEAF, round_down_float32
from .onnx_graph import ExportError

AT_MOST = 0  # the mode "x <= threshold" of a node


class _Nodes(NamedTuple):
    """Attributes of the operator, filled tree after tree."""

    features: list
    splits: list
    missing: list
    left: list
    left_is_leaf: list
    right: list
    right_is_leaf: list
    targets: list
    weights: list
    roots: list


def tree_sum(graph, model, x) -> str:
    """offset + the sum of the trees of a fitted model: (n, outputs)."""
    trees = as_additive_trees(model)
    encoder = getattr(model, "inputs_", None)
    if encoder is not None and not encoder.plain:
        raise ExportError(
            f"{type(model).__name__} splits columns of categories or angles by sets of "
            "codes, which ONNX's trees do not have."
        )
    if any(tree.splits_by_set for tree in trees.trees):
        raise ExportError(f"{type(model).__name__} splits by sets of codes.")
    nodes = _Nodes(*([] for _ in _Nodes._fields))
    for tree, value, first in zip(trees.trees, trees.values, trees.first):
        for k in range(value.shape[1]):
            if np.any(value[:, k]):
                _add_tree(nodes, tree, value[:, k], first + k)
    rounded = graph.cast(graph.cast(x, "float"), "double")
    total = _tree_node(graph, nodes, rounded, len(trees.offset))
    return graph.add(total, trees.offset[None])


def _add_tree(nodes, tree, value, target) -> None:
    """One tree with one number a leaf."""
    left, right = tree.children_left, tree.children_right
    inner = np.flatnonzero(left != LEAF)
    leaves = np.flatnonzero(left == LEAF)
    leaf_at = {int(n): len(nodes.targets) + i for i, n in enumerate(leaves)}
    nodes.targets.extend([target] * len(leaves))
    nodes.weights.extend(value[leaves].tolist())
    nodes.roots.append(len(nodes.features))
    if not len(inner):  # both sides of a made-up split are the one leaf
        _add_node(nodes, 0, 0.0, False, (leaf_at[0], 1), (leaf_at[0], 1))
        return
    node_at = {int(n): len(nodes.features) + i for i, n in enumerate(inner)}
    child = lambda n: (leaf_at[n], 1) if n in leaf_at else (node_at[n], 0)
    thresholds = round_down_float32(tree.threshold)
    for n in inner:
        _add_node(
            nodes,
            int(tree.feature[n]),
            float(thresholds[n]),
            bool(tree.missing_go_to_left[n]),
            child(int(left[n])),
            child(int(right[n])),
        )


def _add_node(nodes, feature, split, missing_left, left, right) -> None:
    nodes.features.append(feature)
    nodes.splits.append(split)
    nodes.missing.append(int(missing_left))
    nodes.left.append(left[0])
    nodes.left_is_leaf.append(left[1])
    nodes.right.append(right[0])
    nodes.right_is_leaf.append(right[1])


def _tree_node(graph, nodes, x, n_targets) -> str:
    """The operator TreeEnsemble over all trees."""
    from onnx import numpy_helper

    if not nodes.roots:  # every leaf is zero
        zeros = np.zeros((1, n_targets))
        return graph.multiply(graph.columns(x, [0]), zeros)
    tensor = lambda values, dtype: numpy_helper.from_array(np.asarray(values, dtype))
    return graph.node(
        "TreeEnsemble",
        x,
        domain="ai.onnx.ml",
        n_targets=n_targets,
        aggregate_function=1,  # the sum
        post_transform=0,
        tree_roots=nodes.roots,
        nodes_featureids=nodes.features,
        nodes_splits=tensor(nodes.splits, np.float64),
        nodes_modes=tensor([AT_MOST] * len(nodes.features), np.uint8),
        nodes_missing_value_tracks_true=nodes.missing,
        nodes_truenodeids=nodes.left,
        nodes_trueleafs=nodes.left_is_leaf,
        nodes_falsenodeids=nodes.right,
        nodes_falseleafs=nodes.right_is_leaf,
        leaf_targetids=nodes.targets,
        leaf_weights=tensor(nodes.weights, np.float64),
    )

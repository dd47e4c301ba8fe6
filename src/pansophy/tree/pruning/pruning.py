"""Pruning: cost-complexity pruning, and reduced-error pruning on held-out rows.

*Cost-complexity.* For a price alpha the cost of a subtree is R(T) + alpha
|leaves(T)|, R being the leaves' impurity weighted by their share of the rows. Turning
node t into a leaf pays once alpha reaches

    g(t) = (R(t) - R(T_t)) / (|leaves(T_t)| - 1)                                (1)

so the subtrees that are best for some alpha are found by turning the node of least
g into a leaf, again and again. Each such step changes only the ancestors' sums; a
tournament over the nodes finds the least g in O(depth log nodes) a step.

*Reduced error.* On held-out rows every node has a cost c(t) as a leaf
(`held_out_cost.py`). The subtree of least cost below t costs

    C(t) = min(c(t), sum of C over the children of t)                           (2)

and t becomes a leaf wherever the first is no larger. One pass from the leaves up finds
the smallest of all subtrees of least cost; so held-out cost never rises, and pruning
again on the same rows changes nothing.

Refs      [Breiman1984] chapter 3; [Quinlan1987] reduced error; [Elomaa2001] eq. (2)
"""

import copy

import numpy as np

from .. import multiway_tree
from ..multiway_tree import MultiwayTree, nodes_cheaper_as_leaves
from ..storage.tree import LEAF, Tree


def weakest_link_steps(tree: Tree, alpha=np.inf):
    """Nodes cut while g <= alpha, with g and R(T) at each step; R(T) at the start."""
    from . import _pruning as loops

    risk = tree.weighted_n_node_samples * tree.impurity
    risk = risk / tree.weighted_n_node_samples[0]
    depth, parent = tree.places
    by_depth = np.argsort(-depth, kind="stable")
    return loops.cut_weakest_links(
        tree.children_left, tree.children_right, parent, by_depth, risk, float(alpha)
    )


def cost_complexity_path(tree: Tree):
    """Effective alphas and total leaf impurities of the sequence of subtrees."""
    _, g, total, start = weakest_link_steps(tree)
    return np.concatenate(([0.0], g)), np.concatenate(([start], total))


def prune_cost_complexity(tree: Tree, alpha) -> Tree:
    """The subtree that is best for the price alpha, its left branches first."""
    cuts = weakest_link_steps(tree, alpha)[0]
    return collapse_nodes(tree, cuts)


def collapse_nodes(tree: Tree, nodes) -> Tree:
    """The tree with some nodes turned into leaves."""
    from ..storage._tree import preorder_nodes

    leaf = tree.children_left == LEAF
    leaf[nodes] = True
    order = np.empty(tree.node_count, np.int64)
    left, right = (
        np.where(leaf, LEAF, c) for c in (tree.children_left, tree.children_right)
    )
    order = order[: preorder_nodes(left, right, order)]
    new = np.full(tree.node_count + 1, LEAF)
    new[order] = np.arange(len(order))
    fields = tree._asdict().items()
    kept = {name: a[order] for name, a in fields if isinstance(a, np.ndarray)}
    arrays = tree._replace(**kept)
    leaf = leaf[order]
    return arrays._replace(
        children_left=new[left[order]],
        children_right=new[right[order]],
        feature=np.where(leaf, -2, arrays.feature),
        threshold=np.where(leaf, -2.0, arrays.threshold),
        missing_go_to_left=arrays.missing_go_to_left & ~leaf,
        sets=None if arrays.sets is None else np.where(leaf[:, None], 0, arrays.sets),
    )


def prune_reduced_error(model, X_val, y_val, sample_weight=None):
    """A copy of a fitted tree, pruned where that does not cost held-out score.

    Parameters
    ----------
    model : fitted DecisionTreeClassifier, DecisionTreeRegressor or ID3Classifier
    X_val, y_val : held-out rows and their targets
    sample_weight : array of shape (n,), default=None

    Returns
    -------
    fitted model
        Its score on the held-out rows (accuracy, or R^2) is at least the model's,
        and no smaller subtree has a higher one. `model` stays as it is.

    Examples
    --------
    >>> from pansophy.tree import DecisionTreeClassifier, prune_reduced_error
    >>> X, y = [[1], [2], [3], [4], [5], [6]], [0, 0, 1, 0, 1, 1]
    >>> model = DecisionTreeClassifier().fit(X, y)
    >>> small = prune_reduced_error(model, [[1], [3], [6]], [0, 0, 1])
    >>> model.get_n_leaves(), small.get_n_leaves()
    (4, 3)
    """
    from . import held_out_cost

    tree = held_out_cost.single_path_tree(model)
    alone, here, _ = held_out_cost.held_out_costs(model, X_val, y_val, sample_weight)
    parent, depth = held_out_cost.node_parents(tree)
    cut = nodes_cheaper_as_leaves(
        parent, depth, held_out_cost.leaf_mask(tree), alone, here
    )
    out = copy.copy(model)
    if isinstance(tree, MultiwayTree):
        out.tree_ = multiway_tree.collapse_multiway_nodes(tree, cut)
    else:
        out.tree_ = collapse_nodes(tree, np.flatnonzero(cut))
    return out

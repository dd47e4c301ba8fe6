"""Cost-complexity pruning: the best subtree for each price of a leaf.

For a price alpha the cost of a subtree is R(T) + alpha |leaves(T)|, R being the
leaves' impurity weighted by their share of the rows. Turning node t into a leaf pays
once alpha reaches

    g(t) = (R(t) - R(T_t)) / (|leaves(T_t)| - 1)                                (1)

so the subtrees that are best for some alpha are found by turning the node of least
g into a leaf, again and again. Each such step changes only the ancestors' sums; a
tournament over the nodes finds the least g in O(depth log nodes) a step.

Refs      [Breiman1984] chapter 3
"""

import numpy as np

from .structure import LEAF, Tree


def steps(tree: Tree, alpha=np.inf):
    """Nodes cut while g <= alpha, with g and R(T) at each step; R(T) at the start."""
    from . import _prune as loops

    risk = tree.weighted_n_node_samples * tree.impurity
    risk = risk / tree.weighted_n_node_samples[0]
    depth, parent = tree.places
    by_depth = np.argsort(-depth, kind="stable")
    return loops.weakest(
        tree.children_left, tree.children_right, parent, by_depth, risk, float(alpha)
    )


def path(tree: Tree):
    """Effective alphas and total leaf impurities of the sequence of subtrees."""
    _, g, total, start = steps(tree)
    return np.concatenate(([0.0], g)), np.concatenate(([start], total))


def cut(tree: Tree, alpha) -> Tree:
    """The subtree that is best for the price alpha, its left branches first."""
    cuts = steps(tree, alpha)[0]
    return without(tree, cuts)


def without(tree: Tree, nodes) -> Tree:
    """The tree with some nodes turned into leaves."""
    from ._frontier import preorder

    leaf = tree.children_left == LEAF
    leaf[nodes] = True
    order = np.empty(tree.node_count, np.int64)
    left, right = (
        np.where(leaf, LEAF, c) for c in (tree.children_left, tree.children_right)
    )
    order = order[: preorder(left, right, order)]
    new = np.full(tree.node_count + 1, LEAF)
    new[order] = np.arange(len(order))
    arrays = Tree(*(a[order] if isinstance(a, np.ndarray) else a for a in tree))
    leaf = leaf[order]
    return arrays._replace(
        children_left=new[left[order]],
        children_right=new[right[order]],
        feature=np.where(leaf, -2, arrays.feature),
        threshold=np.where(leaf, -2.0, arrays.threshold),
        missing_go_to_left=arrays.missing_go_to_left & ~leaf,
    )

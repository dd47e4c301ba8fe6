"""Multiway trees: one branch for each level of a column, as ID3 and C4.5 grow them.

A node of weight W has class weights with the entropy H, in bits. Asking column A parts
it into branches b, one per level (or two, at a threshold), of weights W_b and entropies
H_b; W_0 is the weight of the rows without a value, W_k that of the others. With H_k the
entropy of those others,

    gain   G(A) = W_k / W  (H_k - sum_b W_b / W_k H_b)                          (1)
    split information  S(A) = - sum_b W_b / W log2 (W_b / W),  W_0 included     (2)

G is the mutual information of column and class. It favours columns with many levels;
the gain ratio G / S does not, and is taken among the columns whose gain is at least
the average (of those with fewer levels than 0.3 n: a key of the rows tells nothing). A
row without a value goes down every branch as a part of a row,

    share of branch b = W_b / W_k                                               (3)

(parts below a thousandth are dropped). A threshold has been chosen from t places; its
gain is lowered by log2(t) / W, the cost of naming the place.

Pessimistic pruning, from the leaves up: of N rows at a leaf E are wrong; the true rate
may be as high as the p with P(at most E errors of N | p) = confidence,

    N p,   I_p(E + 1, N - E) = 1 - confidence  (I: incomplete beta function)    (4)

and a subtree whose leaves together promise no fewer errors than its root would as a
leaf becomes that leaf. The limit is exact; Quinlan's program interpolates it.

Rows are counted by weight everywhere, so that a weight of k is k copies of a row.
Time O(n d) per level of the tree for levels, O(n d log n) for thresholds.

Shapes    X (n, d) float32 codes or numbers   y (n,) codes   counts (nodes, K)
Refs      [Quinlan1986] ID3; [Quinlan1993] C4.5; [Quinlan1996] cost of a threshold
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from ..persist.saved_state import FloatArray, IntArray, Whole, saved_state
from .growing.criteria import entropy
from .storage.tree import Tree

LEAF = -1


class MultiwayArrays(NamedTuple):
    """The arrays of a multiway tree; children have higher numbers than parents."""

    # (nodes, 6): parent, level, depth, feature, first child, number of children
    nodes: np.ndarray
    threshold: np.ndarray  # NaN where the split is by level
    counts: np.ndarray  # (nodes, K) class weights
    n_features: int


def is_sound_multiway_tree(tree) -> bool:
    """Whether each node of a loaded tree but the root is the child of one before it."""
    parent, _, depth, feature, first, count = tree.nodes.T
    inner = np.flatnonzero(count)
    n = len(tree.nodes)
    known = (feature[inner] >= 0) & (first[inner] > inner) & (count[inner] > 0)
    binary = np.isnan(tree.threshold[inner]) | (count[inner] == 2)
    if n == 0 or not (known & binary & (first[inner] + count[inner] <= n)).all():
        return False
    order = np.argsort(first[inner], kind="stable")
    ends = 1 + np.cumsum(count[inner][order])
    if not np.array_equal(first[inner][order], np.append(1, ends[:-1])[: len(inner)]):
        return False
    inside = (parent < n) & (depth >= 0) & (depth < n) & (feature < tree.n_features)
    return bool(inside.all()) and (ends[-1] if len(inner) else 1) == n


@saved_state(
    nodes=IntArray("rows", 6, low=-1, dtype=np.int64),
    threshold=FloatArray("rows"),
    counts=FloatArray("rows", None, low=0),
    n_features=Whole(low=1),
    check=is_sound_multiway_tree,
)
class MultiwayTree(MultiwayArrays):
    """A grown multiway tree."""

    @property
    def node_count(self) -> int:
        return len(self.nodes)

    @property
    def parent(self):
        return self.nodes[:, 0]

    @property
    def level(self):
        """By node: the code of the level that leads to it (or 0, 1: low, high)."""
        return self.nodes[:, 1]

    @property
    def depth(self):
        return self.nodes[:, 2]

    @property
    def feature(self):
        """By node: the column asked, -1 at leaves."""
        return self.nodes[:, 3]

    @property
    def is_leaf(self):
        return self.nodes[:, 5] == 0

    @property
    def n_leaves(self) -> int:
        return int(self.is_leaf.sum())

    @property
    def max_depth(self) -> int:
        return int(self.depth.max())

    @property
    def weighted_n_node_samples(self):
        return self.counts.sum(axis=1)

    @property
    def impurity(self):
        """Entropy in bits by node."""
        return entropy(self.counts)

    @property
    def value(self):
        """(nodes, 1, K) class shares."""
        return (self.counts / self.weighted_n_node_samples[:, None])[:, None, :]

    def children(self, node):
        """The numbers of a node's children."""
        first, m = self.nodes[node, 4], self.nodes[node, 5]
        return np.arange(first, first + m)

    def apply(self, X):
        """The node at which each row of X (float32 codes) stops."""
        from . import _multiway_tree as loops

        out = np.empty(len(X), np.int64)
        loops.stopping_nodes(X, self.nodes, self.threshold, out)
        return out

    def spread(self, X):
        """Class shares (n, K), rows without a value going down every branch."""
        from . import _multiway_tree as loops

        W = self.weighted_n_node_samples
        out = np.zeros((len(X), self.counts.shape[1]))
        loops.add_fractional_rows(
            X, self.nodes, self.threshold, W, self.value[:, 0], out
        )
        return out

    def compute_feature_importances(self, normalize=True):
        """Weighted fall of entropy at the splits of each feature."""
        total = self.weighted_n_node_samples * self.impurity
        inner = np.flatnonzero(~self.is_leaf)
        below = np.bincount(self.parent[1:], total[1:], self.node_count)
        fall = (total - below)[inner]
        out = np.bincount(self.feature[inner], fall, minlength=self.n_features)
        out = np.maximum(out, 0.0) / self.weighted_n_node_samples[0]
        return out / out.sum() if normalize and out.sum() > 0 else out


def grow_multiway_tree(X, n_levels, y, w, K, **limits) -> MultiwayTree:
    """Grow a tree on codes X; n_levels is 0 for a column of numbers."""
    from . import _multiway_tree as loops

    columns = np.ascontiguousarray(X.T, np.float32)
    k, y = np.asarray(n_levels, np.int64), np.asarray(y, np.int64)
    w = np.ones(len(y)) if w is None else np.asarray(w, np.float64)
    defaults = {
        "max_depth": 2**31,
        "min_split": 2.0,
        "least": 0.0,  # weight that at least two branches must have
        "ratio": False,  # choose by gain ratio
        "eager": True,  # split impure nodes even where nothing gains
    }
    options = {**defaults, **limits}
    nodes, threshold, counts = loops.grow_multiway_nodes(
        columns, k, y, w, K, *options.values()
    )
    return MultiwayTree(nodes, threshold[:, 0], counts, len(k))


def as_binary_tree(tree: MultiwayTree) -> Tree:
    """A binary tree with equal answers: one level, or the others.

    The last of the others is a leaf of no weight, for levels that a node never saw: it
    answers as the node does. Missing values go there too.
    """
    inner = np.flatnonzero(~tree.is_leaf)
    by_level = np.isnan(tree.threshold[inner])
    m = 1 + 2 * int(np.where(by_level, tree.nodes[inner, 5], 1).sum())
    left = np.full(m, LEAF)
    right = np.full(m, LEAF)
    feature = np.full(m, -2)
    threshold = np.full(m, -2.0)
    sets = np.zeros((m, 4), np.uint64)
    source, weight = np.zeros(m, np.int64), np.zeros(m)
    W = tree.weighted_n_node_samples
    place = {0: 0}
    used = 1
    weight[0] = W[0]
    for v, levels in zip(inner.tolist(), by_level):
        kids = tree.children(v).tolist()
        at = place[v]
        for c in kids if levels else kids[:1]:
            place[c], rest = used, weight[at] - W[c]
            left[at] = used
            right[at] = used + 1
            feature[at] = tree.feature[v]
            source[used] = c
            weight[used] = W[c]
            source[used + 1], weight[used + 1] = v, rest
            code = int(tree.level[c])
            if levels:
                threshold[at] = np.nan
                sets[at, code >> 6] = np.uint64(1) << np.uint64(code & 63)
            else:
                threshold[at] = tree.threshold[v]
                place[kids[1]] = used + 1
                source[used + 1], weight[used + 1] = kids[1], W[kids[1]]
            at, used = used + 1, used + 2
        if levels:
            weight[at] = 0.0
    return Tree(
        left,
        right,
        feature,
        threshold,
        tree.impurity[source],
        np.rint(weight),
        weight,
        tree.value[source],
        np.zeros(m, np.uint8),
        tree.n_features,
        sets,
    )


def collapse_multiway_nodes(tree: MultiwayTree, cut) -> MultiwayTree:
    """The tree with the nodes of the mask `cut` turned into leaves."""
    nodes = tree.nodes.copy()
    nodes[cut, 3] = LEAF
    nodes[cut, 4] = 0
    nodes[cut, 5] = 0
    keep = np.ones(len(nodes), bool)
    for v in range(1, len(nodes)):
        u = nodes[v, 0]
        keep[v] = keep[u] and nodes[u, 5] > 0
    new = np.append(np.cumsum(keep) - 1, -1)
    split = nodes[:, 5] > 0
    nodes[:, 0], nodes[:, 4] = new[nodes[:, 0]], np.where(split, new[nodes[:, 4]], 0)
    threshold = np.where(split, tree.threshold, np.nan)
    return tree._replace(
        nodes=nodes[keep], threshold=threshold[keep], counts=tree.counts[keep]
    )


def pessimistic_errors(errors, rows, confidence):
    """Upper limit of the errors among `rows`, eq. (4).

    >>> pessimistic_errors([0, 1], [6, 16], 0.25).round(3)
    array([1.238, 2.554])
    """
    E, N = np.asarray(errors, float), np.asarray(rows, float)
    right = N - E > 1e-9 * N
    rate = betaincinv(E + 1.0, np.where(right, N - E, 1.0), 1.0 - confidence)
    return N * np.where(right, rate, 1.0)


def prune_pessimistic(tree: MultiwayTree, confidence) -> MultiwayTree:
    """Turn subtrees into leaves where eq. (4) promises no more errors."""
    N = tree.weighted_n_node_samples
    alone = pessimistic_errors(N - tree.counts.max(axis=1), N, confidence)
    cut = nodes_cheaper_as_leaves(
        tree.parent, tree.depth, tree.is_leaf, alone, np.zeros(len(alone))
    )
    return collapse_multiway_nodes(tree, cut)


def nodes_cheaper_as_leaves(parent, depth, is_leaf, alone, here):
    """Nodes that cost no more as a leaf (`alone`) than their subtree does at its best.

    One pass from the deepest level up. `here` is the cost of the rows that stop at a
    node, which it keeps even if it is split.
    """
    best = np.where(is_leaf, alone, here)
    slack = 1e-12 * float(np.max(alone))
    order = np.argsort(depth, kind="stable")
    cuts = np.searchsorted(depth[order], np.arange(depth.max() + 2))
    cut = np.zeros(len(parent), bool)
    for a, b in zip(cuts[-2::-1], cuts[:0:-1]):
        level = order[a:b]
        cut[level] = ~is_leaf[level] & (alone[level] <= best[level] + slack)
        best[level] = np.where(cut[level], alone[level], best[level])
        if a:
            np.add.at(best, parent[level], best[level])
    return cut

"""Compiled prediction of one tree: the leaf of each row, paths and depths.

Thresholds are float32 rounded down, so that x <= threshold has the same answer as in
double precision for every float32 x. A leaf is its own child.
"""

import numpy as np

from ...core.loops.compiled import compiled


@compiled(inner=True)
def child_of_row(X, i, node, feature, threshold, child, missing):
    """The child of a node that row i goes to; a leaf's is itself."""
    x = X[i, feature[node]]
    left = np.uint32(x <= threshold[node]) | (np.uint32(x != x) & missing[node])
    return child[node, left]


@compiled
def leaf_of_rows(X, feature, threshold, child, missing, start, stop, out):
    """Leaf of each row start .. stop. child[node] is (right, left).

    Four rows go down together: while one waits for memory the others move.
    """
    for i in range(start, stop, 4):
        j = min(i + 1, stop - 1)
        k = min(i + 2, stop - 1)
        m = min(i + 3, stop - 1)
        a = b = c = d = np.uint32(0)
        while True:
            e = child_of_row(X, i, a, feature, threshold, child, missing)
            f = child_of_row(X, j, b, feature, threshold, child, missing)
            g = child_of_row(X, k, c, feature, threshold, child, missing)
            h = child_of_row(X, m, d, feature, threshold, child, missing)
            if a == e and b == f and c == g and d == h:
                break
            a = e
            b = f
            c = g
            d = h
        out[i], out[j], out[k], out[m] = a, b, c, d


@compiled
def goes_left_by_set(x, node, threshold, missing, sets):
    """Whether x goes left: 0, 1; by set where the node has one."""
    if x != x:
        return missing[node]
    if sets.size and (sets[node, 0] | sets[node, 1] | sets[node, 2] | sets[node, 3]):
        if not 0.0 <= x < 256.0:
            return missing[node]
        code = np.intp(x)
        return np.uint32((sets[node, code >> 6] >> np.uint64(code & 63)) & np.uint64(1))
    return np.uint32(x <= threshold[node])


@compiled
def leaf_of_rows_by_set(X, feature, threshold, child, missing, sets, start, stop, out):
    """Leaf of each row in a tree where some nodes split by set."""
    for i in range(start, stop):
        node = np.uint32(0)
        while child[node, 0] != node:
            left = goes_left_by_set(X[i, feature[node]], node, threshold, missing, sets)
            node = child[node, left]
        out[i] = node


@compiled
def add_split_rows(
    X, feature, threshold, child, missing, sets, weight, value, depth, out
):
    """Leaf values, eq. (1) of `tree.py`, added to out; a walk with a stack."""
    nodes = np.empty(depth + 2, np.uint32)
    shares = np.empty(depth + 2)
    for i in range(X.shape[0]):
        top = 1
        nodes[0], shares[0] = 0, 1.0
        while top:
            top -= 1
            node, share = nodes[top], shares[top]
            if child[node, 0] == node:
                for k in range(value.shape[1]):
                    out[i, k] += share * value[node, k]
                continue
            x = X[i, feature[node]]
            if x == x:
                left = goes_left_by_set(x, node, threshold, missing, sets)
                nodes[top] = child[node, left]
                shares[top] = share
                top += 1
                continue
            a, b = child[node, 0], child[node, 1]
            part = share / (weight[a] + weight[b])
            nodes[top] = a
            shares[top] = part * weight[a]
            nodes[top + 1] = b
            shares[top + 1] = part * weight[b]
            top += 2


@compiled
def node_paths(leaf, parent, depth, indptr, indices):
    """Nodes from the root to each leaf, as the columns of a CSR matrix."""
    for i in range(leaf.size):
        indptr[i + 1] = indptr[i] + depth[leaf[i]] + 1
        node = leaf[i]
        for k in range(indptr[i + 1] - 1, indptr[i] - 1, -1):
            indices[k] = node
            node = parent[node]


@compiled
def node_depths(left, right, depth, parent):
    """Depth and parent of every node; children may have any numbers above 0."""
    stack = np.empty(left.size + 1, np.int64)
    top = 1
    stack[0] = depth[0] = 0
    parent[0] = -1
    while top:
        top -= 1
        node = stack[top]
        if left[node] >= 0:
            for c in (left[node], right[node]):
                depth[c], parent[c] = depth[node] + 1, node
                stack[top] = c
                top += 1


@compiled
def preorder_nodes(left, right, order):
    """Old numbers of the nodes in the order root, left branch, right branch."""
    stack = np.empty(left.size + 1, np.int64)
    top, m = 1, 0
    stack[0] = 0
    while top:
        top -= 1
        node = stack[top]
        order[m] = node
        m += 1
        if left[node] >= 0:
            stack[top] = right[node]
            stack[top + 1] = left[node]
            top += 2
    return m

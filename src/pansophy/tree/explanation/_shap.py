"""Compiled path-dependent SHAP values; the equations are those of `shap.py`.

A tree is laid out in preorder, so that one pass over its nodes goes down every path
and a stack by depth holds what the path to the present node needs. The edge into a
node belongs to the feature that its parent tests. Columns of the node table:
"""

import numpy as np

from ...core.loops.compiled import FASTMATH, compiled

DEPTH, SIDE, EDGE, PREVIOUS, TEST, BY_SET, MISSING, POPS = range(8)
LANES = 16  # rows that are handled together
COLUMNS = 8  # PREVIOUS: depth of the last edge of the same feature, 0 if none
START, STOP, POINTS, FIRST, WIDTH, VALUES, DEEPEST, DISTINCT = range(8)


@compiled
def preorder_tree(left, right, feature, order, nodes):
    """One tree in preorder; its depth and the most features on one path.

    order[v] becomes the place of node v.
    """
    n = left.size
    stack = np.empty((n + 1, 3), np.int64)  # node, depth, whether it is a left child
    edge = np.full(n + 1, -1, np.int64)  # features of the path, by depth
    distinct = np.zeros(n + 1, np.int64)
    stack[0, 0] = stack[0, 1] = stack[0, 2] = 0
    top, i = 1, 0
    deepest = widest = 0
    while top:
        top -= 1
        v, d = stack[top, 0], stack[top, 1]
        order[v] = i
        nodes[i, DEPTH] = d
        nodes[i, SIDE] = stack[top, 2]
        nodes[i, EDGE] = edge[d]
        nodes[i, PREVIOUS] = 0
        for k in range(d - 1, 0, -1):
            if edge[k] == edge[d]:
                nodes[i, PREVIOUS] = k
                break
        if d > 0:
            distinct[d] = distinct[d - 1] + (nodes[i, PREVIOUS] == 0)
        deepest, widest = max(deepest, d), max(widest, distinct[d])
        nodes[i, TEST] = -1
        if left[v] >= 0:
            nodes[i, TEST] = edge[d + 1] = feature[v]
            for side, child in enumerate((right[v], left[v])):
                stack[top, 0] = child
                stack[top, 1] = d + 1
                stack[top, 2] = side
                top += 1
        i += 1
    for i in range(n):  # after a leaf, edges are done up to where the next one starts
        after = nodes[i + 1, DEPTH] if i + 1 < n else 1
        nodes[i, POPS] = nodes[i, DEPTH] - after + 1 if nodes[i, TEST] < 0 else 0
    return deepest, widest


@compiled
def edge_row_shares(left, right, cover, order, nodes, share, reach):
    """(z, z') of every edge: the share of rows that would keep to the path if its
    feature were unknown, by all edges of the feature so far and by all but this.
    reach is the share of rows that pass a node."""
    n = left.size
    path = np.empty(n + 1, np.int64)
    part = np.ones(n)
    for v in range(n):
        if left[v] >= 0:
            whole = cover[left[v]] + cover[right[v]]
            p = cover[left[v]] / whole if whole > 0 else 0.5
            part[order[left[v]]] = p
            part[order[right[v]]] = 1.0 - p
    for i in range(n):
        path[nodes[i, DEPTH]] = i
        p = nodes[i, PREVIOUS]
        reach[i] = reach[path[nodes[i, DEPTH] - 1]] * part[i] if i else 1.0
        share[i, 1] = share[path[p], 0] if p > 0 else 1.0
        share[i, 0] = share[i, 1] * part[i]


@compiled
def value_goes_left(x, i, nodes, threshold, sets):
    """Whether a value goes left at a node."""
    if x != x:
        return nodes[i, MISSING]
    if nodes[i, BY_SET]:
        c = np.int64(x)
        return np.int32((sets[i, c >> 6] >> np.uint64(c & 63)) & np.uint64(1))
    return np.int32(x <= threshold[i])


@compiled
def tabulate_edge_factors(nodes, share, start, stop, t, w, m, table):
    """Factors of eq. (4) and terms of eq. (5) for each edge, by kind of edge.

    table[i, 0], [i, 1]: what the product is multiplied by where the row goes along
    the edge and where it does not; [i, 2], [i, 3]: the weights of the sum.
    """
    for i in range(start + 1, stop):
        z, p = share[i, 0], share[i, 1]
        row = table[i - start]
        for k in range(m):
            s = 1.0 - t[k]
            on, before = t[k] + s * z, t[k] + s * p
            c = w[k] * (1.0 - p) / before
            row[0, k], row[1, k] = on / before, s * z / before
            row[2, k] = w[k] * (1.0 - z) / on - c
            row[3, k] = -w[k] / s - c


@compiled(fastmath=FASTMATH)
def descend_edge(i, d, p, m, z, side, T, table, left, on, off, P):
    """Eq. (4) along the edge into a node at depth d, LANES rows at once.

    on is 1 where the row keeps to the edges of the feature, off where it has left
    them with this one, and both are 0 where it had left them before.
    """
    for r in range(LANES):
        hit = on[p, r] * (left[d - 1, r] if side else 1.0 - left[d - 1, r])
        off[d, r] = on[p, r] - hit
        on[d, r] = hit
    for k in range(m):
        a, b = table[i, 0, k] - z, table[i, 1, k] - z
        for r in range(LANES):
            T[r] = P[d - 1, k, r] * (z + a * on[d, r] + b * off[d, r])
        for r in range(LANES):
            P[d, k, r] = T[r]


@compiled(fastmath=FASTMATH)
def ascend_edges(d, pops, m, work, table, nodes, start, at, column, phi):
    """Eq. (5) from a leaf at depth d up to where the next path branches off."""
    T, _, on, off, _, G, path = work
    for e in range(d, d - pops, -1):
        i = path[e]
        f = nodes[i + start, EDGE]
        for r in range(LANES):
            T[r] = 0.0
        for k in range(m):
            a, b = table[i, 2, k], table[i, 3, k]
            for r in range(LANES):
                T[r] += (a * on[e, r] + b * off[e, r]) * G[e, k, r]
        for r in range(LANES):
            phi[f, column, at + r] += T[r]
        for k in range(m):
            for r in range(LANES):
                T[r] = G[e - 1, k, r] + G[e, k, r]
            for r in range(LANES):
                G[e - 1, k, r] = T[r]


@compiled(fastmath=FASTMATH)
def explain_lanes(X, at, nodes, threshold, share, sets, V, tree, o, table, work, phi):
    """Adds output o of one tree for LANES rows, from `at`, to phi (d, outputs, n).

    X is transposed, (d, n). P[d], G[d] hold the product down to depth d and the sum
    below it, at the points of the integral.
    """
    T, left, on, off, P, G, path = work
    start, m, width = tree[START], tree[POINTS], tree[WIDTH]
    for r in range(LANES):
        on[0, r] = 1.0
        for k in range(m):
            P[0, k, r] = 1.0
    for i in range(tree[STOP] - start):
        v = i + start
        d = nodes[v, DEPTH]
        path[d] = i
        if i:
            z = share[v, 0] / share[v, 1] if share[v, 1] > 0 else 0.0
            p, side = nodes[v, PREVIOUS], nodes[v, SIDE]
            descend_edge(i, d, p, m, z, side, T, table, left, on, off, P)
        f = nodes[v, TEST]
        if f >= 0:
            for r in range(LANES):
                left[d, r] = value_goes_left(X[f, at + r], v, nodes, threshold, sets)
            for k in range(m):
                for r in range(LANES):
                    G[d, k, r] = 0.0
        else:
            y = V[tree[VALUES] + i * width + o]
            for k in range(m):
                for r in range(LANES):
                    G[d, k, r] = y * P[d, k, r]
            column = tree[FIRST] + o
            pops = nodes[v, POPS]
            ascend_edges(d, pops, m, work, table, nodes, start, at, column, phi)


@compiled
def explain_block(X, nodes, threshold, share, sets, V, trees, t, w, out):
    """Path-dependent values of the rows of X under every tree, into out (n, d, K)."""
    n, d = X.shape
    largest = deep = points = 0
    for tree in trees:
        largest = max(largest, tree[STOP] - tree[START])
        deep, points = max(deep, tree[DEEPEST] + 1), max(points, tree[POINTS])
    table, path = np.zeros((largest, 4, points)), np.zeros(deep, np.int64)
    left, on = np.zeros((deep, LANES)), np.zeros((deep, LANES))
    off = np.zeros((deep, LANES))
    P, G = np.ones((deep, points, LANES)), np.ones((deep, points, LANES))
    work = (np.zeros(LANES), left, on, off, P, G, path)
    full = -(-n // LANES) * LANES
    turned, phi = np.zeros((d, full), X.dtype), np.zeros((d, out.shape[2], full))
    for r in range(n):
        for f in range(d):
            turned[f, r] = X[r, f]
    for j in range(trees.shape[0]):
        tree = trees[j]
        if tree[DEEPEST] == 0:
            continue
        m = tree[POINTS]
        tabulate_edge_factors(
            nodes, share, tree[START], tree[STOP], t[m], w[m], m, table
        )
        for o in range(tree[WIDTH]):
            for at in range(0, full, LANES):
                explain_lanes(
                    turned,
                    at,
                    nodes,
                    threshold,
                    share,
                    sets,
                    V,
                    tree,
                    o,
                    table,
                    work,
                    phi,
                )
    for r in range(n):
        for f in range(d):
            for k in range(out.shape[2]):
                out[r, f, k] = phi[f, k, r]


@compiled
def predict_block(X, nodes, threshold, share, sets, V, trees, out):
    """Sum of the leaf values of every tree, by row: (rows, outputs)."""
    for j in range(trees.shape[0]):
        tree = trees[j]
        start = tree[START]
        for r in range(X.shape[0]):
            i = start
            while nodes[i, TEST] >= 0:
                left = value_goes_left(X[r, nodes[i, TEST]], i, nodes, threshold, sets)
                d = nodes[i, DEPTH] + 1
                i += 1
                while not left and (nodes[i, DEPTH] != d or nodes[i, SIDE]):
                    i += 1  # past the left branch, whose nodes come first
            for o in range(tree[WIDTH]):
                v = V[tree[VALUES] + (i - start) * tree[WIDTH] + o]
                out[r, tree[FIRST] + o] += v

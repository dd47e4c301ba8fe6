"""Compiled SHAP interactions of features, and SHAP values against background rows."""

import numpy as np

from ...core._scalar import popcount
from ...core.loops.compiled import compiled
from ._shap import (
    DEEPEST,
    DEPTH,
    EDGE,
    FIRST,
    POINTS,
    PREVIOUS,
    SIDE,
    START,
    STOP,
    TEST,
    VALUES,
    WIDTH,
    value_goes_left,
)

WORD = 64  # bits of a pattern


@compiled
def interaction_block(X, nodes, threshold, share, sets, V, trees, t, w, phi):
    """Eq. (6) for the rows of X and all trees, added to phi (rows, outputs, d, d).

    The features of the path are a chain: live[d] says whether the edge at depth d is
    the last of its feature so far, and U[d] holds (o - z) / (t o + (1-t) z) of it.
    """
    deep = points = 0
    for tree in trees:
        deep, points = max(deep, tree[DEEPEST] + 1), max(points, tree[POINTS])
    P = np.ones((deep, points))
    U = np.empty((deep, points))
    A = np.empty(points)
    state = np.zeros((deep, 2), np.int64)
    path, live = np.zeros(deep, np.int64), np.zeros(deep, np.uint8)
    for j in range(trees.shape[0]):
        tree = trees[j]
        start, m = tree[START], tree[POINTS]
        for r in range(X.shape[0] if tree[DEEPEST] else 0):
            state[0, 0] = 1
            x = X[r, nodes[start, TEST]]
            state[0, 1] = value_goes_left(x, start, nodes, threshold, sets)
            above = 0  # depth of the node before
            for i in range(start + 1, tree[STOP]):
                d = nodes[i, DEPTH]
                for e in range(above, d - 1, -1):  # edges left behind
                    live[nodes[path[e], PREVIOUS]] = 1
                above, path[d] = d, i
                live[nodes[i, PREVIOUS]], live[d] = 0, 1
                before = state[nodes[i, PREVIOUS], 0]
                on = before & (state[d - 1, 1] == nodes[i, SIDE])
                state[d, 0] = on
                descend_pair_edge(
                    P, U, d, share[i, 0], share[i, 1], before, on, t[m], m
                )
                if nodes[i, TEST] >= 0:
                    x = X[r, nodes[i, TEST]]
                    state[d, 1] = value_goes_left(x, i, nodes, threshold, sets)
                    continue
                v = V[tree[VALUES] + (i - start) * tree[WIDTH] :]
                add_leaf_pairs(P, U, A, path, live, d, w[m], m, v, tree, nodes, phi[r])


@compiled
def descend_pair_edge(P, U, d, z, before_z, before, on, t, m):
    """P of eq. (4) and the ratio of eq. (5) at one edge."""
    for k in range(m):
        s = 1.0 - t[k]
        now = t[k] * on + s * z
        old = t[k] * before + s * before_z
        P[d, k] = P[d - 1, k] * now / old if old > 0 else 0.0
        U[d, k] = (1.0 - z) / now if on else -1.0 / s


@compiled
def add_leaf_pairs(P, U, A, path, live, d, w, m, v, tree, nodes, phi):
    """One leaf's part of eq. (6), for every pair of features on its path."""
    for a in range(1, d + 1):
        if not live[a]:
            continue
        f = nodes[path[a], EDGE]
        for k in range(m):
            A[k] = 0.5 * w[k] * P[d, k] * U[a, k]
        for b in range(1, a):
            if not live[b]:
                continue
            g = nodes[path[b], EDGE]
            total = 0.0
            for k in range(m):
                total += A[k] * U[b, k]
            for o in range(tree[WIDTH]):
                phi[tree[FIRST] + o, f, g] += v[o] * total
                phi[tree[FIRST] + o, g, f] += v[o] * total


@compiled
def path_patterns(X, i, up, nodes, threshold, sets, bit, fresh, before, after):
    """Patterns of the rows after the edge into node i, whose parent is `up`."""
    f, side = nodes[up, TEST], nodes[i, SIDE]
    one = np.uint64(1) << np.uint64(bit)
    for r in range(X.shape[0]):
        kept = value_goes_left(X[r, f], up, nodes, threshold, sets) == side
        if fresh:
            after[r] = before[r] | one if kept else before[r]
        else:
            after[r] = before[r] if kept else before[r] & ~one


@compiled
def distinct_patterns(patterns, slots, keys, counts, member):
    """Different patterns into keys, how often each; member[r] is that of row r."""
    size = slots.size
    used = 0
    slots[:] = -1
    for r in range(patterns.size):
        p = patterns[r]
        h = np.int64((p * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)) % size
        while slots[h] >= 0 and keys[slots[h]] != p:
            h = h + 1 if h + 1 < size else 0
        if slots[h] < 0:
            slots[h], keys[used], counts[used] = used, p, 0
            used += 1
        member[r] = slots[h]
        counts[slots[h]] += 1
    return used


@compiled
def add_pattern_values(full, keys, used, other, seen, many, weight, acc):
    """Eq. (7) of each pattern of X, summed over those of the background."""
    touched = False
    for a in range(used):
        acc[a] = 0.0
        for b in range(seen):
            x, z = keys[a], other[b]
            if x | z != full or x == z:
                continue
            mine, yours = x & ~z, z & ~x
            na, nb = popcount(mine), popcount(yours)
            c = float(many[b])
            k = 0
            while mine | yours:
                if mine & np.uint64(1):
                    acc[a, k] += c * weight[na, nb]
                elif yours & np.uint64(1):
                    acc[a, k] -= c * weight[nb, na]
                mine, yours = mine >> np.uint64(1), yours >> np.uint64(1)
                k += 1
            touched = True
    return touched


@compiled
def explain_against_background(X, Z, nodes, threshold, sets, V, trees, weight, phi):
    """Interventional values of the rows of X, summed over Z, added to phi."""
    deep = 0
    n = X.shape[0]
    m = Z.shape[0]
    for tree in trees:
        deep = max(deep, tree[DEEPEST] + 1)
    mx, mz = np.zeros((deep, n), np.uint64), np.zeros((deep, m), np.uint64)
    slots = np.empty(4 * max(n, m) + 1, np.int64)
    keys = np.empty(n, np.uint64)
    counts = np.empty(n, np.int64)
    member = np.empty(n, np.int64)
    other = np.empty(m, np.uint64)
    many = np.empty(m, np.int64)
    ignored = np.empty(m, np.int64)
    bit, path = np.zeros(deep, np.int64), np.zeros(deep, np.int64)
    features, acc = np.zeros(WORD, np.int64), np.zeros((n, WORD))
    for j in range(trees.shape[0]):
        tree = trees[j]
        start, width = tree[START], tree[WIDTH]
        path[0] = start
        bit[0] = -1
        held = np.zeros(deep, np.int64)  # features on the path, by depth
        for i in range(start + 1, tree[STOP]):
            d = nodes[i, DEPTH]
            fresh = nodes[i, PREVIOUS] == 0
            bit[d] = held[d - 1] if fresh else bit[nodes[i, PREVIOUS]]
            held[d], path[d] = held[d - 1] + fresh, i
            up = path[d - 1]
            features[bit[d]] = nodes[i, EDGE]
            path_patterns(
                X, i, up, nodes, threshold, sets, bit[d], fresh, mx[d - 1], mx[d]
            )
            path_patterns(
                Z, i, up, nodes, threshold, sets, bit[d], fresh, mz[d - 1], mz[d]
            )
            if nodes[i, TEST] >= 0:
                continue
            full = ~np.uint64(0) >> np.uint64(WORD - held[d])
            used = distinct_patterns(mx[d], slots, keys, counts, member)
            seen = distinct_patterns(mz[d], slots, other, many, ignored)
            if not add_pattern_values(full, keys, used, other, seen, many, weight, acc):
                continue
            for e in range(1, d + 1):
                features[bit[e]] = nodes[path[e], EDGE]
            at = tree[VALUES] + (i - start) * width
            for r in range(n):
                for k in range(held[d]):
                    s = acc[member[r], k]
                    if s != 0.0:
                        for o in range(width):
                            phi[r, features[k], tree[FIRST] + o] += s * V[at + o]

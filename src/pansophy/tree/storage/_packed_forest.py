"""Compiled prediction of many trees for blocks of rows.

A node is four words of 4 bytes in one table, read as whole numbers (W) or reals (V):

    0  feature, times LANES        2  place of the left child; the right one follows
    1  threshold                   3  leaf: its number; inner node: missing, set

Word 3 of an inner node is 1 if a missing value goes right, plus twice (1 + the number
of its set) if it splits by a set. A leaf is its own child with threshold infinity, so
that a row may take more steps than it needs. Places are counted in words from the
first node of the tree.

LANES rows go down together: while one waits for memory the others move. Their values
are laid side by side first, feature by feature, where a lane has a fixed place.
"""

import numpy as np

from ...core.loops.compiled import compiled

LANES = 8
WORDS = 4
SHALLOW = 12  # depth up to which asking whether all rows have arrived does not pay


@compiled(inner=True)
def node_positions(feature, size, child, place, stack):
    """Positions of the nodes of one tree: pairs of siblings, the larger branch first.

    So what lies deep in a tree lies together. `child` receives the left child of each
    node, 0 for a leaf, and `size` the nodes below and at it. Nodes come level by level.
    """
    n = feature.size
    c = 1
    for v in range(n):
        size[v], child[v] = 1, 0
        if feature[v] >= 0:
            child[v] = c
            c += 2
    for v in range(n - 1, -1, -1):
        if child[v]:
            size[v] += size[child[v]] + size[child[v] + 1]
    place[0], stack[0], at, top = 0, 0, 1, 1
    while top:
        top -= 1
        c = child[stack[top]]
        if c == 0:
            continue
        place[c] = at
        place[c + 1] = at + 1
        at += 2
        last = 0 if size[c] > size[c + 1] else 1
        stack[top], stack[top + 1] = c + 1 - last, c + last
        top += 2


@compiled(refcount=False)
def fill_node_table(
    feature, threshold, missing, pick, start, table, real, depth, scratch
):
    """Fill the table from trees whose nodes come level by level.

    depth[t] receives the depth of the tree and how many steps all rows take together:
    the depth of a shallow tree, the mean depth of a leaf in a deep one. `scratch`
    has five rows, one place longer than the largest tree.
    """
    size, child, place = scratch[0], scratch[1], scratch[2]
    stack, level = scratch[3], scratch[4]
    inner = leaf = 0
    for t in range(start.size - 1):
        a = start[t]
        n = start[t + 1] - start[t]
        total = 0
        node_positions(feature[a : a + n], size, child, place, stack)
        level[0] = 0
        for v in range(n):
            p = a + place[v]
            if child[v] == 0:
                table[p, 0] = 0
                real[p, 1] = np.inf
                table[p, 2] = WORDS * place[v]
                table[p, 3] = leaf
                total += level[v]
                leaf += 1
                continue
            c = child[v]
            table[p, 0] = LANES * feature[a + v]
            real[p, 1] = threshold[inner]
            table[p, 2], table[p, 3] = WORDS * place[c], 1 - missing[inner]
            if pick[inner] >= 0:
                table[p, 3] += 2 * (1 + pick[inner])
            level[c] = level[c + 1] = level[v] + 1
            inner += 1
        depth[t, 0] = depth[t, 1] = level[n - 1]
        if depth[t, 0] > SHALLOW:
            depth[t, 1] = total // ((n + 1) // 2)


@compiled(inner=True)
def interleave_rows(X, a, b, x):
    """Rows a .. b of X side by side in groups of LANES; whether a value is missing."""
    d = X.shape[1]
    odd = False
    for j in range(LANES * ((b - a + LANES - 1) // LANES)):  # one loop: a short one
        i = min(a + j, b - 1)
        at = (j // LANES * d) * LANES + j % LANES  # is unrolled
        for f in range(d):
            v = np.float32(X[i, f])
            odd |= v != v
            x[at + f * LANES] = v
    return odd


@compiled(inner=True, forceinline=True)
def child_of_lane(W, V, x, k, n):
    """The place of the child that lane k goes to; a leaf's is its own."""
    more = x[np.uint64(W[n]) + k] > V[n + np.uint64(1)]
    return np.uint64(W[n + np.uint64(2)] + np.uint32(WORDS if more else 0))


@compiled(inner=True)
def leaves_of_lanes(W, V, x, depth, to):
    """Leaves of one group of rows in one tree, into `to`: their numbers."""
    k0 = np.uint64(0)
    k1 = np.uint64(1)
    k2 = np.uint64(2)
    k3 = np.uint64(3)
    k4 = np.uint64(4)
    k5 = np.uint64(5)
    k6 = np.uint64(6)
    k7 = np.uint64(7)
    a = b = c = d = e = f = g = h = np.uint64(0)
    for _ in range(depth[1]):
        a, b = child_of_lane(W, V, x, k0, a), child_of_lane(W, V, x, k1, b)
        c, d = child_of_lane(W, V, x, k2, c), child_of_lane(W, V, x, k3, d)
        e, f = child_of_lane(W, V, x, k4, e), child_of_lane(W, V, x, k5, f)
        g, h = child_of_lane(W, V, x, k6, g), child_of_lane(W, V, x, k7, h)
    for _ in range(depth[0] - depth[1]):
        p = a
        q = b
        r = c
        s = d
        t = e
        u = f
        v = g
        w = h
        a, b = child_of_lane(W, V, x, k0, a), child_of_lane(W, V, x, k1, b)
        c, d = child_of_lane(W, V, x, k2, c), child_of_lane(W, V, x, k3, d)
        e, f = child_of_lane(W, V, x, k4, e), child_of_lane(W, V, x, k5, f)
        g, h = child_of_lane(W, V, x, k6, g), child_of_lane(W, V, x, k7, h)
        moved = (a ^ p) | (b ^ q) | (c ^ r) | (d ^ s)
        if moved | (e ^ t) | (f ^ u) | (g ^ v) | (h ^ w) == 0:
            break
    to[0], to[1], to[2], to[3] = W[a + k3], W[b + k3], W[c + k3], W[d + k3]
    to[4], to[5], to[6], to[7] = W[e + k3], W[f + k3], W[g + k3], W[h + k3]


@compiled(inner=True)
def leaves_of_lanes_general(W, V, sets, x, to):
    """Leaves of rows with missing values or splits by sets, one row at a time."""
    for k in range(to.size):
        n = 0
        while True:
            child = np.int64(W[n + 2])
            if child == n:
                break
            v = x[np.int64(W[n]) + k]
            rule = np.int64(W[n + 3])
            if v != v:
                right = rule & 1
            elif rule > 1:
                code = np.int64(v)
                row = (rule >> 1) - 1
                inside = 0 <= v < 256.0
                word = sets[row, code >> 6] if inside else np.uint64(0)
                right = 1 - np.int64((word >> np.uint64(code & 63)) & np.uint64(1))
            else:
                right = 1 if v > V[n + 1] else 0
            n = child + WORDS * right
        to[k] = W[n + 3]


@compiled(refcount=False)
def traverse_forest(X, rows, block, table, trees, column, value, out, leaf, x, to):
    """Finds the leaves of rows (i0, i1) in trees (t0, t1), a block of rows at a time.

    Adds the leaves' values to `out` (n, K): all of them, or, where `column` is given,
    the only one into the tree's own column. Where `leaf` (n, trees) is given, the
    leaves' numbers are written there; of the two the other is None. x and `to` are
    scratch: a block of rows, whose number LANES divides, and where LANES rows are.
    """
    W, V, sets, start, depth = table
    t0, t1 = trees
    d, K = X.shape[1], value.shape[1]
    for a in range(rows[0], rows[1], block):
        b = min(a + block, rows[1])
        odd = interleave_rows(X, a, b, x) or sets.shape[0] > 0
        for t in range(t0, t1):
            w = W[start[t] * WORDS : start[t + 1] * WORDS]
            v = V[start[t] * WORDS : start[t + 1] * WORDS]
            for g in range(a, b, LANES):
                lanes = x[(g - a) * d : (g - a + LANES) * d]
                if odd:
                    leaves_of_lanes_general(w, v, sets, lanes, to)
                else:
                    leaves_of_lanes(w, v, lanes, depth[t], to)
                m = min(LANES, b - g)
                if leaf is not None:
                    for k in range(m):
                        leaf[g + k, t - t0] = to[k]
                if out is not None and K == 1:
                    c = column[t] if column.size else 0
                    for k in range(m):
                        out[g + k, c] += value[to[k], 0]
                elif out is not None:
                    for k in range(m):
                        for j in range(K):
                            out[g + k, j] += value[to[k], j]


@compiled
def breadth_first_order(left, right, order):
    """Numbers of the nodes level by level, the two children of a node in a row."""
    order[0], m = 0, 1
    for i in range(left.size):
        v = order[i]
        if left[v] >= 0:
            order[m], order[m + 1] = left[v], right[v]
            m += 2


@compiled
def preorder_numbers(feature, start, number):
    """Number of every node, within its tree, in the order root, left, right branch."""
    for t in range(start.size - 1):
        a, b = start[t], start[t + 1]
        size = np.ones(b - a, np.int32)
        child = np.zeros(b - a, np.int32)
        c = 1
        for v in range(b - a):
            if feature[a + v] >= 0:
                child[v] = c
                c += 2
        for v in range(b - a - 1, -1, -1):
            if child[v]:
                size[v] += size[child[v]] + size[child[v] + 1]
        number[a] = 0
        for v in range(b - a):
            if child[v]:
                left = number[a + v] + 1
                number[a + child[v]] = left
                number[a + child[v] + 1] = left + size[child[v]]


@compiled
def fill_inner_nodes(child, weight, count, value, impurity, outputs):
    """Fill in inner nodes from their children, where the impurity is a variance."""
    for v in range(child.size - 1, -1, -1):
        c = child[v]
        if c < 0:
            continue
        weight[v], count[v] = weight[c] + weight[c + 1], count[c] + count[c + 1]
        share = weight[c] / weight[v] if weight[v] > 0 else 0.5
        spread = 0.0
        for k in range(value.shape[1]):
            a, b = value[c, k], value[c + 1, k]
            value[v, k] = share * a + (1.0 - share) * b
            spread += (a - b) * (a - b)
        within = share * impurity[c] + (1.0 - share) * impurity[c + 1]
        impurity[v] = within + share * (1.0 - share) * spread / outputs

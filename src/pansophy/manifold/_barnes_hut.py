"""Compiled loops of the Barnes-Hut tree of `tsne_repulsion.py`, in flat arrays.

Points are sorted along the Z-curve (the bits of their coordinates interleaved), which
puts the points of every cell of the halved cube in one run, start to stop. A node is
such a run; nodes stand in depth-first order, with the index of the next node outside
of their subtree. Cells with one child are left out, so there are at most 2n - 1 nodes.
Sums over a run come from running sums.
"""

import numpy as np

from ..core.loops.compiled import FASTMATH, compiled

BITS = 20  # halvings of the cube along each axis


@compiled
def morton_codes(Y, low, side):
    """Morton codes: positions of the points on the Z-curve through the cube."""
    m, n = Y.shape
    out = np.empty(n, np.int64)
    top = (1 << BITS) - 1
    for i in range(n):
        code = 0
        for c in range(m):
            cell = min(int((Y[c, i] - low[c]) / side * (1 << BITS)), top)
            for b in range(BITS):
                code |= ((cell >> b) & 1) << (m * b + c)
        out[i] = code
    return out


@compiled
def build_nodes(code, m, side, start, stop, size, after):
    """Fill the arrays of the tree over sorted codes; the number of nodes."""
    n = len(code)
    begin, end = np.empty(n + 64, np.int64), np.empty(n + 64, np.int64)
    begin[0] = 0
    end[0] = n
    depth, count = 1, 0
    while depth > 0:
        depth -= 1
        s, e = begin[depth], end[depth]
        start[count], stop[count] = s, e
        differ = code[s] ^ code[e - 1]
        level = BITS
        while differ > 0:  # the level at which the first and the last point part
            differ >>= m
            level -= 1
        size[count] = side / (1 << level)
        count += 1
        if level == BITS:  # one point, or points in the same smallest cell
            continue
        shift = m * (BITS - level - 1)
        position = e
        while position > s:  # children, the last one first
            child = code[position - 1] >> shift
            low = s
            high = position - 1  # the first point with this prefix
            while low < high:
                half = (low + high) // 2
                if code[half] >> shift < child:
                    low = half + 1
                else:
                    high = half
            begin[depth], end[depth] = low, position
            depth += 1
            position = low
    first = np.empty(n + 1, np.int64)
    first[n] = count
    for k in range(count - 1, -1, -1):
        after[k] = first[stop[k]]
        first[start[k]] = k
    return count


@compiled
def node_means(Y, order, start, stop, count, out):
    """The mean of the points of every node."""
    m, n = Y.shape
    total = np.zeros(n + 1)
    for c in range(m):
        for i in range(n):
            total[i + 1] = total[i] + Y[c, order[i]]
        for k in range(count):
            out[k, c] = (total[stop[k]] - total[start[k]]) / (stop[k] - start[k])


@compiled(fastmath=FASTMATH)
def tree_repulsion(Y, tree, angle, a, lo, hi, F):
    """F and the sum of q as in the direct loop, far cells taken as one point.

    `tree` is (order, start, stop, size, after, centre, count) of the nodes.
    """
    order, start, stop, size, following, centre, count = tree
    m = Y.shape[0]
    Z = 0.0
    force, point = np.empty(m), np.empty(m)
    for t in range(lo, hi):
        i = order[t]
        for c in range(m):
            point[c] = Y[c, i]
        force[:] = 0
        k, z = 0, 0.0
        while k < count:
            s = 0.0
            for c in range(m):
                s += (point[c] - centre[k, c]) ** 2
            holds_point = start[k] <= t < stop[k]
            leaf = following[k] == k + 1
            if leaf or (not holds_point and size[k] * size[k] < angle * angle * s):
                number = stop[k] - start[k] - (1 if holds_point else 0)
                base = 1.0 / (1.0 + s / a)
                q = base if a == 1 else base ** (0.5 * (a + 1))
                z += number * q
                q *= number * base
                for c in range(m):
                    force[c] += q * (point[c] - centre[k, c])
                k = following[k]
            else:
                k += 1
        Z += z
        for c in range(m):
            F[c, i] = force[c]
    return Z

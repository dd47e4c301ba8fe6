"""Compiled weakest-link cutting; the letters are those of `pruning.py`."""

import numpy as np

from ...core.loops.compiled import compiled


@compiled
def set_tournament_value(least, size, node, value):
    """Set the value of a node in the tournament of least values."""
    k = size + node
    least[k] = value
    while k > 1:
        k //= 2
        least[k] = min(least[2 * k], least[2 * k + 1])


@compiled
def cut_weakest_links(left, right, parent, by_depth, risk, alpha):
    """Cut nodes in ascending order of g, eq. (1), up to alpha."""
    n = left.size
    size = 1
    while size < n:
        size *= 2
    least = np.full(2 * size, np.inf)
    below = risk.copy()
    leaves = np.ones(n)  # R(T_t) and leaves of T_t
    for node in by_depth:
        if left[node] >= 0:
            below[node] = below[left[node]] + below[right[node]]
            leaves[node] = leaves[left[node]] + leaves[right[node]]
            least[size + node] = (risk[node] - below[node]) / (leaves[node] - 1.0)
    for k in range(size - 1, 0, -1):
        least[k] = min(least[2 * k], least[2 * k + 1])
    cuts = np.empty(n, np.int64)
    g = np.empty(n)
    total = np.empty(n)
    start = below[0]
    m = 0
    while least[1] < np.inf and least[1] <= alpha:
        k = 1
        while k < size:
            k = 2 * k if least[2 * k] <= least[2 * k + 1] else 2 * k + 1
        node = k - size
        g[m] = least[1]
        cuts[m] = node
        set_tournament_value(least, size, node, np.inf)
        fewer, more = leaves[node] - 1.0, risk[node] - below[node]
        up = node
        while up >= 0:
            leaves[up] -= fewer
            below[up] += more
            if up != node:
                set_tournament_value(
                    least,
                    size,
                    up,
                    (risk[up] - below[up]) / (leaves[up] - 1.0)
                    if leaves[up] > 1.0
                    else np.inf,
                )
            up = parent[up]
        remove_subtree(left, right, least, size, node)
        total[m] = below[0]
        m += 1
    return cuts[:m], g[:m], total[:m], start


@compiled
def remove_subtree(left, right, least, size, node):
    """Take the nodes below a cut out of the tournament."""
    stack = [node]
    while len(stack):
        t = stack.pop()
        if left[t] >= 0:
            for c in (left[t], right[t]):
                if least[size + c] < np.inf:
                    set_tournament_value(least, size, c, np.inf)
                    stack.append(c)

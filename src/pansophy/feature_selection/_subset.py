"""Compiled subset search: sweeps of a cross-product matrix, greedy and by branches.

A is the symmetric matrix of centred products of [X, y]; its last row and column are
those of y. `subset.py` has the method.
"""

import numpy as np

from ..core.loops.compiled import compiled

# share of the square of a column below which it depends on the others
DEPENDENT_SHARE = 1e-9


@compiled
def sweep_column(A, j, back):
    """Add column j to the regression, or remove it (`back`), in place.

    The entries of columns outside the regression become products of residuals.
    """
    m = A.shape[0]
    pivot = A[j, j]
    for i in range(m):
        if i != j:
            share = A[i, j] / pivot
            for k in range(m):
                if k != j:
                    A[i, k] -= share * A[j, k]
    sign = -1.0 if back else 1.0
    for i in range(m):
        if i != j:
            A[i, j] *= sign / pivot
            A[j, i] *= sign / pivot
    A[j, j] = -1.0 / pivot


@compiled
def best_addition(A, inside, square):
    """The column whose addition lowers the RSS most, and by how much."""
    y = A.shape[0] - 1
    best = -1
    drop = 0.0
    for j in range(y):
        if not inside[j] and A[j, j] > DEPENDENT_SHARE * square[j]:
            gain = A[j, y] * A[j, y] / A[j, j]
            if gain > drop:
                best, drop = j, gain
    return best, drop


@compiled
def best_removal(A, inside):
    """The column whose removal raises the RSS least, and by how much."""
    y = A.shape[0] - 1
    best = -1
    rise = np.inf
    for j in range(y):
        if inside[j]:
            cost = -A[j, y] * A[j, y] / A[j, j]
            if cost < rise:
                best, rise = j, cost
    return best, rise


@compiled
def greedy_subset_path(A, inside, square, rss, sets, out):
    """Add (or with `out` remove) the best column at a time, recording each size."""
    y = A.shape[0] - 1
    size = 0
    for j in range(y):
        size += inside[j]
    record_if_best(A[y, y], inside, size, rss, sets)
    while True:
        if out:
            j, _ = best_removal(A, inside)
        else:
            j, _ = best_addition(A, inside, square)
        if j < 0 or (not out and size + 1 >= rss.shape[0]):
            return
        sweep_column(A, j, out)
        inside[j] = not inside[j]
        size += -1 if out else 1
        record_if_best(A[y, y], inside, size, rss, sets)


@compiled
def record_if_best(value, inside, size, rss, sets):
    """Record the set if it is the best of its size."""
    if size < rss.shape[0] and value < rss[size]:
        rss[size] = value
        for j in range(inside.shape[0]):
            sets[size, j] = inside[j]


@compiled
def search_branch(stack, inside, size, order, depth, first, rss, sets, left):
    """Drop columns in all ways that may still improve a size, `left` nodes at most.

    `stack[depth]` is A with the `size` columns `inside` swept in. Further down the RSS
    only grows, so a branch ends where it is above the best of every size below.
    Columns of `order` before `first` stay in. Returns the nodes visited.
    """
    A = stack[depth]
    y = A.shape[0] - 1
    p = order.shape[0]
    value = A[y, y]
    nodes = 1
    for position in range(first, p):
        min_size = size - (p - position)  # all that may still be dropped from here are
        useful = False
        for m in range(max(min_size, 0), min(size, rss.shape[0])):
            if value < rss[m]:
                useful = True
                break
        if not useful or nodes >= left:
            return nodes
        j = order[position]
        reduced = stack[depth + 1]
        for i in range(y + 1):
            for k in range(y + 1):
                reduced[i, k] = A[i, k]
        sweep_column(reduced, j, True)
        inside[j] = False
        record_if_best(reduced[y, y], inside, size - 1, rss, sets)
        nodes += search_branch(
            stack,
            inside,
            size - 1,
            order,
            depth + 1,
            position + 1,
            rss,
            sets,
            left - nodes,
        )
        inside[j] = True
    return nodes

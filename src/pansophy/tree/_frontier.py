"""Compiled order of nodes: which one is split next, and how they are numbered."""

import numpy as np
from numba import njit

from ._structures import (
    B_CODE,
    B_GAIN,
    B_MISSING_LEFT,
    B_N_LEFT,
    B_SUM,
    B_THRESHOLD,
    B_WEIGHT,
    CODE,
    FEATURE,
    FIRST,
    FORM,
    FREE,
    FRONT,
    GAIN,
    HIST,
    INNER,
    LEFT_SUM,
    LEFT_WEIGHT,
    LOOP,
    MISSING_LEFT,
    N_LEFT,
    OPEN,
    SET,
    START,
    STOP,
    THRESHOLD,
)


@njit(**INNER)
def ahead(R, a, b):
    """Whether node a is split before node b: more gain, then lower number."""
    return R[a, GAIN] > R[b, GAIN] or (R[a, GAIN] == R[b, GAIN] and a < b)


@njit(**INNER)
def push(best_first, R, C, F, node):
    """Add to the frontier: a stack, or a heap by gain."""
    i = C[FRONT]
    C[FRONT] += 1
    F[i] = node
    while best_first and i > 0 and ahead(R, F[i], F[(i - 1) // 2]):
        F[i], F[(i - 1) // 2] = F[(i - 1) // 2], F[i]
        i = (i - 1) // 2


@njit(**INNER)
def pop(best_first, R, C, F):
    """Take the next node from the frontier."""
    C[FRONT] -= 1
    m = C[FRONT]
    if not best_first:
        return F[m]
    top, i = F[0], 0
    F[0] = F[m]
    while True:
        j = 2 * i + 1
        if j + 1 < m and ahead(R, F[j + 1], F[j]):
            j += 1
        if j >= m or not ahead(R, F[j], F[i]):
            return top
        F[i], F[j] = F[j], F[i]
        i = j


@njit(**INNER)
def settle(P, meta, N, R, S, C, queue, best, sets):
    """Write the splits found into the pending nodes and put these on the frontier."""
    for c in range(1, -1, -1):  # the left child is taken from the stack first
        node = C[FIRST + c]
        if node < 0:
            continue
        f = N[node, FEATURE]
        if f < 0 or best[c, f, B_GAIN] < P.min_gain:
            N[node, OPEN], N[node, FEATURE] = 0, -1
        else:
            record = best[c, f]
            R[node, THRESHOLD], R[node, GAIN] = record[B_THRESHOLD], record[B_GAIN]
            N[node, N_LEFT], N[node, CODE] = int(record[B_N_LEFT]), int(record[B_CODE])
            N[node, MISSING_LEFT] = int(record[B_MISSING_LEFT])
            R[node, LEFT_SUM], R[node, LEFT_WEIGHT] = record[B_SUM], record[B_WEIGHT]
            if sets is not None:
                for k in range(SET):
                    S[node, k] = sets[c, f, k] if meta[f, FORM] else np.uint64(0)
            push(P.best_first, R, C, queue[0], node)
        kept = N[node, OPEN] and N[node, STOP] - N[node, START] >= P.keep
        if N[node, HIST] >= 0 and not kept:
            queue[2, C[FREE]] = N[node, HIST]
            C[FREE] += 1
            N[node, HIST] = -1


@njit(**LOOP)
def preorder(left, right, order):
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

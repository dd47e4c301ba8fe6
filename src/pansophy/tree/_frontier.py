"""Compiled order of nodes: which one is split next, and how they are numbered."""

import numpy as np
from numba import njit

from ._layout import FRONT, GAIN, INNER, LOOP


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

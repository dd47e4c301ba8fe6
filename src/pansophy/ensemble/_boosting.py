"""Compiled leaves of a round: their best values, and adding them to the rows.

A tree comes with its rows in the order of its nodes: rows[start[v] : stop[v]] are
those of node v. Nodes a .. b are worked on in one call, inner nodes only if `inner`.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def add_leaf_values(rows, start, stop, left, value, a, b, f):
    """f of every row of the leaves a .. b, plus the value of its leaf."""
    for v in range(a, b):
        if left[v] < 0:
            step = value[v]
            for i in range(np.uint64(start[v]), np.uint64(stop[v])):
                f[np.uint64(rows[i])] += step


@njit(cache=True, nogil=True, error_model="numpy")
def newton_leaf_values(rows, start, stop, left, inner, G, H, w, factor, a, b, value):
    """factor sum w G / sum w H by node, or 0 where the curvature is."""
    for v in range(a, b):
        if left[v] >= 0 and not inner:
            continue
        g = h = 0.0
        for i in range(start[v], stop[v]):
            r = rows[i]
            u = w[r] if w.size else 1.0
            g += u * G[r]
            h += u * (H[r] if H.size else 1.0)
        value[v] = factor * g / h if abs(h) > 1e-150 else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def leaf_quantile(r, w, level):
    """Where the sorted weights reach `level` of their sum; midway if exactly there."""
    m = r.size
    if w.size == 0:
        goal = level * m
        k = min(max(int(np.ceil(goal)) - 1, 0), m - 1)
        if k + 1 < m and k + 1 == goal:
            part = np.partition(r, k + 1)
            low = part[0]
            for i in range(1, k + 1):
                low = max(low, part[i])
            return (low + part[k + 1]) / 2
        return np.partition(r, k)[k]
    order = np.argsort(r)
    total = 0.0
    for i in range(m):
        total += w[order[i]]
    goal, reached = level * total, 0.0
    for k in range(m):
        reached += w[order[k]]
        if reached >= goal or k == m - 1:
            if reached == goal and k + 1 < m:
                return (r[order[k]] + r[order[k + 1]]) / 2
            return r[order[k]]
    return 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def quantile_leaf_values(
    rows, start, stop, left, inner, y, f, w, level, delta, a, b, value
):
    """Quantile of y - f by node; with delta > 0 the one step of Huber's loss.

    That step is the median plus the mean of what is left, clipped at delta.
    """
    for v in range(a, b):
        if left[v] >= 0 and not inner:
            continue
        m = stop[v] - start[v]
        r, u = np.empty(m), np.empty(m if w.size else 0)
        for i in range(m):
            row = rows[start[v] + i]
            r[i] = y[row] - f[row]
            if w.size:
                u[i] = w[row]
        middle = leaf_quantile(r, u, level)
        if delta > 0:
            rest = total = 0.0
            for i in range(m):
                weight = u[i] if w.size else 1.0
                rest += weight * min(max(r[i] - middle, -delta), delta)
                total += weight
            middle += rest / total
        value[v] = middle


@njit(cache=True, nogil=True, error_model="numpy")
def bound_leaf_values(left, right, feature, signs, value):
    """Values of leaves within what monotone splits above them allow.

    A split on a feature of sign s parts its children at the mean of their values;
    nodes come before their children.
    """
    low = np.full(left.size, -np.inf)
    high = np.full(left.size, np.inf)
    for v in range(left.size):
        if left[v] < 0:
            value[v] = min(max(value[v], low[v]), high[v])
            continue
        a, b, s = left[v], right[v], signs[feature[v]]
        low[a], high[a], low[b], high[b] = low[v], high[v], low[v], high[v]
        if s != 0:
            middle = (value[a] + value[b]) / 2
            middle = min(max(middle, low[v]), high[v])
            if s > 0:
                high[a] = low[b] = middle
            else:
                low[a] = high[b] = middle

"""Loops of block coordinate descent on least squares with group penalties.

Arrays have one row per target: W and Q = H - W G are (t, k) for k columns. Group g is
members[starts[g]:starts[g + 1]].
"""

import math
from typing import NamedTuple

import numpy as np

from ...core.loops.compiled import FASTMATH, compiled


class GroupProblem(NamedTuple):
    """The quadratic and the penalty of eq. (1) of `group_working_set.py`, as arrays."""

    G: np.ndarray  # Gram matrix (k, k)
    members: np.ndarray  # columns, group by group
    starts: np.ndarray  # first member of each group; one more at the end
    curve: np.ndarray  # L_g of eq. (3)
    a: np.ndarray  # a m_g, the penalty of each group
    l1: float
    b: float
    V: np.ndarray  # scratch space (t, widest group)


@compiled(fastmath=FASTMATH)
def _group_prox(V, s, step, a, l1, b):
    """Prox of step (a |V| + l1 |V|_1 + b/2 |V|^2) on the first s columns, in place."""
    total = 0.0
    for m in range(s):
        for t in range(V.shape[0]):
            size = abs(V[t, m]) - step * l1
            V[t, m] = math.copysign(size, V[t, m]) if size > 0 else 0.0
            total += V[t, m] * V[t, m]
    length = math.sqrt(total)
    scale = 0.0
    if length > step * a:
        scale = (1 - step * a / length) / (1 + step * b)
    for m in range(s):
        for t in range(V.shape[0]):
            V[t, m] *= scale


@compiled(fastmath=FASTMATH)
def gram_blocks(problem, Q, W, order, n_epochs):
    """Passes over the groups in `order`; returns how many changed in the last one.

    Each step minimises a bound of curvature curve[g]; it is exact for single columns.
    """
    G, members, starts, curve, a, l1, b, V = problem
    T, k = Q.shape
    changes = 0
    for _ in range(n_epochs):
        changes = 0
        for g in order:
            if curve[g] <= 0:
                continue
            step = 1 / curve[g]
            low = starts[g]
            s = starts[g + 1] - low
            for m in range(s):
                j = members[low + m]
                for t in range(T):
                    V[t, m] = W[t, j] + step * Q[t, j]
            _group_prox(V, s, step, a[g], l1, b)
            changed = False
            for m in range(s):
                j = members[low + m]
                row = G[j]
                for t in range(T):
                    change = V[t, m] - W[t, j]
                    if change != 0:
                        changed = True
                        W[t, j] = V[t, m]
                        q = Q[t]
                        for i in range(k):
                            q[i] -= change * row[i]
            changes += changed
        if changes == 0:
            break
    return changes


@compiled(fastmath=FASTMATH)
def _block_gap(problem, H, Q, W, energy):
    """The duality gap from Gram form, without an L1 part."""
    _, members, starts, _, a, _, b, _ = problem
    square = energy
    inner = energy
    size = 0.0
    worst = 1.0
    for g in range(len(starts) - 1):
        norm2 = 0.0
        slope = 0.0
        for position in range(starts[g], starts[g + 1]):
            j = members[position]
            for t in range(W.shape[0]):
                w = W[t, j]
                c = Q[t, j] - b * W[t, j]
                norm2 += w * w
                slope += c * c
                square += w * (b * w - H[t, j] - Q[t, j])
                inner -= w * H[t, j]
        size += a[g] * math.sqrt(norm2)
        worst = max(worst, math.sqrt(slope) / a[g])
    return square / 2 + size - inner / worst + square / (2 * worst * worst)


@compiled(fastmath=FASTMATH)
def block_rounds(problem, H, Q, W, energy, order, tol, n_rounds):
    """Passes over all groups and then over the active ones, until gap <= tol; l1 = 0.

    Returns whether the gap is that small.
    """
    active = np.empty_like(order)
    for _ in range(n_rounds):
        if _block_gap(problem, H, Q, W, energy) <= tol:
            return True
        gram_blocks(problem, Q, W, order, 1)
        k = 0
        for g in order:
            if np.any(W[:, problem.members[problem.starts[g]]] != 0):
                active[k] = g
                k += 1
        gram_blocks(problem, Q, W, active[:k], 4)
    return _block_gap(problem, H, Q, W, energy) <= tol


@compiled
def group_norms(V, members, starts, l1):
    """Norm |soft(V_g, l1)| of every group of columns of V (t, d)."""
    out = np.zeros(len(starts) - 1)
    for g in range(len(out)):
        total = 0.0
        for position in range(starts[g], starts[g + 1]):
            for t in range(V.shape[0]):
                size = abs(V[t, members[position]]) - l1
                if size > 0:
                    total += size * size
        out[g] = math.sqrt(total)
    return out

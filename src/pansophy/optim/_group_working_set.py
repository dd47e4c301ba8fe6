"""Loops of block coordinate descent on least squares with group penalties.

Arrays have one row per target: W and Q = H - W G are (t, k) for k columns. Group g is
members[starts[g]:starts[g + 1]].
"""

import math

import numpy as np
from numba import njit

from ..core.compiled import FASTMATH


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def group_prox(V, s, step, a, l1, b):
    """prox of step (a |V| + l1 |V|_1 + b/2 |V|^2) on the first s columns, in place."""
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


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def gram_blocks(G, Q, W, members, starts, curve, a, l1, b, order, n_epochs, V):
    """Passes over the groups in `order`; V (t, widest group) is scratch space.

    Each step minimises a bound of curvature curve[g]; it is exact for single columns.
    Returns the number of groups that changed in the last pass.
    """
    T, k = Q.shape
    changes = 0
    for _ in range(n_epochs):
        changes = 0
        for g in order:
            if curve[g] <= 0:
                continue
            step, low = 1 / curve[g], starts[g]
            s = starts[g + 1] - low
            for m in range(s):
                j = members[low + m]
                for t in range(T):
                    V[t, m] = W[t, j] + step * Q[t, j]
            group_prox(V, s, step, a[g], l1, b)
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


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def block_gap(H, Q, W, energy, members, starts, a, b):
    """The duality gap from Gram form, without an L1 part."""
    square, along, size, worst = energy, energy, 0.0, 1.0
    for g in range(len(starts) - 1):
        own, slope = 0.0, 0.0
        for at in range(starts[g], starts[g + 1]):
            j = members[at]
            for t in range(W.shape[0]):
                w, c = W[t, j], Q[t, j] - b * W[t, j]
                own += w * w
                slope += c * c
                square += w * (b * w - H[t, j] - Q[t, j])
                along -= w * H[t, j]
        size += a[g] * math.sqrt(own)
        worst = max(worst, math.sqrt(slope) / a[g])
    return square / 2 + size - along / worst + square / (2 * worst * worst)


@njit(cache=True, nogil=True, fastmath=FASTMATH)
def block_rounds(
    G, H, Q, W, energy, members, starts, curve, a, b, order, tol, n_rounds, V
):
    """Passes over all, each followed by some over the support, until gap <= tol."""
    some = np.empty_like(order)
    for _ in range(n_rounds):
        if block_gap(H, Q, W, energy, members, starts, a, b) <= tol:
            return True
        gram_blocks(G, Q, W, members, starts, curve, a, 0.0, b, order, 1, V)
        k = 0
        for g in order:
            if np.any(W[:, members[starts[g]]] != 0):
                some[k] = g
                k += 1
        gram_blocks(G, Q, W, members, starts, curve, a, 0.0, b, some[:k], 4, V)
    return block_gap(H, Q, W, energy, members, starts, a, b) <= tol


@njit(cache=True, nogil=True)
def group_norms(V, members, starts, l1):
    """|soft(V_g, l1)| for every group of columns of V (t, d)."""
    out = np.zeros(len(starts) - 1)
    for g in range(len(out)):
        total = 0.0
        for at in range(starts[g], starts[g + 1]):
            for t in range(V.shape[0]):
                size = abs(V[t, members[at]]) - l1
                if size > 0:
                    total += size * size
        out[g] = math.sqrt(total)
    return out

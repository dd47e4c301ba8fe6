"""Compiled Bellman sweeps over the CSR rows of one action or of one policy.

Positions are made unsigned: Numba then leaves out its test for negative ones, which
is a quarter of the time. Sums run in order: rows are too short to be worth vectors.
"""

import numpy as np

from ...core.loops.compiled import compiled


@compiled
def improve_action_values(begin, column, p, r, V, gamma, a, lo, hi, Q, best, policy):
    """Values of action a in states lo..hi-1, and where they are the best so far."""
    for s in range(lo, hi):
        q = 0.0
        for k in range(np.uint64(begin[s]), np.uint64(begin[s + 1])):
            q += p[k] * V[np.uint64(column[k])]
        q = r[s, a] + gamma * q
        Q[a, s] = q
        if a == 0 or q > best[s]:
            best[s] = q
            policy[s] = a


@compiled
def value_change_bounds(V, W):
    """Least and greatest of W - V."""
    low = high = W[0] - V[0]
    for s in range(1, len(V)):
        e = W[s] - V[s]
        low = min(low, e)
        high = max(high, e)
    return low, high


@compiled
def row_lengths(begin, states, width):
    """Row lengths of some states."""
    for s in states:
        width[s] = begin[s + 1] - begin[s]


@compiled
def gather_policy_rows(begin, column, p, states, into, out_column, out_p):
    """Copy the rows of some states."""
    for s in states:
        shift = into[s] - begin[s]
        for k in range(begin[s], begin[s + 1]):
            out_column[k + shift] = column[k]
            out_p[k + shift] = p[k]


@compiled
def policy_sweeps(begin, column, p, r, V, W, gamma, sweeps, target):
    """Sweep W <- r + gamma T V up to `sweeps` times, until W - V varies by `target`.

    Returns the number of sweeps; the last result is in V.
    """
    n = len(V)
    for n_swept in range(sweeps):
        low, high = 1e308, -1e308
        for s in range(n):
            v = 0.0
            for k in range(np.uint64(begin[s]), np.uint64(begin[s + 1])):
                v += p[k] * V[np.uint64(column[k])]
            v = r[s] + gamma * v
            W[s] = v
            low = min(low, v - V[s])
            high = max(high, v - V[s])
        V[:] = W
        if high - low <= target:
            return n_swept + 1
    return sweeps

"""Compiled prioritised sweeping: a heap of states ordered by their errors."""

from typing import NamedTuple

import numpy as np

from ...core.loops._indexed_heap import indexed_heap_rise, indexed_heap_sink
from ...core.loops.compiled import compiled


class ModelRows(NamedTuple):
    """Successors of every state and action, predecessors of every state, rewards."""

    begin: np.ndarray  # (S A + 1,)
    column: np.ndarray
    p: np.ndarray
    back_begin: np.ndarray  # (S + 1,)
    back_column: np.ndarray
    r: np.ndarray  # (S, A)


@compiled(inner=True)
def _best_value(model, V, gamma, s):
    """(B V)(s)."""
    n_actions = model.r.shape[1]
    best = -np.inf
    for a in range(n_actions):
        q = 0.0
        i = s * n_actions + a
        for k in range(model.begin[i], model.begin[i + 1]):
            q += model.p[k] * V[model.column[k]]
        best = max(best, model.r[s, a] + gamma * q)
    return best


@compiled
def sweep_by_priority(model, V, gamma, stop, limit):
    """Update the state of the greatest error until all are at most `stop`.

    Returns the number of updates and the greatest error left; V changes in place.
    """
    n = len(V)
    key = np.empty(n)  # -error: the heap has its smallest key on top
    heap = np.arange(n)
    place = np.arange(n)
    for s in range(n):
        key[s] = -abs(_best_value(model, V, gamma, s) - V[s])
    for i in range(n // 2, -1, -1):
        indexed_heap_sink(heap, place, key, i, n)
    updates = 0
    while -key[heap[0]] > stop and updates < limit:
        s = heap[0]
        V[s] = _best_value(model, V, gamma, s)
        updates += 1
        key[s] = 0.0  # it is among its own predecessors if it leads to itself
        indexed_heap_sink(heap, place, key, place[s], n)
        for k in range(model.back_begin[s], model.back_begin[s + 1]):
            predecessor = model.back_column[k]
            new = -abs(_best_value(model, V, gamma, predecessor) - V[predecessor])
            old = key[predecessor]
            key[predecessor] = new
            if new < old:
                indexed_heap_rise(heap, place, key, place[predecessor])
            else:
                indexed_heap_sink(heap, place, key, place[predecessor], n)
    return updates, -key[heap[0]]

"""Compiled prioritised sweeping: a heap of states ordered by their errors."""

from typing import NamedTuple

import numpy as np

from ..core.compiled import compiled


class ModelRows(NamedTuple):
    """Successors of every state and action, predecessors of every state, rewards."""

    begin: np.ndarray  # (S A + 1,)
    column: np.ndarray
    p: np.ndarray
    back_begin: np.ndarray  # (S + 1,)
    back_column: np.ndarray
    r: np.ndarray  # (S, A)


@compiled(inner=True)
def best_value(model, V, gamma, s):
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


@compiled(inner=True)
def raise_entry(heap, place, error, i):
    """Move entry i towards the top until its parent is no smaller."""
    s = heap[i]
    while i > 0:
        parent = (i - 1) // 2
        if error[heap[parent]] >= error[s]:
            break
        heap[i] = heap[parent]
        place[heap[i]] = i
        i = parent
    heap[i] = s
    place[s] = i


@compiled(inner=True)
def lower_entry(heap, place, error, i):
    """Move entry i towards the bottom until its children are no greater."""
    s = heap[i]
    n = len(heap)
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and error[heap[child + 1]] > error[heap[child]]:
            child += 1
        if error[heap[child]] <= error[s]:
            break
        heap[i] = heap[child]
        place[heap[i]] = i
        i = child
    heap[i] = s
    place[s] = i


@compiled
def sweep_by_priority(model, V, gamma, stop, limit):
    """Update the state of the greatest error until all are at most `stop`.

    Returns the number of updates and the greatest error left; V changes in place.
    """
    n = len(V)
    error = np.empty(n)
    heap = np.arange(n)
    place = np.arange(n)
    for s in range(n):
        error[s] = abs(best_value(model, V, gamma, s) - V[s])
    for i in range(n // 2, -1, -1):
        lower_entry(heap, place, error, i)
    updates = 0
    while error[heap[0]] > stop and updates < limit:
        s = heap[0]
        V[s] = best_value(model, V, gamma, s)
        updates += 1
        error[s] = 0.0  # it is among its own predecessors if it leads to itself
        lower_entry(heap, place, error, place[s])
        for k in range(model.back_begin[s], model.back_begin[s + 1]):
            before = model.back_column[k]
            new = abs(best_value(model, V, gamma, before) - V[before])
            old = error[before]
            error[before] = new
            if new > old:
                raise_entry(heap, place, error, place[before])
            else:
                lower_entry(heap, place, error, place[before])
    return updates, error[heap[0]]

"""Compiled Nelder-Mead search that asks for values instead of calling a function.

Compiled loops take no functions as arguments. So the search is turned inside out: it
writes the point it wants to know into `point`, the caller computes the value there and
hands it to `take_value`, which moves the simplex and writes the next point.

    start_search(search, first, step)
    while not take_value(search, objective(search.point), tol): pass
    search.simplex[0] is the best vertex, search.values[0] its value

Reflection 1, expansion 2, contraction 1/2, shrinking 1/2 [Nelder1965]. It ends when
the values at the vertices differ by less than `tol` of their size, or after `limit`
values. A value that is not a number counts as infinite.

Shapes    simplex (d + 1, d)   values (d + 1,)   point, reflected, centre (d,)
"""

from typing import NamedTuple

import numpy as np

from ..core.loops.compiled import compiled

FIRST, REFLECT, EXPAND, CONTRACT, SHRINK = range(5)
PHASE, VERTEX, COUNT, LIMIT = range(4)


class Search(NamedTuple):
    """Simplex and workspace of one search; reused for one after the other."""

    simplex: np.ndarray
    values: np.ndarray
    point: np.ndarray
    reflected: np.ndarray
    centre: np.ndarray
    state: np.ndarray  # (4,) phase, vertex, values so far, most of them
    held: np.ndarray  # (1,) value at the reflected point


@compiled(inner=True, refcount=True)
def make_simplex_search(d, limit):
    """Workspace for a search of d dimensions."""
    state = np.zeros(4, np.int64)
    state[LIMIT] = limit
    return Search(
        np.zeros((d + 1, d)),
        np.zeros(d + 1),
        np.zeros(d),
        np.zeros(d),
        np.zeros(d),
        state,
        np.zeros(1),
    )


@compiled(inner=True)
def start_search(search, first, step):
    """Set up the simplex around a first point, with a step in each direction."""
    d = len(first)
    for i in range(d + 1):
        for j in range(d):
            search.simplex[i, j] = first[j]
        if i > 0:
            search.simplex[i, i - 1] += step[i - 1]
    search.state[PHASE] = FIRST
    search.state[VERTEX] = 0
    search.state[COUNT] = 0
    for j in range(d):
        search.point[j] = search.simplex[0, j]


@compiled(inner=True)
def _sort_vertices(search):
    """Order the vertices by their values, by insertion."""
    d = len(search.point)
    for i in range(1, d + 1):
        k = i
        while k > 0 and search.values[k] < search.values[k - 1]:
            held = search.values[k]
            search.values[k] = search.values[k - 1]
            search.values[k - 1] = held
            for j in range(d):
                held = search.simplex[k, j]
                search.simplex[k, j] = search.simplex[k - 1, j]
                search.simplex[k - 1, j] = held
            k -= 1


@compiled(inner=True)
def _begin_iteration(search):
    """Sort the vertices and ask for the reflection of the worst one."""
    _sort_vertices(search)
    d = len(search.point)
    for j in range(d):
        total = 0.0
        for i in range(d):
            total += search.simplex[i, j]
        search.centre[j] = total / d
        search.point[j] = 2.0 * search.centre[j] - search.simplex[d, j]
        search.reflected[j] = search.point[j]
    search.state[PHASE] = REFLECT


@compiled(inner=True)
def _replace_worst(search, from_reflected, value):
    """Put the point, or the reflected one, in the place of the worst vertex."""
    d = len(search.point)
    for j in range(d):
        x = search.reflected[j] if from_reflected else search.point[j]
        search.simplex[d, j] = x
    search.values[d] = value
    _begin_iteration(search)


@compiled(inner=True)
def _ask_vertex(search):
    for j in range(len(search.point)):
        search.point[j] = search.simplex[search.state[VERTEX], j]


@compiled(inner=True)
def take_value(search, value, tol):
    """Use the value at `point` and write the next one; True when the search is over."""
    d = len(search.point)
    state = search.state
    if not value < np.inf:  # NaN too
        value = np.inf
    state[COUNT] += 1
    if state[PHASE] == FIRST or state[PHASE] == SHRINK:
        search.values[state[VERTEX]] = value
        state[VERTEX] += 1
        if state[VERTEX] <= d:
            _ask_vertex(search)
            return False
        _begin_iteration(search)
    elif state[PHASE] == REFLECT:
        if value < search.values[0]:
            search.held[0] = value
            for j in range(d):
                search.point[j] = 3.0 * search.centre[j] - 2.0 * search.simplex[d, j]
            state[PHASE] = EXPAND
            return False
        if value < search.values[d - 1]:
            _replace_worst(search, True, value)
        else:
            outside = value < search.values[d]
            search.held[0] = value
            for j in range(d):
                far = search.reflected[j] if outside else search.simplex[d, j]
                search.point[j] = 0.5 * (search.centre[j] + far)
            state[PHASE] = CONTRACT
            return False
    elif state[PHASE] == EXPAND:
        if value < search.held[0]:
            _replace_worst(search, False, value)
        else:
            _replace_worst(search, True, search.held[0])
    elif value < min(search.held[0], search.values[d]):
        _replace_worst(search, False, value)
    else:
        for i in range(1, d + 1):
            for j in range(d):
                search.simplex[i, j] = 0.5 * (
                    search.simplex[0, j] + search.simplex[i, j]
                )
        state[PHASE] = SHRINK
        state[VERTEX] = 1
        _ask_vertex(search)
        return False
    spread = search.values[d] - search.values[0]
    size = abs(search.values[0]) + abs(search.values[d])
    return state[COUNT] >= state[LIMIT] or spread <= tol * (size + 1e-12)

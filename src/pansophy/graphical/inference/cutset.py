"""Cutset conditioning: exact inference with loops by fixing a few variables.

Given the variables C of a cutset, the graph is a tree. For each joint state c of C the
tree gives Z(c) and marginals p(x_v | c); the marginals of the graph are their averages:

    Z = sum_c Z(c),   p(x_v) = sum_c (Z(c) / Z) p(x_v | c)                         (1)

and the best assignment is the best over all c. A cutset is found greedily: leaves are
removed until only loops remain, then the variable with most factors, and so on.

Cost      (product of the sizes of C) times sum-product
Refs      [Pearl1988]
"""

from itertools import product as states_of
from typing import NamedTuple

import numpy as np

from ..networks.variables import ZeroProbabilityError, zero_probability_error
from .factor_graph import FactorGraph, to_factor_graph
from .message_passing import Assignment, max_product, sum_product

MAX_CUTSET_STATES = 100_000


class CutsetResult(NamedTuple):
    """Result of cutset conditioning."""

    marginals: dict[str, np.ndarray]
    log_z: float
    cutset: tuple[str, ...]
    weights: np.ndarray  # Z(c) of eq. (1), one axis for each variable of the cutset
    best: Assignment

    def __getitem__(self, key):
        return self.marginals[key] if isinstance(key, str) else tuple(self)[key]


def find_loop_cutset(graph: FactorGraph) -> list[int]:
    """A small set of variables that leaves a tree when observed.

    Examples
    --------
    >>> from pansophy.graphical import IsingGrid, to_factor_graph
    >>> from pansophy.graphical.inference.cutset import find_loop_cutset
    >>> len(find_loop_cutset(to_factor_graph(IsingGrid((2, 2)))))
    1
    """
    scopes = [set(f.variables) for f in graph.factors]
    factors_at = [
        {k for k, s in enumerate(scopes) if v in s} for v in range(len(graph.sizes))
    ]
    cutset = []

    def drop(v):
        for k in factors_at[v]:
            scopes[k].discard(v)
        factors_at[v] = set()

    while True:
        changed = True
        while changed:  # leaves: factors of one variable, variables of one factor
            changed = False
            for k, scope in enumerate(scopes):
                if len(scope) == 1:
                    factors_at[next(iter(scope))].discard(k)
                    scopes[k] = set()
                    changed = True
            for v, factors_of_v in enumerate(factors_at):
                if len(factors_of_v) == 1:
                    drop(v)
                    changed = True
        remaining = [v for v, factors_of_v in enumerate(factors_at) if factors_of_v]
        if not remaining:
            return sorted(cutset)
        v = max(
            remaining,
            key=lambda v: (len(factors_at[v]) - 1) / np.log(graph.sizes[v] + 1e-9),
        )
        cutset.append(v)
        drop(v)


def cutset_conditioning(model, evidence=None, *, cutset=None) -> CutsetResult:
    """Exact marginals, Z and best assignment of a graph with few loops, eq. (1).

    Parameters
    ----------
    model : FactorGraph, BayesianNetwork, MarkovRandomField or grid
    evidence : dict, optional
        Observed states, by name.
    cutset : list of names, optional
        Variables to fix; found greedily if not given.

    Examples
    --------
    >>> from pansophy.graphical import MarkovRandomField, cutset_conditioning
    >>> T = [[2, 1], [1, 2]]
    >>> edges = {("a", "b"): T, ("b", "c"): T, ("c", "d"): T, ("d", "a"): T}
    >>> out = cutset_conditioning(MarkovRandomField(edges, {"a": [3, 1]}), cutset=["a"])
    >>> out.weights.round(6), out.marginals["a"].round(6)
    (array([123.,  41.]), array([0.75, 0.25]))
    """
    graph = to_factor_graph(model)
    space = graph.space
    evidence = dict(evidence or {})
    observed = {space.names[v] for v in space.codes(evidence)}
    if cutset is None:
        chosen = find_loop_cutset(graph.reduced(evidence))
    else:
        chosen = list(space.numbers(cutset))
    names = tuple(space.names[v] for v in chosen if space.names[v] not in observed)
    numbers = space.numbers(names)
    shape = tuple(space.sizes[v] for v in numbers)
    if np.prod(shape, dtype=float) > MAX_CUTSET_STATES:
        raise ValueError(
            f"the cutset {list(names)} has {np.prod(shape, dtype=float):.3g} joint "
            "states, too many to go through."
        )
    logs = np.full(shape, -np.inf)
    components = []
    best = None
    for index in states_of(*map(range, shape)):
        fixed = {v: space.states[v][c] for v, c in zip(numbers, index, strict=True)}
        known = {**evidence, **{space.names[v]: s for v, s in fixed.items()}}
        try:
            b = sum_product(graph, known)
        except ZeroProbabilityError:
            continue
        logs[index] = b.log_z
        components.append((b.log_z, b))
        assignment = max_product(graph, known)
        if best is None or assignment.log_value > best.log_value:
            best = assignment
    if best is None:
        raise zero_probability_error(evidence)
    log_z = float(np.logaddexp.reduce(logs, axis=None))
    weights = [np.exp(log - log_z) for log, _ in components]  # eq. (1)
    marginals = {
        name: sum(w * b[name] for w, (_, b) in zip(weights, components, strict=True))
        for name in space.names
    }
    return CutsetResult(marginals, log_z, names, np.exp(logs), best)

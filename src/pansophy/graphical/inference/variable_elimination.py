"""Variable elimination: sums pushed inwards, one variable at a time.

    P(Q | E = e) = (1/Z) sum_{x not in Q, E} prod_f f(x)                         (1)

A variable is eliminated by multiplying the factors that contain it and summing the
product over it; any order gives the same answer, at very different cost. Factors that
do not affect the answer are pruned first: nodes that are neither queried, nor observed,
nor ancestors of such nodes (barren nodes, which sum to 1), and factors that the
evidence d-separates from Q. A d-separated factor with zeros is kept, since it may make
the evidence impossible.

`eliminate_variables` is the method itself; `relevant_factors` and `query_clique_tree`
make the plan that `clique_tree` runs compiled.

Cost      cells of the largest table: see `clique_tree`
Refs      [ZhangPoole1996]; [Dechter1999]; [KollerFriedman2009] ch. 9
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...distributions.joint_table import JointTable
from ...graphs.directed import ancestors
from ..networks.variables import VariableSpace
from .clique_tree import CliqueTree, clique_tree, interaction_graph
from .factors import Factor, condition_factor, factor_product, max_out, sum_out

MAX_ENUMERATED_CELLS = 2**20


def eliminate_variables(
    factors: Iterable[Factor], order: Sequence[int], operation=sum_out
) -> Factor:
    """The product of factors with the variables of `order` summed out, eq. (1).

    Examples
    --------
    >>> from pansophy.graphical.inference.variable_elimination import (
    ...     eliminate_variables,
    ... )
    >>> from pansophy.graphical.inference.factors import make_factor
    >>> a = make_factor((0,), [0.2, 0.8])
    >>> b = make_factor((0, 1), [[0.9, 0.1], [0.4, 0.6]])
    >>> f = eliminate_variables([a, b], [0])
    >>> (f.values / f.values.sum()).round(3)
    array([0.5, 0.5])
    """
    remaining = list(factors)
    for i in order:
        containing = [f for f in remaining if i in f.variables]
        remaining = [f for f in remaining if i not in f.variables]
        remaining.append(operation(factor_product(containing), [i]))
    return factor_product(remaining)


def most_likely_states(factors: Iterable[Factor], order: Sequence[int]):
    """The joint state of largest product, by max-product elimination and backtracking.

    Returns a dict of codes and the log of the largest product.
    """
    remaining = list(factors)
    eliminated = []
    for i in order:
        containing = factor_product([f for f in remaining if i in f.variables])
        eliminated.append((i, containing))
        remaining = [f for f in remaining if i not in f.variables]
        remaining.append(max_out(containing, [i]))
    last_factor = factor_product(remaining)
    with np.errstate(divide="ignore"):
        log_top = float(np.log(last_factor.values)) + last_factor.log_scale
    state: dict[int, int] = {}
    for i, f in reversed(eliminated):
        state[i] = int(np.argmax(condition_factor(f, state).values))
    return state, log_top


def relevant_factors(
    factors: Mapping[int, Factor],
    parents,
    query: Iterable[int],
    observed: Iterable[int],
) -> list[Factor]:
    """The factors of a network that affect P(query | observed).

    `factors` has the conditional table of each discrete node by its number.
    """
    observed, query = set(observed), set(query)
    needed = observed | query | ancestors(parents, observed | query)
    candidates = [factors[i] for i in sorted(needed) if i in factors]
    free = [tuple(v for v in f.variables if v not in observed) for f in candidates]
    neighbors = interaction_graph([*free, tuple(query)])
    reached = set(query)
    stack = list(query)
    while stack:
        for u in neighbors[stack.pop()] - reached:
            reached.add(u)
            stack.append(u)
    return [
        f
        for f, scope in zip(candidates, free, strict=True)
        if reached & set(scope) or not scope or not (f.values > 0).all()
    ]


def query_clique_tree(
    factors: Sequence[Factor],
    sizes,
    query,
    observed,
    heuristic: Any = "min_fill",
    order=None,
) -> CliqueTree:
    """The clique tree of factors whose observed variables are fixed."""
    observed = set(observed)
    scopes = [tuple(v for v in f.variables if v not in observed) for f in factors]
    query = tuple(sorted(query))
    return clique_tree(scopes, sizes, keep=query, heuristic=heuristic, order=order)


def enumerate_joint(model, *, max_table: int = MAX_ENUMERATED_CELLS) -> JointTable:
    """The joint table of a small network or field, by multiplying all its factors.

    Parameters
    ----------
    model : BayesianNetwork, MarkovRandomField or FactorGraph
        Anything with discrete `factors()` and `space`.
    max_table : int, default=2**20
        A larger table raises a MemoryError.

    Examples
    --------
    >>> from pansophy.graphical import enumerate_joint, sprinkler_network
    >>> table = enumerate_joint(sprinkler_network())
    >>> table.prob.shape, round(float(table.prob.sum()), 12)
    ((2, 2, 2, 2), 1.0)
    """
    space: VariableSpace = model.space
    factors = model.factors() if callable(model.factors) else model.factors
    if 0 in space.sizes:
        raise ValueError("only discrete variables can be enumerated.")
    cells = math.prod(space.sizes)
    if cells > max_table:
        raise MemoryError(
            f"the joint table has {cells:,} cells, more than max_table={max_table:,}: "
            "use query, whose tables are as small as the graph allows."
        )
    ones = Factor(tuple(range(len(space.sizes))), np.ones(space.sizes))
    joint = factor_product([*factors, ones]).values
    return JointTable(joint / joint.sum(), space.names)

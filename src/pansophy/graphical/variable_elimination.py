"""Variable elimination: sums pushed inwards, one variable at a time.

    P(Q | E = e) = (1/Z) sum_{x not in Q, E} prod_f f(x)                         (1)

A variable is summed out by multiplying the factors that hold it and summing the
product over it; any order gives the same answer, at very different cost. What has no
say in the answer is left out first: variables that are neither asked for, observed
nor above such a one (barren nodes, which sum to 1), and factors that the evidence
cuts off from Q (d-separated). A part that is cut off and has zeros is kept, since it
may make the evidence impossible.

`eliminate_variables` is the method as it reads; `relevant_factors` and `query_clique_tree` make the plan that
`programs` runs compiled.

Cost      cells of the largest table: see `clique_tree`
Refs      [ZhangPoole1996]; [Dechter1999]; [KollerFriedman2009] ch. 9
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..distributions.tables import JointTable
from ..graphs.directed import ancestors
from .clique_tree import CliqueTree, clique_tree, interaction_graph
from .factors import Factor, max_out, factor_product, condition_factor, sum_out
from .variables import VariableSpace

MAX_ENUMERATED_CELLS = 2**20  # cells that enumeration takes on


def eliminate_variables(
    factors: Iterable[Factor], order: Sequence[int], operation=sum_out
) -> Factor:
    """The product of factors with the variables of order summed out in turn, eq. (1).

    Examples
    --------
    >>> from pansophy.graphical.variable_elimination import eliminate_variables
    >>> from pansophy.graphical.factors import make_factor
    >>> a, b = make_factor((0,), [0.2, 0.8]), make_factor((0, 1), [[0.9, 0.1], [0.4, 0.6]])
    >>> f = eliminate_variables([a, b], [0])
    >>> (f.values / f.values.sum()).round(3)
    array([0.5, 0.5])
    """
    left = list(factors)
    for i in order:
        mine = [f for f in left if i in f.variables]
        left = [f for f in left if i not in f.variables]
        left.append(operation(factor_product(mine), [i]))
    return factor_product(left)


def most_likely_states(factors: Iterable[Factor], order: Sequence[int]):
    """The joint state of largest product, by max-product elimination and a way back.

    Returns a dict of codes and the log of the largest value.
    """
    left, kept = list(factors), []
    for i in order:
        mine = factor_product([f for f in left if i in f.variables])
        kept.append((i, mine))
        left = [f for f in left if i not in f.variables]
        left.append(max_out(mine, [i]))
    top = factor_product(left)
    with np.errstate(divide="ignore"):
        log_top = float(np.log(top.values)) + top.log_scale
    state: dict[int, int] = {}
    for i, f in reversed(kept):
        state[i] = int(np.argmax(condition_factor(f, state).values))
    return state, log_top


def relevant_factors(
    factors: Mapping[int, Factor], parents, query: Iterable[int], seen: Iterable[int]
) -> list[Factor]:
    """The factors of a network that have a say in P(query | seen).

    `factors` has the conditional table of each discrete node by its number.
    """
    seen, query = set(seen), set(query)
    needed = seen | query | ancestors(parents, seen | query)
    mine = [factors[i] for i in sorted(needed) if i in factors]
    free = [tuple(v for v in f.variables if v not in seen) for f in mine]
    around = interaction_graph([*free, tuple(query)])
    reached, todo = set(query), list(query)
    while todo:
        for u in around[todo.pop()] - reached:
            reached.add(u)
            todo.append(u)
    positive: dict[int, bool] = {}
    return [
        f
        for f, scope in zip(mine, free, strict=True)
        if reached & set(scope) or not scope or not is_positive(f, positive)
    ]


def is_positive(f: Factor, known: dict) -> bool:
    """Whether a factor is positive everywhere, so that it can only scale the rest."""
    return known.setdefault(id(f), bool((f.values > 0).all()))


def query_clique_tree(
    factors: Sequence[Factor],
    sizes,
    query,
    seen,
    heuristic: Any = "min_fill",
    order=None,
) -> CliqueTree:
    """The clique tree of factors with the observed variables taken out."""
    seen = set(seen)
    scopes = [tuple(v for v in f.variables if v not in seen) for f in factors]
    query = tuple(sorted(query))
    return clique_tree(scopes, sizes, keep=query, heuristic=heuristic, order=order)


def enumerate_joint(model, *, max_table: int = MAX_ENUMERATED_CELLS) -> JointTable:
    """The whole joint table of a small network or field: the oracle of all methods.

    Parameters
    ----------
    model : BayesianNetwork, MarkovRandomField or FactorGraph
        Anything with discrete `factors()` and `space`.
    max_table : int, default=2**20
        Larger tables are refused.

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
    whole = Factor(tuple(range(len(space.sizes))), np.ones(space.sizes))
    joint = factor_product([*factors, whole]).values
    return JointTable(joint / joint.sum(), space.names)

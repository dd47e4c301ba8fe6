"""Factor graphs: distributions that are products of tables over few variables each.

    p(x) = (1 / Z) prod_f phi_f(x_f),   Z = sum_x prod_f phi_f(x_f)                (1)

The graph has a node for every variable and for every factor, with an edge where a
factor contains a variable. All other models convert to it: a Bayesian network has a
factor for each table p(x_i | parents), so that Z = 1; a Markov random field one for
each edge, clique and single variable; a grid one for each pixel and pair of neighbours.

The loops of `_message_passing` and `_gibbs_sampling` read the graph as flat arrays, see
`FlatFactorGraph`: edges are numbered factor after factor, e = first[f] .. first[f + 1],
and tables lie one after the other.

Shapes    d variables, F factors, E edges, a message over edge e has sizes[variable[e]]
Refs      [Kschischang2001]
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...graphs.directed import elimination_order
from ..networks.variables import VariableSpace
from .factors import Factor, condition_factor, make_factor, rescale_factor
from .variable_elimination import eliminate_variables, enumerate_joint


class FlatFactorGraph(NamedTuple):
    """A factor graph as arrays."""

    sizes: np.ndarray  # (d,)
    start: np.ndarray  # (d + 1,) where the states of a variable begin
    first: np.ndarray  # (F + 1,) edges of a factor
    variable: np.ndarray  # (E,) of an edge
    factor: np.ndarray  # (E,)
    stride: np.ndarray  # (E,) step in the table when the variable goes up by one
    message: np.ndarray  # (E + 1,) where the message of an edge begins
    cell: np.ndarray  # (F + 1,) where the table of a factor begins
    table: np.ndarray  # values of all tables
    begin: np.ndarray  # (d + 1,) edges of a variable, in `edges`
    edges: np.ndarray  # (E,)


def flatten_factors(sizes, factors) -> FlatFactorGraph:
    """The flat arrays of a factor graph."""
    as_int64 = lambda a: np.asarray(a, dtype=np.int64)
    offsets = lambda a: np.concatenate([[0], np.cumsum(as_int64(a), dtype=np.int64)])
    sizes = as_int64(sizes)
    arity = [len(f.variables) for f in factors]
    variable = as_int64([v for f in factors for v in f.variables])
    factor_of_edge = np.repeat(np.arange(len(factors)), arity)
    stride = as_int64([s // 8 for f in factors for s in f.values.strides])
    edges = np.argsort(variable, kind="stable")
    begin = offsets(np.bincount(variable, minlength=len(sizes)))
    tables = [f.values.reshape(-1) for f in factors]
    table = np.concatenate([np.zeros(0), *tables])
    return FlatFactorGraph(
        sizes,
        offsets(sizes),
        offsets(arity),
        variable,
        factor_of_edge,
        stride,
        offsets(sizes[variable]),
        offsets([len(t) for t in tables]),
        table,
        begin,
        edges.astype(np.int64),
    )


def _as_variable_space(variables) -> VariableSpace:
    """A VariableSpace from itself, a dict of sizes or states, or a list of sizes."""
    if isinstance(variables, VariableSpace):
        return variables
    if isinstance(variables, Mapping):
        as_states = lambda s: tuple(range(s)) if isinstance(s, (int, np.integer)) else s
        states = tuple(tuple(as_states(s)) for s in variables.values())
        return VariableSpace(tuple(variables), states)
    return VariableSpace.of_sizes(variables)


def _check_factor(space: VariableSpace, item) -> Factor:
    """A Factor from itself or from (names, table), checked."""
    if not isinstance(item, Factor):
        try:
            names, table = item
        except (TypeError, ValueError):
            raise TypeError(
                "a factor is a Factor or a pair (names, table); no method here can "
                f"read a {type(item).__name__}."
            ) from None
        try:
            table = np.asarray(table, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(
                f"the factor over {names!r} must be a table of numbers, got a "
                f"{type(table).__name__}."
            ) from None
        item = make_factor(space.numbers(names), table)
    shown = [space.names[space.number(v)] for v in item.variables]
    wanted = tuple(space.sizes[v] for v in item.variables)
    if item.values.shape != wanted:
        raise ValueError(
            f"the table over {shown} must have shape {wanted}, got {item.values.shape}."
        )
    if list(item.variables) != sorted(set(item.variables)):
        item = make_factor(item.variables, item.values, item.log_scale)
    if not np.isfinite(item.values).all() or (item.values < 0).any():
        raise ValueError(f"the table over {shown} must hold numbers of at least 0.")
    return item._replace(values=np.asarray(item.values, dtype=float, order="C"))


@dataclass(eq=False, repr=False)
class FactorGraph:
    """A product of tables over named variables.

    Parameters
    ----------
    variables : VariableSpace, dict or list of int
        Names and states; a dict of sizes or of lists of states by name; or a list of
        sizes, for names x0, x1, ...
    factors : list of Factor or of (names, table)
        Non-negative tables with one axis for each name, in the order of the names.

    Examples
    --------
    >>> from pansophy.graphical import FactorGraph, sum_product
    >>> parts = [("a", [3, 1]), (("a", "b"), [[2, 1], [1, 2]])]
    >>> graph = FactorGraph({"a": 2, "b": 2}, parts)
    >>> graph
    FactorGraph(2 variables, 2 factors, a tree)
    >>> sum_product(graph)["b"].round(4)
    array([0.5833, 0.4167])
    """

    variables: VariableSpace
    factors: list

    def __post_init__(self):
        self.space = _as_variable_space(self.variables)
        if not self.space.names:
            raise ValueError("a factor graph needs at least one variable.")
        empty = [n for n, s in zip(*self.space, strict=True) if len(s) == 0]
        if empty:
            raise ValueError(
                f"{empty[0]!r} has no states: factor graphs hold discrete variables."
            )
        self.factors = [_check_factor(self.space, f) for f in self.factors]

    def __repr__(self):
        kind = "a tree" if self.is_tree else "with loops"
        d, n = len(self.sizes), len(self.factors)
        return f"FactorGraph({d} variables, {n} factors, {kind})"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of states of each variable."""
        return self.space.sizes

    @cached_property
    def flat(self) -> FlatFactorGraph:
        """The graph as arrays."""
        return flatten_factors(self.sizes, self._rescaled_factors)

    @cached_property
    def _rescaled_factors(self) -> list[Factor]:
        """The factors, divided by their largest value if that is far from 1."""
        rescaled = []
        for f in self.factors:
            top = float(f.values.max(initial=0.0))
            is_moderate = abs(f.log_scale) < 200 and (top == 0 or 1e-100 < top < 1e100)
            values = f.values * math.exp(f.log_scale) if is_moderate else f.values
            rescaled.append(
                Factor(f.variables, values) if is_moderate else rescale_factor(f)
            )
        return rescaled

    @cached_property
    def log_constant(self) -> float:
        """Logarithm of what the tables of `flat` were divided by."""
        return float(sum(f.log_scale for f in self._rescaled_factors))

    @cached_property
    def is_tree(self) -> bool:
        """Whether the graph has no loops (it may be a forest)."""
        from ._message_passing import tree_schedule

        return bool(tree_schedule(self.flat, 0)[2])

    def neighbors(self) -> list[set[int]]:
        """Variables that share a factor with each variable."""
        neighbor_sets: list[set[int]] = [set() for _ in self.sizes]
        for f in self.factors:
            for v in f.variables:
                neighbor_sets[v] |= set(f.variables) - {v}
        return neighbor_sets

    def reduced(self, evidence) -> "FactorGraph":
        """The graph with some variables fixed, which then have no factors."""
        known = self.space.codes(evidence)
        return FactorGraph(
            self.space, [condition_factor(f, known) for f in self.factors]
        )

    def log_value(self, codes) -> np.ndarray:
        """log prod_f phi_f of rows of state numbers (n, d)."""
        x = np.atleast_2d(np.asarray(codes))
        total = np.zeros(len(x))
        with np.errstate(divide="ignore"):
            for f in self.factors:
                total += np.log(f.values[tuple(x[:, v] for v in f.variables)])
                total += f.log_scale
        return total

    def joint(self) -> np.ndarray:
        """The joint table p of eq. (1): one axis for each variable."""
        return enumerate_joint(self).prob

    def log_partition(self) -> float:
        """log Z, by elimination."""
        order, _ = elimination_order(self.neighbors(), self.sizes)
        ones = [Factor((v,), np.ones(s)) for v, s in enumerate(self.sizes)]
        f = eliminate_variables([*self.factors, *ones], order)
        with np.errstate(divide="ignore"):
            return float(np.log(f.values)) + f.log_scale

    def state_names(self, codes) -> dict:
        """State of each variable by name, from one row of state numbers."""
        names, states = self.space
        rows = zip(names, states, codes, strict=True)
        return {name: s[int(c)] for name, s, c in rows}


def to_factor_graph(model) -> FactorGraph:
    """The factor graph of a model: the same distribution as a product of tables.

    Parameters
    ----------
    model : BayesianNetwork, MarkovRandomField, IsingGrid, PottsGrid or FactorGraph

    Examples
    --------
    >>> from pansophy.graphical import IsingGrid, to_factor_graph
    >>> to_factor_graph(IsingGrid((2, 2), coupling=0.5))
    FactorGraph(4 variables, 8 factors, with loops)
    """
    if isinstance(model, FactorGraph):
        return model
    if hasattr(model, "unary") and hasattr(model, "pairs"):
        return _grid_factor_graph(model)
    if hasattr(model, "factors") and hasattr(model, "space"):
        return FactorGraph(model.space, list(model.factors()))
    raise TypeError(
        f"a factor graph is made of a network, a Markov field or a grid, not of a "
        f"{type(model).__name__}."
    )


def _grid_factor_graph(grid) -> FactorGraph:
    """A factor for each pixel and each pair of neighbours of a grid."""
    U, L = grid.unary, grid.pair
    height, width, q = U.shape
    names = tuple(f"{i},{j}" for i in range(height) for j in range(width))
    states = tuple(grid.states)
    top = float(L.max())
    table = np.exp(L - L.max())
    factors = [
        Factor((k,), np.exp(u - u.max()), float(u.max()))
        for k, u in enumerate(U.reshape(-1, q))
    ]
    factors += [
        Factor((int(min(p)), int(max(p))), table, top) for p in grid.pairs.tolist()
    ]
    return FactorGraph(VariableSpace(names, (states,) * len(names)), factors)

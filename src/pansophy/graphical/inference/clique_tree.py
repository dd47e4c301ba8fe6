"""Clique trees: the plan of exact inference, its cost, and its messages.

The product of factors over scopes S_1, ..., S_m is summed over variables in some order.
Eliminating variable i multiplies all factors that contain it, which needs a table over
i and its neighbours (a clique of the triangulated graph). The cliques of an order form
a tree in which cliques that share a variable are connected by cliques that contain it
too (running intersection). So

    largest table   max_c prod_{i in c} size_i        memory                     (1)
    total           sum_c prod_{i in c} size_i        work, up to a constant     (2)

are known from the graph alone. Cliques inside a neighbouring one are merged with it.
Variables that must stay together (a joint query) are connected first and eliminated
last.

A `CliqueTreeLayout` computes once all that does not depend on the observed codes: where
each table lies, the strides of factors and separators along the axes of their cliques,
the order of the messages. A run then multiplies factors into their cliques at the
observed codes and sends the messages

    m_{a -> b}(x_S) = sum_{x_{a without S}} T_a(x_a),   T_b <- T_b m_{a->b} / m_S  (3)

with m_S the last message over the same separator S (1 at first), towards a clique that
contains the query; if they are sent outwards as well, every clique holds the product of
all factors summed to its variables. Messages and tables are divided by their largest
value now and then; the logarithms add up to the log probability of the evidence.

Cost      planning: that of `graphs.elimination_order`; a row of evidence:
          O(cells of all cliques * (neighbours + factors))
Shapes    cliques: tuples of ascending numbers   edges (C - 1, 2)   codes (n, e)
Refs      [LauritzenSpiegelhalter1988]; [Jensen1990] (3); [KollerFriedman2009] ch. 9, 10
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...core.loops import threads
from ...graphs.directed import Heuristic, elimination_order
from . import _clique_tree as loops
from .factors import Factor

HEURISTICS = ("min_fill", "min_weight", "min_degree")
MAX_TABLE_CELLS = 2**26  # cells: 512 MiB
ROWS_PER_TASK = 256  # rows of evidence in one task
MIN_THREADED_CELLS = 20_000  # cells in all from which rows are spread over threads


class CliqueTree(NamedTuple):
    """Maximal cliques, the tree over them, and the order they came from."""

    cliques: tuple[tuple[int, ...], ...]
    edges: tuple[tuple[int, int], ...]  # components are joined by empty separators
    order: tuple[int, ...]
    largest: int  # eq. (1)
    total: int  # eq. (2)

    def separator(self, e: int) -> tuple[int, ...]:
        """The variables that the cliques at both ends of edge e share."""
        a, b = self.edges[e]
        return tuple(v for v in self.cliques[a] if v in self.cliques[b])

    def containing(self, variables: Iterable[int]) -> int | None:
        """The smallest clique that contains all these variables, or None."""
        wanted = set(variables)
        wide = [c for c, s in enumerate(self.cliques) if wanted <= set(s)]
        return min(wide, key=lambda c: len(self.cliques[c]), default=None)


def interaction_graph(scopes: Iterable[tuple[int, ...]]) -> dict[int, set[int]]:
    """Neighbours of each variable: those it shares a factor with."""
    neighbors: dict[int, set[int]] = {}
    for scope in scopes:
        for v in scope:
            neighbors.setdefault(v, set()).update(scope)
    return {v: near - {v} for v, near in neighbors.items()}


def clique_tree(
    scopes: Iterable[tuple[int, ...]],
    sizes: Sequence[int],
    *,
    keep: tuple[int, ...] = (),
    heuristic: Heuristic = "min_fill",
    order: Sequence[int] | None = None,
) -> CliqueTree:
    """The clique tree of factors over these scopes.

    Parameters
    ----------
    scopes : iterable of tuples
        Variables of each factor.
    sizes : sequence of int
        Number of states of every variable.
    keep : tuple of int
        Variables to eliminate last, together: some clique contains them all.
    heuristic : str
        Heuristic of the elimination order.
    order : sequence of int, optional
        Elimination order of all the other variables, in place of the heuristic.
    """
    graph = interaction_graph([*scopes, tuple(keep)])
    variables = sorted(graph)
    place = {v: k for k, v in enumerate(variables)}
    neighbors = [{place[u] for u in graph[v]} for v in variables]
    local_sizes = [sizes[v] for v in variables]
    last = sorted(place[v] for v in keep)
    first = [k for k in range(len(variables)) if k not in set(last)]
    if order is not None:
        local_order = [place[v] for v in order]
        _check_elimination_order(local_order, first, variables)
        cliques = _cliques_of_order(neighbors, local_order)
    else:
        local_order, cliques = elimination_order(
            neighbors, local_sizes, heuristic, nodes=first
        )
    local_order = [*local_order, *last]
    cliques = [*cliques, *(tuple(last[j:]) for j in range(len(last)))]
    merged, edges = _merge_cliques(local_order, cliques)
    cells = [math.prod(local_sizes[k] for k in c) for c in merged]
    return CliqueTree(
        tuple(tuple(variables[k] for k in c) for c in merged),
        tuple(edges),
        tuple(variables[k] for k in local_order),
        max(cells, default=1),
        sum(cells),
    )


def _check_elimination_order(order, eliminated, variables) -> None:
    """Raise unless an order contains every eliminated variable exactly once."""
    if sorted(order) != eliminated:
        raise ValueError(
            "order must hold every variable that is summed out, once: "
            f"{[variables[k] for k in eliminated]}, got "
            f"{[variables[k] for k in order]}."
        )


def _cliques_of_order(neighbors, order) -> list[tuple[int, ...]]:
    """The clique that each step of an elimination order makes."""
    neighbors = [set(s) for s in neighbors]
    cliques = []
    for i in order:
        near = neighbors[i]
        cliques.append(tuple(sorted(near | {i})))
        for a in near:
            neighbors[a] |= near
            neighbors[a] -= {a, i}
    return cliques


def _merge_cliques(order, cliques):
    """Maximal cliques and the edges of their tree.

    The clique of step k is connected to that of the step which eliminates the first of
    its remaining variables.
    """
    step = {v: k for k, v in enumerate(order)}
    children: list[list[int]] = [[] for _ in order]  # merged cliques below each step
    merged: list[tuple[int, ...]] = []
    edges: list[tuple[int, int]] = []
    roots = []
    for k, clique in enumerate(cliques):
        inside = (c for c in children[k] if set(clique) <= set(merged[c]))
        node = next(inside, None)
        if node is None:
            node = len(merged)
            merged.append(clique)
        edges += [(c, node) for c in dict.fromkeys(children[k]) if c != node]
        later = [step[v] for v in clique if step[v] > k]
        if later:
            children[min(later)].append(node)
        elif node not in roots:
            roots.append(node)
    edges += list(pairwise(roots))
    if not merged:
        merged = [()]
    return merged, edges


def inward_schedule(tree: CliqueTree, root: int) -> np.ndarray:
    """Messages from the leaves to a root: rows (edge, direction 0 or 1)."""
    neighbors: list[list[tuple[int, int, int]]] = [[] for _ in tree.cliques]
    for e, (a, b) in enumerate(tree.edges):
        neighbors[a].append((b, e, 1))  # from b to a: against the edge
        neighbors[b].append((a, e, 0))
    outwards = []
    stack = [root]
    visited = {root}
    while stack:
        c = stack.pop()
        for neighbor, e, back in neighbors[c]:
            if neighbor not in visited:
                visited.add(neighbor)
                stack.append(neighbor)
                outwards.append((e, back))
    return np.array(outwards[::-1], dtype=np.int64).reshape(-1, 2)


def outward_schedule(inward: np.ndarray) -> np.ndarray:
    """The messages of an inward schedule reversed: from the root to the leaves."""
    outward = inward[::-1].copy()
    outward[:, 1] = 1 - outward[:, 1]
    return outward


@dataclass(frozen=True, eq=False)
class InferenceCost:
    """Memory and work of an exact query, eq. (1) and (2), known before it runs.

    Attributes
    ----------
    order : tuple of str
        The variables in elimination order.
    largest_table : int
        Cells of the largest table.
    largest_clique : tuple of str
        The variables of that table.
    total : int
        Cells of all tables: the work, up to a small constant.
    """

    order: tuple
    largest_table: int
    largest_clique: tuple
    total: int
    heuristic: str = "min_fill"

    def __str__(self):
        names = ", ".join(map(str, self.largest_clique))
        return (
            f"sums out {len(self.order)} variables ({self.heuristic}); largest table "
            f"{self.largest_table:,} cells over {names}; {self.total:,} cells in all"
        )


def inference_cost_of(tree: CliqueTree, sizes, names, keep, heuristic) -> InferenceCost:
    """The cost of a clique tree, with the names of its variables."""
    cells = [math.prod(sizes[v] for v in c) for c in tree.cliques]
    widest = tree.cliques[int(np.argmax([float(n) for n in cells]))]
    order = tuple(names[v] for v in tree.order if v not in keep)
    largest_clique = tuple(names[v] for v in widest)
    return InferenceCost(order, tree.largest, largest_clique, tree.total, heuristic)


def check_table_size(cost: InferenceCost, max_table: int) -> None:
    """Raise a MemoryError if the largest table would have more than max_table cells."""
    if cost.largest_table > max_table:
        raise MemoryError(
            f"exact inference needs a table of {cost.largest_table:,} cells, more than "
            f"max_table={max_table:,}: raise it, observe more variables, or sample "
            "with method='likelihood_weighting' or 'gibbs'."
        )


def _table_strides(scope, sizes) -> dict[int, int]:
    """The stride of each variable in a table over scope, last axis fastest."""
    strides = {}
    step = 1
    for v in reversed(scope):
        strides[v] = step
        step *= sizes[v]
    return strides


def _concatenate_ragged(lists) -> tuple[np.ndarray, np.ndarray]:
    """Lists end to end as one array, and where each begins."""
    ends = np.cumsum([0, *map(len, lists)])
    flat = np.array([x for part in lists for x in part], dtype=np.int64)
    return flat, ends.astype(np.int64)


@dataclass(frozen=True, eq=False)
class CliqueTreeLayout:
    """A clique tree with its factors as flat arrays for the compiled loops.

    The tuples of arrays that its properties give are described in `_clique_tree.py`.

    Parameters
    ----------
    tree : CliqueTree
    factors : sequence of Factor
        The variables of each are in some clique, or among `observed`.
    sizes : sequence of int
    observed : tuple of int
        Observed variables: column j of the codes holds those of observed[j].
    """

    tree: CliqueTree
    factors: Sequence[Factor]
    sizes: Sequence[int]
    observed: tuple[int, ...] = ()

    @cached_property
    def geometry(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Offsets of the tables, lengths of their axes, and offsets of those."""
        dims, dim_ptr = _concatenate_ragged(
            [[self.sizes[v] for v in c] for c in self.tree.cliques]
        )
        cells = [math.prod(self.sizes[v] for v in c) for c in self.tree.cliques]
        return np.cumsum([0, *cells]).astype(np.int64), dims, dim_ptr

    @cached_property
    def factor_arrays(self) -> tuple[np.ndarray, ...]:
        """Factors: values, clique, start, strides, and how codes move the start."""
        column = {v: j for j, v in enumerate(self.observed)}
        homes, strides, start = [], [], []
        observed_columns, observed_strides = [], []
        n_values = 0
        for f in self.factors:
            stride_of = _table_strides(f.variables, self.sizes)
            free = [v for v in f.variables if v not in column]
            home = self.tree.containing(free)
            assert home is not None  # every factor's scope went into the tree
            homes.append(home)
            strides.append([stride_of.get(v, 0) for v in self.tree.cliques[home]])
            observed_columns.append([column[v] for v in f.variables if v in column])
            observed_strides.append([stride_of[v] for v in f.variables if v in column])
            start.append(n_values)
            n_values += f.values.size
        values = [np.ravel(f.values) for f in self.factors]
        flat_strides, stride_ptr = _concatenate_ragged(strides)
        columns, column_ptr = _concatenate_ragged(observed_columns)
        return (
            np.concatenate([*values, np.ones(1)]),
            np.array(homes, dtype=np.int64),
            np.array(start, dtype=np.int64),
            flat_strides,
            stride_ptr,
            column_ptr,
            columns,
            _concatenate_ragged(observed_strides)[0],
        )

    @cached_property
    def links(self) -> tuple[np.ndarray, ...]:
        """Edges: ends, where separators begin, strides at both ends."""
        tree, sizes = self.tree, self.sizes
        near, far, cells = [], [], []
        for e, (a, b) in enumerate(tree.edges):
            shared = tree.separator(e)
            stride_of = _table_strides(shared, sizes)
            near.append([stride_of.get(v, 0) for v in tree.cliques[a]])
            far.append([stride_of.get(v, 0) for v in tree.cliques[b]])
            cells.append(math.prod(sizes[v] for v in shared))
        ends = np.array(tree.edges, dtype=np.int64).reshape(-1, 2)
        sep_ptr = np.cumsum([0, *cells]).astype(np.int64)
        return (ends, sep_ptr, *_concatenate_ragged(near), *_concatenate_ragged(far))

    @cached_property
    def widest_message(self) -> int:
        """Cells of the largest separator."""
        return int(np.diff(self.links[1]).max(initial=1))

    @cached_property
    def log_scale(self) -> float:
        """Sum of the log scales of the factors."""
        return float(sum(f.log_scale for f in self.factors))

    @cached_property
    def initial_tables(self) -> tuple[np.ndarray, float]:
        """All tables as products of their factors, nothing observed; log scale."""
        table_ptr, dims, _ = self.geometry
        T = np.empty(table_ptr[-1])
        digit = np.zeros(len(dims) + 1, np.int64)
        n_products = np.zeros(len(table_ptr), np.int64)
        no_codes = np.zeros(1, np.int64)
        scale = loops.load_factors(
            T, self.geometry, self.factor_arrays, no_codes, digit, n_products
        )
        return T, scale

    def pass_messages(self, T, M, schedule) -> float:
        """Send messages between tables T with last messages M, in place; log scale."""
        table_ptr, dims, _ = self.geometry
        return loops.pass_messages(
            T,
            self.geometry,
            M,
            self.links,
            schedule,
            np.empty(self.widest_message),
            np.zeros(len(dims) + 1, np.int64),
            np.zeros(len(table_ptr), np.int64),
            np.ones(len(table_ptr), bool),
        )

    @cached_property
    def calibrated(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Marginals of all cliques and separators, and log Z, with nothing observed."""
        table_ptr, sep_ptr = self.geometry[0], self.links[1]
        T, scale = self.initial_tables
        T = T.copy()
        scale = scale + self.log_scale
        M = np.ones(sep_ptr[-1])
        inward = inward_schedule(self.tree, 0)
        scale += self.pass_messages(T, M, inward)
        total = T[: table_ptr[1]].sum()
        if total == 0.0:
            raise ValueError("the factors are zero for every joint state.")
        self.pass_messages(T, M, outward_schedule(inward))
        for c in range(len(self.tree.cliques)):
            cells = slice(table_ptr[c], table_ptr[c + 1])
            T[cells] /= T[cells].sum()
        for e in range(len(self.tree.edges)):
            cells = slice(sep_ptr[e], sep_ptr[e + 1])
            M[cells] /= M[cells].sum()
        return T, M, float(scale + np.log(total))

    def output(self, targets) -> tuple[np.ndarray, ...]:
        """Positions of the joint table of each tuple of variables."""
        cliques, strides, cells = [], [], []
        for scope in targets:
            home = self.tree.containing(scope)
            if home is None:
                raise ValueError(f"no clique holds the variables {scope} together.")
            stride_of = _table_strides(scope, self.sizes)
            cliques.append(home)
            strides.append([stride_of.get(v, 0) for v in self.tree.cliques[home]])
            cells.append(math.prod(self.sizes[v] for v in scope))
        ends = np.cumsum([0, *cells]).astype(np.int64)
        return (np.array(cliques, dtype=np.int64), ends, *_concatenate_ragged(strides))

    def marginals_of_rows(self, codes, targets) -> tuple[np.ndarray, np.ndarray]:
        """Marginals of each target and log evidence, for rows of codes (n, e).

        Messages go to the clique of the first target, and out again if there are more.
        """
        output = self.output(targets or [()])
        root = int(output[0][0])
        inward = inward_schedule(self.tree, root)
        schedule = inward
        if len(set(output[0].tolist())) > 1:
            schedule = np.concatenate([inward, outward_schedule(inward)])
        n = len(codes)
        codes = np.ascontiguousarray(codes, dtype=np.int64).reshape(n, -1)
        marginals, log_z = np.empty((n, output[1][-1])), np.empty(n)

        def task(i, j):
            return lambda: loops.marginals_of_rows(
                marginals[i:j],
                log_z[i:j],
                codes[i:j],
                self.geometry,
                self.factor_arrays,
                self.links,
                schedule,
                len(inward),
                output,
                self.widest_message,
            )

        step = n if n * self.tree.total < MIN_THREADED_CELLS else ROWS_PER_TASK
        for _ in threads.run_tasks(
            [task(i, min(i + step, n)) for i in range(0, n, step)]
        ):
            pass
        return marginals, log_z + self.log_scale

"""Directed acyclic graphs: parsing, adjacency and reachability, enumeration.

A graph is the tuple of the parents of each node. The number of acyclic graphs on d
labelled nodes, 1, 3, 25, 543, 29281, ..., grows faster than 2^(d (d - 1) / 2). They are
enumerated by taking the set of nodes without parents first: the rest is a graph on the
other nodes, in which each node without parents has at least one in that set.

Refs      [Robinson1977]
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, product

import numpy as np

from ...graphs.directed import topological_order
from .variables import VariableSpace


def parse_parents(graph, names) -> tuple[tuple[int, ...], ...]:
    """Parents of each node, by number, of a graph in any notation.

    Parameters
    ----------
    graph : network, mapping, list of pairs, or sequence of tuples
        A network with `parents`; {"child": ["parent", ...]}; [("parent", "child"),
        ...] with names, [] for no edges; or for each node the tuple of its parents'
        numbers.
    names : sequence of str

    Examples
    --------
    >>> from pansophy.graphical.networks.dags import parse_parents
    >>> parse_parents([("rain", "wet"), ("hose", "wet")], ("rain", "hose", "wet"))
    ((), (), (0, 1))
    """
    space = VariableSpace(tuple(names), ((),) * len(names))
    if hasattr(graph, "parents") and hasattr(graph, "space"):
        names_of_graph = graph.space.names
        graph = {
            names_of_graph[j]: [names_of_graph[p] for p in node_parents]
            for j, node_parents in enumerate(graph.parents)
        }
    parents_of: list[tuple[int, ...]] = [()] * len(names)
    if isinstance(graph, Mapping):
        for child, parents in graph.items():
            parents_of[space.number(child)] = tuple(space.number(p) for p in parents)
    elif _is_edge_list(graph):
        for parent, child in graph:
            j = space.number(child)
            parents_of[j] = (*parents_of[j], space.number(parent))
    else:
        if len(graph) != len(names):
            raise ValueError(
                f"the graph has {len(graph)} nodes, the table {len(names)} columns."
            )
        number = lambda p: p if p in range(len(names)) else space.number(p)
        parents_of = [tuple(number(p) for p in parents) for parents in graph]
    for j, parents in enumerate(parents_of):
        if len(set(parents)) < len(parents):
            raise ValueError(f"{names[j]!r} has the same parent twice.")
    topological_order(parents_of, names)
    return tuple(parents_of)


def _is_edge_list(graph) -> bool:
    """Whether a list holds pairs of names rather than tuples of parents."""
    pairs = [e for e in graph if len(e) == 2 and any(isinstance(v, str) for v in e)]
    return len(pairs) == len(graph)  # no pairs at all: a graph without edges


def edge_pairs(parents, names=None) -> list[tuple]:
    """Pairs (parent, child), by number or by name."""
    label = (lambda j: j) if names is None else (lambda j: names[j])
    return [
        (label(p), label(j))
        for j, node_parents in enumerate(parents)
        for p in node_parents
    ]


def all_dags(d: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every directed acyclic graph on d nodes, as parents.

    Examples
    --------
    >>> from pansophy.graphical import all_dags
    >>> [sum(1 for _ in all_dags(d)) for d in (1, 2, 3, 4)]
    [1, 3, 25, 543]
    """
    for parents in _dags_by_layer(tuple(range(d)), ()):
        yield tuple(parents[j] for j in range(d))


def _dags_by_layer(nodes, before):
    """Graphs on `nodes` below the last layer of `before`."""
    if not nodes:
        yield {}
        return
    last = before[-1] if before else ()
    earlier = tuple(v for layer in before[:-1] for v in layer)
    for k in range(1, len(nodes) + 1):
        for layer in combinations(nodes, k):
            rest = tuple(v for v in nodes if v not in layer)
            choices = [tuple(_parent_sets(last, earlier)) for _ in layer]
            for subgraph in _dags_by_layer(rest, (*before, layer)):
                for chosen in product(*choices):
                    yield {**subgraph, **dict(zip(layer, chosen, strict=True))}


def _parent_sets(last, earlier):
    """Parent sets with at least one node of the last layer and any earlier nodes."""
    for k in range(1 if last else 0, len(last) + 1):
        for chosen in combinations(last, k):
            for k_earlier in range(len(earlier) + 1):
                for earlier_nodes in combinations(earlier, k_earlier):
                    yield tuple(sorted((*chosen, *earlier_nodes)))


def adjacency_matrix(parents) -> np.ndarray:
    """The adjacency matrix A of the parents of each node: A[x, y] is x -> y."""
    A = np.zeros((len(parents), len(parents)), dtype=bool)
    for y, parents_of_y in enumerate(parents):
        A[list(parents_of_y), y] = True
    return A


def parents_from_adjacency(A) -> tuple:
    """The parents of each node of an adjacency matrix."""
    return tuple(tuple(np.flatnonzero(column).tolist()) for column in A.T)


def reachability_matrix(A) -> np.ndarray:
    """R[x, y]: whether a directed path of at least one edge leads from x to y."""
    R = A.copy()
    parents = parents_from_adjacency(A)
    for y in reversed(topological_order(parents)):
        for x in parents[y]:
            R[x] |= R[y]
    return R

"""Directed acyclic graphs as users write them, and all of them on a few nodes.

The number of graphs on d labelled nodes, 1, 3, 25, 543, 29281, ... grows faster than
2^(d (d - 1) / 2): each is an order of the nodes with parents chosen from those before,
and many orders give the same graph. They are made here by taking the set of nodes
without parents first: what is left is a graph on the other nodes, in which each node
without parents has at least one in that set.

Refs      [Robinson1977]
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, product

from ..graphs.directed import topological_order
from .variables import VariableSpace


def parse_parents(graph, names) -> tuple[tuple[int, ...], ...]:
    """Parents of each node, by number, of a graph in any of the ways to write one.

    Parameters
    ----------
    graph : network, mapping, list of pairs, or sequence of tuples
        A network with `parents`; {"child": ["parent", ...]}; [("parent", "child"),
        ...] with names; or for each node the tuple of its parents' numbers.
    names : sequence of str

    Examples
    --------
    >>> from pansophy.graphical.dags import parse_parents
    >>> parse_parents([("rain", "wet"), ("hose", "wet")], ("rain", "hose", "wet"))
    ((), (), (0, 1))
    """
    space = VariableSpace(tuple(names), ((),) * len(names))
    if hasattr(graph, "parents") and hasattr(graph, "space"):
        own = graph.space.names
        graph = {own[j]: [own[p] for p in up] for j, up in enumerate(graph.parents)}
    above: list[tuple[int, ...]] = [()] * len(names)
    if isinstance(graph, Mapping):
        for child, parents in graph.items():
            above[space.number(child)] = tuple(space.number(p) for p in parents)
    elif is_edge_list(graph):
        for parent, child in graph:
            j = space.number(child)
            above[j] = (*above[j], space.number(parent))
    else:
        if len(graph) != len(names):
            raise ValueError(
                f"the graph has {len(graph)} nodes, the table {len(names)} columns."
            )
        place = lambda p: p if p in range(len(names)) else space.number(p)
        above = [tuple(place(p) for p in parents) for parents in graph]
    for j, parents in enumerate(above):
        if len(set(parents)) < len(parents):
            raise ValueError(f"{names[j]!r} has the same parent twice.")
    topological_order(above, names)
    return tuple(above)


def is_edge_list(graph) -> bool:
    """Whether a list holds pairs of names rather than tuples of numbers."""
    pairs = [e for e in graph if len(e) == 2 and any(isinstance(v, str) for v in e)]
    return len(pairs) > 0 and len(pairs) == len(graph)


def edge_pairs(parents, names=None) -> list[tuple]:
    """Pairs (parent, child), by number or by name."""
    word = (lambda j: j) if names is None else (lambda j: names[j])
    return [(word(p), word(j)) for j, above in enumerate(parents) for p in above]


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


def _dags_by_layer(left, before):
    """Graphs on the nodes `left` below the last layer of `before`."""
    if not left:
        yield {}
        return
    last = before[-1] if before else ()
    earlier = tuple(v for layer in before[:-1] for v in layer)
    for k in range(1, len(left) + 1):
        for layer in combinations(left, k):
            rest = tuple(v for v in left if v not in layer)
            choices = [tuple(_parent_sets(last, earlier)) for _ in layer]
            for below in _dags_by_layer(rest, (*before, layer)):
                for chosen in product(*choices):
                    yield {**below, **dict(zip(layer, chosen, strict=True))}


def _parent_sets(last, earlier):
    """Parent sets with at least one node of the layer above, any of the earlier."""
    for k in range(1 if last else 0, len(last) + 1):
        for some in combinations(last, k):
            for more in range(len(earlier) + 1):
                for others in combinations(earlier, more):
                    yield tuple(sorted((*some, *others)))

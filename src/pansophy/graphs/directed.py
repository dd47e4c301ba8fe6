"""Directed acyclic graphs and the triangulation of their moral graphs.

A graph of d nodes is `parents`: for each node the tuple of its parents' numbers.

Moral graph     i - j if one is a parent of the other or they share a child        (1)
Elimination     removing a node connects all its neighbours; the node and they    (2)
                are a clique of the triangulated graph
Heuristics      the next node to eliminate has the smallest                        (3)
    min_fill        number of edges that (2) adds
    min_weight      product of the sizes of its neighbours (of the new table)
    min_degree      number of neighbours (also called min_neighbours)

Ties go to the smaller table of (2), then to the smaller number, so that the order is
deterministic. Finding the best order is NP-hard; min_fill is good in practice.

Cost      orders and ancestors O(d + edges); elimination O(d^2 degree^2) at worst
Refs      [Kahn1962]; [KollerFriedman2009] ch. 9; [Kjaerulff1990] heuristics
"""

import heapq
from collections.abc import Iterable, Sequence
from typing import Literal

Parents = Sequence[tuple[int, ...]]
Heuristic = Literal["min_fill", "min_weight", "min_degree", "min_neighbours"]


def children_of(parents: Parents) -> list[list[int]]:
    """The children of each node, ascending."""
    children = [[] for _ in parents]
    for i, node_parents in enumerate(parents):
        for p in node_parents:
            children[p].append(i)
    return children


def topological_order(parents: Parents, names=None) -> list[int]:
    """Nodes with parents before children; ties go to the smallest number.

    A cycle raises a ValueError that shows it, by `names` if they are given.

    Examples
    --------
    >>> from pansophy.graphs import topological_order
    >>> topological_order([(2,), (0,), ()])
    [2, 0, 1]
    """
    children = children_of(parents)
    waiting = [len(set(node_parents)) for node_parents in parents]
    ready = [i for i, n in enumerate(waiting) if n == 0]
    order = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for c in set(children[i]):
            waiting[c] -= 1
            if waiting[c] == 0:
                heapq.heappush(ready, c)
    if len(order) < len(parents):
        path = find_cycle(parents) or []
        labels = [str(i if names is None else names[i]) for i in path]
        raise ValueError(f"the graph has a cycle: {' -> '.join(labels)}.")
    return order


def find_cycle(parents: Parents) -> list[int] | None:
    """A directed cycle with its first node repeated at the end, or None."""
    finished: set[int] = set()
    for start in range(len(parents)):
        path = [start]
        position = {start: 0}
        pending = [iter(parents[start])] if start not in finished else []
        while pending:
            parent = next(pending[-1], None)
            if parent is None:
                finished.add(path[-1])
                del position[path.pop()]
                pending.pop()
            elif parent in position:
                cycle = path[position[parent] :]
                return [parent, *reversed(cycle)]
            elif parent not in finished:
                position[parent] = len(path)
                path.append(parent)
                pending.append(iter(parents[parent]))
    return None


def ancestors(parents: Parents, nodes: Iterable[int]) -> set[int]:
    """All ancestors of the given nodes (a given node only if it is one itself)."""
    return _reachable_nodes(parents, nodes)


def descendants(parents: Parents, nodes: Iterable[int]) -> set[int]:
    """All descendants of the given nodes (a given node only if it is one itself)."""
    return _reachable_nodes(children_of(parents), nodes)


def _reachable_nodes(following, nodes):
    nodes = [nodes] if isinstance(nodes, int) else list(nodes)
    reached = set()
    stack = [j for i in nodes for j in following[i]]
    while stack:
        i = stack.pop()
        if i not in reached:
            reached.add(i)
            stack.extend(following[i])
    return reached


def moral_graph(parents: Parents) -> list[set[int]]:
    """Neighbours of each node in the moral graph, eq. (1).

    Examples
    --------
    >>> from pansophy.graphs import moral_graph
    >>> moral_graph([(), (), (0, 1)])
    [{1, 2}, {0, 2}, {0, 1}]
    """
    neighbours: list[set[int]] = [set() for _ in parents]
    for i, node_parents in enumerate(parents):
        family = {i, *node_parents}
        for a in family:
            neighbours[a] |= family - {a}
    return neighbours


def node_markov_blanket(parents: Parents, i: int) -> set[int]:
    """Parents, children and the other parents of the children of node i."""
    return moral_graph(parents)[i]


def elimination_order(
    neighbours: Sequence[set[int]],
    sizes: Sequence[int],
    heuristic: Heuristic = "min_fill",
    *,
    nodes: Iterable[int] | None = None,
) -> tuple[list[int], list[tuple[int, ...]]]:
    """An elimination order by eq. (3), and the clique of each step, eq. (2).

    Parameters
    ----------
    neighbours : list of sets
        An undirected graph; not modified.
    sizes : sequence of int
        Number of states of each node.
    heuristic : {"min_fill", "min_weight", "min_degree", "min_neighbours"}
    nodes : iterable of int, optional
        Nodes to eliminate; all by default.

    Returns
    -------
    order : list of int
    cliques : list of tuples
        cliques[k] has order[k] and its neighbours at that step, ascending.
    """
    if heuristic not in ("min_fill", "min_weight", "min_degree", "min_neighbours"):
        raise ValueError(
            "heuristic must be 'min_fill', 'min_weight', 'min_degree' or "
            f"'min_neighbours', got {heuristic!r}."
        )
    remaining = [set(s) for s in neighbours]
    candidates = set(range(len(remaining))) if nodes is None else set(nodes)
    score = {i: _elimination_score(remaining, sizes, heuristic, i) for i in candidates}
    order, cliques = [], []
    while candidates:
        i = min(candidates, key=score.__getitem__)
        candidates.discard(i)
        near = remaining[i]
        order.append(i)
        cliques.append(tuple(sorted(near | {i})))
        outdated = set(near)
        for a in near:
            new = near - remaining[a] - {a}
            if new and heuristic == "min_fill":
                for b in new:  # a new edge lowers the fill of common neighbours
                    outdated |= remaining[a] & remaining[b]
            remaining[a] |= new
            remaining[a].discard(i)
        for a in outdated & candidates:
            score[a] = _elimination_score(remaining, sizes, heuristic, a)
    return order, cliques


def _elimination_score(remaining, sizes, heuristic, i):
    near = remaining[i]
    weight = 1
    for a in near:
        weight *= sizes[a]
    if heuristic == "min_weight":
        first = weight
    elif heuristic == "min_fill":
        missing = sum(len(near) - 1 - len(near & remaining[a]) for a in near)
        first = missing // 2
    else:
        first = len(near)
    return first, weight * sizes[i], i

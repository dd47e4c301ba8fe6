"""Markov equivalence: classes of graphs that no data can distinguish.

Two directed acyclic graphs allow the same distributions if and only if they have

    the same edges without their directions, and the same colliders x -> z <- y with
    x and y not adjacent (v-structures)                                          (1)

[VermaPearl1990]. A class is represented by its completed partially directed graph
(CPDAG): an edge is directed if all members agree on its direction. From the
v-structures, the other directions follow by four rules [Meek1995], applied until
nothing changes (a - b is an undirected edge):

    a -> b - c, a and c not adjacent             b -> c       no new v-structure (2)
    a -> b -> c, a - c                           a -> c       no cycle           (3)
    a - b -> d, a - c -> d, a - d, b, c apart    a -> d                          (4)
    a - b, a - d, d -> c -> b, b, d apart        a -> b                          (5)

The members have equal likelihoods. So an edge of a learned graph is causal only if it
is directed alike in every member, and only if no unmeasured variable acts on both ends;
`EquivalenceClass` prints this warning.

Shapes    G (d, d) bool: G[x, y] and not G[y, x] is x -> y; both are x - y
Refs      [VermaPearl1990]; [Meek1995]; [DorTarsi1992] extension; [Pearl2009]
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ...graphs.directed import topological_order
from .dags import adjacency_matrix, edge_pairs, parents_from_adjacency, parse_parents

CAUSAL_WARNING = (
    "Arrows that differ between members cannot be told from data. Those that all share "
    "are causes only if no hidden variable acts on two of the nodes: a common cause "
    "that was not measured makes edges and directions that mean nothing."
)


def colliders(parents) -> set[tuple[int, int, int]]:
    """v-structures (x, z, y), x < y: x -> z <- y with x and y not adjacent, eq. (1)."""
    adjacent = {frozenset(e) for e in edge_pairs(parents)}
    return {
        (min(x, y), z, max(x, y))
        for z, node_parents in enumerate(parents)
        for x, y in combinations(node_parents, 2)
        if frozenset((x, y)) not in adjacent
    }


def markov_equivalent(a, b, names=None) -> bool:
    """Whether two graphs allow the same distributions, eq. (1).

    Graphs are given in any notation of `parse_parents`; `names` are needed if they are
    edges or dicts of names.

    Examples
    --------
    >>> from pansophy.graphical import markov_equivalent
    >>> chain, fork, collider = [(), (0,), (1,)], [(1,), (), (1,)], [(), (0, 2), ()]
    >>> markov_equivalent(chain, fork), markov_equivalent(chain, collider)
    (True, False)
    """
    (a, a_names), (b, b_names) = _parse_graph(a, names), _parse_graph(b, names)
    skeleton = lambda g, v: {frozenset(e) for e in edge_pairs(g, v)}
    v_structures = lambda g, v: {
        (frozenset((v[x], v[y])), v[z]) for x, z, y in colliders(g)
    }
    is_same = set(a_names) == set(b_names) and skeleton(a, a_names) == skeleton(
        b, b_names
    )
    return is_same and v_structures(a, a_names) == v_structures(b, b_names)


def _parse_graph(graph, names=None):
    """Parents by number, and names, of a graph in any notation."""
    if hasattr(graph, "space"):
        names = graph.space.names
    if names is None and isinstance(graph, dict):
        names = tuple(
            dict.fromkeys(
                [
                    *graph,
                    *(p for parents_of_node in graph.values() for p in parents_of_node),
                ]
            )
        )
    if names is None and any(isinstance(v, str) for e in graph for v in e):
        names = tuple(dict.fromkeys(v for e in graph for v in e))
    names = tuple(f"x{j}" for j in range(len(graph))) if names is None else names
    return parse_parents(graph, names), tuple(names)


def apply_meek_rules(G) -> np.ndarray:
    """G with all directions that follow by rules (2) to (5)."""
    G = np.array(G, dtype=bool)
    while True:
        arrow = G & ~G.T
        line = G & G.T
        nonadjacent = ~(G | G.T)
        np.fill_diagonal(nonadjacent, False)
        A = arrow.astype(np.int64)
        N = nonadjacent.astype(np.int64)
        new = (line & ((N @ A) > 0)).T  # (2): c apart from a -> b gives b -> c
        new |= line & ((A @ A) > 0)  # (3)
        rest = line & ~new & ~new.T
        for a, d in zip(*np.nonzero(rest), strict=True):
            common = np.flatnonzero(line[a] & arrow[:, d])
            if nonadjacent[np.ix_(common, common)].any():  # (4)
                new[a, d] = True
                continue
            middle = np.flatnonzero(arrow[:, d])  # here d is b of (5)
            detached = line[a] & nonadjacent[:, d]
            if (arrow[np.ix_(np.flatnonzero(detached), middle)]).any():
                new[a, d] = True
        new &= ~new.T  # contradictory directions are dropped
        if not new.any():
            return G
        G &= ~new.T


def cpdag(parents) -> np.ndarray:
    """The completed partially directed graph (CPDAG) of the class of a graph."""
    A = adjacency_matrix(parents)
    G = A | A.T
    for x, z, y in colliders(parents):
        G[z, x] = G[z, y] = False
    return apply_meek_rules(G)


def consistent_extension(G):
    """Parents of an acyclic graph with the directed edges and colliders of G, or None.

    Repeatedly removes a sink: a node without outgoing edges whose undirected neighbours
    are adjacent to all its other neighbours [DorTarsi1992].
    """
    G = np.array(G, dtype=bool)
    remaining = set(range(len(G)))
    A = np.zeros_like(G)
    while remaining:
        for x in sorted(remaining):
            neighbors = G[x] | G[:, x]
            if (G[x] & ~G[:, x]).any():
                continue
            lines = np.flatnonzero(G[x] & G[:, x])
            except_v = lambda v, neighbors=neighbors: (
                neighbors & (np.arange(len(G)) != v)
            )
            if all((~except_v(v) | G[v] | G[:, v]).all() for v in lines):
                A[neighbors, x] = True
                G[x] = G[:, x] = False
                remaining.discard(x)
                break
        else:
            return None
    return parents_from_adjacency(A)


def equivalent_dags(G) -> Iterator[tuple]:
    """Every directed acyclic graph of the class of a CPDAG."""
    x, y = np.nonzero(G & G.T)
    if len(x) == 0:
        yield parents_from_adjacency(np.asarray(G))
        return
    fixed = _pattern_colliders(G)
    for a, b in ((x[0], y[0]), (y[0], x[0])):
        H = G.copy()
        H[b, a] = False
        H = apply_meek_rules(H)
        if _keeps_colliders(H, fixed):
            yield from equivalent_dags(H)


def _pattern_colliders(G):
    """Colliders among the directed edges of a CPDAG."""
    A = G & ~G.T
    nonadjacent = ~(G | G.T)
    colliders = set()
    for z in range(len(G)):
        node_parents = np.flatnonzero(A[:, z])
        colliders |= {
            (x, z, y) for x, y in combinations(node_parents, 2) if nonadjacent[x, y]
        }
    return colliders


def _keeps_colliders(G, fixed) -> bool:
    """Whether the directed edges of G have no cycle and only the given colliders."""
    try:
        topological_order(parents_from_adjacency(G & ~G.T))
    except ValueError:
        return False
    return _pattern_colliders(G) == fixed


@dataclass(frozen=True, eq=False)
class EquivalenceClass:
    """The graphs that no data can distinguish from a given one.

    Attributes
    ----------
    names : tuple of str
    pattern : array of shape (d, d)
        The CPDAG: pattern[x, y] and not pattern[y, x] is an edge that all members
        direct alike; both are an edge of undetermined direction.
    warning : str
        What may not be concluded.
    """

    names: tuple[str, ...]
    pattern: Any
    warning: str = CAUSAL_WARNING

    @property
    def directed(self) -> list[tuple[str, str]]:
        """Edges that all members direct alike."""
        x, y = np.nonzero(self.pattern & ~self.pattern.T)
        return [(self.names[a], self.names[b]) for a, b in zip(x, y, strict=True)]

    @property
    def undirected(self) -> list[tuple[str, str]]:
        """Edges of undetermined direction."""
        x, y = np.nonzero(np.triu(self.pattern & self.pattern.T))
        return [(self.names[a], self.names[b]) for a, b in zip(x, y, strict=True)]

    def members(self) -> Iterator[tuple]:
        """Parents of each node, for every graph of the class."""
        return equivalent_dags(self.pattern)

    def __len__(self):
        return sum(1 for _ in self.members())

    def __contains__(self, graph):
        member = next(self.members())
        return markov_equivalent(member, parse_parents(graph, self.names))

    def __bool__(self):
        return True  # not by its length, which takes long to count

    def __repr__(self):
        lines = [f"  {x} -> {y}" for x, y in self.directed]
        lines += [f"  {x} -- {y}  (direction open)" for x, y in self.undirected]
        body = "\n".join(lines) if lines else "  no edges"
        return f"Class of Markov equivalent graphs:\n{body}\nWarning: {self.warning}"


def equivalence_class(graph, names=None) -> EquivalenceClass:
    """The class of graphs that allow the same distributions as this one.

    Parameters
    ----------
    graph : network, parents of each node, dict or edges
    names : sequence of str, optional

    Examples
    --------
    >>> from pansophy.graphical import equivalence_class
    >>> found = equivalence_class([("rain", "wet"), ("wet", "slip")])
    >>> len(found), found.undirected
    (3, [('rain', 'wet'), ('wet', 'slip')])
    >>> len(equivalence_class([("rain", "wet"), ("hose", "wet")]))
    1
    """
    parents, names = _parse_graph(graph, names)
    return EquivalenceClass(names, cpdag(parents))

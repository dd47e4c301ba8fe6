"""Clique trees: the plan of exact inference, and what it will cost, before any table.

The product of factors over scopes S_1, ..., S_m is summed over variables in some
order. Taking variable i out multiplies all factors that hold it, which needs a table
over i and its neighbours (a clique of the triangulated graph); the cliques of an
order make a tree in which those that share a variable are connected by cliques that
hold it too (running intersection). So

    largest table   max_c prod_{i in c} size_i        memory                     (1)
    total           sum_c prod_{i in c} size_i        work, up to a constant     (2)

are known from the graph alone. Cliques inside a neighbouring one are merged with it.
Variables that must stay together (a joint query) are joined first and go last.

Cost      planning: that of `graphs.elimination_order`
Shapes    cliques: tuples of ascending variable numbers   edges (C - 1, 2)
Refs      [LauritzenSpiegelhalter1988]; [KollerFriedman2009] ch. 9, 10
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..graphs.directed import Heuristic, elimination_order

HEURISTICS = ("min_fill", "min_weight", "min_degree")


class CliqueTree(NamedTuple):
    """Maximal cliques, the tree over them, and the order they came from."""

    cliques: tuple[tuple[int, ...], ...]
    edges: tuple[tuple[int, int], ...]  # a forest is joined by empty separators
    order: tuple[int, ...]
    largest: int  # eq. (1)
    total: int  # eq. (2)

    def separator(self, e: int) -> tuple[int, ...]:
        """The variables that the cliques at both ends of edge e share."""
        a, b = self.edges[e]
        return tuple(v for v in self.cliques[a] if v in self.cliques[b])

    def holding(self, variables: Iterable[int]) -> int | None:
        """The smallest clique with all these variables, or None."""
        wanted = set(variables)
        found = [c for c, s in enumerate(self.cliques) if wanted <= set(s)]
        return min(found, key=lambda c: len(self.cliques[c]), default=None)


def interaction_graph(scopes: Iterable[tuple[int, ...]]) -> dict[int, set[int]]:
    """Neighbours of each variable: those it shares a factor with."""
    around: dict[int, set[int]] = {}
    for scope in scopes:
        for v in scope:
            around.setdefault(v, set()).update(scope)
    return {v: ring - {v} for v, ring in around.items()}


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
        Variables that go last, together: some clique holds them all.
    heuristic : str
        How the next variable is chosen.
    order : sequence of int, optional
        An order of all the other variables, in place of the heuristic.
    """
    around = interaction_graph([*scopes, tuple(keep)])
    index = sorted(around)
    place = {v: k for k, v in enumerate(index)}
    local = [{place[u] for u in around[v]} for v in index]
    small = [sizes[v] for v in index]
    last = sorted(place[v] for v in keep)
    first = [k for k in range(len(index)) if k not in set(last)]
    if order is not None:
        went, cliques = cliques_of_order(local, [place[v] for v in order], first, index)
    else:
        went, cliques = elimination_order(local, small, heuristic, nodes=first)
    went = [*went, *last]
    cliques = [*cliques, *(tuple(last[j:]) for j in range(len(last)))]
    merged, edges = merge_cliques(went, cliques)
    cells = [math.prod(small[k] for k in c) for c in merged]
    return CliqueTree(
        tuple(tuple(index[k] for k in c) for c in merged),
        tuple(edges),
        tuple(index[k] for k in went),
        max(cells, default=1),
        sum(cells),
    )


def cliques_of_order(around, order, first, index):
    """The cliques of a given order of elimination."""
    if sorted(order) != first:
        raise ValueError(
            "order must hold every variable that is summed out, once: "
            f"{[index[k] for k in first]}, got {[index[k] for k in order]}."
        )
    around = [set(s) for s in around]
    cliques = []
    for i in order:
        ring = around[i]
        cliques.append(tuple(sorted(ring | {i})))
        for a in ring:
            around[a] |= ring
            around[a] -= {a, i}
    return list(order), cliques


def merge_cliques(order, cliques):
    """Maximal cliques and the edges of their tree."""
    when = {v: k for k, v in enumerate(order)}
    node: list[int] = [0] * len(order)  # the merged clique of each step
    below: list[list[int]] = [[] for _ in order]
    merged: list[tuple[int, ...]] = []
    edges: list[tuple[int, int]] = []
    roots = []
    for k, clique in enumerate(cliques):
        wide = next((c for c in below[k] if set(clique) <= set(merged[c])), None)
        if wide is None:
            wide = len(merged)
            merged.append(clique)
        node[k] = wide
        edges += [(c, wide) for c in dict.fromkeys(below[k]) if c != wide]
        later = [when[v] for v in clique if when[v] > k]
        if later:
            below[min(later)].append(wide)
        elif wide not in roots:
            roots.append(wide)
    edges += list(pairwise(roots))
    if not merged:
        merged = [()]
    return merged, edges


def inward_schedule(tree: CliqueTree, root: int) -> np.ndarray:
    """Messages from the leaves to a root: rows (edge, direction 0 or 1)."""
    around: list[list[tuple[int, int, int]]] = [[] for _ in tree.cliques]
    for e, (a, b) in enumerate(tree.edges):
        around[a].append((b, e, 1))  # from b to a: against the edge
        around[b].append((a, e, 0))
    out, todo, seen = [], [root], {root}
    while todo:
        c = todo.pop()
        for other, e, back in around[c]:
            if other not in seen:
                seen.add(other)
                todo.append(other)
                out.append((e, back))
    return np.array(out[::-1], dtype=np.int64).reshape(-1, 2)


def outward_schedule(inward: np.ndarray) -> np.ndarray:
    """The same messages the other way: from the root to the leaves."""
    back = inward[::-1].copy()
    back[:, 1] = 1 - back[:, 1]
    return back


@dataclass(frozen=True, eq=False)
class InferenceCost:
    """What an exact query will need, eq. (1) and (2): known before it runs.

    Attributes
    ----------
    order : tuple of str
        The variables in the order they are summed out.
    largest_table : int
        Cells of the largest table.
    largest_clique : tuple of str
        Its variables.
    total : int
        Cells of all tables: the work, up to a small constant.
    """

    order: tuple
    largest_table: int
    largest_clique: tuple
    total: int
    heuristic: str = "min_fill"

    def __str__(self):
        wide = ", ".join(map(str, self.largest_clique))
        return (
            f"sums out {len(self.order)} variables ({self.heuristic}); largest table "
            f"{self.largest_table:,} cells over {wide}; {self.total:,} cells in all"
        )


def inference_cost_of(tree: CliqueTree, sizes, names, keep, heuristic) -> InferenceCost:
    """The cost of a plan in the names of its variables."""
    cells = [math.prod(sizes[v] for v in c) for c in tree.cliques]
    widest = tree.cliques[int(np.argmax([float(n) for n in cells]))]
    order = tuple(names[v] for v in tree.order if v not in keep)
    wide = tuple(names[v] for v in widest)
    return InferenceCost(order, tree.largest, wide, tree.total, heuristic)

"""Layered layout of directed acyclic graphs (Sugiyama), with edges pointing down.

A node is placed one layer below its lowest parent (roots just above their first child),
and an edge that crosses layers bends at a point in each. Within a layer nodes are
ordered by the mean position of their neighbours in the layer above and below,
alternately, keeping the order with fewest edge crossings. Then each node moves towards
the mean position of its neighbours,

    min sum_i (x_i - goal_i)^2    with    x_{i+1} - x_i >= room_i                (1)

which after subtracting the cumulative room is an isotonic regression.

Cost      O(sweeps * (nodes + bends) * layer) at most
Shapes    widths (d,)   x, y (d,)
Refs      [Sugiyama1981]
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .directed import children_of, topological_order

SWEEPS = 12
NODE_GAP = 24.0  # between neighbours in a layer
LAYER_GAP = 64.0  # between layers


class LayeredLayout(NamedTuple):
    """Centres of the nodes, and the points along each edge (parent, child)."""

    x: np.ndarray
    y: np.ndarray
    paths: dict
    width: float
    height: float


def layered_layout(parents, widths, height: float = 32.0) -> LayeredLayout:
    """Lay out a graph of boxes with these widths and one height.

    Examples
    --------
    >>> from pansophy.graphs.layered_layout import layered_layout
    >>> page = layered_layout([(), (), (0, 1)], [40.0, 40.0, 40.0])
    >>> page.y.tolist(), page.x.tolist()
    ([16.0, 16.0, 112.0], [20.0, 84.0, 52.0])
    """
    d = len(parents)
    if d == 0:
        return LayeredLayout(np.zeros(0), np.zeros(0), {}, 0.0, 0.0)
    level = _node_levels(parents)
    node_widths = [float(w) for w in widths]
    chains = {}
    links = []
    depth = list(level)
    for i, node_parents in enumerate(parents):
        for p in node_parents:
            chain = [p]
            for step in range(level[p] + 1, level[i]):
                depth.append(step)
                node_widths.append(8.0)
                chain.append(len(depth) - 1)
            chain.append(i)
            chains[p, i] = chain
            links += list(pairwise(chain))
    parents_of: list[list[int]] = [[] for _ in depth]
    children_lists: list[list[int]] = [[] for _ in depth]
    for a, b in links:
        parents_of[b].append(a)
        children_lists[a].append(b)
    rows = [[i for i, k in enumerate(depth) if k == r] for r in range(max(depth) + 1)]
    rows = _order_layers(rows, parents_of, children_lists)
    x = _place_nodes(rows, parents_of, children_lists, np.array(node_widths))
    y = np.array(depth) * (height + LAYER_GAP) + height / 2
    half = np.array(node_widths) / 2
    x -= (x - half).min()
    paths = {e: [(float(x[v]), float(y[v])) for v in c] for e, c in chains.items()}
    return LayeredLayout(
        x[:d], y[:d], paths, float((x + half).max()), float(y.max() + height / 2)
    )


def _node_levels(parents) -> list[int]:
    """The layer of each node."""
    order = topological_order(parents)
    children = children_of(parents)
    level = [0] * len(parents)
    for i in order:
        level[i] = max((level[p] + 1 for p in parents[i]), default=0)
    for i in reversed(order):
        if not parents[i] and children[i]:
            level[i] = min(level[c] for c in children[i]) - 1
    return level


def _order_layers(rows, up, down):
    """Layers with nodes ordered by the mean positions of their neighbours."""
    best = rows
    fewest = _count_crossings(rows, down)
    for sweep in range(SWEEPS):
        rows = [list(r) for r in rows]
        neighbors = up if sweep % 2 == 0 else down
        row_order = (
            range(1, len(rows)) if sweep % 2 == 0 else range(len(rows) - 2, -1, -1)
        )
        for r in row_order:
            fixed_row = rows[r - 1] if sweep % 2 == 0 else rows[r + 1]
            position = {v: k for k, v in enumerate(fixed_row)}
            own_position = {v: k for k, v in enumerate(rows[r])}
            mean = {
                v: np.mean([position[u] for u in neighbors[v]])
                if neighbors[v]
                else own_position[v]
                for v in rows[r]
            }
            rows[r].sort(key=lambda v, m=mean: m[v])
        count = _count_crossings(rows, down)
        if count < fewest:
            best, fewest = rows, count
    return best


def _count_crossings(rows, down) -> int:
    """Number of crossings of edges between adjacent layers."""
    total = 0
    for a, b in pairwise(rows):
        position = {v: k for k, v in enumerate(b)}
        ends = [sorted(position[u] for u in down[v]) for v in a]
        flat = [e for part in ends for e in part]
        total += sum(x > y for i, x in enumerate(flat) for y in flat[i + 1 :])
    return total


def _place_nodes(rows, up, down, node_widths):
    """Horizontal positions by eq. (1), in alternating sweeps over the layers."""
    from sklearn.isotonic import isotonic_regression  # a slow import

    x = np.zeros(len(node_widths))
    offsets = []
    for row in rows:
        half = node_widths[row] / 2
        offsets.append(
            np.concatenate([[0.0], np.cumsum(half[:-1] + half[1:] + NODE_GAP)])
        )
        x[row] = offsets[-1] - offsets[-1][-1] / 2
    for sweep in range(SWEEPS):
        row_order = range(len(rows)) if sweep % 2 == 0 else range(len(rows) - 1, -1, -1)
        for r in row_order:
            row, offset = rows[r], offsets[r]
            neighbors = [up[v] + down[v] for v in row]
            goal = np.array(
                [x[n].mean() if n else x[v] for v, n in zip(row, neighbors)]
            )
            x[row] = isotonic_regression(goal - offset) + offset
    return x

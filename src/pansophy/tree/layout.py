"""Where the nodes of a tree go on a page, and what stands in their boxes.

Tidy drawing: a parent stands midway between its first and last child, subtrees are as
close as their outlines allow and look the same wherever they are. Each subtree keeps
its outline, the leftmost and rightmost reach by level; a subtree is pushed right until
its left outline clears the right outline of its elder siblings by a gap. That takes
O(nodes x depth).

Refs      [Reingold1981]
"""

from typing import NamedTuple

import numpy as np

from ..core.svg import LINE
from .colors import fills
from .view import is_multiway, name_classes, tree_of, view

LETTER, PAD = 7.2, 9.0  # width of a letter, margins
GAP, DROP = 16.0, 38.0  # between siblings, between levels


class Box(NamedTuple):
    """A node on the page: its middle, its size, its text and its colour."""

    node: int
    x: float
    y: float
    width: float
    height: float
    lines: tuple
    fill: str


class Picture(NamedTuple):
    """Boxes, and edges between them with their labels."""

    boxes: list
    edges: list  # (box of the parent, box of the child, text)
    width: float
    height: float


def places(children, widths, gap=GAP):
    """The middle of every node, children[0] being those of the root."""
    n = len(children)
    shift, order = np.zeros(n), [0]
    outline: list = [None] * n
    for v in order:
        order.extend(children[v])
    for v in reversed(order):
        low, high, at = [], [], []
        for c in children[v]:
            left, right = outline[c]
            push = max((h - a for h, a in zip(high, left)), default=-gap - left[0])
            push += gap
            at.append(push)
            low += [a + push for a in left[len(low) :]]
            high[: len(right)] = [b + push for b in right]
            outline[c] = None
        middle = (at[0] + at[-1]) / 2 if at else 0.0
        shift[children[v]] = np.array(at) - middle
        half = widths[v] / 2
        outline[v] = (
            [-half, *(a - middle for a in low)],
            [half, *(b - middle for b in high)],
        )
    x = np.zeros(n)
    for v in order:
        x[children[v]] = x[v] + shift[children[v]]
    return x - min(outline[0][0]), max(outline[0][1]) - min(outline[0][0])


def picture(
    model,
    feature_names=None,
    class_names=None,
    max_depth=None,
    decimals=2,
    filled=True,
) -> Picture:
    """The tree of a model laid out on a page."""
    seen = view(model, feature_names)
    deepest = np.inf if max_depth is None else max_depth
    children = [
        list(below) if depth < deepest else []
        for below, depth in zip(seen.children, seen.depth)
    ]
    text = writer(model, seen, class_names, decimals)
    order = [0]
    for v in order:
        order.extend(children[v])
    new = {v: i for i, v in enumerate(order)}
    lines = [text(v, bool(children[v])) for v in order]
    wide = np.array([LETTER * max(map(len, rows)) + 2 * PAD for rows in lines])
    inner = [[new[c] for c in children[v]] for v in order]
    labels = [edge_text(seen, v) for v in order]
    room = np.maximum(wide, [LETTER * len(t) for t in labels])
    x, width = places(inner, room)
    height = LINE * max(map(len, lines)) + PAD
    colors = fills(model, 0.75) if filled else ["#ffffff"] * len(seen.children)
    step = height + DROP
    boxes = [
        Box(
            v, x[i], seen.depth[v] * step + height / 2, wide[i], height, rows, colors[v]
        )
        for i, (v, rows) in enumerate(zip(order, lines))
    ]
    edges = [(i, c, labels[c]) for i, below in enumerate(inner) for c in below]
    bottom = max(seen.depth[v] for v in order) * step + height
    return Picture(boxes, edges, float(width), float(bottom))


def edge_text(seen, node):
    """What stands at the edge above a node: its level, or yes and no."""
    test = seen.tests[node]
    if test is None:
        return ""
    parent = seen.parent[node]
    if is_multiway(seen, parent):
        return test.words(seen.names, seen.tables).partition(" = ")[2]
    return "yes" if seen.children[parent][0] == node else "no"


def writer(model, seen, class_names, decimals):
    """A function giving the lines of a node."""
    tree, names = tree_of(model), name_classes(model, class_names)
    rows = getattr(tree, "n_node_samples", tree.weighted_n_node_samples)
    value = tree.value

    def outcome(v):
        if names is None:
            flat = value[v].ravel()
            numbers = ", ".join(f"{t:.{decimals}f}" for t in flat[:4])
            return numbers + (", ..." if len(flat) > 4 else "")
        k = int(value[v, 0].argmax())
        return f"{names[k]} {100 * value[v, 0, k]:.0f}%"

    def lines(v, opened):
        count = f"{rows[v]:g} row{'s' if rows[v] != 1 else ''}"
        below = seen.children[v]
        if not below:
            return (outcome(v), count)
        if not opened:
            return (outcome(v), count, "...")
        test = seen.tests[below[0]]
        if is_multiway(seen, v):
            asked = f"{seen.names[test.feature]}?"
        else:
            asked = test.words(seen.names, seen.tables, decimals)
        return (asked, outcome(v), count)

    return lines

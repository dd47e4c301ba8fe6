"""Drawing of trees: node positions, captions, colours and SVG output.

Tidy drawing: a parent stands midway between its first and last child, subtrees are as
close as their outlines allow and look the same wherever they are. Each subtree keeps
its outline, the leftmost and rightmost reach by level; a subtree is pushed right until
its left outline clears the right outline of its elder siblings by a gap. That takes
O(nodes x depth).

Refs      [Reingold1981]
"""

import colorsys
from html import escape
from typing import NamedTuple

import numpy as np

from ...core.files.atomic_files import write_text_file
from ...core.svg import LINE, svg_box, svg_page
from .tree_view import class_names_of, fitted_tree, has_branch_per_level, view_tree

BASE = (229, 129, 57)
LETTER, PAD = 7.2, 9.0  # width of a letter, margins
GAP, DROP = 16.0, 38.0  # between siblings, between levels


class NodeBox(NamedTuple):
    """A node on the page: its middle, its size, its text and its colour."""

    node: int
    x: float
    y: float
    width: float
    height: float
    lines: tuple
    fill: str


class TreeDrawing(NamedTuple):
    """Boxes, and edges between them with their labels."""

    boxes: list
    edges: list  # (box of the parent, box of the child, text)
    width: float
    height: float


def tidy_positions(children, widths, gap=GAP):
    """The middle of every node, children[0] being those of the root."""
    n = len(children)
    shift = np.zeros(n)
    order = [0]
    outline: list = [None] * n
    for v in order:
        order.extend(children[v])
    for v in reversed(order):
        low = []
        high = []
        at = []
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


def draw_tree(
    model,
    feature_names=None,
    class_names=None,
    max_depth=None,
    decimals=2,
    filled=True,
) -> TreeDrawing:
    """The tree of a model laid out on a page."""
    seen = view_tree(model, feature_names)
    deepest = np.inf if max_depth is None else max_depth
    children = [
        list(below) if depth < deepest else []
        for below, depth in zip(seen.children, seen.depth)
    ]
    text = node_captions(model, seen, class_names, decimals)
    order = [0]
    for v in order:
        order.extend(children[v])
    new = {v: i for i, v in enumerate(order)}
    lines = [text(v, bool(children[v])) for v in order]
    wide = np.array([LETTER * max(map(len, rows)) + 2 * PAD for rows in lines])
    inner = [[new[c] for c in children[v]] for v in order]
    labels = [edge_caption(seen, v) for v in order]
    room = np.maximum(wide, [LETTER * len(t) for t in labels])
    x, width = tidy_positions(inner, room)
    height = LINE * max(map(len, lines)) + PAD
    colors = node_colors(model, 0.75) if filled else ["#ffffff"] * len(seen.children)
    step = height + DROP
    boxes = [
        NodeBox(
            v, x[i], seen.depth[v] * step + height / 2, wide[i], height, rows, colors[v]
        )
        for i, (v, rows) in enumerate(zip(order, lines))
    ]
    edges = [(i, c, labels[c]) for i, below in enumerate(inner) for c in below]
    bottom = max(seen.depth[v] for v in order) * step + height
    return TreeDrawing(boxes, edges, float(width), float(bottom))


def edge_caption(seen, node):
    """Caption of the edge above a node: its level, or yes and no."""
    test = seen.tests[node]
    if test is None:
        return ""
    parent = seen.parent[node]
    if has_branch_per_level(seen, parent):
        return test.words(seen.names, seen.tables).partition(" = ")[2]
    return "yes" if seen.children[parent][0] == node else "no"


def node_captions(model, seen, class_names, decimals):
    """A function giving the lines of a node."""
    tree = fitted_tree(model)
    names = class_names_of(model, class_names)
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
        if has_branch_per_level(seen, v):
            question = f"{seen.names[test.feature]}?"
        else:
            question = test.words(seen.names, seen.tables, decimals)
        return (question, outcome(v), count)

    return lines


def distinct_hues(n):
    """n colours of different hues, as RGB."""
    return [
        tuple(round(255 * v) for v in colorsys.hls_to_rgb(0.07 + k / n, 0.56, 0.77))
        for k in range(n)
    ]


def blend_with_white(color, strength) -> str:
    """A colour over white, as #rrggbb."""
    mix = [round(strength * c + (1 - strength) * 255) for c in color]
    return "#{:02x}{:02x}{:02x}".format(*mix)


def node_colors(model, most=1.0):
    """The colour of every node, of strength up to `most`."""
    value = model.tree_.value
    if not hasattr(model, "classes_"):
        v = value[:, 0, 0] if value.shape[1] == 1 else -model.tree_.impurity
        low, high = float(np.min(v)), float(np.max(v))
        scale = (v - low) / (high - low) if high > low else np.zeros(len(v))
        return [blend_with_white(BASE, most * float(s)) for s in scale]
    shares = value[:, 0]
    colors = distinct_hues(shares.shape[1])
    if shares.shape[1] == 1:
        return [blend_with_white(colors[0], most)] * len(shares)
    order = np.sort(shares, axis=1)
    first, second = order[:, -1], order[:, -2]
    sure = (first - second) / np.maximum(1.0 - second, 1e-12)
    best = shares.argmax(axis=1)
    return [
        blend_with_white(colors[k], most * float(np.clip(s, 0, 1)))
        for k, s in zip(best, sure)
    ]


def export_svg(
    decision_tree,
    out_file=None,
    *,
    feature_names=None,
    class_names=None,
    max_depth=None,
    decimals=2,
    filled=True,
    title=None,
):
    """A fitted tree as SVG text, laid out and coloured, with no further software.

    Each box asks a question (or, at a leaf, answers it) and shows the most frequent
    class with its share, or the mean, and the number of training rows.

    Parameters
    ----------
    decision_tree : fitted decision tree
    out_file : path, file or None, default=None
        Where to write; None returns the text.
    feature_names, class_names : sequence of str, default=None
    max_depth : int or None, default=None
        Deeper branches are cut off.
    decimals : int, default=2
    filled : bool, default=True
        Colour boxes by class or value, paler the less sure.
    title : str, default=None
        Read out by screen readers and shown on hovering.

    Returns
    -------
    str, or None if written to a file

    Examples
    --------
    >>> from pansophy.tree import DecisionTreeClassifier, export_svg
    >>> svg = export_svg(DecisionTreeClassifier().fit([[1.0], [3.0]], ["a", "b"]))
    >>> svg[:4], svg.count("<rect")
    ('<svg', 3)
    """
    drawn = draw_tree(
        decision_tree, feature_names, class_names, max_depth, decimals, filled
    )
    leaves = sum(1 for b in drawn.boxes if len(b.lines) == 2)
    parts = [
        *(svg_edge(drawn.boxes[a], drawn.boxes[b], text) for a, b, text in drawn.edges),
        *(svg_box(b.x, b.y, b.width, b.height, b.lines, b.fill) for b in drawn.boxes),
    ]
    title = title or f"{type(decision_tree).__name__}: {leaves} leaves"
    return return_or_write(svg_page(drawn.width, drawn.height, title, parts), out_file)


def svg_edge(a, b, text):
    """A curve from the foot of one box to the head of another, with its label."""
    start, end = a.y + a.height / 2, b.y - b.height / 2
    middle = (start + end) / 2
    path = (
        f"M{a.x:.1f} {start:.1f}C{a.x:.1f} {middle:.1f} {b.x:.1f} {middle:.1f} "
        f"{b.x:.1f} {end:.1f}"
    )
    return (
        f'<path d="{path}" fill="none" stroke="#999"/>'
        f'<text x="{b.x:.1f}" y="{end - 5:.1f}" font-size="11" fill="#555" '
        f'stroke="#fff" stroke-width="3" paint-order="stroke">{escape(text)}</text>'
    )


def return_or_write(text, out_file):
    """Return a text, or write it to a path or an open file."""
    if out_file is None:
        return text
    if hasattr(out_file, "write"):
        out_file.write(text)
        return None
    write_text_file(out_file, text)
    return None

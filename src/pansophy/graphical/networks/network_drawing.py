"""Drawings of networks: DOT for Graphviz, and self-contained SVG.

Shapes    nodes: rounded boxes for discrete variables, ellipses for continuous ones
"""

import math

from ...core.svg import LINE, svg_box, svg_page
from ...graphs.layered_layout import LayeredLayout, layered_layout

CHAR_WIDTH = 7.6  # width of a character, in pixels
BOX_PADDING = 12.0  # between the text and the border of a box
ARROW_HEAD = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
    'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#777"/></marker>'
    "</defs>"
)
NODE_FILLS = {True: "#e8f0fe", False: "#fff3e0"}  # discrete, continuous


def _quote_dot_name(name) -> str:
    """A name in quotes, as DOT requires."""
    text = str(name).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def network_dot(model) -> str:
    """The graph of a network as DOT text."""
    space = model.space
    lines = ["digraph network {", "  node [shape=box, style=rounded];"]
    for i, name in enumerate(space.names):
        shape = "" if space.is_discrete(i) else " [shape=ellipse]"
        lines.append(f"  {_quote_dot_name(name)}{shape};")
    for i, node_parents in enumerate(model.parents):
        for p in node_parents:
            parent, child = (
                _quote_dot_name(space.names[p]),
                _quote_dot_name(space.names[i]),
            )
            lines.append(f"  {parent} -> {child};")
    return "\n".join([*lines, "}"]) + "\n"


def network_captions(model, tables: bool = False) -> list[list[str]]:
    """The lines of text in each box."""
    space = model.space
    captions = []
    marginals = {}
    if tables and 0 not in space.sizes:
        engine = model._engine()
        marginals = {i: engine.posterior((i,), {})[0] for i in range(len(space.names))}
    for i, name in enumerate(space.names):
        lines = [str(name)]
        if i in marginals:
            states = list(zip(space.states[i], marginals[i], strict=True))[:6]
            lines += [f"{s} {100 * p:.1f}%" for s, p in states]
        captions.append(lines)
    return captions


def network_layout(model, lines) -> tuple[LayeredLayout, list[float], float]:
    """The layered layout of a network, the widths and the height of its boxes."""
    widths = [CHAR_WIDTH * max(map(len, box)) + 2 * BOX_PADDING for box in lines]
    height = LINE * max((len(box) for box in lines), default=1) + BOX_PADDING
    return layered_layout(model.parents, widths, height), widths, height


def network_svg(model, *, tables: bool = False) -> str:
    """The graph of a network as SVG text; `tables` adds the marginals."""
    lines = network_captions(model, tables)
    placed, widths, height = network_layout(model, lines)
    parts = [ARROW_HEAD]
    for (_, i), points in placed.paths.items():
        drawn = clip_arrow(points, height, widths[i], model.space.is_discrete(i))
        steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in drawn)
        parts.append(
            f'<path d="M{steps}" fill="none" stroke="#777" marker-end="url(#tip)"/>'
        )
    for i, text in enumerate(lines):
        boxed = model.space.is_discrete(i)
        size = widths[i], height, text, NODE_FILLS[boxed]
        parts.append(svg_box(placed.x[i], placed.y[i], *size, oval=not boxed))
    title = f"Bayesian network of {len(widths)} variables"
    return svg_page(placed.width, placed.height, title, parts, size=13)


def clip_arrow(points, height, width, boxed=True):
    """The points of an edge, clipped at the border of the box of its child."""
    (x0, y0), (x1, y1) = points[-2:]
    dx, dy = x0 - x1, y0 - y1
    size = math.hypot(dx, dy) or 1.0
    if boxed:
        reach = min(
            width / 2 / abs(dx) if dx else math.inf,
            height / 2 / abs(dy) if dy else math.inf,
        )
    else:
        reach = 1 / math.hypot(dx / (width / 2), dy / (height / 2))
    reach = min(reach + 1.5 / size, 1.0)
    return [*points[:-1], (x1 + dx * reach, y1 + dy * reach)]

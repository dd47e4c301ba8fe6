"""A factor graph with the messages of belief propagation on its edges."""

import numpy as np

from ..axes import get_axes
from ..style import BLUE, GREY, INK, ORANGE, draw_styled

RADIUS = 0.42  # of a variable


def _factor_graph_layout(n_variables, scopes):
    """Places of variables and factors: columns from the first one on, or a ring.

    A tree goes from left to right by the number of steps from the first variable; a
    graph with loops has its variables on a ring and its factors between them.
    """
    factors_of = [
        [k for k, s in enumerate(scopes) if v in s] for v in range(n_variables)
    ]
    depth = {}
    factor_depth = {}
    loops = False
    for root in range(n_variables):
        if root in depth:
            continue
        depth[root], queue = 0, [root]
        while queue:
            v = queue.pop(0)
            for k in factors_of[v]:
                if k in factor_depth:
                    continue
                factor_depth[k] = depth[v] + 1
                for u in scopes[k]:
                    if u == v:
                        continue
                    loops |= u in depth
                    if u not in depth:
                        depth[u] = depth[v] + 2
                        queue.append(u)
    if loops:
        angle = np.pi / 2 - 2 * np.pi * np.arange(n_variables) / n_variables
        ring = np.column_stack([np.cos(angle), np.sin(angle)])
        size = max(2.2, 0.55 * n_variables)
        alone_place = lambda s: ring[s[0]] * (size + 1.6)
        F = [
            alone_place(s) if len(s) == 1 else size * ring[list(s)].mean(axis=0)
            for s in scopes
        ]
        return size * ring, np.array(F).reshape(-1, 2)
    V = np.zeros((n_variables, 2))
    F = np.zeros((len(scopes), 2))
    used = {}

    def place(column):
        used[column] = used.get(column, 0) + 1
        return -2.0 * (used[column] - 1)

    for v in sorted(depth, key=depth.__getitem__):
        V[v] = 1.6 * depth[v], place(depth[v])
    for k, s in enumerate(scopes):
        if len(s) == 1:
            V_k = V[s[0]]
            F[k] = V_k[0], V_k[1] + 1.6
        else:
            F[k] = V[list(s)].mean(axis=0)
    return V, F


def _message_text(message):
    """A message as a few numbers that sum to 1."""
    p = message / max(message.sum(), 1e-300)
    shown = " ".join(f"{v:.2f}" for v in p[:3])
    return shown + (" .." if len(p) > 3 else "")


@draw_styled
def message_passing(beliefs, *, ax=None):
    """Draw variables (circles), factors (squares) and the messages between them.

    Beside each edge stands what the factor says to the variable, in blue, and what the
    variable says to the factor, in red, both scaled to sum 1; in each circle the name
    and the belief of the variable.

    Parameters
    ----------
    beliefs : Beliefs
        From `sum_product`, `loopy_bp` or `tree_reweighted_bp`.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.graphical import FactorGraph, sum_product
    >>> parts = [("a", [3, 1]), (("a", "b"), [[2, 1], [1, 2]])]
    >>> graph = FactorGraph({"a": 2, "b": 2}, parts)
    >>> ax = plot.message_passing(sum_product(graph))
    >>> len(ax.lines)  # an edge for each variable of each factor
    3
    """
    from matplotlib.patches import Circle, Rectangle

    graph = beliefs.graph
    names = graph.space.names
    scopes = [f.variables for f in graph.factors]
    V, F = _factor_graph_layout(len(names), scopes)
    nodes = np.concatenate([V, F])
    low, high = nodes.min(axis=0) - 0.7, nodes.max(axis=0) + 0.7
    if ax is None:  # one unit of the layout is an inch
        from matplotlib import pyplot as plt

        ax = plt.subplots(figsize=np.minimum(high - low, 40.0), layout="constrained")[1]
    ax = get_axes(ax)
    for m in beliefs.messages:
        v, f = V[graph.space.number(m.variable)], F[m.factor]
        ax.plot(*zip(v, f, strict=True), color=GREY, lw=1, zorder=1)
        direction = (v - f) / max(np.hypot(*(v - f)), 1e-12)
        normal = np.array([-direction[1], direction[0]])
        angle = np.degrees(np.arctan2(direction[1], direction[0]))
        angle = (angle + 90) % 180 - 90
        middle = (
            f + 0.12 * direction + v - RADIUS * direction
        ) / 2  # of what can be seen
        for text, way, side, colour in (
            (_message_text(m.to_variable), direction, 1, BLUE),
            (_message_text(m.to_factor), -direction, -1, ORANGE),
        ):
            p = middle + 0.09 * side * normal
            ax.annotate(
                "",
                p + 0.25 * way,
                p - 0.25 * way,
                arrowprops={"arrowstyle": "->", "color": colour, "lw": 0.8},
            )
            ax.text(
                *(p + 0.13 * side * normal),
                text,
                color=colour,
                fontsize=7,
                ha="center",
                va="center",
                rotation=angle,
            )
    for x, y in F:
        ax.add_patch(Rectangle((x - 0.12, y - 0.12), 0.24, 0.24, color=INK))
    for v, name in enumerate(names):
        ax.add_patch(Circle(V[v], RADIUS, facecolor="white", edgecolor=INK))
        label = f"{name}\n{_message_text(beliefs[name])}"
        ax.text(*V[v], label, ha="center", va="center", fontsize=7)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax

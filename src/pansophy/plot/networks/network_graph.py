"""A Bayesian network or another directed acyclic graph, drawn in layers."""

from ...core.svg import LINE
from ...graphical.networks.d_separation import named_graph
from ...graphical.networks.network_drawing import (
    NODE_FILLS,
    clip_arrow,
    network_captions,
    network_layout,
)
from ..axes import get_axes
from ..style import GREY, INK, draw_styled

INCH = 90.0  # units of the layout per inch


@draw_styled
def network_graph(model, *, tables: bool = False, highlight=(), ax=None):
    """Draw a directed acyclic graph in layers, with arrows downwards.

    Parameters
    ----------
    model : BayesianNetwork, or list of pairs (parent, child)
    tables : bool, default=False
        Show the marginal probabilities of every discrete variable.
    highlight : sequence of names
        Nodes drawn in another colour: evidence, a blanket, a path.
    ax : matplotlib axes, optional
        New ones are as large as the graph needs.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.graphical import sprinkler_network
    >>> ax = plot.network_graph(sprinkler_network())
    >>> sorted(t.get_text() for t in ax.texts if t.get_text())
    ['cloudy', 'rain', 'sprinkler', 'wet']
    """
    from matplotlib.patches import Ellipse, FancyArrowPatch, FancyBboxPatch
    from matplotlib.path import Path

    if hasattr(model, "space") and not hasattr(model, "parents"):
        raise TypeError(
            f"network_graph draws directed graphs, and a {type(model).__name__} has no "
            "directions: give a BayesianNetwork or a list of pairs (parent, child)."
        )
    shown = model if hasattr(model, "space") else Edges(model)
    lines = network_captions(shown, tables)
    page, widths, height = network_layout(shown, lines)
    if ax is None:
        from matplotlib import pyplot as plt

        size = [min(max((v + 24) / INCH, 1.5), 40.0) for v in (page.width, page.height)]
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    ax = get_axes(ax)
    ax.set(xlim=(-12, page.width + 12), ylim=(page.height + 12, -12), aspect="equal")
    ax.set_axis_off()
    wide, high = ax.get_window_extent().size * 72 / ax.figure.dpi
    scale = min(wide / (page.width + 24), high / (page.height + 24))  # points per unit
    for (_, i), points in page.paths.items():
        ends = clip_arrow(points, height, widths[i], shown.space.is_discrete(i))
        look = {"arrowstyle": "-|>", "mutation_scale": 14 * scale, "zorder": 0}
        ax.add_patch(FancyArrowPatch(path=Path(ends), color=GREY, lw=1, **look))
    marked = {shown.space.number(v) for v in highlight}
    for i, box in enumerate(lines):
        x, y = float(page.x[i]), float(page.y[i])
        round_ = shown.space.is_discrete(i)
        look = {"fc": "#ffd6d6" if i in marked else NODE_FILLS[round_], "ec": INK}
        if round_:
            corner = x - widths[i] / 2, y - height / 2
            shape = "round,pad=0,rounding_size=8"
            ax.add_patch(FancyBboxPatch(corner, widths[i], height, shape, **look))
        else:
            ax.add_patch(Ellipse((x, y), widths[i], height, **look))
        for k, text in enumerate(box):
            line_y = y - LINE * (len(box) - 1) / 2 + LINE * k
            ax.text(
                x,
                line_y,
                text,
                weight="bold" if k == 0 and len(box) > 1 else "normal",
                ha="center",
                va="center",
                fontsize=12 * scale,
            )
    return ax


class Edges:
    """A list of edges with the attributes of a network: names and parents."""

    def __init__(self, edges):
        from ...graphical.networks.variables import VariableSpace

        names, self.parents = named_graph(edges)
        self.space = VariableSpace(tuple(names), ((0,),) * len(names))

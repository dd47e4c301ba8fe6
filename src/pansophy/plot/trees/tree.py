"""A decision tree as a figure."""

from ...core.svg import LINE
from ...tree.explanation.tree_drawing import draw_tree
from ..axes import get_axes
from ..style import GREY, INK, draw_styled

INCH = 90.0  # units of the layout per inch


@draw_styled
def tree(
    model,
    *,
    feature_names=None,
    class_names=None,
    max_depth=None,
    decimals=2,
    filled=True,
    ax=None,
):
    """Draw a fitted decision tree, of two branches a node or of many.

    Parameters
    ----------
    model : fitted decision tree
    feature_names, class_names : sequence of str, default=None
    max_depth : int or None, default=None
        Deeper branches are cut off.
    decimals : int, default=2
    filled : bool, default=True
        Colour boxes by class or value.
    ax : matplotlib axes, optional
        New ones are as large as the tree needs.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.tree import DecisionTreeClassifier
    >>> ax = plot.tree(DecisionTreeClassifier().fit([[1.0], [3.0]], ["a", "b"]))
    >>> len(ax.patches)
    3
    """
    from matplotlib.patches import FancyBboxPatch

    page = draw_tree(model, feature_names, class_names, max_depth, decimals, filled)
    if ax is None:
        from matplotlib import pyplot as plt

        size = [min(max(v / INCH, 2.0), 60.0) for v in (page.width, page.height)]
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    ax = get_axes(ax)
    ax.set(xlim=(-12, page.width + 12), ylim=(page.height + 12, -12), aspect="equal")
    ax.set_axis_off()
    wide, high = ax.get_window_extent().size * 72 / ax.figure.dpi
    scale = min(wide / (page.width + 24), high / (page.height + 24))  # points per unit
    for a, b, text in page.edges:
        start, end = page.boxes[a], page.boxes[b]
        low, top = start.y + start.height / 2, end.y - end.height / 2
        ax.plot([start.x, end.x], [low, top], color=GREY, lw=1, zorder=0)
        middle = (start.x + end.x) / 2, (low + top) / 2
        pale = {"fc": "w", "ec": "none", "pad": 1, "alpha": 0.8}
        ax.text(
            *middle,
            text,
            fontsize=10.5 * scale,
            color=INK,
            ha="center",
            va="center",
            bbox=pale,
        )
    for b in page.boxes:
        corner = b.x - b.width / 2, b.y - b.height / 2
        shape = "round,pad=0,rounding_size=6"
        ax.add_patch(
            FancyBboxPatch(corner, b.width, b.height, shape, fc=b.fill, ec=INK)
        )
        top = b.y - LINE * (len(b.lines) - 1) / 2
        for i, line in enumerate(b.lines):
            weight = "bold" if i == 0 else "normal"
            ax.text(
                b.x,
                top + LINE * i,
                line,
                weight=weight,
                ha="center",
                va="center",
                fontsize=11 * scale,
            )
    return ax

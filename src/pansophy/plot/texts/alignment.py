"""Alignment of two sequences: which symbols are kept, changed, added and left out."""

from ..axes import get_axes
from ..style import BLUE, GREY, INK, ORANGE, draw_styled

COLORS_OF_EDITS = {
    "keep": "white",
    "substitute": ORANGE,
    "transpose": ORANGE,
    "delete": GREY,
    "insert": BLUE,
}


@draw_styled
def alignment(a, b=None, *, ax=None, **options):
    """Two sequences above each other, with a colour for each kind of edit.

    Parameters
    ----------
    a : StringAlignment, or the first sequence
        What `text.edit_alignment` gives.
    b : sequence, optional
        The second sequence.
    ax : matplotlib axes, optional
    options
        Of `text.edit_alignment`, such as `kind` and costs.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.alignment("carr", "cart")
    >>> ax.get_title()
    'cost 1: 3 kept, 1 substituted'
    """
    from matplotlib.patches import Rectangle

    from ...text import StringAlignment, edit_alignment

    if isinstance(a, StringAlignment):
        if b is not None or options:
            raise ValueError("a StringAlignment is drawn as it is: give nothing else.")
        result = a
    elif b is None:
        raise ValueError("plot.alignment needs two sequences, or a StringAlignment.")
    else:
        result = edit_alignment(a, b, **options)
    ax = get_axes(ax)
    counts = {}
    for i, (operation, x, y) in enumerate(result.edits):
        counts[operation] = counts.get(operation, 0) + 1
        color = COLORS_OF_EDITS[operation]
        for row, symbol in ((1, x), (0, y)):
            frame = Rectangle((i - 0.5, row - 0.5), 1, 1, ec=INK, lw=0.5)
            frame.set_facecolor(color)
            frame.set_alpha(0.45 if symbol is not None else 0.12)
            ax.add_patch(frame)
            text = "–" if symbol is None else "".join(map(str, symbol))
            ax.text(i, row, text, ha="center", va="center")
    past = {
        "keep": "kept", "substitute": "substituted", "transpose": "swapped",
        "delete": "deleted", "insert": "inserted",
    }  # fmt: skip
    words = [f"{counts[k]} {past[k]}" for k in past if k in counts]
    ax.set_title(f"cost {result.cost:g}: {', '.join(words) or 'nothing to do'}")
    ax.set(xlim=(-0.6, max(len(result.edits), 1) - 0.4), ylim=(-0.6, 1.6))
    ax.set_xticks([])
    ax.set_yticks([1, 0], ["a", "b"])
    ax.set_aspect("equal")
    ax.set_frame_on(False)
    ax.grid(False)
    return ax

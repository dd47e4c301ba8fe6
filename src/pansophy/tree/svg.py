"""A tree as a picture: SVG that stands by itself in a browser, a page or a notebook."""

from html import escape

from ..core.svg import svg_box, svg_page
from .export import deliver
from .layout import picture


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
    drawn = picture(
        decision_tree, feature_names, class_names, max_depth, decimals, filled
    )
    leaves = sum(1 for b in drawn.boxes if len(b.lines) == 2)
    parts = [
        *(edge(drawn.boxes[a], drawn.boxes[b], text) for a, b, text in drawn.edges),
        *(svg_box(b.x, b.y, b.width, b.height, b.lines, b.fill) for b in drawn.boxes),
    ]
    title = title or f"{type(decision_tree).__name__}: {leaves} leaves"
    return deliver(svg_page(drawn.width, drawn.height, title, parts), out_file)


def edge(a, b, text):
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

"""A tree as a picture: SVG that stands by itself in a browser, a page or a notebook."""

from html import escape

from .export import deliver
from .layout import LINE, picture

MARGIN = 12


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
    page = picture(
        decision_tree, feature_names, class_names, max_depth, decimals, filled
    )
    width, height = page.width + 2 * MARGIN, page.height + 2 * MARGIN
    leaves = sum(1 for b in page.boxes if len(b.lines) == 2)
    title = title or f"{type(decision_tree).__name__}: {leaves} leaves"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.1f} {height:.1f}" '
        'font-family="system-ui, sans-serif" font-size="12" text-anchor="middle">',
        f"<title>{escape(title)}</title>",
        f'<g transform="translate({MARGIN} {MARGIN})">',
        *(edge(page.boxes[a], page.boxes[b], text) for a, b, text in page.edges),
        *(box(b) for b in page.boxes),
        "</g>",
        "</svg>",
    ]
    return deliver("\n".join(parts), out_file)


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


def box(b):
    """A rounded box with its lines of text, the first in bold."""
    x, y = b.x - b.width / 2, b.y - b.height / 2
    top = b.y - LINE * (len(b.lines) - 1) / 2 + 4
    texts = (
        f'<text x="{b.x:.1f}" y="{top + LINE * i:.1f}" fill="#222" '
        f'font-weight="{600 - 200 * (i > 0)}">{escape(line)}</text>'
        for i, line in enumerate(b.lines)
    )
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{b.width:.1f}" height="{b.height:.1f}" '
        f'rx="6" fill="{b.fill}" stroke="#666"/>' + "".join(texts)
    )

"""SVG pictures: a page, and boxes with text."""

from collections.abc import Iterable
from html import escape

LINE = 16.0  # height of a line of text
MARGIN = 12.0


def svg_page(
    width: float, height: float, title: str, parts: Iterable[str], size=12
) -> str:
    """SVG text of a page of this size, with a margin around its parts.

    The title is read out by screen readers and shown on hovering.
    """
    wide, high = width + 2 * MARGIN, height + 2 * MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{wide:.0f}" '
        f'height="{high:.0f}" viewBox="{-MARGIN:g} {-MARGIN:g} {wide:.1f} {high:.1f}" '
        f'font-family="system-ui, sans-serif" font-size="{size}" text-anchor="middle">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>"])


def svg_box(
    x: float, y: float, width: float, height: float, lines, fill: str, *, oval=False
) -> str:
    """A rounded box (or an oval) around (x, y) with lines of text, the first bold."""
    paint = f'fill="{fill}" stroke="#666"'
    if oval:
        markup = (
            f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{width / 2:.1f}" '
            f'ry="{height / 2:.1f}" {paint}/>'
        )
    else:
        markup = (
            f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" '
            f'width="{width:.1f}" height="{height:.1f}" rx="6" {paint}/>'
        )
    top = y - LINE * (len(lines) - 1) / 2 + 4
    for k, line in enumerate(lines):
        weight = 600 if k == 0 and len(lines) > 1 else 400
        markup += (
            f'<text x="{x:.1f}" y="{top + LINE * k:.1f}" fill="#222" '
            f'font-weight="{weight}">{escape(str(line))}</text>'
        )
    return markup

"""Figures of matplotlib as SVG that is readable on a light and on a dark page.

A drawing of lines and text takes the colour of the page's text for its own text, and
variables of the style sheet for the palette of `pansophy.plot`. A picture with filled
areas (images, regions, densities) is shown on white paper, where its colours are right.
"""

import io
import re
import warnings

PALETTE = {  # colour in the file -> value on the page
    "#30343b": "currentColor",
    "#5b616b": "currentColor",
    "#000000": "currentColor",
    "#b9bec6": "var(--figure-edge)",
    "#eceef1": "var(--figure-grid)",
    "#1f5f99": "var(--figure-blue)",
    "#c2571a": "var(--figure-orange)",
    "#5b8c3e": "var(--figure-green)",
    "#7a4fa3": "var(--figure-purple)",
    "#b0436e": "var(--figure-pink)",
    "#8a8f98": "var(--figure-grey)",
    "#c9dcee": "var(--figure-pale)",
}
COLOR = re.compile(r"#[0-9a-f]{6}\b")
MANY_POINTS = 3000  # of an artist that is drawn as pixels instead


def has_areas(figure) -> bool:
    """Whether a figure has pictures or fields whose colours are its content."""
    from matplotlib.collections import QuadMesh
    from matplotlib.contour import ContourSet

    kinds = (QuadMesh, ContourSet)
    return any(
        ax.images or any(isinstance(c, kinds) for c in ax.collections)
        for ax in figure.axes
    )


def rasterise_crowds(figure) -> None:
    """Draw artists of very many points as pixels, so that the file stays small."""
    for ax in figure.axes:
        for line in ax.lines:
            if len(line.get_xdata(orig=False)) > MANY_POINTS:
                line.set_rasterized(True)
        for collection in ax.collections:
            offsets = collection.get_offsets()
            paths = sum(len(p.vertices) for p in collection.get_paths())
            if max(paths, len(offsets)) > MANY_POINTS or hasattr(
                collection, "_coordinates"
            ):
                collection.set_rasterized(True)


def figure_text(figure) -> str:
    """SVG of a figure, as it is kept in the cache."""
    rasterise_crowds(figure)
    written = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the page has other fonts
        figure.savefig(
            written, format="svg", bbox_inches="tight", dpi=130,
            metadata={"Date": None, "Creator": None},
        )  # fmt: skip
    text = written.getvalue()
    # what is filled with white has text or lines on it that must stay dark
    on_paper = has_areas(figure) or "fill: #ffffff" in text
    return f"<!--{'paper' if on_paper else 'drawing'}-->{text}"


def figure_html(text: str, label: str, key: str) -> str:
    """The figure for a page; `label` says what it shows, `key` makes ids distinct."""
    from pansophy.plot.style import clean_svg

    kind = "paper" if text.startswith("<!--paper-->") else "drawing"
    width = re.search(r'<svg[^>]* width="([\d.]+)pt"', text)
    svg = clean_svg(text, label, key)
    if kind == "drawing":
        svg = COLOR.sub(lambda m: PALETTE.get(m[0], m[0]), svg)
        # text and lines without a colour of their own are black
        svg = svg.replace("<svg ", '<svg fill="currentColor" ', 1)
    most = round(float(width[1]) * 1.45) if width else 640
    svg = "\n".join(line for line in svg.splitlines() if line.strip())
    return (
        f'<figure class="picture {kind}"><div style="max-width: {most}px">{svg}</div>'
        "</figure>"
    )

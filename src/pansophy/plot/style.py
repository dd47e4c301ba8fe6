"""The common style of all figures, and figures as SVG for a web page.

Names of columns, models and classes are untrusted text: mathematics in them is not
interpreted, and text stays text, which the SVG writer escapes. Lines differ in colour,
dashes and markers, so that they can be distinguished in grey print.
"""

import io
import math
import os
import re
import warnings
from functools import wraps
from html import escape
from pathlib import Path

from ..core.files.atomic_files import replacing_file

BLUE, ORANGE, GREEN, PURPLE = "#1f5f99", "#c2571a", "#5b8c3e", "#7a4fa3"
GREY, PINK, PALE, INK = "#8a8f98", "#b0436e", "#c9dcee", "#30343b"
CREATOR = "Drawn by pansophy with Matplotlib"  # in the files of pictures
LINE = "#eceef1"  # of a grid
EDGE = "#b9bec6"  # of the frame, and of lines through zero
COLORS = (BLUE, ORANGE, GREEN, PURPLE, PINK, GREY)
GROUPS = (*COLORS[:5], "#2b8c8c")  # of groups of points, whose noise is grey
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 3)))
MARKS = "osD^vP"

STYLE = {
    "axes.prop_cycle": f"cycler('color', {list(COLORS)})",
    "svg.fonttype": "none",
    "svg.hashsalt": "pansophy",
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": EDGE,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": "#5b616b",
    "ytick.color": "#5b616b",
    "axes.grid": False,
    "legend.framealpha": 0.8,
    "legend.edgecolor": "none",
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "path.simplify_threshold": 0.3,
    "image.cmap": "Blues",
}
WIDE, HIGH = 4.7, 3.2  # inches: letters stay readable when a phone shrinks it
NAME = re.compile(r' id="([^"]*)"')
USED = re.compile(r'(?:url\(#|href="#)([^)"]+)')
FONT = re.compile(r"font: ?((?:\S+ )*?)([\d.]+px) [^;\"]*")


def draw_styled(draw):
    """Decorator: draw with STYLE, whatever the matplotlib settings of the session."""

    @wraps(draw)
    def styled(*args, **kwargs):
        import matplotlib as mpl

        with mpl.rc_context(STYLE):
            return draw(*args, **kwargs)

    return styled


def line_style(k, *, marks=False) -> dict:
    """Colour, dashes and marker of the k-th of several lines."""
    style = {"color": COLORS[k % 6], "linestyle": DASHES[k % 6]}
    if marks:
        style |= {"marker": MARKS[k % 6], "markersize": 4}
    return style


def series_color(k) -> str:
    """Colour of the k-th of several groups: the palette, then paler shades of it.

    Examples
    --------
    >>> from pansophy.plot.style import series_color
    >>> series_color(0), series_color(6), series_color(12)
    ('#1f5f99', '#8fafcc', '#1f5f99')
    """
    color = GROUPS[k % 6]
    if k // 6 % 2 == 0:
        return color
    halves = ((int(color[i : i + 2], 16) + 255) // 2 for i in (1, 3, 5))
    return "#" + "".join(f"{v:02x}" for v in halves)


def short_name(text, most=26) -> str:
    """A name made safe for a figure: one line, printable, not too long.

    Examples
    --------
    >>> from pansophy.plot.style import short_name
    >>> short_name("a\\nvery   long name of a column", 12)
    'a very long…'
    """
    text = "".join(c if c.isprintable() else " " for c in str(text))
    text = " ".join(text.split())
    text = text if len(text) <= most else text[: most - 1].rstrip() + "…"
    return f"\u2009{text}" if text.startswith("_") else text  # else kept from legends


def short_names(names, most=26) -> list[str]:
    """Names made safe; those that would look alike when cut show where they differ.

    Examples
    --------
    >>> from pansophy.plot.style import short_names
    >>> names = ["width of a leaf in 2024", "width of a leaf in 2025", "height"]
    >>> short_names(names, 12)
    ['widt…in 2024', 'widt…in 2025', 'height']
    """
    full_names = [short_name(n, 10**6) for n in names]
    cut = [short_name(n, most) for n in names]
    head = most // 3
    rest = most - head - 1
    for text in {c for c in cut if c.endswith("…") and cut.count(c) > 1}:
        alike = [i for i, c in enumerate(cut) if c == text]
        first, *_, last = sorted(
            full_names[i] for i in alike
        )  # differ as soon as any two
        pairs = enumerate(zip(first, last))
        n_shared = next((k for k, (a, b) in pairs if a != b), len(first))
        for i in alike:
            n = full_names[i]
            cut[i] = f"{n[:head]}…{n[min(n_shared, len(n) - rest) :][:rest]}"
    return cut


def named_series(values, one="model") -> dict:
    """A dict of named values; a single value gets the name `one`."""
    return dict(values) if isinstance(values, dict) else {one: values}


def row_axes(ax, rows, *, row=0.3, width=5.6):
    """The axes given, or new ones high enough for a number of labelled rows."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    size = (width, 1.1 + row * max(rows, 2))
    return plt.subplots(figsize=size, layout="constrained")[1]


def log_axis(ax, which="x", ticks=None, labels=None):
    """Make an axis logarithmic, with plain numbers or the given values as ticks."""
    getattr(ax, f"set_{which}scale")("log")
    axis = getattr(ax, f"{which}axis")
    if ticks is not None:
        axis.set_ticks(ticks, labels or [f"{v:g}" for v in ticks])
        axis.minorticks_off()
        return
    axis.set_major_formatter(lambda v, _: f"{v:g}")  # powers would be mathematics
    axis.set_minor_formatter(lambda v, _: "")


def few_ticks(low, high) -> list[float]:
    """Ticks of a logarithmic axis: powers of ten, with 2 and 5 on short ranges.

    Examples
    --------
    >>> from pansophy.plot.style import few_ticks
    >>> few_ticks(0.012, 0.3), few_ticks(0.5, 2e5)
    ([0.02, 0.05, 0.1, 0.2], [1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0])
    """
    first, last = (math.floor(math.log10(v)) for v in (low, high))
    digits = (1,) if high > 200 * low else (1, 2, 5)
    ticks = [float(f"{m}e{e}") for e in range(first, last + 1) for m in digits]
    return [v for v in ticks if low <= v <= high]


def pale_grid(ax, which="both"):
    """Draw a pale grid behind the figure."""
    ax.grid(axis=which, color=LINE, lw=0.8)
    ax.set_axisbelow(True)


def figure_svg(draw, label="", width=WIDE, height=HIGH, key="") -> str:
    """SVG text of what `draw(axes)` draws; `label` describes it to screen readers.

    `key` makes the ids of several figures on one page distinct.

    Examples
    --------
    >>> from pansophy.plot.style import figure_svg
    >>> figure_svg(lambda ax: ax.set_title("<a> & $x$"), label="two <signs>")[:45]
    '<svg role="img" aria-label="two &lt;signs&gt;'
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the page has other fonts
        figure = Figure(figsize=(width, height), layout="constrained")
        canvas = FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        _lay_out_figure(figure)
        buffer = io.StringIO()
        canvas.print_svg(buffer, metadata={"Date": None, "Creator": None})
    return clean_svg(buffer.getvalue(), label, key)


def _lay_out_figure(figure) -> None:
    """Place the axes for SVG output, for good.

    `savefig` would draw the whole figure once more to do no more than this.
    """
    dpi = figure.dpi
    figure.dpi = 72  # a point is a pixel of the SVG
    figure.get_layout_engine().execute(figure)
    figure.set_layout_engine("none")
    figure.dpi = dpi


def clean_svg(text, label="", key="") -> str:
    """SVG of matplotlib made safe for embedding beside others in one page.

    Metadata and style sheets are removed, and ids are made unique.
    """
    text = text[text.index("<svg") :]
    for part in (r"<metadata>.*?</metadata>", r"<style.*?</style>", r"<!--.*?-->"):
        text = re.sub(part, "", text, flags=re.DOTALL)
    # artists with the id "hover:text" show the text under the pointer
    text = re.sub(r'<g id="hover:([^"]*)">', r"<g><title>\1</title>", text)
    used = set(USED.findall(text))
    text = NAME.sub(lambda m: f' id="{key}{m[1]}"' if m[1] in used else "", text)
    text = re.sub(r'(url\(#|href="#)', rf"\g<1>{key}", text)
    text = FONT.sub(r"font: \g<1>\g<2> sans-serif", text)
    text = re.sub(r"<defs>\s*</defs>", "", text)
    text = re.sub(r"\s*\n\s*", "\n", text)
    for side in ("height", "width"):  # the page decides how large
        text = re.sub(rf'(<svg[^>]*?) {side}="[^"]*"', r"\1", text, count=1)
    named = f'<svg role="img" aria-label="{escape(label)}" '
    return text.replace("<svg ", named, 1).strip()


def save(ax, path) -> None:
    """Save the figure of some axes; the suffix of the path is the file format."""
    kinds = (".svg", ".png", ".pdf")
    if Path(path).suffix.lower() not in kinds:
        raise ValueError(f"A picture is {', '.join(kinds)} by its name, got {path}.")
    with replacing_file(path) as draft:
        form = Path(path).suffix[1:].lower()
        key = "Software" if form == "png" else "Creator"
        ax.figure.savefig(
            draft, bbox_inches="tight", format=form, metadata={key: CREATOR}
        )


def is_own_picture(path) -> bool:
    """Whether a file is a picture that `save` has written."""
    if not Path(path).is_file():
        return False
    with open(path, "rb") as file:
        head = file.read(4096)
        file.seek(max(0, os.path.getsize(path) - 4096))
        return CREATOR.encode() in head + file.read()  # at the end of a PDF

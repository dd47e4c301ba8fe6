"""HTML view of `explore` for a cell of a notebook: findings and columns.

Small and self-contained, in the colours of the notebook; all text is escaped.
"""

from html import escape

from ...core.plain_text import plain_text
from ..findings import by_severity
from .columns import date_text

BAR_COLOR = "#1f5f99"
MAX_COLUMNS_SHOWN = 60
CELL = "padding:.2em .9em .2em 0;text-align:{};vertical-align:top"
SEVERITY_COLORS = {"alarm": "#c2402a", "warning": "#a86f00"}


def sparkline(counts, label) -> str:
    """A histogram as small as a word, as SVG."""
    if len(counts) < 2:
        return ""
    top = max(counts) or 1
    wide = 80 / len(counts)
    bars = "".join(
        f"M{i * wide:.1f} 18v{-17 * k / top:.1f}h{0.85 * wide:.1f}V18z"
        for i, k in enumerate(counts)
        if k
    )
    return (
        f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 80 18" '
        f'width="80" height="18"><path d="{bars}" fill="{BAR_COLOR}"/></svg>'
    )


def safe(text) -> str:
    return escape(" ".join(plain_text(text).split()))


def _table_row(cells, tag="td") -> str:
    """A row of (HTML, side) cells."""
    return "".join(
        f'<{tag} style="{CELL.format(side)}">{html}</{tag}>' for html, side in cells
    )


def render_exploration_cell(e) -> str:
    """An `Exploration` as HTML."""
    head, *lines = str(e).splitlines()
    result = {plain_text(str(f)) for f in e.findings}
    lines = [t for t in lines if plain_text(t).strip() not in result]
    items = "".join(
        f'<li><strong style="color:{SEVERITY_COLORS.get(f.severity, "inherit")}">'
        f"{safe(f.severity.capitalize())}:</strong> {safe(f.text)}</li>"
        for f in by_severity(e.findings)
    )
    parts = [
        '<div style="max-width:64em;line-height:1.45">',
        f'<p style="margin:.3em 0;font-weight:600">{safe(head)}</p>',
        f'<ul style="margin:.3em 0">{items}</ul>'
        if items
        else "<p>Nothing suspicious was found.</p>",
    ]
    if e.overview is not None:
        parts.append(_column_table_html(e.overview))
    return "\n".join([*parts, "</div>"])


def _column_table_html(overview) -> str:
    """Every column in a line, folded away if there are very many."""
    heads = (
        ("column", "left"),
        ("holds", "left"),
        ("shape", "left"),
        ("missing", "right"),
        ("different", "right"),
        ("usual values", "left"),
    )
    lines = []
    for s in overview.columns[:MAX_COLUMNS_SHOWN]:
        share = s.missing / overview.rows if overview.rows else 0.0
        q = s.quantiles
        show = date_text if s.kind == "date" else "{:.4g}".format
        usual = (
            f"{show(q[0])} to {show(q[-1])}, middle {show(q[len(q) // 2])}"
            if q
            else ", ".join(f"{v} ({k:,})" for v, k in s.top[:3])
        )
        shape = sparkline(s.counts or [k for _, k in s.top], f"shape of {s.name}")
        cells = (
            (safe(s.name), "left"),
            (safe(s.kind), "left"),
            (shape, "left"),
            (f"{100 * share:.1f} %" if s.missing else "", "right"),
            (f"{s.distinct:,}", "right"),
            (safe(usual), "left"),
        )
        lines.append(f"<tr>{_table_row(cells)}</tr>")
    n_hidden = len(overview.columns) - MAX_COLUMNS_SHOWN
    rest = f"<p>and {n_hidden} more columns</p>" if n_hidden > 0 else ""
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse">'
        f"<thead><tr>{_table_row(heads, 'th')}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>{rest}"
    )

"""A comparison in a notebook: small, self-contained, in the colours of the notebook."""

import zlib
from html import escape as escape_html

from ...core.plain_text import plain_text
from . import plots
from .elements import make_figure
from .formatting import format_mean, format_number, format_seconds, standing_and_p
from .sentences import setting_sentence, summary_sentences

MAX_ROWS_SHOWN = 12  # of the leaderboard
CELL_STYLE = (
    "padding:.25em .9em .25em 0;text-align:{};white-space:nowrap;vertical-align:top"
)


def _escape(text) -> str:
    """Text for a page: no markup, no control characters."""
    return escape_html(plain_text(text))


def _score_figure(c) -> str:
    """The picture of the scores, on white, since a notebook may be dark."""
    rows = len(plots.plotted_methods(c))
    figure = make_figure(
        "Scores",
        "",
        lambda ax: plots.plot_scores(c, ax),
        f"nb{zlib.crc32(repr(c.leaderboard).encode()):x}",  # ids differ between cells
        f"{c.metric} of {len(c.leaderboard)} methods",
        height=1.0 + 0.3 * rows,
    )
    if not figure.svg:
        return ""
    frame = "max-width:34em;background:#fff;border-radius:4px;padding:.3em"
    return f'<div style="{frame}">{figure.svg}</div>'


def _html_cell(text, tag="td", align="left", bold=False) -> str:
    style = CELL_STYLE.format(align) + (";font-weight:600" if bold else "")
    scope = ' scope="col"' if tag == "th" else ""
    return f'<{tag}{scope} style="{style}">{_escape(str(text))}</{tag}>'


def render_notebook(c) -> str:
    """Verdict, leaderboard and the rest folded away, as HTML for a cell."""
    first, *rest = summary_sentences(c)
    names = list(c.leaderboard[0].scores)[:3]
    head = [("#", "right"), ("method", "left"), *((n, "right") for n in names)]
    head += [("against best", "left"), ("fit", "right")]
    lines = ["".join(_html_cell(h, "th", a) for h, a in head)]
    for row in c.leaderboard[:MAX_ROWS_SHOWN]:
        kept = row.method == c.winner
        name = f"{row.method} (kept)" if kept else row.method
        cells = [(row.rank, "right"), (name, "left")]
        cells += [(format_mean(row.scores[n]), "right") for n in names]
        cells += [
            (standing_and_p(row), "left"),
            (format_seconds(row.fit_seconds), "right"),
        ]
        lines.append("".join(_html_cell(t, align=a, bold=kept) for t, a in cells))
    head_row, *rows = (f"<tr>{line}</tr>" for line in lines)
    n_hidden = len(c.leaderboard) - MAX_ROWS_SHOWN
    parts = [
        '<div style="max-width:64em;line-height:1.45">',
        f'<p style="margin:.3em 0;opacity:.7">{_escape(setting_sentence(c))}</p>',
        "" if c.complete else "<p><strong>Incomplete: interrupted.</strong></p>",
        f'<p style="margin:.3em 0;font-weight:600">{_escape(first)}</p>',
        *(f'<p style="margin:.3em 0">{_escape(s)}</p>' for s in rest),
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;'
        'font-variant-numeric:tabular-nums;margin:.5em 0">',
        f"<thead>{head_row}</thead><tbody>{''.join(rows)}</tbody></table></div>",
        f"<p>and {format_number(n_hidden)} more</p>" if n_hidden > 0 else "",
        _score_figure(c),
        _collapsible_list("Not ranked", c.disqualified),
        _collapsible_list("Not run", c.not_run),
        _collapsible_list("Findings", [(f.severity, f.text) for f in c.findings]),
        _collapsible_list("Notes", [("", n) for n in c.notes]),
        "</div>",
    ]
    return "\n".join(p for p in parts if p)


def _collapsible_list(title, pairs) -> str:
    """A list that opens on a click."""
    if not pairs:
        return ""
    items = "".join(
        f"<li>{_escape(f'{name}: {reason}' if name else reason)}</li>"
        for name, reason in pairs
    )
    return (
        f"<details><summary>{_escape(title)} ({len(pairs)})</summary>"
        f'<ul style="margin:.2em 0">{items}</ul></details>'
    )

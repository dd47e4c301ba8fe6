"""A comparison on the terminal.

The headline comes first, then the leaderboard as wide as the screen allows, then what
did not run, in one line. On a terminal the table is drawn by rich.
"""

import shutil
import sys
import textwrap
from typing import NamedTuple

from ...core.plain_text import plain_text
from ...diagnose.findings import merge_notes
from ..evaluation.ranking import Standing
from ..evaluation.wording import join_names
from ..methods.excluded import SkipKind
from .formatting import (
    describe_blend,
    describe_warnings,
    format_mean,
    format_seconds,
    standing_and_p,
)
from .sentences import (
    capitalised,
    clipping_sentence,
    setting_sentence,
    shared_p_sentence,
    summary_sentences,
)

DEFAULT_WIDTH = 100  # where there is no terminal
SKIP_WORDS = {
    SkipKind.OVER_LIMITS: "too slow or too large",
    SkipKind.NOT_INSTALLED: "not installed",
    SkipKind.NOT_REQUESTED: "not asked for",
    SkipKind.UNSUITED: "not suited, or spoken for by one that ran",
    SkipKind.OTHER_TASK: "for other tasks",
}
UNNAMED = (SkipKind.NOT_REQUESTED, SkipKind.UNSUITED, SkipKind.OTHER_TASK)


class Line(NamedTuple):
    """A line of text; an alarm is shown in red."""

    text: str
    alarm: bool = False


def one_line_summary(c) -> str:
    """The result in one line: the method that is kept and its score."""
    row = next((r for r in c.leaderboard if r.method == c.winner), None)
    score = f", {c.metric} {format_mean(row.scores[c.metric])}" if row else ""
    state = "" if c.complete else ", incomplete"
    return plain_text(
        f"<Comparison of {len(c.leaderboard)} methods for {c.schema.target!r}: "
        f"{c.winner} kept{score}{state}>"
    )


def _leaderboard_cells(c, width) -> tuple[list[str], list[list[str]]]:
    """Header and cells of the leaderboard; metrics are dropped until it fits."""
    metrics_shown = list(c.leaderboard[0].scores)[:3]
    remarks = any(r.warnings for r in c.leaderboard)
    for n_metrics in range(len(metrics_shown), 0, -1):
        names = metrics_shown[:n_metrics]
        head = ["", "method", *names, "against best", "fit"]
        head += [""] if remarks else []
        body = []
        for row in c.leaderboard:
            mark = "*" if row.method == c.winner else " "
            cells = [f"{mark}{row.rank}", row.method]
            cells += [format_mean(row.scores[n]) for n in names]
            cells += [standing_and_p(row), format_seconds(row.fit_seconds)]
            body.append(cells + ([describe_warnings(row)] if remarks else []))
        wide = sum(max(len(r[i]) for r in [head, *body]) + 2 for i in range(len(head)))
        if wide <= width + 2:
            break
    return head, body


def _leaderboard_lines(c, width) -> list[str]:
    """The table as lines: ranking metric first, 95 % intervals after ±."""
    head, body = _leaderboard_cells(c, width)
    widths = [max(len(r[i]) for r in [head, *body]) for i in range(len(head))]
    metrics = c.leaderboard[0].scores
    justify = [str.rjust if h in metrics or h == "fit" else str.ljust for h in head]
    table = [[f(x, w) for f, x, w in zip(justify, r, widths)] for r in [head, *body]]
    return ["  ".join(r).rstrip() for r in table]


def _lines_above_table(c) -> list[str]:
    """Lines above the table."""
    lines = [setting_sentence(c), ""]
    if not c.complete:
        lines.append("INCOMPLETE: interrupted before all methods were done.")
    return [*lines, *summary_sentences(c)]


def _lines_below_table(c) -> list[Line]:
    """Lines below the table."""
    first = f"* kept: {c.winner}. After ±: 95 % interval of the score on new rows."
    texts = [first]
    for row in c.leaderboard:
        if row.blend:
            texts.append(f"{row.method}: {describe_blend(row.blend)}.")
    clipped = clipping_sentence(c)
    texts += [t for t in (clipped, shared_p_sentence(c)) if t]
    texts += [f"Disqualified: {name} ({reason})." for name, reason in c.disqualified]
    lines = [Line(text) for text in [*texts, *skipped_lines(c)]]
    for f in merge_notes(c.findings):
        lines.append(Line(capitalised(str(f)), alarm=f.severity == "alarm"))
    return lines + [Line(f"Note: {note}") for note in c.notes]


def skipped_lines(c) -> list[str]:
    """Methods that were not run, in one line: by name where something can be done."""
    if not c.skipped:
        return []
    groups: dict[SkipKind, list] = {}
    for s in c.skipped:
        groups.setdefault(s.kind, []).append(s)
    parts = []
    for kind, words in SKIP_WORDS.items():
        methods_of_kind = groups.get(kind, ())
        if not methods_of_kind:
            continue
        named = (
            ""
            if kind in UNNAMED
            else f" ({join_names([s.name for s in methods_of_kind], 3)})"
        )
        parts.append(f"{len(methods_of_kind)} {words}{named}")
    total = len(c.skipped)
    return [f"Not run: {total}, of which {', '.join(parts)}. The report says why."]


def _wrap_lines(lines, width) -> list[str]:
    wrapped = []
    for line in lines:
        indent = "    " if line.startswith("  ") else ""
        kept = textwrap.wrap(
            line,
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        wrapped += kept or [""]
    return wrapped


def render_text(c, width=None) -> str:
    """Everything a reader needs, in the order in which it is needed."""
    head_lines = _lines_above_table(c)
    tail_lines = [line.text for line in _lines_below_table(c)]
    if width is not None:
        head_lines, tail_lines = (
            _wrap_lines(head_lines, width),
            _wrap_lines(tail_lines, width),
        )
    table = _leaderboard_lines(c, DEFAULT_WIDTH if width is None else width)
    return plain_text("\n".join([*head_lines, "", *table, "", *tail_lines]))


def print_comparison(c, file=None) -> None:
    """Print for whoever reads: a drawn table on a terminal, plain text elsewhere."""
    file = sys.stdout if file is None else file
    if not file.isatty():
        print(render_text(c), file=file)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=file, highlight=False)
    width = min(console.width, shutil.get_terminal_size().columns)
    say = lambda line, style="": console.print(Text(plain_text(line), style=style))
    say(setting_sentence(c), "dim")
    for i, line in enumerate(_lines_above_table(c)[2:]):
        say(line, "bold" if i == 0 else "")
    head, body = _leaderboard_cells(c, width - 4)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in head:
        side = "right" if name in c.leaderboard[0].scores or name == "fit" else "left"
        table.add_column(Text(name), justify=side, no_wrap=name != "")
    for row, cells in zip(c.leaderboard, body):
        kept = row.method == c.winner
        faint = row.standing in (Standing.WORSE, Standing.BELOW_DUMMY)
        style = "bold" if kept else "dim" if faint else ""
        table.add_row(*(Text(plain_text(cell)) for cell in cells), style=style)
    console.print()
    console.print(table)
    console.print()
    for line in _lines_below_table(c):
        say(line.text, "red" if line.alarm else "")

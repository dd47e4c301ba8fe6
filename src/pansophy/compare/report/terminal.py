"""A comparison in words: sentences that text, page and notebook share; the terminal.

The verdict comes first, then the leaderboard as wide as the screen allows, then what
did not run, folded by reason. On a terminal the table is drawn by rich.
"""

import shutil
import sys
import textwrap

import numpy as np

from ...plot.style import short
from ..evaluation.bayesian_tests import describe_probabilities, format_percent, verb_for
from ..evaluation.ranking import DUMMY, join_names

DEFAULT_WIDTH = 100  # where there is no terminal
MAX_REASONS = 6  # for not running something that a terminal shows
TIME_UNITS = ((0.9995e-3, 1e-6, "µs"), (0.9995, 1e-3, "ms"), (99.5, 1, "s"))


def format_mean(interval) -> str:
    """`0.812 ± 0.030` with digits that mean something; of a cut side, the other."""
    short, reach = sorted([interval.mean - interval.low, interval.high - interval.mean])
    reach = reach if short < 0.8 * reach else (short + reach) / 2
    if not np.isfinite(reach):
        return format_number(interval.mean)
    digits = 3
    if reach > 0:
        digits = int(np.clip(1 - np.floor(np.log10(reach)), 0, 4))
    return f"{interval.mean:z.{digits}f} ± {reach:.{digits}f}"


def format_interval(interval) -> str:
    """`0.782 to 0.842`, with the digits of `format_mean`."""
    reach = (interval.high - interval.low) / 2
    digits = 3
    if np.isfinite(reach) and reach > 0:
        digits = int(np.clip(1 - np.floor(np.log10(reach)), 0, 4))
    return f"{interval.low:z.{digits}f} to {interval.high:z.{digits}f}"


def format_number(x) -> str:
    """Four digits, thousands without a power of ten."""
    if x is None or not np.isfinite(x):
        return "–"
    return f"{x:,.0f}" if abs(x) >= 1e4 else f"{x:.4g}"


def format_seconds(t) -> str:
    """`3 ms`, `1.2 s`, `4 min`, `2.5 h`."""
    for most, size, unit in TIME_UNITS:
        if t < most:
            x = t / size
            return f"{x:.0f} {unit}" if x >= 9.95 else f"{x:.2g} {unit}"
    return f"{t / 60:.0f} min" if t < 5970 else f"{t / 3600:.2g} h"


def standing_and_p(row) -> str:
    """The verdict on one method with its p value."""
    if row.verdict == "best":
        return "best"
    p = "p < 0.001" if row.p < 0.001 else f"p = {row.p:.3f}"
    return f"{row.verdict}, {p}"


def setting_sentence(c) -> str:
    """What was compared, how."""
    s = c.settings
    split = getattr(c.split, "kind", None) or s.get("split", "")
    target = short(c.schema.target, 60)
    why = c.schema.why.replace(c.schema.target, target)
    return (
        f"{c.schema.task} of {target!r} ({why}): {s['rows']} rows, "
        f"{s['inputs']} inputs, {s['repeats']} x {s['folds']} {split} folds, seed "
        f"{s['seed']}"
    )


def baseline_sentence(c) -> str:
    """Whether the winner beats what anything useful should beat."""
    if c.winner == DUMMY:
        return ""
    found = c.beats
    greater = c.metrics[0].greater
    names = {DUMMY: "the dummy"}
    tell = lambda b: (
        f"{names.get(b.method, 'the plain ' + b.method)} ({c.metric} "
        f"{'higher' if (b.difference.mean > 0) else 'lower'} by "
        f"{abs(b.difference.mean):.3g}, 95 % interval {format_difference_interval(b.difference)})"
    )
    doubted = {r.method for r in c.leaderboard if r.verdict == "tied"}
    yes = [tell(b) for b in found if b.beyond and b.method not in doubted]
    alone = [b for b in found if b.beyond and b.method in doubted]
    second = getattr(c, "second", None)
    by_rows = second is not None and second.sure(c.winner)
    by_rows = [b for b in found if b.method == DUMMY and by_rows]
    alone = [b for b in alone if b not in by_rows]
    no = [tell(b) for b in found if not b.beyond and b not in by_rows]
    does = verb_for(c.winner, "beats", "beat")
    told = []
    if yes:
        told.append(f"{does} {join_names(yes)} beyond the interval")
    if second is not None and by_rows:
        told.append(
            f"{does} {tell(by_rows[0])} row by row {second.test(c.winner)}, though not "
            f"beyond doubt over {second.folds} folds"
        )
    if alone:
        told.append(
            f"{does} {join_names([tell(b) for b in alone])} beyond the interval if only "
            "the two are looked at, but not when allowing for the best having been "
            f"picked from {len(c.leaderboard)}"
        )
    if no:
        does = verb_for(c.winner, "does", "do")
        told.append(f"{does} not beat {join_names(no)} beyond the interval")
    more = "" if greater or not found else " Lower is better."
    it = verb_for(c.winner, "it", "they")
    return f"{c.winner} {f'; {it} '.join(told)}.{more}" if told else ""


def format_difference_interval(d) -> str:
    """An interval of a difference, by its size: `0.1 to 0.3`, or with its sides."""
    if d.low * d.high < 0:
        return f"{-d.low:.3g} lower to {d.high:.3g} higher"
    low, high = sorted(abs(v) for v in (d.low, d.high))
    return f"{low:.3g} to {high:.3g}"


def tradeoff_sentence(c) -> str:
    """What the top scorer would gain, where a simpler method is kept."""
    found = c.instead
    if found is None:
        return ""
    g, name = found.gain, found.method
    luck = ""
    if found.luck is not None and 0.02 * g.mean < found.luck < g.mean:
        luck = f", of which {found.luck:.2g} is the luck of being picked"
    low = f"{-g.low:.3g} lost" if g.low < 0 else f"{g.low:.3g}"
    high = f"{g.high:.3g} gained" if g.low < 0 else f"{g.high:.3g}"
    return (
        f"Keeping {name} instead of {c.winner} would be expected to gain {g.mean:.3g} "
        f"of {c.metric} (95 % interval {low} to {high}){luck}; keep='best' (--keep "
        "best) does so."
    )


def clipping_sentence(c) -> str:
    """That an interval ends where the metric does, if one does."""
    ends = {m.name: m.ends for m in c.metrics}
    names = [
        name
        for name in c.leaderboard[0].scores
        if any(is_clipped(r.scores[name], ends.get(name)) for r in c.leaderboard)
    ]
    if not names:
        return ""
    return (
        f"Where an interval would leave what the metric can be ({join_names(names, 3)}) it "
        "is cut there; ± is the other side."
    )


def is_clipped(i, ends) -> bool:
    if ends is None or not np.isfinite([i.mean, i.low, i.high]).all():
        return False
    lower, upper = i.mean - i.low, i.high - i.mean
    return (i.low == ends[0] and lower < upper) or (i.high == ends[1] and upper < lower)


def with_article(metric) -> str:
    """A metric with its article: a log loss, an accuracy, an rmse.

    Examples
    --------
    >>> from pansophy.compare.report.terminal import with_article
    >>> with_article("roc auc"), with_article("rmse")
    ('a roc auc', 'an rmse')
    """
    spelled = metric in ("rmse", "mae", "r2", "f1")
    return f"{'an' if spelled or metric[:1] in 'aeiou' else 'a'} {metric}"


def selection_bias_sentence(c) -> str:
    """What being picked as the best of several is worth."""
    if c.expected is None or len(c.leaderboard) < 2:
        return ""
    seen = c.leaderboard[0].scores[c.metric].mean
    tied = [r for r in c.leaderboard[1:] if r.verdict == "tied"]
    if format_number(seen) == format_number(c.expected) and tied:
        return (
            f"On new rows expect {with_article(c.metric)} of about {format_number(c.expected)} from the "
            f"best, as seen here: having chosen it from {len(c.leaderboard)} by these "
            "rows adds too little luck to show. That says nothing about the ties."
        )
    if format_number(seen) == format_number(c.expected):
        return (
            f"On new rows expect {with_article(c.metric)} of about {format_number(c.expected)} from the "
            f"best: it was clear enough that little of it is the luck of being picked."
        )
    return (
        f"On new rows expect {with_article(c.metric)} of about {format_number(c.expected)} from the "
        f"best rather than the {format_number(seen)} seen: being picked as best of "
        f"{len(c.leaderboard)} takes some luck."
    )


def runner_up_sentence(c) -> str:
    """The runner-up against the best, in probabilities."""
    rows = [r for r in c.leaderboard[1:] if r.odds is not None and r.method != DUMMY]
    if not rows:
        return ""
    best, other = c.leaderboard[0], rows[0]
    turned = type(other.odds)(*other.odds[::-1])
    if max(turned) < 0.75 and turned.worse < 0.05:
        return (
            f"Against the runner-up alone, {best.method} {verb_for(best.method)} hardly "
            f"worse than "
            f"{other.method} ({format_percent(turned.worse)}); whether it is better by enough "
            f"to matter is open: better {format_percent(turned.better)}, practically equal "
            f"(within {c.rope:.2g} of {c.metric}) {format_percent(turned.equivalent)}."
        )
    told = describe_probabilities(turned, best.method, other.method, c.rope, c.metric)
    if told.startswith("Whether"):
        told = "w" + told[1:]
    return f"Against the runner-up alone, {told}"


def summary_sentences(c) -> list[str]:
    """The verdict and what stands behind it."""
    told = [
        c.verdict,
        tradeoff_sentence(c),
        runner_up_sentence(c),
        baseline_sentence(c),
    ]
    told.append(selection_bias_sentence(c))
    if getattr(c, "on_test", None) is not None:
        from .holdout_and_groups import holdout_sentence

        told.append(holdout_sentence(c))
    return [t[:1].upper() + t[1:] for t in told if t]


def names_by_common_reason(pairs) -> list[tuple[str, list[str]]]:
    """(reason, names) of (name, reason): the most common reason first."""
    groups: dict[str, list[str]] = {}
    for name, why in pairs:
        groups.setdefault(why, []).append(name)
    return sorted(groups.items(), key=lambda g: -len(g[1]))


def one_line_summary(c) -> str:
    """One line for a prompt."""
    row = next((r for r in c.leaderboard if r.method == c.winner), None)
    score = f", {c.metric} {format_mean(row.scores[c.metric])}" if row else ""
    state = "" if c.complete else ", incomplete"
    return (
        f"<Comparison of {len(c.leaderboard)} methods for {c.schema.target!r}: "
        f"{c.winner} kept{score}{state}>"
    )


def leaderboard_cells(c, width) -> tuple[list[str], list[list[str]]]:
    """Header and cells of the leaderboard; metrics are dropped until it fits."""
    most = list(c.leaderboard[0].scores)[:3]
    remarks = any(r.remarks for r in c.leaderboard)
    for keep in range(len(most), 0, -1):
        names = most[:keep]
        head = ["", "method", *names, "against best", "fit"]
        head += [""] if remarks else []
        body = []
        for row in c.leaderboard:
            mark = "*" if row.method == c.winner else " "
            cells = [f"{mark}{row.rank}", row.method]
            cells += [format_mean(row.scores[n]) for n in names]
            cells += [standing_and_p(row), format_seconds(row.fit_seconds)]
            body.append(cells + ([row.remarks] if remarks else []))
        wide = sum(max(len(r[i]) for r in [head, *body]) + 2 for i in range(len(head)))
        if wide <= width + 2:
            break
    return head, body


def leaderboard_lines(c, width) -> list[str]:
    """The table as lines: ranking metric first, 95 % intervals after ±."""
    head, body = leaderboard_cells(c, width)
    widths = [max(len(r[i]) for r in [head, *body]) for i in range(len(head))]
    metrics = c.leaderboard[0].scores
    put = [str.rjust if h in metrics or h == "fit" else str.ljust for h in head]
    table = [[f(x, w) for f, x, w in zip(put, r, widths)] for r in [head, *body]]
    return ["  ".join(r).rstrip() for r in table]


def lines_above_table(c) -> list[str]:
    """What is said above the table."""
    lines = [setting_sentence(c), ""]
    if not c.complete:
        lines.append("INCOMPLETE: interrupted before all methods were done.")
    return [*lines, *summary_sentences(c)]


def lines_below_table(c) -> list[str]:
    """What is said below the table."""
    s = c.leaderboard[0].scores[c.metric]
    lines = [f"* kept: {c.winner}. After ±: 95 % interval over folds."]
    rows = c.leaderboard[0].over_rows
    if rows is not None and np.isfinite(s.low):
        lines[0] += f" Over rows, {c.leaderboard[0].method}: {format_interval(rows)}."
    lines += [f"{r.method}: {r.parts}." for r in c.leaderboard if r.parts]
    lines += [clipping_sentence(c)] if clipping_sentence(c) else []
    lines += [f"Disqualified: {name} ({why})." for name, why in c.disqualified]
    if c.not_run:
        groups = names_by_common_reason(c.not_run)
        lines.append(f"Not run ({len(c.not_run)}):")
        for why, names in groups[:MAX_REASONS]:
            lines.append(f"  {why}: {join_names(names, max_names=3)}")
        rest = groups[MAX_REASONS:]
        if rest:
            count = sum(len(names) for _, names in rest)
            lines.append(f"  {count} more for {len(rest)} other reasons: see not_run")
    lines += [str(f)[:1].upper() + str(f)[1:] for f in c.findings]
    lines += [f"Note: {note}" for note in c.notes]
    return lines


def wrap_lines(lines, width) -> list[str]:
    out = []
    for line in lines:
        indent = "    " if line.startswith("  ") else ""
        kept = textwrap.wrap(
            line,
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        out += kept or [""]
    return out


def render_text(c, width=None) -> str:
    """Everything a reader needs, in the order in which it is needed."""
    wide = DEFAULT_WIDTH if width is None else width
    top, low = lines_above_table(c), lines_below_table(c)
    if width is not None:
        top, low = wrap_lines(top, wide), wrap_lines(low, wide)
    return "\n".join([*top, "", *leaderboard_lines(c, wide), "", *low])


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
    say = lambda line, style="": console.print(Text(line, style=style))
    say(setting_sentence(c), "dim")
    for i, line in enumerate(lines_above_table(c)[2:]):
        say(line, "bold" if i == 0 else "")
    head, body = leaderboard_cells(c, width - 4)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in head:
        side = "right" if name in c.leaderboard[0].scores or name == "fit" else "left"
        table.add_column(Text(name), justify=side, no_wrap=name != "")
    for row, cells in zip(c.leaderboard, body):
        kept = row.method == c.winner
        faint = row.verdict not in ("best", "tied")
        style = "bold" if kept else "dim" if faint else ""
        table.add_row(*map(Text, cells), style=style)
    console.print()
    console.print(table)
    console.print()
    for line in lines_below_table(c):
        say(line, "red" if line.startswith("Alarm: ") else "")


def format_probabilities(row) -> str:
    """`better 3 %, equal 60 %, worse 37 %` than the best."""
    if row.odds is None:
        return ""
    o = row.odds
    return (
        f"better {format_percent(o.better)}, practically equal {format_percent(o.equivalent)}, "
        f"worse {format_percent(o.worse)}"
    )

"""The plot of the README: ratios of a few cases, chosen by a rule that is stated."""

from pathlib import Path

from pansophy.core.files.atomic_files import write_text_file
from pansophy.plot.style import BLUE, GREY, INK, ORANGE, figure_svg, log_axis

from .stamp import is_busy
from .tables import (
    LOST,
    WON,
    WORSE,
    clock,
    fastest_peer,
    fresh_rows,
    verdict,
)

PLACES = 10  # rows of the plot
RULE = (
    f"At most {PLACES} cases, each at its largest size with a record: half of the "
    "places are for cases that ours loses or answers worse, the worst first; the "
    "others are for the first case of each file of `benchmarks/`, then for the rest "
    "in order."
)
COLORS = {WON: BLUE, LOST: ORANGE, WORSE: ORANGE}


def chosen_rows(cases, files, rows) -> list[tuple]:
    """(case, row) by the rule, those that ours wins most clearly first."""
    found = []
    met = set()
    for case in cases:
        is_first = files[case.name] not in met
        met.add(files[case.name])
        sizes = range(len(case.sizes) - 1, -1, -1)
        row = next((rows[case.name, i] for i in sizes if (case.name, i) in rows), None)
        if row is not None and fastest_peer(row) is not None:
            found.append((case, row, is_first))
    bad = [f for f in found if verdict(f[1]) in (LOST, WORSE)]
    bad = sorted(bad, key=lambda f: ratio_of(f[1])[1])[: PLACES // 2]
    rest = [f for f in found if f not in bad and verdict(f[1]) not in (LOST, WORSE)]
    rest.sort(key=lambda f: not f[2])
    shown = [*rest[: PLACES - len(bad)], *bad]
    return [(c, r) for c, r, _ in sorted(shown, key=lambda f: -ratio_of(f[1])[1])]


def ratio_of(row) -> list[float]:
    """Quartiles of the fastest peer's time over ours."""
    return row["peers"][fastest_peer(row)][clock(row)]


def draw_ratios(ax, pairs) -> None:
    """A point with its quartiles for each case; right of 1 ours is faster."""
    for k, (_, row) in enumerate(pairs):
        low, ratio, high = ratio_of(row)
        color = COLORS.get(verdict(row), GREY)
        filled = "white" if is_busy(row["stamp"]) else color
        ax.plot([low, high], [k, k], color=color, lw=2.2, solid_capstyle="round")
        ax.plot([ratio], [k], "o", ms=6.5, color=color, mfc=filled)
        text = f"{ratio:.2g} × {fastest_peer(row)}"
        if verdict(row) == WORSE:
            text += ", less accurate"
        ax.annotate(
            text, (high, k), (7, 0), textcoords="offset points", va="center", size=8.5
        )
    ax.axvline(1, color=INK, lw=0.9)
    ends = [v for _, row in pairs for v in ratio_of(row)]
    ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500]
    low, high = min([*ends, 0.5]) / 1.3, max([*ends, 2]) * 2.6
    log_axis(ax, ticks=[t for t in ticks if low <= t <= high])
    ax.set_xlim(low, high)
    ax.set_ylim(len(pairs) - 0.4, -0.6)
    names = [case.name.replace("_", " ") for case, _ in pairs]
    ax.set_yticks(range(len(pairs)), names)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("time of the fastest peer / our time (right of 1: ours is faster)")


def circumstances(pairs) -> str:
    """When and on what the rows were measured, in a sentence."""
    stamps = [row["stamp"] for _, row in pairs]
    if not stamps:
        return "No case has a stamped record yet."
    days = sorted(stamp["date"][:10] for stamp in stamps)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    machines = sorted({f"{s['processor']}, {s['cores']} cores" for s in stamps})
    busy = sum(map(is_busy, stamps))
    text = f"Measured {when} on {' and '.join(machines)}"
    if busy:
        text += (
            f"; {busy} of them (hollow) on a busy machine, with one thread and by "
            "processor time"
        )
    return text + "."


def write_plot(records, cases, files, path) -> str:
    """Draw the plot; the Markdown that stands below it."""
    rows = fresh_rows(records, cases)
    pairs = chosen_rows(cases, files, rows)
    known = len({name for name, _ in rows})
    path.parent.mkdir(parents=True, exist_ok=True)
    label = "; ".join(
        f"{case.name}: {ratio_of(row)[1]:.2g} times as fast as {fastest_peer(row)}"
        for case, row in pairs
    )
    height = 0.9 + 0.3 * len(pairs)
    svg = figure_svg(lambda ax: draw_ratios(ax, pairs), label, width=7.2, height=height)
    write_text_file(Path(path), svg + "\n")
    return (
        f"![{label}](docs/images/{path.name})\n\n"
        f"{circumstances(pairs)} {RULE} {known} of {len(cases)} cases have a record of "
        "this year's format so far; [benchmarks/results.md](benchmarks/results.md) has "
        "all rows, losses too, and "
        "[benchmarks/README.md](benchmarks/README.md) says how they are made."
    )

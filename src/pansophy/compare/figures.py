"""The two pictures that only a comparison has: scores, and score against time."""

import numpy as np

from ..plot.style import BLUE, GREY, LINE, PALE, short
from .text import seconds

MOST = 25  # methods in the picture of scores


def scores(c, ax):
    """Scores with their intervals, best on top; far worse ones are cut off."""
    rows = shown(c)[::-1]
    spans = [r.scores[c.metric] for r in rows]
    for i, (row, s) in enumerate(zip(rows, spans)):
        color = BLUE if row.verdict in ("best", "tied") else GREY
        ax.plot([s.low, s.high], [i, i], color=color, lw=2, solid_capstyle="butt")
        full = color if row.method == c.winner else "white"
        ax.plot(s.mean, i, "o", color=color, mfc=full, ms=6, mew=1.6)
        if row.over_rows is not None:
            o = row.over_rows
            ax.plot([o.low, o.high], [i - 0.27] * 2, color=color, lw=1, alpha=0.6)
    ax.set_yticks(range(len(rows)), [short(r.method) for r in rows])
    ax.set_ylim(-0.7, len(rows) - 0.4)
    ax.set_xlim(*limits(rows, spans))
    ax.set_xlabel(f"{c.metric}, {'more' if c.metrics[0].greater else 'less'} is better")
    ax.grid(axis="x", color=LINE)
    ax.set_axisbelow(True)
    ax.tick_params(axis="y", length=0)
    return ax


def shown(c) -> list:
    """Methods up to the dummy and a few more, the first ones of very many."""
    good = sum(r.verdict != "below dummy" for r in c.leaderboard)
    return c.leaderboard[: min(max(good + 2, 8), MOST)]


def limits(rows, spans):
    """From the best to the dummy and what is near; one wild method hides nothing."""
    good = [s for r, s in zip(rows, spans) if r.verdict != "below dummy"] or spans
    low = min(np.nanmin([s.low, s.mean]) for s in good)
    high = max(np.nanmax([s.high, s.mean]) for s in good)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def front(x, y, greater) -> list[int]:
    """Places that no other beats in both time and score, by rising time."""
    order, best, out = np.lexsort((-y if greater else y, x)), None, []
    for i in order:
        if best is None or (y[i] > best if greater else y[i] < best):
            out.append(int(i))
            best = y[i]
    return out


def quality_time(c, ax):
    """Score against seconds of a fit; a line joins what nothing beats in both."""
    rows = c.leaderboard
    x = np.maximum([r.fit_seconds for r in rows], 1e-5)
    y = np.array([r.scores[c.metric].mean for r in rows])
    greater = c.metrics[0].greater
    best = front(x, y, greater)
    ax.set_xscale("log")
    ax.step(x[best], y[best], where="post", color=PALE, lw=2, zorder=1)
    for i, r in enumerate(rows):
        color = BLUE if r.verdict in ("best", "tied") else GREY
        full = color if r.method == c.winner else "white"
        ax.plot(x[i], y[i], "o", color=color, mfc=full, ms=6, mew=1.6, zorder=2)
    ax.set_ylim(*limits(rows, [r.scores[c.metric] for r in rows]))
    if not greater:
        ax.invert_yaxis()
    ax.margins(x=0.2)
    ax.xaxis.set_major_formatter(lambda t, _: seconds(t))
    ax.minorticks_off()
    ax.set_xlabel("time of one fit")
    ax.set_ylabel(f"{c.metric}{'' if greater else ' (upside down)'}")
    ax.grid(color=LINE)
    ax.set_axisbelow(True)
    first = [i for i, r in enumerate(rows) if r.method == c.winner]
    label(ax, x, y, [r.method for r in rows], [*first, *best, *range(len(rows))])
    return ax


def label(ax, x, y, names, order):
    """Names beside their points where there is room, in order of importance."""
    figure = ax.figure
    figure.draw_without_rendering()
    frame = ax.get_window_extent()
    spots = ax.transData.transform(np.column_stack([x, y]))
    taken = [(a - 5, b - 5, a + 5, b + 5) for a, b in spots]
    unit = figure.dpi / 72
    for i in dict.fromkeys(order):
        text, (a, b) = short(names[i], 22), spots[i]
        wide, high = 5.6 * unit * len(text), 11 * unit
        for dx, dy, ha in ((7, 0, "left"), (-7, 0, "right"), (0, 10, "center"),
                           (0, -10, "center")):  # fmt: skip
            left = a + dx * unit - {"left": 0, "right": wide, "center": wide / 2}[ha]
            low = b + dy * unit - high / 2
            box = (left, low, left + wide, low + high)
            own = [t for k, t in enumerate(taken) if k != i]
            if inside(box, frame) and not any(meet(box, t) for t in own):
                ax.annotate(text, (x[i], y[i]), (dx, dy), textcoords="offset points",
                            ha=ha, va="center", fontsize=8.5)  # fmt: skip
                taken.append(box)
                break


def meet(a, b) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def inside(box, frame) -> bool:
    return (
        box[0] >= frame.x0
        and box[2] <= frame.x1 + 4
        and box[1] >= frame.y0
        and box[3] <= frame.y1
    )

"""Small pictures of every column against the target.

What they show is computed by `diagnose.leakage.target_views`.
"""

import numpy as np

from ...plot.style import (
    BLUE,
    GREY,
    INK,
    PALE,
    few_ticks,
    log_axis,
    pale_grid,
    series_color,
    short_name,
    short_names,
)
from .elements import Figure, make_figure
from .formatting import format_number
from .plots import add_hover, show_dates

WIDTH = 3.4  # inches
WIDE_RANGE = 8  # largest value over the median, beyond which an axis is logarithmic
FEW_ROWS = 10  # parts with fewer rows are drawn in grey


def target_figures(views) -> list[Figure]:
    """One figure for each view."""
    return [
        make_figure(
            short_name(v.column, 40),
            _view_caption(v),
            lambda ax, v=v: _draw_target_view(v, ax),
            f"g{i}",
            f"{v.target} and {v.column}",
            width=WIDTH,
            height=_view_height(v),
        )
        for i, v in enumerate(views)
    ]


def _view_caption(v) -> str:
    """Caption: the share of the target that the column tells alone."""
    share = 100 * v.strength
    if share < 0.5:
        return f"Alone it tells next to nothing about {short_name(v.target, 30)}."
    target = short_name(v.target, 30)
    return f"Alone it explains {share:.0f} % of the variation of {target}."


def _view_height(v) -> float:
    if v.kind == "points":
        return 2.1
    return 0.8 + 0.21 * len(v.parts) + (0.3 if v.kind == "bars" else 0.0)


def _draw_target_view(v, ax):
    """Points, boxes or bars."""
    {"points": _draw_points, "bars": _draw_class_shares}.get(v.kind, _draw_boxes)(v, ax)
    if v.dates:
        show_dates(ax.xaxis)


def _use_log_axis(ax, which, values):
    """A logarithmic axis where positive values reach over many sizes."""
    x = np.asarray(values, dtype=float).ravel()
    if x.min() > 0 and x.max() > WIDE_RANGE * np.median(x):
        ticks = few_ticks(x.min(), x.max())
        log_axis(ax, which, ticks[:: 1 + len(ticks) // 6], None)


def _draw_points(v, ax):
    """The rows as points, and the mean target in parts of the column."""
    x, y = v.values
    ax.scatter(x, y, s=6, lw=0, alpha=0.45, color=BLUE)
    if len(v.line) > 1:
        means = np.asarray(v.line)
        ax.plot(*means.T, color=INK, lw=1.4, marker="o", ms=3)
        labels = [
            f"near {format_number(a)}: mean {v.target} {format_number(b)}"
            for a, b in means
        ]
        add_hover(ax, means[:, 0], means[:, 1], labels, size=80)
    ax.set_xlabel(short_name(v.column, 34))
    ax.set_ylabel(short_name(v.target, 22))
    if not v.dates:
        _use_log_axis(ax, "x", x)
    _use_log_axis(ax, "y", y)
    pale_grid(ax)


def _draw_boxes(v, ax):
    """Quartiles and the median of each part, whiskers to its 5 % and 95 % quantile."""
    shown = v.column if v.kind == "column boxes" else v.target
    place = np.arange(len(v.parts))
    for i, (low, q1, middle, q3, high) in enumerate(v.values):
        color = BLUE if v.rows[i] >= FEW_ROWS else GREY
        ax.plot([low, high], [i, i], color=color, lw=1, solid_capstyle="butt")
        ax.barh(i, q3 - q1, left=q1, height=0.56, color=PALE, edgecolor=color, lw=0.8)
        ax.plot([middle] * 2, [i - 0.28, i + 0.28], color=INK, lw=1.6)
    labels = [
        f"{name}: half of {shown} lies between {format_number(b[1])} and "
        f"{format_number(b[3])}, middle {format_number(b[2])}; {rows:,} rows"
        for name, b, rows in zip(v.parts, v.values, v.rows)
    ]
    if not v.dates:
        add_hover(ax, [b[2] for b in v.values], place, labels)
        _use_log_axis(ax, "x", v.values)
    _part_axis(ax, v)
    ax.set_xlabel(short_name(shown, 34))
    pale_grid(ax, "x")


def _draw_class_shares(v, ax):
    """The share of each class within each level."""
    shares = 100 * np.asarray(v.values)
    start = np.zeros(len(v.parts))
    for k, name in enumerate(v.classes):
        label = short_name(name, 14)
        ax.barh(
            np.arange(len(v.parts)),
            shares[:, k],
            left=start,
            height=0.72,
            color=series_color(k),
            label=label,
        )
        labels = [
            f"{part}: {name} {share:.1f} % of {rows:,} rows"
            for part, share, rows in zip(v.parts, shares[:, k], v.rows)
        ]
        add_hover(ax, start + shares[:, k] / 2, np.arange(len(v.parts)), labels, 60)
        start = start + shares[:, k]
    ax.set_xlim(0, 100)
    _part_axis(ax, v)
    ax.set_xlabel(f"% of the rows, {short_name(v.target, 26)}")
    location = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    ax.legend(**location, ncols=3, frameon=False, handlelength=0.9, columnspacing=1.0)


def _part_axis(ax, v):
    """Names of the parts, with their rows."""
    names = short_names(v.parts, 16)
    ax.set_yticks(
        np.arange(len(names)), [f"{n} ({k:,})" for n, k in zip(names, v.rows)]
    )
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)

"""Score against fit time of several methods, with the Pareto front."""

from itertools import product

import numpy as np

from ..axes import get_axes
from ..style import (
    BLUE,
    GREY,
    PALE,
    draw_styled,
    few_ticks,
    log_axis,
    pale_grid,
    short_name,
)

PLACES = (  # offsets of a label from its point, in typographic points
    (7, -8, "left"),
    (-7, 7, "right"),
    (7, 0, "left"),
    (-7, 0, "right"),
    (0, 11, "center"),
    (0, -11, "center"),
    (7, 8, "left"),
    (-7, -8, "right"),
)


def _pareto_front(x, y) -> list[int]:
    """Pareto front of small x and large y: indices of undominated points, by x."""
    best = -np.inf
    front = []
    for i in np.lexsort((-y, x)):
        if y[i] > best:
            front.append(int(i))
            best = y[i]
    return front


@draw_styled
def quality_time(
    names,
    seconds,
    scores,
    *,
    greater=True,
    marked=(),
    best=None,
    limits=None,
    label="score",
    ax=None,
):
    """Score against fit time of several methods; a line shows the Pareto front.

    Parameters
    ----------
    names : sequence of m names
    seconds, scores : arrays of shape (m,)
    greater : bool
        Whether greater scores are better; otherwise the axis is turned round, so that
        the better is always higher.
    marked, best, limits, label : as in `score_intervals`
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.quality_time(["quick", "good", "poor"], [1, 9, 10], [0.7, 0.9, 0.6])
    >>> ax.lines[0].get_xdata().tolist()
    [1.0, 9.0]
    """
    x = np.maximum(np.asarray(seconds, float), 1e-6)
    y = np.asarray(scores, float)
    if not len(names) == len(x) == len(y):
        raise ValueError(f"{len(names)} names, {len(x)} times, {len(y)} scores.")
    ax = get_axes(ax)
    line = _pareto_front(x, y if greater else -y)
    ax.step(x[line], y[line], where="post", color=PALE, lw=2.5, zorder=1)
    for i, name in enumerate(names):
        color = BLUE if name in marked or name == best else GREY
        full = color if name == best else "white"
        ax.plot(x[i], y[i], "o", color=color, mfc=full, ms=6, mew=1.6, zorder=2)
    wide = 10 ** (0.1 + 0.2 * np.log10(x.max() / x.min()))
    low, high = x.min() / wide, x.max() * wide
    log_axis(ax, ticks=few_ticks(low, high) or [float(x[0])])
    ax.set_xlim(low, high)
    ax.margins(y=0.1)
    if limits is not None:
        ax.set_ylim(*limits)
    if not greater:
        ax.invert_yaxis()
    ax.set(xlabel="seconds for one fit")
    ax.set(ylabel=short_name(label, 40) + ("" if greater else " (less is better)"))
    pale_grid(ax)
    first = [i for i, name in enumerate(names) if name == best]
    _name_points(ax, x, y, names, [*first, *line, *range(len(names))])
    return ax


def _name_points(ax, x, y, names, order):
    """Label points where there is free space, the most important ones first."""
    figure = ax.figure
    figure.draw_without_rendering()
    unit = figure.dpi / 72
    inside = ax.get_window_extent()
    spots = ax.transData.transform(np.column_stack([x, y]))
    dots = [(a - 5 * unit, b - 5 * unit, a + 5 * unit, b + 5 * unit) for a, b in spots]
    placed = []
    for i in dict.fromkeys(order):
        obstacles = [*placed, *(d for k, d in enumerate(dots) if k != i)]
        for max_length, (dx, dy, side) in product((22, 12), PLACES):
            text = short_name(names[i], max_length)
            box = _box_of(spots[i] + np.array([dx, dy]) * unit, text, side, unit)
            if _box_inside(box, inside) and not any(
                _boxes_overlap(box, o) for o in obstacles
            ):
                ax.annotate(
                    text,
                    (x[i], y[i]),
                    (dx, dy),
                    textcoords="offset points",
                    ha=side,
                    va="center",
                    fontsize=8.5,
                )
                placed.append(box)
                break


def _box_of(spot, text, side, unit):
    """Approximate box of a text: left, bottom, right, top in pixels."""
    wide = 5.6 * unit * len(text)
    high = 11 * unit
    left = spot[0] - {"left": 0, "right": wide, "center": wide / 2}[side]
    return left, spot[1] - high / 2, left + wide, spot[1] + high / 2


def _boxes_overlap(a, b) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _box_inside(box, frame) -> bool:
    fits_width = box[0] >= frame.x0 and box[2] <= frame.x1 + 4
    return fits_width and box[1] >= frame.y0 and box[3] <= frame.y1

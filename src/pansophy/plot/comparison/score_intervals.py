"""Scores of methods with confidence intervals."""

import numpy as np

from ..style import (
    BLUE,
    GREY,
    LINE,
    draw_styled,
    pale_grid,
    row_axes,
    short_name,
    short_names,
)


@draw_styled
def score_intervals(
    names,
    mean,
    low,
    high,
    *,
    second=None,
    marked=(),
    best=None,
    reference=None,
    limits=None,
    label="score",
    ax=None,
):
    """A row for each method: its score and interval, in the order given.

    Parameters
    ----------
    names : sequence of m names
        The first is drawn on top.
    mean, low, high : arrays of shape (m,)
    second : arrays (low, high), optional
        Ends of another interval, drawn thin below the first; NaN where there is none.
    marked : names drawn in colour
        Those that cannot be told from the best, say.
    best : name, optional
        Its point is filled.
    reference : float, optional
        A score to compare with, drawn as a line.
    limits : (low, high) of the axis, optional
    label : str
        Of the axis.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.score_intervals(["a", "b"], [0.8, 0.7], [0.7, 0.6], [0.9, 0.8])
    >>> [t.get_text() for t in ax.get_yticklabels()]
    ['a', 'b']
    """
    mean, low, high = (np.asarray(v, float) for v in (mean, low, high))
    if not len(names) == len(mean) == len(low) == len(high):
        raise ValueError(f"{len(names)} names but {len(mean)} scores.")
    ax = row_axes(ax, len(names))
    for i, name in enumerate(names):
        if i % 2:
            ax.axhspan(i - 0.5, i + 0.5, color=LINE, alpha=0.6, lw=0, zorder=0)
        color = BLUE if name in marked or name == best else GREY
        ax.plot([low[i], high[i]], [i, i], color=color, lw=2, solid_capstyle="butt")
        full = color if name == best else "white"
        ax.plot(mean[i], i, "o", color=color, mfc=full, ms=6, mew=1.6)
        if second is not None:
            ends = [second[0][i], second[1][i]]
            ax.plot(ends, [i + 0.27] * 2, color=color, lw=1, alpha=0.6)
    if reference is not None:
        ax.axvline(reference, color=GREY, lw=1, ls="--")
    ax.set_yticks(range(len(names)), short_names(names))
    ax.set_ylim(len(names) - 0.4, -0.6)
    if limits is not None:
        ax.set_xlim(*limits)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(short_name(label, 60))
    pale_grid(ax, "x")
    return ax

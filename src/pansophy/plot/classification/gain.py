"""Cumulative gain: share of the positives found against the share of rows examined."""

import numpy as np

from ...core.arrays.threshold_counts import cumulative_at, score_order
from ..axes import get_axes
from ..style import GREY, draw_styled, line_style, pale_grid, short_name
from .threshold_curves import curve_weights, curves_to_draw, thin_curve


def cumulative_gains(yes, s, w=None):
    """Proportions of rows examined and of positives found, at every distinct score."""
    order = score_order(s)
    w = np.ones(len(s)) if w is None else w
    examined = cumulative_at(order, w)
    result = cumulative_at(order, w * yes)
    return tuple(np.insert(v / v[-1], 0, 0.0) for v in (examined, result))


@draw_styled
def gain(y, scores, *, kind="gain", positive=None, weights=None, ax=None):
    """Cumulative gain or lift curves of one or several models.

    Parameters
    ----------
    y, scores, positive, weights, ax : as in `roc`
    kind : {"gain", "lift"}
        The share of positives found, or its ratio to that of a random order.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.gain([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1])
    >>> ax.lines[0].get_ydata().tolist()
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """
    if kind not in ("gain", "lift"):
        raise ValueError(f"kind must be 'gain' or 'lift', got {kind!r}.")
    ax = get_axes(ax)
    curves = curves_to_draw(y, scores, positive)
    for k, (name, yes, s) in enumerate(curves):
        u, v = cumulative_gains(yes, s, curve_weights(weights, y, yes))
        if kind == "lift":
            v = v[1:] / u[1:]
            u = u[1:]
        ax.plot(*thin_curve(u, v), label=short_name(name), **line_style(k))
    ax.set(xlabel="share of rows looked at", xlim=(-0.01, 1.01))
    if kind == "lift":
        ax.axhline(1, color=GREY, lw=1, ls=":", label="at random")
        ax.set(ylabel="times as many as at random")
    else:
        ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls=":", label="at random")
        mean = lambda yes: np.average(yes, weights=curve_weights(weights, y, yes))
        rates = {round(float(mean(yes)), 6) for _, yes, _ in curves}
        if len(rates) == 1:
            q = rates.pop()
            ax.plot(
                [0, q, 1], [0, 1, 1], color=GREY, lw=1, ls="--", label="best possible"
            )
        ax.set(ylabel="share of positives found", ylim=(-0.01, 1.02))
    pale_grid(ax)
    ax.legend(loc="best")
    return ax

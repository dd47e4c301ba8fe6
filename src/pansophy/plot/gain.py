"""Cumulative gain: share of the positives found against the share of rows examined."""

import numpy as np

from .axes import get_axes
from .style import GREY, draw_styled, line_style, pale_grid, short_name
from .threshold_curves import curve_weights, curves_to_draw, thin_curve


def cumulative_gains(yes, s, w=None):
    """Shares of rows looked at and of the yes found; equal scores move together."""
    order = np.argsort(-s, kind="stable")
    w = np.ones(len(s)) if w is None else w
    found, looked = np.cumsum((w * yes)[order]), np.cumsum(w[order])
    ends = np.append(np.diff(s[order]) != 0, True)
    shares = (np.insert(v[ends] / v[-1], 0, 0.0) for v in (looked, found))
    return tuple(shares)


@draw_styled
def gain(y, scores, *, kind="gain", positive=None, weights=None, ax=None):
    """Share of the positives found against the share of rows looked at.

    Parameters
    ----------
    y, scores, positive, weights, ax : as in `roc`
    kind : {"gain", "lift"}
        The share found, or how many times that of looking at random.

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
    ax, found = get_axes(ax), curves_to_draw(y, scores, positive)
    for k, (name, yes, s) in enumerate(found):
        u, v = cumulative_gains(yes, s, curve_weights(weights, y, yes))
        if kind == "lift":
            u, v = u[1:], v[1:] / u[1:]
        ax.plot(*thin_curve(u, v), label=short_name(name), **line_style(k))
    ax.set(xlabel="share of rows looked at", xlim=(-0.01, 1.01))
    if kind == "lift":
        ax.axhline(1, color=GREY, lw=1, ls=":", label="at random")
        ax.set(ylabel="times as many as at random")
    else:
        ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls=":", label="at random")
        mean = lambda yes: np.average(yes, weights=curve_weights(weights, y, yes))
        rates = {round(float(mean(yes)), 6) for _, yes, _ in found}
        if len(rates) == 1:
            q = rates.pop()
            best = {"color": GREY, "lw": 1, "ls": "--", "label": "best possible"}
            ax.plot([0, q, 1], [0, 1, 1], **best)
        ax.set(ylabel="share of positives found", ylim=(-0.01, 1.02))
    pale_grid(ax)
    ax.legend(loc="best")
    return ax

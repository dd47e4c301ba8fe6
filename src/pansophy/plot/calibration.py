"""Reliability curve: how often events of a predicted probability happened."""

import numpy as np

from .axes import get_axes
from .style import GREY, draw_styled, line_style, pale_grid, short_name


@draw_styled
def calibration(predicted, observed=None, low=None, high=None, count=None, *, ax=None):
    """Reliability curves of one or several models, with confidence bands.

    Parameters
    ----------
    predicted : array of shape (bins,), or a curve, or dict of name -> curve
        Mean probability of each bin; a curve is an object with the attributes
        `predicted`, `observed`, `low`, `high` and `count`.
    observed : array of shape (bins,)
        Observed frequency of the event.
    low, high : arrays of shape (bins,), optional
        The band.
    count : array of shape (bins,), optional
        Rows in each bin, drawn as sizes of the points.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.calibration([0.1, 0.5, 0.9], [0.2, 0.5, 0.8])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('probability given', 'share that came true')
    """
    ax = get_axes(ax)
    ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls=":", label="perfect")
    curves = dict(predicted) if isinstance(predicted, dict) else {"": predicted}
    for k, (name, curve) in enumerate(curves.items()):
        if hasattr(curve, "predicted"):
            parts = (getattr(curve, v, None) for v in FIELDS)
        else:
            parts = (curve, observed, low, high, count)
        draw_reliability_curve(ax, k, short_name(name), *parts)
    ax.set(xlabel="probability given", ylabel="share that came true")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    pale_grid(ax)
    if len(curves) > 1:
        ax.legend(loc="upper left")
    return ax


FIELDS = ("predicted", "observed", "low", "high", "count")


def draw_reliability_curve(ax, k, name, predicted, observed, low, high, count):
    """Draw one curve: a line, points sized by their bins, and a band."""
    u = np.asarray(predicted, float)
    v = np.asarray(observed, float)
    style = line_style(k)
    ax.plot(u, v, label=name, **style)
    size = np.full(len(u), 22.0)
    if count is not None and len(u):
        size = 8 + 42 * np.asarray(count, float) / max(np.max(count), 1)
    ax.scatter(u, v, s=size, color=style["color"], zorder=3)
    if low is not None and high is not None:
        ax.fill_between(u, low, high, color=style["color"], alpha=0.15, lw=0)

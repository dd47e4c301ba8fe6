"""Reliability curve: how often events of a predicted probability happened.

Rows are put into bins of about equally many rows by their probability. A bin with mean
probability p_b and share o_b of positives is the point (p_b, o_b); its band is Wilson's
interval of o_b.
"""

from typing import NamedTuple

import numpy as np

from ...diagnose.intervals import wilson_limits
from ..axes import get_axes
from ..style import GREY, draw_styled, line_style, pale_grid, short_name
from .threshold_curves import curve_weights, curves_to_draw


class BinnedProbabilities(NamedTuple):
    """The points of a reliability curve."""

    predicted: np.ndarray  # mean probability of each bin
    observed: np.ndarray  # share of positives
    low: np.ndarray  # band of the share
    high: np.ndarray
    count: np.ndarray  # rows of each bin


@draw_styled
def calibration(
    y, probabilities=None, *, positive=None, weights=None, bins=10, level=0.95, ax=None
):
    """Reliability curves of one or several models, with confidence bands.

    Parameters
    ----------
    y : array of shape (n,)
        Classes of held-out rows. Without `probabilities` it is a finished curve, or a
        dict of name -> curve: objects with the attributes `predicted`, `observed`,
        `low`, `high` and `count`, of which the last three may be None.
    probabilities : array of shape (n,) or (n, K), or dict of name -> such arrays
        Predicted probabilities; columns follow the sorted classes.
    positive, weights : as in `roc`
    bins : int
        Bins of about equally many rows; equal probabilities share one.
    level : float
        Of the bands.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> y = [0, 0, 0, 1, 0, 1, 1, 1]
    >>> p = [0.1, 0.1, 0.1, 0.1, 0.9, 0.9, 0.9, 0.9]
    >>> ax = plot.calibration(y, p)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('probability given', 'share that came true')
    >>> ax.lines[1].get_ydata().tolist()
    [0.25, 0.75]
    """
    ax = get_axes(ax)
    ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls=":", label="perfect")
    if probabilities is None:
        curves = dict(y) if isinstance(y, dict) else {"": y}
        if not all(hasattr(c, "predicted") for c in curves.values()):
            raise ValueError("calibration needs y and probabilities, in this order.")
    else:
        curves = {
            name: _bin_probabilities(
                yes, p, curve_weights(weights, y, yes), bins, level
            )
            for name, yes, p in curves_to_draw(y, probabilities, positive)
        }
    for k, (name, curve) in enumerate(curves.items()):
        _draw_reliability_curve(ax, k, short_name(name), curve)
    ax.set(xlabel="probability given", ylabel="share that came true")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    pale_grid(ax)
    if len(curves) > 1:
        ax.legend(loc="upper left")
    return ax


def _bin_probabilities(yes, p, w, bins, level) -> BinnedProbabilities:
    """Points of the curve from outcomes, probabilities and weights, (n,) each."""
    if p.min() < 0 or p.max() > 1:
        raise ValueError("probabilities must lie between 0 and 1.")
    edges = np.unique(np.quantile(p, np.linspace(0, 1, bins + 1)[1:-1]))
    bin_of_row = np.searchsorted(edges, p, side="right")
    bin_of_row = np.unique(bin_of_row, return_inverse=True)[1]
    total = np.bincount(bin_of_row, w)
    filled = total > 0
    total = np.where(filled, total, 1.0)
    mean = np.bincount(bin_of_row, w * p) / total
    share = np.bincount(bin_of_row, w * yes) / total
    low, high = wilson_limits(share * total, total, level)
    points = (mean, share, low, high, np.bincount(bin_of_row))
    return BinnedProbabilities(*(v[filled] for v in points))


def _draw_reliability_curve(ax, k, name, curve):
    """Draw one curve: a line, points sized by their bins, and a band."""
    u = np.asarray(curve.predicted, float)
    v = np.asarray(curve.observed, float)
    low, high, count = (getattr(curve, f, None) for f in ("low", "high", "count"))
    style = line_style(k)
    ax.plot(u, v, label=name, **style)
    size = np.full(len(u), 22.0)
    if count is not None and len(u):
        size = 8 + 42 * np.asarray(count, float) / max(np.max(count), 1)
    ax.scatter(u, v, s=size, color=style["color"], zorder=3)
    if low is not None and high is not None:
        ax.fill_between(u, low, high, color=style["color"], alpha=0.15, lw=0)

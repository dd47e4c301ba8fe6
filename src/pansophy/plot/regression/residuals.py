"""Residual plots: against predictions, as a histogram, or over time."""

import numpy as np
from scipy import stats

from ...core.arrays.weighted import check_sample_weight, effective_sample_size
from ...core.random import make_rng
from ..axes import get_axes
from ..style import BLUE, GREY, INK, ORANGE, draw_styled, pale_grid

KINDS = ("predicted", "histogram", "time")
POINTS = 2000  # of a scatter: more hide each other and make the file heavy


@draw_styled
def residuals(
    y,
    p,
    *,
    kind="predicted",
    time=None,
    parts=12,
    weights=None,
    random_state=0,
    ax=None,
):
    """Residuals y - p against the prediction, as a histogram or over time.

    Parameters
    ----------
    y, p : arrays of shape (n,)
        Observed and predicted values of held-out rows.
    kind : {"predicted", "histogram", "time"}
    time : array of shape (n,), optional
        For `kind="time"`; None takes the order of the rows.
    parts : int
        Bins of equally many rows; their mean residuals get 95 % intervals.
    weights : array of shape (n,), optional
        How much each row counts in means and heights.
    random_state : seed
        Chooses the rows shown of more than 2000.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> plot.residuals([1.0, 2.0, 3.0], [1.5, 1.5, 3.0]).get_ylabel()
    'actual minus predicted'
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    ax = get_axes(ax)
    p = np.asarray(p, float)
    r = np.asarray(y, float) - p
    w = check_sample_weight(1.0 if weights is None else weights, len(r), "weights")
    if kind == "histogram":
        return _residual_histogram(r, w, ax)
    x = p if kind == "predicted" else np.arange(len(r)) if time is None else time
    x = np.asarray(x)
    shown = np.arange(len(r))
    if len(r) > POINTS:
        shown = make_rng(random_state).choice(len(r), POINTS, replace=False)
    ax.plot(x[shown], r[shown], ".", color=BLUE, alpha=0.5, ms=4, mew=0)
    ax.axhline(0, color=INK, lw=0.8)
    if len(r) >= 3 * parts and kind == "predicted":
        mid, mean, error = _binned_means(x, r, w, parts)
        ax.errorbar(
            mid,
            mean,
            yerr=1.96 * error,
            fmt="s-",
            color=ORANGE,
            ms=4,
            lw=1.4,
            capsize=2,
            label="mean of each part, 95 % interval",
        )
        ax.legend(loc="best")
    ax.set(xlabel="predicted" if kind == "predicted" else "time")
    ax.set(ylabel="actual minus predicted")
    pale_grid(ax)
    return ax


def _binned_means(x, r, w, parts):
    """Mean of x, mean residual and its standard error in bins of equally many rows."""
    bins = np.array_split(np.argsort(x, kind="stable"), parts)
    bins = [s for s in bins if (w[s] > 0).sum() > 1]
    rows = [
        (np.average(x[s], weights=w[s]), *_weighted_mean_error_of(r[s], w[s]))
        for s in bins
    ]
    return np.array(rows).T


def _weighted_mean_error_of(r, w):
    """A weighted mean and its standard error, by the effective sample size."""
    m = effective_sample_size(w)
    w = w / w.sum()
    mean = w @ r
    return mean, np.sqrt(w @ (r - mean) ** 2 / (m - 1))


def _residual_histogram(r, w, ax):
    """Histogram of residuals with the Normal density of the same mean and variance."""
    low, high = np.quantile(r, [0.002, 0.998])
    margin = 0.1 * (high - low) or max(abs(high), 1.0) * 0.1
    bins = int(np.clip(2 * len(r) ** (1 / 3), 8, 60))
    inside = np.clip(r, low - margin, high + margin)  # outliers go to the end bins
    _, edges, _ = ax.hist(
        inside, bins=bins, weights=w, color=BLUE, alpha=0.75, ec="white", lw=0.4
    )
    mean = np.average(r, weights=w)
    sd = np.sqrt(np.average((r - mean) ** 2, weights=w))
    if sd > 0:
        x = np.linspace(edges[0], edges[-1], 200)
        height = w.sum() * np.diff(edges)[0] * stats.norm.pdf(x, mean, sd)
        ax.plot(x, height, color=ORANGE, lw=1.4, label="Normal of equal spread")
    ax.axvline(0, color=INK, lw=0.8)
    ax.axvline(mean, color=GREY, lw=1.4, ls="--", label=f"mean {mean:.3g}")
    ax.set(xlabel="actual minus predicted", ylabel="rows")
    ax.legend(loc="best")
    return ax

"""Kalman filter: a series, the state estimate with its band, and a forecast."""

import numpy as np

from ..axes import get_axes
from ..style import BLUE, INK, ORANGE, draw_styled, pale_grid

INNER = 0.6744897501960817  # half of a Normal lies within this many deviations
OUTER = 1.959963984540054


@draw_styled
def kalman(X=None, beliefs=None, *, forecast=None, index=0, t=None, ax=None):
    """Observations, a band of 95% around the state, and the fan of a forecast.

    Parameters
    ----------
    X : array of shape (n, p) or (n,), optional
        Observations; of several columns, number `index` is drawn.
    beliefs : pair of arrays (n, k), (n, k, k), optional
        Means and covariances from `KalmanFilter.filter` or `smooth`, or a `Part` of
        `StructuralTimeSeries.components`, which has its own band.
    forecast : Forecast, optional
        From `forecast`: its 50% and 95% bands follow the observations.
    index : int, default=0
        Which column and which state.
    t : array of shape (n,), optional
        Times of the rows; a forecast goes on by the last step.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> from pansophy.state_space import KalmanFilter
    >>> X = np.array([[1.0], [2.0], [1.5]])
    >>> model = KalmanFilter()
    >>> ax = plot.kalman(X, model.smooth(X), forecast=model.forecast(2, X))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['observed', 'state', 'forecast']
    """
    ax = get_axes(ax)
    x = None if X is None else np.asarray(X, dtype=float)
    x = x if x is None or x.ndim == 1 else x[:, index]
    n = len(x) if x is not None else 0 if beliefs is None else len(beliefs[0])
    t = np.arange(n) if t is None else np.asarray(t)
    if len(t) != n:
        raise ValueError(f"t has {len(t)} times for {n} rows.")
    if x is not None:
        ax.plot(t, x, ".", color=INK, ms=5, label="observed")
    if beliefs is not None:
        mean, low, high = belief_band(beliefs, index)
        ax.plot(t, mean, color=BLUE, label="state")
        ax.fill_between(t, low, high, color=BLUE, alpha=0.2, lw=0)
    if forecast is not None:
        step = t[-1] - t[-2] if n > 1 else 1
        last = t[-1] if n else -1
        ahead = last + step * np.arange(1, len(forecast.mean) + 1)
        mean, sd = forecast.mean[:, index], forecast.sd[:, index]
        ax.plot(ahead, mean, color=ORANGE, label="forecast")
        for wide, shade in ((OUTER, 0.2), (INNER, 0.35)):
            low, high = mean - wide * sd, mean + wide * sd
            ax.fill_between(ahead, low, high, color=ORANGE, alpha=shade, lw=0)
    ax.set(xlabel="time")
    ax.legend()
    pale_grid(ax)
    return ax


def belief_band(beliefs, index):
    """Mean and ends of the band: given, or 95% of the Normal beliefs."""
    if len(beliefs) == 3:
        return tuple(np.asarray(a)[:, index] for a in beliefs)
    means, covs = (np.asarray(a) for a in beliefs)
    sd = np.sqrt(np.maximum(covs[:, index, index], 0.0))
    sd = np.where(np.isfinite(sd), sd, np.nan)  # nothing known: no band
    return means[:, index], means[:, index] - OUTER * sd, means[:, index] + OUTER * sd

"""STL and MSTL: series as trend, seasons and remainder, by local regression.

A local regression of width q at x weighs the q points nearest to x by

    w_j = (1 - (|x_j - x| / h)^3)^3,    h the distance of the farthest             (1)

and takes a constant or a line. One pass of STL, with period m and C the local
regressions of the values of each season by itself, extended by one at both ends,

    C = cycles of (y - trend)                                                     (2)
    L = local regression of running means of m, m and 3 values of C               (3)
    season = C - L,   trend = local regression of (y - season)                    (4)

is repeated; if robust, points with a large remainder R get less weight,
(1 - (R / (6 median |R|))^2)^2. MSTL goes through several periods in turn, each on the
series less all other seasons. `MSTL` the forecaster repeats the last cycle of every
season and forecasts what is left of the series by any other method.

Missing values are first filled between those of the same season. Period and widths
count steps; the widths must be odd.

Cost      O(n q) for width q; local regressions may jump and interpolate
Refs      [Cleveland1990]; [Bandara2021] MSTL
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..params import Flag
from . import _seasonality, _stl
from .abstract_forecaster import AbstractForecaster

MSTL_PASSES = 2
TREND_LIKE = 7  # width of the first season of MSTL; +4 for each further one
REFERENCE_SEASONS = 2  # a period needs so many cycles


class Decomposition(NamedTuple):
    """A series as trend + seasons + remainder."""

    trend: np.ndarray  # (n,)
    seasonal: np.ndarray  # (n,), or (n, periods)
    remainder: np.ndarray  # (n,)
    weights: np.ndarray  # (n,) robustness weights


def next_odd(x) -> int:
    """The smallest odd whole number of at least x."""
    k = int(np.ceil(x))
    return k + (k % 2 == 0)


def check_width(name, width, least) -> int:
    if width % 2 == 0 or width < least:
        raise ValueError(f"{name} must be odd and at least {least}, got {width}.")
    return int(width)


def fill_series_gaps(y, period) -> np.ndarray:
    """Missing values from the same season around them, else between neighbours."""
    y = np.ascontiguousarray(y, dtype=float)
    filled = y.copy()
    if np.isnan(y).any():
        _seasonality.filled_series(y, period, filled)
    return filled


def stl(
    y,
    period,
    *,
    seasonal_width=7,
    trend_width=None,
    low_pass_width=None,
    degrees=(1, 1, 1),
    jumps=(1, 1, 1),
    robust=False,
    n_inner=None,
    n_outer=None,
) -> Decomposition:
    """Seasonal-trend decomposition by local regression, eqs. (1) to (4).

    Parameters
    ----------
    y : array of shape (n,)
        The series, of at least two periods.
    period : int
        Steps of a season, m.
    seasonal_width, trend_width, low_pass_width : int
        Widths of the local regressions, odd. None for the trend is the next odd number
        from 1.5 m / (1 - 1.5 / seasonal_width), and for the low-pass filter from m.
    degrees, jumps : triple of int
        Degree, 0 or 1, of season, trend and filter, and steps between the points at
        which they are computed.
    robust : bool
        Whether outliers lose weight.
    n_inner, n_outer : int
        Passes, and rounds of weights; None for 5 and 0, robust 2 and 15.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting import stl
    >>> y = np.arange(24.0) + np.tile([3.0, -1.0, -4.0, 2.0], 6)
    >>> stl(y, 4).seasonal[:4].round(6)
    array([ 3., -1., -4.,  2.])
    """
    period = int(period)
    y = fill_series_gaps(y, period)
    if period < 2 or len(y) < 2 * period:
        raise ValueError(
            f"STL needs a period of at least 2 and two of it, got {len(y)} values and "
            f"period {period}."
        )
    if trend_width is None:
        trend_width = next_odd(1.5 * period / (1 - 1.5 / seasonal_width))
    if low_pass_width is None:
        low_pass_width = next_odd(period + 1)
    widths = np.array(
        [
            check_width("seasonal_width", seasonal_width, 3),
            check_width("trend_width", trend_width, 3),
            check_width("low_pass_width", low_pass_width, 3),
        ]
    )
    n_inner = (2 if robust else 5) if n_inner is None else n_inner
    n_outer = (15 if robust else 0) if n_outer is None else n_outer
    season = np.zeros(len(y))
    trend = np.zeros(len(y))
    weights = np.ones(len(y))
    for k in range(n_outer + 1):
        _stl.stl_pass(
            y,
            period,
            widths,
            np.array(degrees),
            np.array(jumps),
            weights,
            n_inner,
            season,
            trend,
        )
        if k < n_outer:
            weights = robustness_weights(y - season - trend)
    return Decomposition(trend, season, y - season - trend, weights)


def robustness_weights(remainder) -> np.ndarray:
    """Bisquare weights of the remainder: 0 beyond six of its median absolute values."""
    r = np.abs(remainder)
    limit = 6 * np.median(r)
    if limit == 0:
        return np.ones(len(r))
    w = (1 - np.minimum(r / limit, 1.0) ** 2) ** 2
    w[r <= 0.001 * limit] = 1.0
    w[r > 0.999 * limit] = 0.0
    return w


def mstl(y, periods, *, widths=None, n_passes=MSTL_PASSES, **options) -> Decomposition:
    """Decomposition with several seasons, shortest first.

    Parameters
    ----------
    y : array of shape (n,)
    periods : list of int
        Periods of the seasons; those of which there are not two cycles are left out.
    widths : list of int or None
        Width of the local regression of each season; None for 11, 15, 19, ...
    n_passes : int
        Times that all seasons are gone through.
    options
        Further options of `stl`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting import mstl
    >>> t = np.arange(84)
    >>> y = 0.1 * t + np.tile([2.0, -2.0, 0.0], 28) + 5 * (t % 21 == 0)
    >>> mstl(y, [3, 21]).seasonal.shape
    (84, 2)
    """
    y = fill_series_gaps(y, int(min(periods, default=1)))
    order = np.argsort(periods, kind="stable")
    if widths is None:
        widths = [TREND_LIKE + 4 * (k + 1) for k in range(len(periods))]
    elif len(widths) != len(periods):
        raise ValueError("widths needs one entry for each period.")
    else:
        widths = [widths[k] for k in order]
    periods = [int(periods[k]) for k in order]
    pairs = [(p, w) for p, w in zip(periods, widths) if len(y) >= 2 * p and p > 1]
    seasons = np.zeros((len(y), len(pairs)))
    if not pairs:
        return Decomposition(y.copy(), seasons, np.zeros(len(y)), np.ones(len(y)))
    rest = y.copy()
    part = None
    for _ in range(n_passes if len(pairs) > 1 else 1):
        for k, (period, width) in enumerate(pairs):
            rest = rest + seasons[:, k]
            part = stl(rest, period, seasonal_width=width, **options)
            seasons[:, k] = part.seasonal
            rest = rest - seasons[:, k]
    assert part is not None
    return Decomposition(part.trend, seasons, rest - part.trend, part.weights)


@dataclass(eq=False, repr=False)
class MSTL(AbstractForecaster):
    """Several seasons taken out by local regression, the rest forecast by a method.

    Parameters
    ----------
    season_lengths : list of int or None, default=None
        Periods of the seasons; None for the usual ones of the frequency that the
        series hold two of.
    forecaster : forecaster or None, default=None
        Method for the series without its seasons; None for dynamic optimised Theta.
    robust : bool, default=False
        Whether outliers lose weight in the decomposition.

    Attributes
    ----------
    forecaster_ : forecaster
        Fitted to the adjusted series.
    seasonal_ : list of array of shape (n_i, k)
        Seasons of each series.
    periods_ : list of int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting import MSTL
    >>> t = np.arange(84)
    >>> y = 50 + np.tile([2.0, -2.0, 0.0], 28) + 9 * (t % 21 == 0)
    >>> MSTL([3, 21]).fit(y).predict(3).mean.round(-1)
    array([60., 50., 50.])
    """

    season_lengths: Any = None
    _: KW_ONLY
    forecaster: Any = None
    robust: Flag = False

    def _least_values(self, panel):
        return 3

    def _periods(self, panel) -> list[int]:
        if self.season_lengths is not None:
            periods = [int(p) for p in np.atleast_1d(self.season_lengths)]
            if min(periods) < 2:
                raise ValueError("season_lengths must be whole numbers of at least 2.")
            return periods
        longest = int(panel.lengths.max())
        usual = [round(p) for p in panel.frequency.seasons]
        return [p for p in usual if p >= 2 and REFERENCE_SEASONS * p <= longest]

    def _fit_panel(self, panel):
        from .theta import DynamicTheta

        self.periods_ = self._periods(panel)
        self._decompose(panel)
        method = DynamicTheta(1) if self.forecaster is None else clone(self.forecaster)
        self.forecaster_ = method.fit(panel.with_values(self.adjusted_))

    def _decompose(self, panel):
        parts = [
            mstl(y, self.periods_, robust=self.robust) if self.periods_ else None
            for y in panel.series
        ]
        empty = np.zeros((0, 0))
        self.seasonal_ = [empty if p is None else p.seasonal for p in parts]
        sums = [
            p.seasonal.sum(axis=1) if p is not None else np.zeros(n)
            for p, n in zip(parts, panel.lengths)
        ]
        self.season_sum_ = np.concatenate(sums)
        self.adjusted_ = panel.values - self.season_sum_
        self.offsets_ = panel.offsets

    def _season_ahead(self, horizon) -> np.ndarray:
        """(s, h) the last cycle of every season again."""
        out = np.zeros((len(self.seasonal_), horizon))
        steps = np.arange(horizon)
        for i, season in enumerate(self.seasonal_):
            n = len(season)
            used = [p for p in sorted(self.periods_) if n >= 2 * p]
            for k, period in enumerate(used[: season.shape[1]]):
                out[i] += season[n - period + steps % period, k]
        return out

    def _means(self, horizon, X_future):
        return self.forecaster_.predict(horizon, level=[80]).mean + self._season_ahead(
            horizon
        )

    def _ends(self, horizon, mean, levels):
        percents = [100 * q for q in levels]
        forecast = self.forecaster_.predict(horizon, level=percents)
        ends = [forecast.intervals[round(q, 6)] for q in percents]
        shift = self._season_ahead(horizon)[:, :, None, None]
        return np.stack(ends, axis=2) + shift

    def _paths(self, horizon, X_future, n_paths, rng):
        paths = self.forecaster_.simulate(horizon, n_paths, rng)
        return paths + self._season_ahead(horizon)

    def _components(self):
        rest = self.forecaster_.components()
        fitted = rest["fitted"].values + self.season_sum_ if "fitted" in rest else None
        components = {"seasonal": self.season_sum_, "adjusted": self.adjusted_}
        return components if fitted is None else {"fitted": fitted, **components}

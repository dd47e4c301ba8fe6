"""Theta methods: exponential smoothing of a series whose curvature is stretched.

The series y_t, t = 1..T, freed of its season (`seasonality`), is taken apart into its
least squares line a + b t and a line x_t of theta times its curvature. Of theta = 2,

    x_t = theta y_t + (1 - theta)(a + b t)                                        (1)
    l_t = alpha x_t + (1 - alpha) l_{t-1}                                         (2)
    mean_h = l_T / theta + (1 - 1/theta)(a + b (T + h))                           (3)

with alpha and l_0 of least squared error of (2). `DynamicTheta` learns the line as the
series goes on, and theta too. With w = 1 - 1/theta and ybar the mean so far,

    mu_t = l_{t-1} + w ((1-alpha)^{t-1} A_{t-1} + (1 - (1-alpha)^t)/alpha B_{t-1}) (4)
    l_t = alpha y_t + (1 - alpha) l_{t-1}                                         (5)
    B_t = ((t - 2) B_{t-1} + 6 (y_t - ybar_{t-1}) / t) / (t + 1)
    A_t = ybar_t - B_t (t + 1) / 2                                                (6)

and alpha, l_0 and theta >= 1 minimise the sum of (y_t - mu_t)^2 from t = 3 on, by a
compiled Nelder-Mead search. Forecasts go on with mu in the place of y. A missing value
is mu as well. Shocks live on as in exponential smoothing with drift: psi_h = alpha.

Cost      O(n) a pass, 54 or up to 400 passes a series
Refs      [Assimakopoulos2000]; [HyndmanBillah2003]; [Fiorucci2016] (4)-(6)
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ..params import AtLeastOne, Count
from . import _theta
from .abstract_forecaster import AbstractForecaster
from .seasonality import season_of, seasonal_adjustment

Adjustment = Literal["auto", "multiplicative", "additive", "none"]


class AdjustedSmoothing(AbstractForecaster):
    """What both Theta methods share: seasonal adjustment around a smoothed series."""

    def _least_values(self, panel):
        return 3

    def _fit_panel(self, panel):
        self._adjust_and_run(panel, learn=True)

    def _refresh_panel(self, panel):
        self._adjust_and_run(panel, learn=False)

    def _adjust_and_run(self, panel, learn):
        if learn:
            m = season_of(panel, self.season_length)
            m = 1 if self.adjustment == "none" else m
            kind = "auto" if self.adjustment == "none" else self.adjustment
            self.season_ = seasonal_adjustment(panel, m, kind=kind)
            n = len(panel)
            fitted = np.empty(len(panel.values))
            self.fits_ = _theta.ThetaFits(
                np.zeros(n),
                np.zeros(n),
                np.zeros(n),
                np.zeros(n),
                np.zeros(n),
                np.zeros(n),
                np.zeros(n),
                fitted,
            )
        self.adjusted_ = self.season_.removed(panel)
        self.index_ = self.season_.at(panel)
        self.lengths_ = panel.lengths
        self.fits_ = self.fits_._replace(fitted=np.empty(len(panel.values)))
        self._run(panel.offsets, learn)

    def _shock_weights(self, horizon):
        psi = np.repeat(self.fits_.alpha[:, None], horizon, axis=1)
        psi[:, 0] = 1.0
        return self.fits_.sigma, psi

    def _deviations(self, horizon, mean):
        sd = super()._deviations(horizon, mean)
        return sd * self.season_.scales(self.lengths_, horizon)

    def _paths(self, horizon, X_future, n_paths, rng):
        mean = self._means(horizon, X_future)
        paths = super()._paths(horizon, X_future, n_paths, rng)
        return mean + (paths - mean) * self.season_.scales(self.lengths_, horizon)

    def _with_season(self, values):
        ratio = np.repeat(self.season_.multiplicative, self.lengths_)
        return np.where(ratio, values * self.index_, values + self.index_)

    def _fitted(self):
        return self._with_season(self.fits_.fitted)

    def _components(self):
        return {
            "fitted": self._fitted(),
            "adjusted": self.adjusted_,
            "seasonal": self.index_,
        }


@dataclass(eq=False, repr=False)
class Theta(AdjustedSmoothing):
    """The standard Theta method: a trend line and a smoothed curve, in equal parts.

    Parameters
    ----------
    season_length : int or None, default=None
        Steps of the season; None for the shortest usual at the frequency of the panel.
    theta : float, default=2
        How much the curvature is stretched, eq. (1).
    adjustment : {"auto", "multiplicative", "additive", "none"}, default="auto"
        How a significant season is taken out; "auto" divides where values are above 0.

    Attributes
    ----------
    fits_ : tuple of arrays
        alpha, initial and last level, intercept and slope of the line, of each series.
    season_ : SeasonalAdjustment
        Indices of the seasons, and which series have one.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting import Theta
    >>> model = Theta().fit(2.0 + 3.0 * np.arange(12))
    >>> model.predict(2).mean.round(2)
    array([36.5, 38. ])

    The slope of a line is halved: half of the forecast is a level.
    """

    season_length: Count | None = None
    _: KW_ONLY
    theta: AtLeastOne = 2.0
    adjustment: Adjustment = "auto"

    def _run(self, offsets, learn):
        _theta.standard_theta(
            self.adjusted_, offsets, float(self.theta), learn, self.fits_
        )

    def _means(self, horizon, X_future):
        f = self.fits_
        steps = self.lengths_[:, None] + np.arange(1.0, horizon + 1)
        line = f.intercept[:, None] + f.slope[:, None] * steps
        weight = 1.0 / self.theta
        mean = weight * f.level[:, None] + (1 - weight) * line
        return self.season_.restored(mean, self.lengths_)


@dataclass(eq=False, repr=False)
class DynamicTheta(AdjustedSmoothing):
    """The dynamic optimised Theta method (DOTM), eqs. (4) to (6).

    Parameters
    ----------
    season_length : int or None, default=None
        Steps of the season; None for the shortest usual at the frequency of the panel.
    adjustment : {"auto", "multiplicative", "additive", "none"}, default="auto"
        How a significant season is taken out; "auto" divides where values are above 0.

    Attributes
    ----------
    fits_ : tuple of arrays
        alpha, theta, initial and last level of each series.
    season_ : SeasonalAdjustment
        Indices of the seasons, and which series have one.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting import DynamicTheta
    >>> y = 20 + np.cumsum(np.tile([1.0, 0.5, 1.5], 8))
    >>> DynamicTheta().fit(y).predict(2).mean.round(0)
    array([45., 46.])
    """

    season_length: Count | None = None
    _: KW_ONLY
    adjustment: Adjustment = "auto"

    def _run(self, offsets, learn):
        ahead = np.empty((len(offsets) - 1, 0))
        _theta.dynamic_theta(self.adjusted_, offsets, learn, self.fits_, ahead)
        self.offsets_ = offsets

    def _means(self, horizon, X_future):
        ahead = np.empty((len(self.lengths_), horizon))
        _theta.dynamic_theta(self.adjusted_, self.offsets_, False, self.fits_, ahead)
        return self.season_.restored(ahead, self.lengths_)

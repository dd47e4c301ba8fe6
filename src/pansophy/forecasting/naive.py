"""Naive forecasts: the last value, the last season, a line, an average.

With T the last known step, m the season and e_t the one-step errors:

    Naive            mean_h = y_T                       var_h = sigma^2 h         (1)
    SeasonalNaive    mean_h = y_{T + h - m ceil(h/m)}   var_h = sigma^2 ceil(h/m) (2)
    Drift            mean_h = y_T + h (y_T - y_1)/(T-1)
                     var_h = sigma^2 h (1 + h / (T - 1))                          (3)
    WindowAverage    mean_h = mean of the last w known values                     (4)
                     var_h = sigma^2
    Naive2           (1) of the seasonally adjusted series, see `seasonality`     (5)

sigma^2 is the mean of e_t^2. A missing value takes the one known before it.

Cost      O(n)
Refs      [Hyndman2021] 5.2; [Makridakis2000] Naive2 is the yardstick of M3
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ..params import Count
from . import _naive
from .abstract_forecaster import AbstractForecaster
from .panel import ragged_range
from .seasonality import season_of, seasonal_adjustment


class LastValues(AbstractForecaster):
    """What the forecasts by a last value or season have in common."""

    def _keep_last(self, values, offsets, m):
        n = len(offsets) - 1
        self.last_ = np.empty((n, m))
        self.fitted_ = np.empty(len(values))
        self.sigma_ = np.empty(n)
        _naive.last_seasons(values, offsets, m, self.last_, self.fitted_, self.sigma_)

    def _means(self, horizon, X_future):
        return self.last_[:, np.arange(horizon) % self.last_.shape[1]]

    def _shock_weights(self, horizon):
        m = self.last_.shape[1]
        psi = (np.arange(horizon) % m == 0).astype(float)
        return self.sigma_, np.broadcast_to(psi, (len(self.last_), horizon))

    def _fitted(self):
        return self.fitted_


@dataclass(eq=False, repr=False)
class Naive(LastValues):
    """The last known value, eq. (1).

    Attributes
    ----------
    last_ : array of shape (s, 1)
        Last known values.
    sigma_ : array of shape (s,)
        Root mean square of the one-step errors.

    Examples
    --------
    >>> from pansophy.forecasting import Naive
    >>> Naive().fit([1.0, 2.0, 4.0]).predict(2).mean
    array([4., 4.])
    """

    def _fit_panel(self, panel):
        self._keep_last(panel.values, panel.offsets, 1)


@dataclass(eq=False, repr=False)
class SeasonalNaive(LastValues):
    """The last season again, eq. (2).

    Parameters
    ----------
    season_length : int or None, default=None
        Steps of the season; None for the shortest usual at the frequency of the panel.

    Attributes
    ----------
    last_ : array of shape (s, m)
        Last known value of each season, in the order of the steps ahead.
    sigma_ : array of shape (s,)
        Root mean square of the errors a season ahead.

    Examples
    --------
    >>> from pansophy.forecasting import SeasonalNaive
    >>> SeasonalNaive(2).fit([1.0, 5.0, 2.0, 6.0]).predict(3).mean
    array([2., 6., 2.])
    """

    season_length: Count | None = None

    def _least_values(self, panel):
        m = season_of(panel, self.season_length)
        return m + 1 if m > 1 else 1

    def _fit_panel(self, panel):
        m = season_of(panel, self.season_length)
        self._keep_last(panel.values, panel.offsets, m)


@dataclass(eq=False, repr=False)
class Drift(LastValues):
    """The line through the first and the last known value, eq. (3).

    Attributes
    ----------
    last_ : array of shape (s, 1)
        Last known values.
    slope_ : array of shape (s,)
        Change a step.
    sigma_ : array of shape (s,)
        Root mean square of the one-step errors.

    Examples
    --------
    >>> from pansophy.forecasting import Drift
    >>> Drift().fit([1.0, 2.0, 5.0]).predict(2).mean
    array([7., 9.])
    """

    def _least_values(self, panel):
        return 2

    def _fit_panel(self, panel):
        self._keep_last(panel.values, panel.offsets, 1)
        known = ~np.isnan(panel.values)
        t = np.arange(len(panel.values)) - np.repeat(panel.offsets[:-1], panel.lengths)
        first = np.minimum.reduceat(np.where(known, t, len(t)), panel.offsets[:-1])
        last = np.maximum.reduceat(np.where(known, t, -1), panel.offsets[:-1])
        self.steps_ = last - first
        begins = panel.offsets[:-1]
        change = panel.values[begins + last] - panel.values[begins + first]
        self.slope_ = change / self.steps_
        self.age_ = panel.lengths - 1 - last  # steps since the last known value
        self.fitted_ = self.fitted_ + np.repeat(self.slope_, panel.lengths)
        errors = panel.values - self.fitted_
        seen = np.add.reduceat(~np.isnan(errors), begins)
        squares = np.add.reduceat(np.nan_to_num(errors) ** 2, begins)
        self.sigma_ = np.sqrt(squares / np.maximum(seen, 1))

    def _means(self, horizon, X_future):
        steps = self.age_[:, None] + np.arange(1, horizon + 1)
        return self.last_ + self.slope_[:, None] * steps

    def _deviations(self, horizon, mean):
        h = self.age_[:, None] + np.arange(1.0, horizon + 1)
        return self.sigma_[:, None] * np.sqrt(h * (1 + h / self.steps_[:, None]))

    def _paths(self, horizon, X_future, n_paths, rng):
        """Paths of eq. (1) of the contract, with the error of the slope of eq. (3)."""
        paths = super()._paths(horizon, X_future, n_paths, rng)
        error = self.sigma_ / np.sqrt(self.steps_)
        slopes = rng.standard_normal((n_paths, len(error))) * error
        return paths + slopes[:, :, None] * np.arange(1, horizon + 1)


@dataclass(eq=False, repr=False)
class WindowAverage(AbstractForecaster):
    """The mean of the last known values, eq. (4).

    Parameters
    ----------
    window : int or None, default=None
        How many values; None for all.

    Attributes
    ----------
    mean_, sigma_ : arrays of shape (s,)

    Examples
    --------
    >>> from pansophy.forecasting import WindowAverage
    >>> WindowAverage(2).fit([9.0, 2.0, 4.0]).predict(2).mean
    array([3., 3.])
    """

    window: Count | None = None

    def _fit_panel(self, panel):
        n = len(panel)
        self.mean_ = np.empty(n)
        self.sigma_ = np.empty(n)
        self.fitted_ = np.empty(len(panel.values))
        width = int(panel.lengths.max()) if self.window is None else self.window
        _naive.window_averages(
            panel.values, panel.offsets, width, self.mean_, self.fitted_, self.sigma_
        )

    def _means(self, horizon, X_future):
        return np.repeat(self.mean_[:, None], horizon, axis=1)

    def _shock_weights(self, horizon):
        psi = np.zeros((len(self.mean_), horizon))
        psi[:, 0] = 1.0
        return self.sigma_, psi

    def _fitted(self):
        return self.fitted_


@dataclass(eq=False, repr=False)
class Naive2(LastValues):
    """The last value of the seasonally adjusted series, with its season, eq. (5).

    Parameters
    ----------
    season_length : int or None, default=None
        Steps of the season; None for the shortest usual at the frequency of the panel.
    adjustment : {"auto", "multiplicative", "additive"}, default="auto"
        How a significant season is taken out; "auto" divides where values are above 0.

    Attributes
    ----------
    last_ : array of shape (s, 1)
        Last known values of the adjusted series.
    adjustment_ : SeasonalAdjustment
        Indices of the seasons.
    sigma_ : array of shape (s,)
        Root mean square of the one-step errors of the adjusted series.

    Examples
    --------
    >>> from pansophy.forecasting import Naive2
    >>> Naive2(4).fit([3.0, 1.0, 2.0, 2.0] * 5).predict(4).mean.round(6)
    array([3., 1., 2., 2.])
    """

    season_length: Count | None = None
    _: KW_ONLY
    adjustment: Literal["auto", "multiplicative", "additive"] = "auto"

    def _fit_panel(self, panel):
        m = season_of(panel, self.season_length)
        self.adjustment_ = seasonal_adjustment(panel, m, kind=self.adjustment)
        self._keep_last(self.adjustment_.removed(panel), panel.offsets, 1)
        self.lengths_ = panel.lengths

    def _means(self, horizon, X_future):
        mean = super()._means(horizon, X_future)
        return self.adjustment_.restored(mean, self.lengths_)

    def _deviations(self, horizon, mean):
        sd = super()._deviations(horizon, mean)
        return sd * self.adjustment_.scales(self.lengths_, horizon)

    def _paths(self, horizon, X_future, n_paths, rng):
        mean = self._means(horizon, X_future)
        sigma, _psi = self._shock_weights(horizon)
        shocks = rng.standard_normal((n_paths, *mean.shape)) * sigma[:, None]
        scale = self.adjustment_.scales(self.lengths_, horizon)
        return mean + np.cumsum(shocks, axis=2) * scale

    def _fitted(self):
        begins = np.r_[0, np.cumsum(self.lengths_)[:-1]]
        rows = ragged_range(np.zeros_like(begins), self.lengths_)
        series = np.repeat(np.arange(len(begins)), self.lengths_)
        index = self.adjustment_.indices[
            series, rows % self.adjustment_.indices.shape[1]
        ]
        ratio = self.adjustment_.multiplicative[series]
        return np.where(ratio, self.fitted_ * index, self.fitted_ + index)

"""Blends: the median, or a weighted mean, of the forecasts of several methods.

    mean = median_k mean_k      or      sum_k w_k mean_k,   w_k >= 0, sum w = 1   (1)

The same rule is applied to the ends of the intervals. Combining methods that err in
different ways beats each of them in every large comparison of forecasts; the median is
not moved by one that goes astray. Weights from a backtest: `inverse_error_weights`,

    w_k proportional to 1 / error_k^2                                             (2)

A path of the blend is a path of one member, in turn, moved to the blended mean.

Refs      [Bates1969] (2); [Petropoulos2020] medians of four classical methods
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from .abstract_forecaster import AbstractForecaster


def inverse_error_weights(errors) -> np.ndarray:
    """Eq. (2): weights of methods from their errors; equal where one has no error.

    Examples
    --------
    >>> from pansophy.forecasting import inverse_error_weights
    >>> inverse_error_weights([1.0, 2.0])
    array([0.8, 0.2])
    """
    errors = np.asarray(errors, dtype=float)
    if not (np.isfinite(errors) & (errors > 0)).all():
        return np.full(len(errors), 1 / len(errors))
    w = errors**-2.0
    return w / w.sum()


def blend_forecasts(values, weights=None) -> np.ndarray:
    """Eq. (1) over the first axis of (k, ...): the median if there are no weights."""
    values = np.asarray(values)
    if weights is None:
        return np.median(values, axis=0)
    return np.tensordot(weights, values, axes=1)


@dataclass(eq=False, repr=False)
class ForecastBlend(AbstractForecaster):
    """The median, or a weighted mean, of several methods.

    Parameters
    ----------
    forecasters : list of forecaster or None, default=None
        The methods; None for exponential smoothing, Theta and dynamic Theta.
    weights : list of float or "median", default="median"
        Weights of the methods, which need not sum to 1.

    Attributes
    ----------
    forecasters_ : list of forecaster

    Examples
    --------
    >>> from pansophy.forecasting import Drift, ForecastBlend, Naive, WindowAverage
    >>> blend = ForecastBlend([Naive(), Drift(), WindowAverage(2)])
    >>> blend.fit([1.0, 2.0, 3.0]).predict(2).mean
    array([3., 3.])
    """

    forecasters: Any = None
    _: KW_ONLY
    weights: Any | Literal["median"] = "median"

    def _members(self):
        from .exponential_smoothing import ExponentialSmoothing
        from .theta import DynamicTheta, Theta

        if self.forecasters is None:
            return [ExponentialSmoothing(), Theta(), DynamicTheta()]
        members = list(self.forecasters)
        if not members or not all(isinstance(f, AbstractForecaster) for f in members):
            raise ValueError("forecasters must be a list of forecasting methods.")
        return members

    def _checked_weights(self, n):
        if isinstance(self.weights, str):
            if self.weights != "median":
                raise ValueError(
                    f"weights must be numbers or 'median', got {self.weights!r}."
                )
            return None
        w = np.asarray(self.weights, dtype=float)
        if w.shape != (n,) or not (w >= 0).all() or not 0 < w.sum() < np.inf:
            raise ValueError(
                f"weights must be {n} numbers of at least 0, not all of them 0."
            )
        return w / w.sum()

    def _uses_known(self):
        return any(f._uses_known() for f in self._members())

    def _fit_panel(self, panel):
        members = self._members()
        self.weights_ = self._checked_weights(len(members))
        self.forecasters_ = [clone(f).fit(panel) for f in members]

    def _refresh_panel(self, panel):
        for f in self.forecasters_:
            f._learn(panel, f._refresh_panel)

    def predict(self, horizon, X_future=None, level: Sequence[float] = (80, 95)):
        """Means and intervals of the next steps, blended.

        A series that every method was too short for has the reason of the first.

        Parameters
        ----------
        horizon : int
            Steps ahead.
        X_future : array of shape (s, horizon, l) or (horizon, l), optional
            Known covariates of those steps; None for those that the panel knows.
        level : sequence of float
            Shares of the intervals, in percent.

        Returns
        -------
        forecast : PanelForecast
        """
        forecast = super().predict(horizon, X_future, level)
        able = np.flatnonzero(self.able_)
        if not len(able):
            return forecast
        fallbacks = np.array([f.fallback_ for f in self.forecasters_], dtype=object)
        none_answered = (fallbacks != "").all(axis=0)
        reasons = forecast.reasons.copy()
        reasons[able[none_answered]] = fallbacks[0, none_answered]
        return forecast._replace(reasons=reasons)

    def _forecasts(self, horizon, X_future, levels=(0.8,)):
        percents = [100 * q for q in levels]
        for f in self.forecasters_:
            known = X_future if f._uses_known() else None
            yield f.predict(horizon, known, level=percents)

    def _means(self, horizon, X_future):
        self.X_future_ = X_future
        means = [f.mean for f in self._forecasts(horizon, X_future)]
        return blend_forecasts(means, self.weights_)

    def _ends(self, horizon, mean, levels):
        ends = [
            np.stack(list(f.intervals.values()), axis=2)
            for f in self._forecasts(horizon, self.X_future_, levels)
        ]
        return blend_forecasts(ends, self.weights_)

    def _paths(self, horizon, X_future, n_paths, rng):
        mean = self._means(horizon, X_future)
        out = np.empty((n_paths, *mean.shape))
        K = len(self.forecasters_)
        for k, f in enumerate(self.forecasters_):
            count = len(out[k::K])
            if count:
                known = X_future if f._uses_known() else None
                paths = f.simulate(horizon, count, rng, known)
                own_mean = f.predict(horizon, known).mean
                out[k::K] = paths - own_mean + mean
        return out

    def _components(self):
        fitted = [f.components().get("fitted") for f in self.forecasters_]
        known = [f.values for f in fitted if f is not None]
        if len(known) < len(fitted):
            return {}
        return {"fitted": blend_forecasts(known, self.weights_)}

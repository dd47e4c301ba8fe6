"""Forecasts of intermittent demand: many zeros between values of some size.

A demand is a value other than 0. With z the size of a demand, p the steps since the one
before, and weights alpha and beta,

    Croston   z <- z + alpha (y - z),  p <- p + beta (interval - p)  at a demand  (1)
              mean_h = z / p
    SBA       mean_h = (1 - beta / 2) z / p, without most of its bias             (2)
    TSB       d <- d + beta ([y != 0] - d) at every step, z as in (1)             (3)
              mean_h = d z: it falls where demand dies out
    ADIDA     mean_h = (smoothed sum of blocks of w steps) / w,                   (4)
              w the mean interval between demands, blocks cut from the end
    IMAPA     the mean of (4) over all widths 1 .. w                              (5)

The first interval of (1) counts from the beginning of the series; z starts at the first
demand, and d at the share of demands. All forecasts are flat. Intervals take the spread
of the values around the forecast as it was (of (4) and (5) around their mean), and do
not widen: they say what single steps may bring. Missing values are skipped, in (4) by
the mean of their block.

Cost      O(n), of (5) O(n w)
Refs      [Croston1972]; [Syntetos2005]; [Teunter2011]; [Nikolopoulos2011];
          [Petropoulos2015] (5)
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np

from ..params import PositiveFraction
from . import _intermittent
from .abstract_forecaster import AbstractForecaster


class FlatRate(AbstractForecaster):
    """What the methods of intermittent demand share: a flat forecast."""

    def _means(self, horizon, X_future):
        return np.repeat(self.rate_[:, None], horizon, axis=1)

    def _shock_weights(self, horizon):
        psi = np.zeros((len(self.rate_), horizon))
        psi[:, 0] = 1.0
        return self.sigma_, psi


class SmoothedDemand(FlatRate):
    """What Croston's method and its relatives share."""

    def _smooth(self, loop, panel, *options):
        n = len(panel)
        self.size_ = np.empty(n)
        frequency = np.empty(n)
        self.rate_ = np.empty(n)
        self.sigma_ = np.empty(n)
        self.fitted_ = np.empty(len(panel.values))
        loop(
            panel.values,
            panel.offsets,
            *options,
            self.size_,
            frequency,
            self.rate_,
            self.fitted_,
            self.sigma_,
        )
        return frequency

    def _fitted(self):
        return self.fitted_


@dataclass(eq=False, repr=False)
class Croston(SmoothedDemand):
    """Croston's method: size of a demand over the interval between two, eq. (1).

    Parameters
    ----------
    alpha : float, default=0.1
        Weight of a new size.
    beta : float or None, default=None
        Weight of a new interval; None for alpha.

    Attributes
    ----------
    size_, interval_ : arrays of shape (s,)
        Smoothed size of a demand, and steps between two.
    rate_ : array of shape (s,)
        The forecast of every step.

    Examples
    --------
    >>> from pansophy.forecasting import Croston
    >>> model = Croston(0.5).fit([0.0, 2.0, 0.0, 0.0, 6.0])
    >>> model.size_, model.interval_, model.predict(1).mean
    (array([4.]), array([2.5]), array([1.6]))
    """

    alpha: PositiveFraction = 0.1
    _: KW_ONLY
    beta: PositiveFraction | None = None

    def _fit_panel(self, panel):
        self.interval_ = self._smooth(
            _intermittent.croston_of_all, panel, *_croston_options(self, False)
        )


@dataclass(eq=False, repr=False)
class SBA(SmoothedDemand):
    """Croston's method with the correction of Syntetos and Boylan, eq. (2).

    Parameters
    ----------
    alpha : float, default=0.1
        Weight of a new size.
    beta : float or None, default=None
        Weight of a new interval; None for alpha.

    Attributes
    ----------
    size_, interval_ : arrays of shape (s,)
        Smoothed size of a demand, and steps between two.
    rate_ : array of shape (s,)
        The forecast of every step.

    Examples
    --------
    >>> from pansophy.forecasting import SBA
    >>> SBA(0.5).fit([0.0, 2.0, 0.0, 0.0, 6.0]).predict(1).mean.round(3)
    array([1.2])
    """

    alpha: PositiveFraction = 0.1
    _: KW_ONLY
    beta: PositiveFraction | None = None

    def _fit_panel(self, panel):
        self.interval_ = self._smooth(
            _intermittent.croston_of_all, panel, *_croston_options(self, True)
        )


def _croston_options(model, corrected) -> tuple[np.ndarray, float]:
    """Weights of sizes and intervals, and the factor of eq. (2)."""
    beta = model.alpha if model.beta is None else model.beta
    return np.array([model.alpha, beta], float), 1 - beta / 2 if corrected else 1.0


@dataclass(eq=False, repr=False)
class TSB(SmoothedDemand):
    """The method of Teunter, Syntetos and Babai: demand may die out, eq. (3).

    Parameters
    ----------
    alpha : float, default=0.1
        Weight of a new size.
    beta : float, default=0.1
        Weight with which the probability of a demand is smoothed.

    Attributes
    ----------
    size_, probability_ : arrays of shape (s,)
        Smoothed size of a demand, and how likely one is.
    rate_ : array of shape (s,)
        The forecast of every step.

    Examples
    --------
    >>> from pansophy.forecasting import TSB
    >>> model = TSB(0.5, beta=0.5).fit([4.0, 0.0])
    >>> model.probability_, model.predict(1).mean
    (array([0.375]), array([1.5]))
    """

    alpha: PositiveFraction = 0.1
    _: KW_ONLY
    beta: PositiveFraction = 0.1

    def _fit_panel(self, panel):
        weights = np.array([self.alpha, self.beta], float)
        self.probability_ = self._smooth(_intermittent.tsb_of_all, panel, weights)


class AggregatedDemand(FlatRate):
    """What the methods by sums over blocks share."""

    def _aggregate(self, panel, every_width):
        n = len(panel)
        self.width_ = np.empty(n, np.int64)
        self.rate_ = np.empty(n)
        self.sigma_ = np.empty(n)
        self.lengths_ = panel.lengths
        _intermittent.aggregated_rates(
            panel.values,
            panel.offsets,
            float(self.alpha),
            every_width,
            self.width_,
            self.rate_,
            self.sigma_,
        )

    def _components(self):
        return {}


@dataclass(eq=False, repr=False)
class ADIDA(AggregatedDemand):
    """Aggregate and disaggregate: smoothed sums of blocks, eq. (4).

    Parameters
    ----------
    alpha : float, default=0.1
        Weight of a new sum.

    Attributes
    ----------
    width_ : array of int of shape (s,)
        Steps of a block.
    rate_ : array of shape (s,)
        The forecast of every step.

    Examples
    --------
    >>> from pansophy.forecasting import ADIDA
    >>> model = ADIDA(0.5).fit([0.0, 2.0, 0.0, 6.0])
    >>> model.width_, model.predict(1).mean
    (array([2]), array([2.]))
    """

    alpha: PositiveFraction = 0.1

    def _fit_panel(self, panel):
        self._aggregate(panel, False)


@dataclass(eq=False, repr=False)
class IMAPA(AggregatedDemand):
    """Smoothed sums of blocks, in the mean of all widths up to that of ADIDA, eq. (5).

    Parameters
    ----------
    alpha : float, default=0.1
        Weight of a new sum.

    Attributes
    ----------
    width_ : array of int of shape (s,)
        Steps of the widest block.
    rate_ : array of shape (s,)
        The forecast of every step.

    Examples
    --------
    >>> from pansophy.forecasting import IMAPA
    >>> IMAPA(0.5).fit([0.0, 2.0, 0.0, 6.0]).predict(1).mean
    array([2.625])
    """

    alpha: PositiveFraction = 0.1

    def _fit_panel(self, panel):
        self._aggregate(panel, True)

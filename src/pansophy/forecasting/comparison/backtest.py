"""Backtest: the same origins for all methods, and a test block to choose nothing on.

An origin cuts every series; methods see what is before it and forecast the horizon
after it. Origin 0 leaves out the last horizon of values: the test block. Origins 1, 2,
... lie one horizon further back each; on them methods are compared, blends weighted
and intervals calibrated. Series that end together are cut at one date, so that a
global model knows nothing of the time it forecasts; where most end at different times
each is cut at its own end.

Refs      [Tashman2000]; [Hewamalage2023]
"""

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from sklearn.base import clone

from ..panel import Panel

MAX_ORIGINS = 5
LEVEL = 80.0  # percent, from which standard deviations are read


class Origin(NamedTuple):
    """A cut of every series."""

    number: int  # 0 is the test block
    lengths: np.ndarray  # (s,) values before it; 0: not there yet
    actual: np.ndarray  # (s, h) values after it, NaN where unknown

    @property
    def used(self) -> np.ndarray:
        """Series with values before it and after it."""
        return np.flatnonzero((self.lengths > 0) & ~np.isnan(self.actual).all(axis=1))


class OriginForecast(NamedTuple):
    """Forecasts of one method at one origin, for the series that are used there."""

    mean: np.ndarray  # (k, h)
    sd: np.ndarray  # (k, h)
    seconds: float = 0.0
    fallbacks: int = 0
    failure: str = ""


def common_end(panel) -> bool:
    """Whether most series end at the last stamp of the panel."""
    ends = panel.ends
    return panel.frequency.has_dates and bool(np.mean(ends == ends.max()) > 0.5)


def make_origins(panel, horizon, least, n_origins=MAX_ORIGINS) -> list[Origin]:
    """The test block and the origins before it, latest first.

    An origin needs half of the series with at least `least` values before it.
    """
    is_common = common_end(panel)
    last = np.full(len(panel), panel.ends.max()) if is_common else panel.ends
    origins = []
    for k in range(n_origins + 1):
        cut = last - (k + 1) * horizon
        lengths = np.clip(cut - panel.start, 0, panel.lengths)
        origin = Origin(k, lengths, panel.following(lengths, horizon))
        n_long_enough = (lengths >= least).sum()
        if not len(origin.used) or n_long_enough < 0.5 * len(panel):
            break
        origins.append(origin)
    return origins


def cut_panel(panel, origin) -> Panel:
    """What is known at an origin, of the series that are used there."""
    used = origin.used
    return panel[used].truncated(origin.lengths[used])


def implied_deviations(forecast) -> np.ndarray:
    """(s, h) of a `PanelForecast`, read from its intervals of 80 %."""
    ends = forecast.intervals[LEVEL]
    return (ends[..., 1] - ends[..., 0]) / (2 * float(ndtri((1 + LEVEL / 100) / 2)))


def forecast_origin(forecaster, panel, origin, horizon) -> OriginForecast:
    """Fit a method to what is known at an origin and forecast; a failure is a text."""
    past = cut_panel(panel, origin)
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            forecast = clone(forecaster).fit(past).predict(horizon, level=[LEVEL])
    except Exception as error:  # one method must not end the run of all others
        text = " ".join(f"{type(error).__name__}: {error}".split())
        unknown = np.full((len(past), horizon), np.nan)
        return OriginForecast(unknown, unknown, 0.0, 0, text)
    seconds = time.perf_counter() - began
    fallbacks = int((forecast.reasons != "").sum())
    return OriginForecast(
        forecast.mean, implied_deviations(forecast), seconds, fallbacks
    )


def blend_origins(parts, weights: Any = None) -> OriginForecast:
    """A blend of the forecasts of several methods at one origin."""
    from ..forecast_blend import blend_forecasts

    return OriginForecast(
        blend_forecasts([p.mean for p in parts], weights),
        blend_forecasts([p.sd for p in parts], weights),
        sum(p.seconds for p in parts),
        max(p.fallbacks for p in parts),
    )

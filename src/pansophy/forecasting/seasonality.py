"""Seasonal test, and seasonal adjustment by the classical decomposition.

With r_k the autocorrelation at lag k of a series of n values, a season of m steps is
significant at 90 % if

    |r_m| > 1.645 sqrt((1 + 2 sum_{k<m} r_k^2) / n),    n >= 3 m                  (1)

The trend T_t is the centred average of m values (for even m, of m + 1 of which the
outermost count half). The index of a season is the mean of what lies around the trend,

    S_s = mean of y_t / T_t  or  y_t - T_t  over t of that season                 (2)

scaled to mean 1, or shifted to mean 0. Ratios need values above 0. A missing value is
left out of (2); in (1) and in T_t it lies between those of the same season around it.

Cost      O(n m)
Refs      [Hyndman2021] 3.4; [Makridakis2000] the rules of the M3 competition
"""

from typing import NamedTuple

import numpy as np

from . import _seasonality

CRITICAL = 1.645  # of a Normal, 90 % on both sides


class SeasonalAdjustment(NamedTuple):
    """Indices of the seasons of every series, and whether they multiply."""

    indices: np.ndarray  # (s, m), of t mod m
    multiplicative: np.ndarray  # (s,)
    found: np.ndarray  # (s,) whether there is a season

    def at(self, panel) -> np.ndarray:
        """(n,) the index of every value of a panel."""
        m = self.indices.shape[1]
        lengths = panel.lengths
        series = np.repeat(np.arange(len(panel)), lengths)
        t = np.arange(len(panel.values)) - np.repeat(panel.offsets[:-1], lengths)
        return self.indices[series, t % m]

    def removed(self, panel) -> np.ndarray:
        """(n,) the values without their season."""
        index = self.at(panel)
        ratio = np.repeat(self.multiplicative, panel.lengths)
        y = panel.values
        return np.where(ratio, y / np.where(ratio, index, 1.0), y - index)

    def ahead(self, lengths, horizon) -> np.ndarray:
        """(s, horizon) the indices after the first `lengths` values."""
        m = self.indices.shape[1]
        t = np.asarray(lengths)[:, None] + np.arange(horizon)
        return np.take_along_axis(self.indices, t % m, axis=1)

    def restored(self, mean, lengths) -> np.ndarray:
        """(s, horizon) forecasts with their season."""
        index = self.ahead(lengths, mean.shape[1])
        return np.where(self.multiplicative[:, None], mean * index, mean + index)

    def scales(self, lengths, horizon) -> np.ndarray:
        """(s, horizon) by which the season stretches deviations."""
        index = self.ahead(lengths, horizon)
        return np.where(self.multiplicative[:, None], index, 1.0)


def positive_series(panel) -> np.ndarray:
    """(s,) whether all known values of a series lie above 0."""
    y = np.where(np.isnan(panel.values), np.inf, panel.values)
    return np.minimum.reduceat(y, panel.offsets[:-1]) > 0


def seasonal_adjustment(panel, m, *, kind="auto", test=True) -> SeasonalAdjustment:
    """Classical decomposition of every series that has a season, eqs. (1) and (2).

    Parameters
    ----------
    panel : Panel
    m : int
        Steps of a season.
    kind : {"auto", "multiplicative", "additive"}
        "auto" multiplies where all values are above 0.
    test : bool
        Whether a season must be significant, or only long enough.
    """
    positive = positive_series(panel)
    multiplicative = positive & (kind != "additive")
    if kind == "multiplicative" and not positive.all():
        raise ValueError("a multiplicative season needs values above 0.")
    indices = np.empty((len(panel), m))
    has_season = np.zeros(len(panel), dtype=bool)
    _seasonality.seasonal_indices_of_all(
        panel.values,
        panel.offsets,
        m,
        CRITICAL if test else -1.0,
        multiplicative.astype(np.int64),
        indices,
        has_season,
    )
    return SeasonalAdjustment(indices, multiplicative, has_season)


def season_of(panel, season_length=None) -> int:
    """Steps of the season: the one given, or the shortest usual at the frequency.

    Examples
    --------
    >>> from pansophy.forecasting.panel import as_panel
    >>> from pansophy.forecasting.seasonality import season_of
    >>> season_of(as_panel([1.0, 2.0])), season_of(as_panel([1.0, 2.0]), 4)
    (1, 4)
    """
    if season_length is not None:
        return int(season_length)
    usual = panel.frequency.seasons
    return max(round(usual[0]), 1) if usual else 1

"""Conformal intervals of forecasts, pooled over series and origins.

At earlier origins every method has forecast values that are known by now. With f its
forecast of y, h steps ahead, and sd what it holds for the standard deviation there,

    r = |y - f| / sd                                                              (1)
    interval of a new forecast: f +- q_h sd,  q_h the conformal quantile of r     (2)

at step h. Scaling by sd lets series of different size, and steps of different reach,
share their scores: that is what makes (2) possible with few origins. Where a step has
fewer than 50 scores, those of all steps are pooled, and where there are too few for
the level, the interval is that of the method. Reaches never narrow with the step.

Values that are never below 0 have intervals that are not, and whole numbers have whole
ends, rounded outwards.

Refs      [Vovk2005]; `compare.evaluation.conformal`
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from ...compare.evaluation.conformal import weighted_score_quantile

FEW_SCORES = 50


class ForecastIntervals(NamedTuple):
    """Scores of eq. (1), and what is known of the values."""

    scores: Any  # (k, h), NaN where a value is not known
    non_negative: bool = False
    whole: bool = False

    def factors(self, level, horizon) -> np.ndarray:
        """(horizon,) q of eq. (2) for a level between 0 and 1."""
        normal_quantile = float(ndtri((1 + level) / 2))
        known = [s[np.isfinite(s)] for s in np.asarray(self.scores).T]
        pooled = np.concatenate(known) if known else np.zeros(0)
        pooled_quantile = (
            weighted_score_quantile(pooled, level) if len(pooled) else np.inf
        )
        pooled_quantile = (
            pooled_quantile if np.isfinite(pooled_quantile) else normal_quantile
        )
        q = np.full(horizon, pooled_quantile)
        for h in range(min(horizon, len(known))):
            if len(known[h]) >= FEW_SCORES:
                q[h] = weighted_score_quantile(known[h], level)
        if len(known) and horizon > len(known):
            q[len(known) :] = q[len(known) - 1]
        return np.where(np.isfinite(q), q, normal_quantile)

    def ends(self, mean, sd, level) -> np.ndarray:
        """(s, h, 2) intervals around means (s, h)."""
        reach = self.factors(level, mean.shape[1]) * sd
        reach = np.maximum.accumulate(reach, axis=1)
        intervals = np.stack([mean - reach, mean + reach], axis=-1)
        if self.whole:
            intervals[..., 0] = np.floor(intervals[..., 0] + 1e-9)
            intervals[..., 1] = np.ceil(intervals[..., 1] - 1e-9)
        return np.maximum(intervals, 0.0) if self.non_negative else intervals

    def means(self, mean) -> np.ndarray:
        """Means that are not below 0 where values never are."""
        return np.maximum(mean, 0.0) if self.non_negative else mean


def conformal_scores(y, mean, sd) -> np.ndarray:
    """Eq. (1); a value that is exactly as forecast without any spread has score 0."""
    error = np.abs(y - mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = error / sd
    return np.where((sd == 0) & (error == 0), 0.0, r)


def value_kinds(values) -> tuple[bool, bool]:
    """Whether no value is below 0, and whether all are whole numbers of at least 0."""
    known = values[~np.isnan(values)]
    non_negative = bool(len(known) and (known >= 0).all())
    return non_negative, bool(non_negative and (known % 1 == 0).all())


def coverage_by_step(y, ends) -> np.ndarray:
    """(h,) share of the known values (s, h) within ends (s, h, 2)."""
    inside = (ends[..., 0] <= y) & (y <= ends[..., 1])
    known = ~np.isnan(y)
    count = known.sum(axis=0)
    return np.where(
        count > 0, (inside & known).sum(axis=0) / np.maximum(count, 1), np.nan
    )

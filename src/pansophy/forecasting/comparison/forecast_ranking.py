"""Ranking of forecasting methods by skill, with intervals and ties.

On the earlier origins every method has an error for each series, the mean of |y - f|
over origins and steps. Against that of the seasonal naive forecast it is

    skill = 1 - exp(mean over series of log(error / error of seasonal naive))     (1)

With ten series or more the logarithms of (1), one a series, are compared as `compare`
does it for paired rows; with fewer the scaled errors of single steps are, along time,
by Diebold and Mariano's test (`compare.evaluation.paired_tests`). A method is tied with
the best if it is almost certainly within 1 % of its error, and undecided if there is
not enough to tell.

Refs      [Diebold1995]; [Hewamalage2023]
"""

from typing import NamedTuple

import numpy as np

from ...compare.evaluation.bayesian_tests import ALMOST_CERTAIN, student_probabilities
from ...compare.evaluation.paired_tests import (
    CrossValidationDesign,
    ScoreEstimates,
    estimate_scores,
)
from ...compare.evaluation.ranking import Standing, adjusted_p_values, standing_of
from ...compare.evaluation.statistics import Interval, student_quantile
from ..measures import log_error_ratios, mean_over_steps

MANY_SERIES = 10
ROPE = 0.01  # of an error, that makes no practical difference


class MethodErrors(NamedTuple):
    """Errors of one method at all earlier origins, in units of each series."""

    absolute: np.ndarray  # (origins, s, h) |y - f| / scale
    signed: np.ndarray  # (origins, s, h) (f - y) / scale


class RankedForecaster(NamedTuple):
    """One row of the ranking."""

    rank: int
    method: str
    skill: Interval
    mase: float
    bias: float  # mean of (f - y) / scale
    standing: Standing
    p: float  # against the best, adjusted
    test_skill: float  # in the test block, on which nothing was chosen
    coverage: float  # of its conformal intervals of 80 % in the test block
    seconds: float  # of a fit, median
    fallbacks: int  # series that another method answered for, most at one origin


def series_errors(errors) -> np.ndarray:
    """(s,) mean absolute scaled error over origins and steps."""
    flat = errors.absolute.transpose(1, 0, 2)
    return mean_over_steps(flat.reshape(len(flat), -1))


def estimate_skills(errors, reference, moments) -> tuple[ScoreEstimates, np.ndarray]:
    """Estimates of a loss for every method, and (s, M) the log ratios of eq. (1).

    `errors` are by method, `moments` (origins, s, h) the ordinals of the steps.
    """
    names = list(errors)
    table = np.column_stack([series_errors(errors[k]) for k in names])
    ratios = np.column_stack(
        [log_error_ratios(e, table[:, names.index(reference)]) for e in table.T]
    )
    known = np.isfinite(ratios).all(axis=1)
    if known.sum() >= MANY_SERIES:
        losses = ratios[known]
        time = None
    else:
        losses = np.column_stack([errors[k].absolute.ravel() for k in names])
        is_complete = np.isfinite(losses).all(axis=1)
        losses, time = losses[is_complete], moments.ravel()[is_complete]
    n = len(losses)
    design = CrossValidationDesign(0.0, 1, np.zeros((1, n), int), time=time)
    return estimate_scores(losses[None], design, names), ratios[known]


def skill_interval(ratios) -> Interval:
    """Eq. (1) with a 95 % interval over series; unknown for a single one."""
    mean = float(np.mean(ratios)) if len(ratios) else np.nan
    if len(ratios) < 3:
        return Interval(1 - np.exp(mean), np.nan, np.nan, np.nan)
    error = float(np.std(ratios, ddof=1) / np.sqrt(len(ratios)))
    reach = student_quantile(0.95, len(ratios) - 1) * error
    low, high = 1 - np.exp(mean + reach), 1 - np.exp(mean - reach)
    return Interval(1 - np.exp(mean), low, high, error * np.exp(mean))


def rank_forecasters(errors, reference, moments, details) -> list[RankedForecaster]:
    """Methods, best first, each compared with the best.

    `details` has (test skill, coverage, seconds, fallbacks) by method.
    """
    estimates, ratios = estimate_skills(errors, reference, moments)
    names = list(estimates.names)
    order = np.argsort(estimates.means, kind="stable")
    best = int(order[0])
    p = adjusted_p_values(estimates, best, False)
    along_time = len(ratios) < MANY_SERIES
    rope = ROPE * (estimates.means[best] if along_time else 1.0)
    rows = []
    for rank, k in enumerate(order):
        equal = False
        if k != best and np.isfinite(estimates.covariance).all():
            d = estimates.difference(names[k], names[best]).interval
            chances = student_probabilities(d.mean, d.error, estimates.df, rope, False)
            equal = chances.equivalent >= ALMOST_CERTAIN
        own_errors = errors[names[k]]
        rows.append(
            RankedForecaster(
                rank + 1,
                names[k],
                skill_interval(ratios[:, k]),
                float(np.nanmean(series_errors(own_errors))),
                float(np.nanmean(own_errors.signed)),
                standing_of(rank, float(p[k]), False, equal),
                float(p[k]),
                *details[names[k]],
            )
        )
    return rows

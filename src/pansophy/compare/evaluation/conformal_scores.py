"""Stored conformal scores: intervals and sets of a saved model, at any later level.

Stored are the scores of the out-of-fold rows (`conformal`, eqs. (1), (2) and (6)); of
many rows, the extreme scores and an evenly spaced subset of the rest. A requested rank
is rounded up to the next score that is stored, so that coverage is never lost by what
was dropped. A row of integer weight k is stored as k rows would be. With fractional
weights rows share ranks: for each rank, the score in which the rank ends is stored for
upper limits, and the score in which it begins for lower limits.

Scores of numbers are residuals in the units of a residual scale (`residual_scale`), so
that intervals are wide where errors are. Counts are few and their lower limit is often
0; of them each range of predictions has scores of its own, at least 60 rows and at most
10 ranges. Where a range has too few rows for a level, the scores of all rows are used.

Sets of two classes are LAC, eq. (5): they depend on the probabilities alone, and grow
as these come closer to one half. Where many scores lie close to the quantile (a model
that says nearly the same of many rows), the kept model may be on the other side of it
than those of the folds were. The quantile is then raised by what the share of a class
varies in so many rows, and sets hold the truth more often than the level says. Sets of
more classes are APS, eq. (6), randomised by a number that is fixed for each row.
"""

from typing import NamedTuple

import numpy as np

from ...core.arrays.weighted import values_at_ranks
from ...diagnose.data.row_counts import weights_as_counts
from .adaptive_conformal import set_kind, true_class_scores
from .conformal import PredictionSetRule, conformal_rank, prediction_sets
from .residual_scale import ResidualScale, fit_residual_scale
from .statistics import check_level

MAX_SCORES = 2000
LEAST_ROWS_OF_RANGE = 60  # finite intervals of 95 %
MAX_RANGES = 10
TIED_SHARE = 0.2  # of the scores close to a quantile


class ConformalScores(NamedTuple):
    """Scores of rows that the models had not seen.

    `scores` are residuals y - p of numbers or the scores of the true classes, sorted;
    `ranks` tells which of all `n` they are, from 1. `lows` are the scores that the
    ranks begin in, where rows of weights that are not whole share them. Residuals are
    divided by a scale if there is one. Predictions up to `cuts[0]`, from there to
    `cuts[1]`, ... have the scores `ranges[0]`, `ranges[1]`, ...
    """

    task: str
    n: int
    ranks: np.ndarray
    scores: np.ndarray
    lows: np.ndarray | None = None
    kind: str = "aps"  # of sets
    scale: ResidualScale | None = None
    cuts: np.ndarray | None = None
    ranges: tuple = ()  # of ConformalScores

    def upper(self, level) -> float:
        """The score that a share `level` of rows stays at or below."""
        place = np.searchsorted(self.ranks, conformal_rank(self.n, level))
        return float(self.scores[place]) if place < len(self.scores) else np.inf

    def lower(self, level) -> float:
        """The score that a share `level` of rows stays at or above."""
        rank = self.n + 1 - conformal_rank(self.n, level)
        place = np.searchsorted(self.ranks, rank, "right") - 1
        kept = self.scores if self.lows is None else self.lows
        return float(kept[place]) if place >= 0 else -np.inf

    def interval(self, p, level, frame=None) -> np.ndarray:
        """(n, 2) around predictions (n,) of a frame, each end missed half as often."""
        check_level(level)
        low, high = self.limits(p, (1 + level) / 2)
        if self.scale is None:
            ends = np.column_stack([p + low, p + high])
            return np.maximum(ends, 0.0) if self.task == "count" else ends
        centre = self.scale.forward(p)
        spread = self.scale.spread(p, frame)
        ends = [self.scale.inverse(centre + spread * score) for score in (low, high)]
        return np.column_stack(ends)

    def limits(self, p, tail):
        """Lowest and highest score of rows with predictions p, each end by itself."""
        low = self.lower(tail)
        high = self.upper(tail)
        if not self.ranges:
            return low, high
        lows = np.array([score_range.lower(tail) for score_range in self.ranges])
        highs = np.array([score_range.upper(tail) for score_range in self.ranges])
        code = np.searchsorted(self.cuts, p)
        lows = np.where(np.isfinite(lows), lows, low)
        highs = np.where(np.isfinite(highs), highs, high)
        return lows[code], highs[code]

    def sets(self, p, level, frame=None) -> np.ndarray:
        """(n, K) of bool for probabilities (n, K) of the rows of a frame."""
        q = self.upper(level)
        if self.kind == "lac":
            q = self.raised_among_ties(q)
        rule = PredictionSetRule(self.kind, level, (q,))
        digits = None if frame is None or self.kind == "lac" else frame.digits()
        return prediction_sets(p, rule, digits)

    def raised_among_ties(self, q) -> float:
        """The quantile q, raised by a margin if many scores lie within it."""
        margin = 0.5 / np.sqrt(self.n)
        first = np.searchsorted(self.scores, q - margin)
        end = np.searchsorted(self.scores, q + margin, "right")
        ranks = np.r_[0, self.ranks]
        share = (ranks[end] - ranks[first]) / self.n
        return q + margin if share > TIED_SHARE else q


def fit_conformal_scores(
    task, y, p, frame=None, weights=None, groups=None
) -> ConformalScores | None:
    """From answers and out-of-fold predictions of the rows of a frame, if any.

    `weights` (n,) say how often each row counts; rows of one of the `groups` (n,) stay
    together where the residual scale is cross-fitted.

    The randomisation of sets is a function of the rows, not of the models: the models
    of the folds and the kept one must not be randomised differently.
    """
    p, y = np.asarray(p, dtype=float), np.asarray(y)
    if not len(y):
        return None
    known = np.isfinite(p.reshape(len(p), -1)).all(axis=1)
    known &= True if weights is None else np.asarray(weights) > 0
    p, y = p[known], y[known]
    if task == "multilabel" or not len(y):
        return None
    rows = None if frame is None else frame[np.flatnonzero(known)]
    counts = None
    if weights is not None:
        counts = weights_as_counts(np.asarray(weights, dtype=float)[known])
    if task == "classification":
        kind = set_kind(p)
        scores = true_class_scores(y, p, rows, kind)
        return _stored_scores(task, scores, counts)._replace(kind=kind)
    groups = None if groups is None else np.asarray(groups)[known]
    scale, scores = fit_residual_scale(task, y, p, rows, counts, groups)
    held = _stored_scores(task, scores, counts)._replace(scale=scale)
    if task != "count":
        return held
    cuts = _range_cuts(p, counts)
    code = np.searchsorted(cuts, p)
    ranges = [
        _stored_scores(
            task,
            scores[code == k],
            None if counts is None else weights_as_counts(counts[code == k]),
        )
        for k in range(len(cuts) + 1)
    ]
    return held._replace(cuts=cuts, ranges=tuple(ranges)) if len(cuts) else held


def _stored_scores(task, scores, counts=None) -> ConformalScores:
    """Scores of rows, of which each counts so many rows."""
    n = len(scores) if counts is None else round(counts.sum())
    ranks = _stored_ranks(n)
    if counts is None:
        return ConformalScores(task, n, ranks, np.sort(scores)[ranks - 1])
    highs = values_at_ranks(scores, counts, ranks)
    lows = -values_at_ranks(-scores, counts, n + 1 - ranks)
    return ConformalScores(
        task, n, ranks, highs, None if (highs == lows).all() else lows
    )


def _range_cuts(p, counts=None) -> np.ndarray:
    """Ends of ranges of about equally many rows, of which each has enough."""
    values, code = np.unique(p, return_inverse=True)
    rows = np.cumsum(np.bincount(code.ravel(), counts))
    n_ranges = min(MAX_RANGES, int(rows[-1] // LEAST_ROWS_OF_RANGE))
    cuts: list = []
    reached = 0.0
    for k in range(1, n_ranges):
        last = np.searchsorted(rows, rows[-1] * k / n_ranges * (1 - 1e-9))
        fewest = min(rows[last] - reached, rows[-1] - rows[last])
        if fewest >= LEAST_ROWS_OF_RANGE - 1:  # ranks are rounded
            cuts.append(values[last])
            reached = rows[last]
    return np.array(cuts)


def _stored_ranks(n) -> np.ndarray:
    """Ranks, from 1, of the sorted scores that are kept."""
    if n <= MAX_SCORES:
        return np.arange(1, n + 1)
    ends = np.arange(MAX_SCORES // 4) + 1  # where scores lie far apart, all of them
    inner_ranks = np.linspace(1, n, MAX_SCORES // 2).round().astype(np.int64)
    return np.unique(np.r_[ends, inner_ranks, n + 1 - ends])

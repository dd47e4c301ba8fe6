"""Stored conformal scores: intervals and sets of a saved model, at any later level.

Stored are the scores of the out-of-fold rows (`conformal`, eqs. (1), (2) and (6)); of
many rows, the extreme scores and an evenly spaced subset of the rest. A requested rank
is rounded up to the next score that is stored, so that coverage is never lost by what
was dropped. A row of integer weight k is stored as k rows would be. With fractional
weights rows share ranks: for each rank, the score in which the rank ends is stored for
upper limits, and the score in which it begins for lower limits.
"""

from typing import NamedTuple

import numpy as np

from ...core.weighted import values_at_ranks
from ...diagnose.row_counts import weights_as_counts
from .adaptive_conformal import true_class_scores
from .conformal import PredictionSetRule, conformal_rank, prediction_sets
from .statistics import check_level

MAX_SCORES = 2000


class ConformalScores(NamedTuple):
    """Scores of rows that the models had not seen.

    `scores` are residuals y - p of numbers or the scores of the true classes, sorted;
    `ranks` tells which of all `n` they are, from 1. `lows` are the scores that the
    ranks begin in, where rows of weights that are not whole share them.
    """

    task: str
    n: int
    ranks: np.ndarray
    scores: np.ndarray
    lows: np.ndarray | None = None

    def upper(self, level) -> float:
        """The score that a share `level` of rows stays at or below."""
        at = np.searchsorted(self.ranks, conformal_rank(self.n, level))
        return float(self.scores[at]) if at < len(self.scores) else np.inf

    def lower(self, level) -> float:
        """The score that a share `level` of rows stays at or above."""
        rank = self.n + 1 - conformal_rank(self.n, level)
        at = np.searchsorted(self.ranks, rank, "right") - 1
        kept = self.scores if self.lows is None else self.lows
        return float(kept[at]) if at >= 0 else -np.inf

    def interval(self, p, level) -> np.ndarray:
        """(n, 2) around predictions (n,), each end missed half as often."""
        check_level(level)
        tail = (1 + level) / 2
        ends = np.column_stack([p + self.lower(tail), p + self.upper(tail)])
        return np.maximum(ends, 0.0) if self.task == "count" else ends

    def sets(self, p, level, frame=None) -> np.ndarray:
        """(n, K) of bool for probabilities (n, K) of the rows of a frame."""
        rule = PredictionSetRule("aps", level, (self.upper(level),))
        return prediction_sets(p, rule, None if frame is None else frame.digits())


def fit_conformal_scores(
    task, y, p, frame=None, weights=None
) -> ConformalScores | None:
    """From answers and out-of-fold predictions of the rows of a frame, if any.

    `weights` (n,) say how often each row counts.

    The randomisation of sets is a function of the rows, not of the models: the models
    of the folds and the kept one must not be randomised differently.
    """
    p, y = np.asarray(p, dtype=float), np.asarray(y)
    known = np.isfinite(p.reshape(len(p), -1)).all(axis=1)
    known &= True if weights is None else np.asarray(weights) > 0
    p, y = p[known], y[known]
    if task == "multilabel" or not len(y):
        return None
    if task == "classification":
        rows = None if frame is None else frame[np.flatnonzero(known)]
        scores = true_class_scores(y, p, rows)
    else:
        scores = y - p
    c = (
        None
        if weights is None
        else weights_as_counts(np.asarray(weights, float)[known])
    )
    n = len(scores) if c is None else round(c.sum())
    ranks = stored_ranks(n)
    if c is None:
        return ConformalScores(task, n, ranks, np.sort(scores)[ranks - 1])
    highs = values_at_ranks(scores, c, ranks)
    lows = -values_at_ranks(-scores, c, n + 1 - ranks)
    return ConformalScores(
        task, n, ranks, highs, None if (highs == lows).all() else lows
    )


def stored_ranks(n) -> np.ndarray:
    """Ranks, from 1, of the sorted scores that are kept."""
    if n <= MAX_SCORES:
        return np.arange(1, n + 1)
    ends = np.arange(MAX_SCORES // 4) + 1  # where scores lie far apart, all of them
    between = np.linspace(1, n, MAX_SCORES // 2).round().astype(np.int64)
    return np.unique(np.r_[ends, between, n + 1 - ends])

"""Intervals and sets of a saved winner, at any level asked for later.

Kept are the scores of the out-of-fold rows (`conformal`, eqs. (1), (2) and (6)), or of
many rows the outermost and every so-manieth between. What is asked for is rounded up
to the next score that was kept, so that a promise is never broken by what was left out.
"""

from typing import NamedTuple

import numpy as np

from .conformal import SetRule, class_scores, conformal_sets, place
from .statistics import check_level

KEPT = 2000


class Promise(NamedTuple):
    """Scores of rows that the models had not seen.

    `scores` are residuals y - p of numbers or the scores of the true classes, sorted;
    `ranks` tells which of all `n` they are, from 1.
    """

    task: str
    n: int
    ranks: np.ndarray
    scores: np.ndarray

    def upper(self, level) -> float:
        """The score that a share `level` of rows stays at or below."""
        at = np.searchsorted(self.ranks, place(self.n, level))
        return float(self.scores[at]) if at < len(self.scores) else np.inf

    def lower(self, level) -> float:
        """The score that a share `level` of rows stays at or above."""
        rank = self.n + 1 - place(self.n, level)
        at = np.searchsorted(self.ranks, rank, "right") - 1
        return float(self.scores[at]) if at >= 0 else -np.inf

    def interval(self, p, level) -> np.ndarray:
        """(n, 2) around predictions (n,), each end missed half as often."""
        check_level(level)
        tail = (1 + level) / 2
        ends = np.column_stack([p + self.lower(tail), p + self.upper(tail)])
        return np.maximum(ends, 0.0) if self.task == "count" else ends

    def sets(self, p, level, frame=None) -> np.ndarray:
        """(n, K) of bool for probabilities (n, K) of the rows of a frame."""
        rule = SetRule("aps", level, (self.upper(level),))
        return conformal_sets(p, rule, None if frame is None else frame.digits())


def promise(task, y, p, frame=None) -> Promise | None:
    """From answers and out-of-fold predictions of the rows of a frame, if any.

    What falls to chance in sets comes from the rows, not from the models: those of the
    folds and the one that is kept must not draw apart.
    """
    p, y = np.asarray(p, dtype=float), np.asarray(y)
    known = np.isfinite(p.reshape(len(p), -1)).all(axis=1)
    p, y = p[known], y[known]
    if task == "multilabel" or not len(y):
        return None
    if task == "classification":
        u = None if frame is None else frame.digits()[known]
        scores = class_scores(p, u=u)[np.arange(len(y)), y]
    else:
        scores = y - p
    n = len(scores)
    ends = np.arange(min(n, KEPT // 4)) + 1  # where scores lie far apart, all of them
    between = np.linspace(1, n, min(n, KEPT // 2)).round().astype(np.int64)
    ranks = np.unique(np.r_[ends, between, n + 1 - ends])
    if n <= KEPT:
        ranks = np.arange(1, n + 1)
    return Promise(task, n, ranks, np.sort(scores)[ranks - 1])

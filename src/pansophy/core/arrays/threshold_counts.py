"""Threshold sweep: true and false positives at every threshold of a score.

Rows of a score of at least t are called positive. As t falls over the distinct scores,
running sums of weights give the counts behind ROC, precision-recall, gain and cost
curves; a threshold never parts rows of equal scores.

Cost      O(n log n), once sorted O(n) for each new set of weights
Shapes    y, score, w (n,)   the arrays of `ThresholdCounts` (distinct scores + 1,)
"""

from typing import NamedTuple

import numpy as np


class ThresholdCounts(NamedTuple):
    """Weights of true and false positives at falling thresholds, from none at all."""

    threshold: np.ndarray  # rows of at least this score are called positive
    true_positives: np.ndarray
    false_positives: np.ndarray
    positives: float  # weight of all positive rows
    negatives: float


class ScoreOrder(NamedTuple):
    """Rows by falling score, and the last place of each distinct score."""

    rows: np.ndarray  # (n,)
    last: np.ndarray  # places in `rows`, ascending


def score_order(score) -> ScoreOrder:
    """The rows from the highest score to the lowest, for `cumulative_at`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.arrays.threshold_counts import score_order
    >>> rows, last = score_order(np.array([0.2, 0.9, 0.2]))
    >>> rows.tolist(), last.tolist()
    ([1, 0, 2], [0, 2])
    """
    rows = np.argsort(-score, kind="stable")
    ends = np.append(np.diff(score[rows]) != 0, True)
    return ScoreOrder(rows, np.flatnonzero(ends))


def cumulative_at(order: ScoreOrder, values) -> np.ndarray:
    """Sum of the values of all rows of at least each distinct score, highest first."""
    return np.cumsum(values[order.rows])[order.last]


def threshold_counts(y, score, w=None) -> ThresholdCounts:
    """Counts of true and false positives at every distinct score.

    Parameters
    ----------
    y : array of shape (n,)
        Whether each row is positive.
    score : array of shape (n,)
    w : array of shape (n,) or None

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.arrays.threshold_counts import threshold_counts
    >>> c = threshold_counts(np.array([1, 0, 1]), np.array([0.9, 0.5, 0.5]))
    >>> c.true_positives.tolist(), c.false_positives.tolist()
    ([0.0, 1.0, 2.0], [0.0, 0.0, 1.0])
    """
    y, score = np.asarray(y, float), np.asarray(score, float)
    w = np.ones(len(y)) if w is None else np.asarray(w, float)
    order = score_order(score)
    hit = y * w
    true = np.append(0.0, cumulative_at(order, hit))
    called = np.append(0.0, cumulative_at(order, w))
    distinct = score[order.rows][order.last]
    threshold = np.append(np.nextafter(distinct[0], np.inf), distinct)
    positives = float(hit.sum())
    negatives = float(w.sum() - positives)
    return ThresholdCounts(threshold, true, called - true, positives, negatives)


def roc_auc(y, score, w=None) -> float:
    """Area under the ROC curve; NaN where the rows are of one class.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.arrays.threshold_counts import roc_auc
    >>> roc_auc(np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8]))
    0.75
    """
    c = threshold_counts(y, score, w)
    if not (c.positives > 0 and c.negatives > 0):
        return float("nan")
    area = np.trapezoid(c.true_positives, c.false_positives)
    return float(area / (c.positives * c.negatives))


def average_precision(y, score, w=None) -> float:
    """Sum of the precisions at every threshold, weighted by the gain in recall.

    0 where no row is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.core.arrays.threshold_counts import average_precision
    >>> y, score = np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8])
    >>> round(average_precision(y, score), 4)
    0.8333
    """
    c = threshold_counts(y, score, w)
    if not c.positives > 0:
        return 0.0
    true = c.true_positives[1:]
    called = true + c.false_positives[1:]
    precision = np.divide(true, called, out=np.zeros_like(true), where=called > 0)
    return float(np.diff(c.true_positives) @ precision / c.positives)

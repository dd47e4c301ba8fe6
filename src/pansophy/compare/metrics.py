"""Metrics: proper scores first, for probabilities, squared error or counts.

Every metric is computed in every fold; one of them ranks. Most are means over rows of
a loss, followed by a monotone map g,

    score = g( sum_i w_i loss_i / sum_i w_i ),                                 (1)

where `row_losses` gives the losses, which intervals over rows and the correction for
selection need, and `from_mean_loss` is g. Areas under curves and explained variance
are not of this kind and have no `row_losses`. `bounds` are the least and the greatest
value that a metric can have: intervals are clipped there.
"""

import difflib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special
from sklearn import metrics as sk

from ..core.arrays.threshold_counts import average_precision, roc_auc
from .metric_names import metric_name

TINY_PROBABILITY = 1e-15  # a probability of 0 is read as this
MIN_COUNT = 1e-9  # and an expected count of 0 as this
CLASS, NUMBER, COUNT, LABELS = "classification", "regression", "count", "multilabel"
ORDERED = "ordinal"  # of classes that are in order, beside those of classes


class Metric(NamedTuple):
    """Score of predictions p (numbers or probabilities) against y."""

    name: str
    task: str
    greater: bool  # greater is better
    score: Callable  # (y, p, w=None) -> number
    row_losses: Callable | None = None  # (y, p) -> one loss per row
    from_mean_loss: Callable = float  # mean of the row losses -> score
    bounds: tuple[float, float] = (0.0, np.inf)  # least and greatest value
    pooled: bool = True  # answers of different folds may be scored together
    share: bool = False  # the share of rows that are answered rightly

    def clip(self, interval):
        """An interval of scores, clipped to the bounds."""
        low, high = (
            min(max(v, self.bounds[0]), self.bounds[1]) if np.isfinite(v) else v
            for v in (interval.low, interval.high)
        )
        return interval._replace(low=low, high=high)


def _row_mean_metric(
    name,
    task,
    row_losses,
    from_mean_loss=float,
    *,
    upper=np.inf,
    greater=False,
    share=False,
) -> Metric:
    """A metric of eq. (1), from 0 to `upper`."""

    def score(y, p, w=None):
        return float(from_mean_loss(np.average(row_losses(y, p), weights=w)))

    return Metric(
        name,
        task,
        greater,
        score,
        row_losses,
        from_mean_loss,
        (0.0, upper),
        share=share,
    )


def _aggregate_metric(name, task, score, lower=0.0, *, pooled=True) -> Metric:
    """A metric of all rows together; greater is better, from `lower` to 1.

    One that orders rows by their scores is not `pooled`: scores of models of different
    folds have no common scale.
    """
    return Metric(name, task, True, score, bounds=(lower, 1.0), pooled=pooled)


def _clip_and_normalise(p):
    p = np.clip(p, TINY_PROBABILITY, 1)
    return p / p.sum(1, keepdims=True)


def _true_class_probability(p, y):
    """The probability given to what happened."""
    return p[np.arange(len(y)), y]


def _log_loss_rows(y, p):
    return -np.log(_true_class_probability(_clip_and_normalise(p), y))


def _brier_rows(y, p):
    """Squared error of the probabilities: of two classes that of one, as is usual."""
    error = ((p - np.eye(p.shape[1])[y]) ** 2).sum(1)
    return error / 2 if p.shape[1] == 2 else error


def _one_against_rest(score):
    """The mean over classes that occur, but not alone; two classes: the second."""

    def mean(y, p, w=None):
        if p.shape[1] == 2:
            return score(y == 1, p[:, 1], w)
        return _mean_over_columns(score, y[:, None] == np.arange(p.shape[1]), p, w)

    return mean


def _mean_over_columns(score, Y, P, w=None):
    """The mean over the columns of Y that hold both 0 and 1."""
    is_varied = Y.min(0) < Y.max(0)
    pairs = zip(Y[:, is_varied].T, P[:, is_varied].T)
    results = [score(a, b, w) for a, b in pairs]
    return float(np.mean(results)) if results else float("nan")


def _balanced_accuracy(y, p, w=None):
    """The mean over classes that occur of the share that is recognised."""
    w = np.ones(len(y)) if w is None else w
    hit = np.bincount(y, w * (p.argmax(1) == y), p.shape[1])
    all_of = np.bincount(y, w, p.shape[1])
    return float(np.mean(hit[all_of > 0] / all_of[all_of > 0]))


def _f1_metric(y, p, w=None):
    """F1 of the second of two classes; of more, the mean over classes that occur."""
    k = p.shape[1]
    w = np.ones(len(y)) if w is None else w
    predicted = p.argmax(1)
    hit = np.bincount(y, w * (predicted == y), k)
    all_of = np.bincount(y, w, k)
    true_or_predicted = all_of + np.bincount(predicted, w, k)
    f1 = np.divide(
        2 * hit, true_or_predicted, out=np.zeros(k), where=true_or_predicted > 0
    )
    return float(f1[1] if k == 2 else f1[np.unique(y)].mean())


def _ranked_probability_rows(y, p):
    """Mean over the cuts between classes of (P(at most k) - [y at most k])^2."""
    cuts = np.arange(p.shape[1] - 1)
    return ((p.cumsum(1)[:, :-1] - (y[:, None] <= cuts)) ** 2).mean(1)


def _quadratic_kappa(y, p, w=None):
    """Agreement beyond chance, wrong answers weighed by their squared distance."""
    k = p.shape[1]
    result = sk.cohen_kappa_score(
        y, p.argmax(1), labels=np.arange(k), weights="quadratic", sample_weight=w
    )
    return float(result)


def _r2_metric(y, p, w=None):
    """The share of the variance that is explained; of equal numbers 0, or 1 if met."""
    if len(y) < 2:
        return float("nan")
    left = np.average((y - p) ** 2, weights=w)
    total_variance = np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    if total_variance == 0:
        return float(left == 0)
    return float(1 - left / total_variance)


def _deviance_rows(y, p):
    """Poisson deviance of each row."""
    p = np.maximum(p, MIN_COUNT)
    return 2 * (special.xlogy(y, y / p) - y + p)


def _label_loss_rows(y, p):
    """Mean over labels of -log of the probability given to what happened."""
    p = np.clip(p, TINY_PROBABILITY, 1 - TINY_PROBABILITY)
    return -(y * np.log(p) + (1 - y) * np.log1p(-p)).mean(1)


root_of_mean = lambda loss: float(np.sqrt(loss))
one_minus = lambda loss: float(1 - loss)
squared_error_rows = lambda y, p: (y - p) ** 2
absolute_error_rows = lambda y, p: np.abs(y - p)

METRICS = [
    _row_mean_metric(
        "ranked probability score", ORDERED, _ranked_probability_rows, upper=1.0
    ),
    _aggregate_metric("quadratic kappa", ORDERED, _quadratic_kappa, -1.0),
    _row_mean_metric(
        "class distance", ORDERED, lambda y, p: np.abs(p.argmax(1) - y) * 1.0
    ),
    _row_mean_metric("log loss", CLASS, _log_loss_rows),
    _row_mean_metric(
        "accuracy",
        CLASS,
        lambda y, p: (p.argmax(1) != y) * 1.0,
        one_minus,
        upper=1.0,
        greater=True,
        share=True,
    ),
    _row_mean_metric("brier score", CLASS, _brier_rows, upper=2.0),
    _aggregate_metric("roc auc", CLASS, _one_against_rest(roc_auc), pooled=False),
    _aggregate_metric(
        "average precision",
        CLASS,
        _one_against_rest(average_precision),
        pooled=False,
    ),
    _aggregate_metric("balanced accuracy", CLASS, _balanced_accuracy),
    _aggregate_metric("f1", CLASS, _f1_metric),
    _row_mean_metric("rmse", NUMBER, squared_error_rows, root_of_mean),
    _aggregate_metric("r2", NUMBER, _r2_metric, -np.inf),
    _row_mean_metric("mae", NUMBER, absolute_error_rows),
    _row_mean_metric("poisson deviance", COUNT, _deviance_rows),
    _row_mean_metric("rmse", COUNT, squared_error_rows, root_of_mean),
    _row_mean_metric("mae", COUNT, absolute_error_rows),
    _aggregate_metric("r2", COUNT, _r2_metric, -np.inf),
    _row_mean_metric("log loss", LABELS, _label_loss_rows),
    _row_mean_metric(
        "label accuracy",
        LABELS,
        lambda y, p: ((p >= 0.5) != y).mean(1),
        one_minus,
        upper=1.0,
        greater=True,
    ),
    _row_mean_metric(
        "exact match",
        LABELS,
        lambda y, p: ((p >= 0.5) != y).any(1) * 1.0,
        one_minus,
        upper=1.0,
        greater=True,
        share=True,
    ),
    _row_mean_metric(
        "brier score", LABELS, lambda y, p: ((p - y) ** 2).mean(1), upper=1.0
    ),
    _aggregate_metric(
        "roc auc",
        LABELS,
        lambda y, p, w=None: _mean_over_columns(roc_auc, y, p, w),
        pooled=False,
    ),
]


def metrics_for(task, first=None, *, ordered=False) -> list[Metric]:
    """All metrics of a task, the ranking one first.

    Classes that are `ordered` have metrics of their own, before those of all classes.
    """
    results = [m for m in METRICS if m.task == task]
    if ordered and task == CLASS:
        results = [*metrics_for(ORDERED), *results]
    if first is None:
        return results
    name = metric_name(first)
    chosen = [m for m in results if m.name == name]
    if not chosen:
        known = ", ".join(m.name for m in results)
        near = difflib.get_close_matches(name, [m.name for m in results], 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ValueError(f"metric must be one of {known}, got {first!r}{hint}")
    return chosen + [m for m in results if m.name != name]

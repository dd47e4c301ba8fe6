"""Scores: a proper one first, for probabilities, squared error or counts.

Every metric is computed in every fold; one of them ranks. Most are means over rows of
a loss, seen through a monotone `undo`,

    score = undo( sum_i w_i loss_i / sum_i w_i ),                              (1)

and `rows` gives those losses, which intervals over rows and the estimate of selection
need. Areas and explained shares are not of this kind and have no `rows`. `ends` are the
least and the greatest value a metric can have: no interval reaches beyond them.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special
from sklearn import metrics as sk

TINY = 1e-15  # a probability of 0 is read as this
LOW = 1e-9  # and an expected count of 0 as this
CLASS, NUMBER, COUNT, LABELS = "classification", "regression", "count", "multilabel"


class Metric(NamedTuple):
    """How well predictions p (numbers or probabilities) meet y."""

    name: str
    task: str
    greater: bool  # greater is better
    score: Callable  # (y, p, w=None) -> number
    rows: Callable | None = None  # (y, p) -> one loss per row
    undo: Callable = float  # mean of the row losses -> score
    ends: tuple[float, float] = (0.0, np.inf)  # values it can have

    def cut(self, interval):
        """An interval of scores without what lies beyond the ends."""
        low, high = (
            min(max(v, self.ends[0]), self.ends[1]) if np.isfinite(v) else v
            for v in (interval.low, interval.high)
        )
        return interval._replace(low=low, high=high)


def mean_of(name, task, rows, undo=float, *, most=np.inf, greater=False) -> Metric:
    """Eq. (1), from 0 to `most`."""
    score = lambda y, p, w=None: float(undo(np.average(rows(y, p), weights=w)))
    return Metric(name, task, greater, score, rows, undo, (0.0, most))


def whole(name, task, score, least=0.0) -> Metric:
    """A metric of all rows together, greater is better, from `least` to 1."""
    return Metric(name, task, True, score, ends=(least, 1.0))


def clipped(p):
    p = np.clip(p, TINY, 1)
    return p / p.sum(1, keepdims=True)


def own(p, y):
    """The probability given to what happened."""
    return p[np.arange(len(y)), y]


def log_loss_rows(y, p):
    return -np.log(own(clipped(p), y))


def brier_rows(y, p):
    return ((p - np.eye(p.shape[1])[y]) ** 2).sum(1)


def one_against_rest(score):
    """The mean over classes that occur, but not alone; two classes: the second."""

    def mean(y, p, w=None):
        if p.shape[1] == 2:
            return float(score(y == 1, p[:, 1], sample_weight=w))
        return over_columns(score, y[:, None] == np.arange(p.shape[1]), p, w)

    return mean


def over_columns(score, Y, P, w=None):
    """The mean over the columns of Y that hold both 0 and 1."""
    both = Y.min(0) < Y.max(0)
    pairs = zip(Y[:, both].T, P[:, both].T)
    found = [score(a, b, sample_weight=w) for a, b in pairs]
    return float(np.mean(found)) if found else float("nan")


def balanced(y, p, w=None):
    """The mean over classes that occur of the share that is recognised."""
    w = np.ones(len(y)) if w is None else w
    hit = np.bincount(y, w * (p.argmax(1) == y), p.shape[1])
    all_of = np.bincount(y, w, p.shape[1])
    return float(np.mean(hit[all_of > 0] / all_of[all_of > 0]))


def f1(y, p, w=None):
    """Of the second of two classes; of more, the mean over classes that occur."""
    said, two = p.argmax(1), p.shape[1] == 2
    how = {"average": "binary"} if two else {"average": "macro", "labels": np.unique(y)}
    return float(sk.f1_score(y, said, sample_weight=w, zero_division=0.0, **how))


def r2(y, p, w=None):
    return float(sk.r2_score(y, p, sample_weight=w))


def deviance_rows(y, p):
    """Poisson deviance of each row."""
    p = np.maximum(p, LOW)
    return 2 * (special.xlogy(y, y / p) - y + p)


def label_loss_rows(y, p):
    """Mean over labels of -log of the probability given to what happened."""
    p = np.clip(p, TINY, 1 - TINY)
    return -(y * np.log(p) + (1 - y) * np.log1p(-p)).mean(1)


root = lambda loss: float(np.sqrt(loss))
rest = lambda loss: float(1 - loss)
squared = lambda y, p: (y - p) ** 2
absolute = lambda y, p: np.abs(y - p)

METRICS = [
    mean_of("log loss", CLASS, log_loss_rows),
    mean_of("accuracy", CLASS, lambda y, p: (p.argmax(1) != y) * 1.0, rest,
            most=1.0, greater=True),
    mean_of("brier score", CLASS, brier_rows, most=2.0),
    whole("roc auc", CLASS, one_against_rest(sk.roc_auc_score)),
    whole("average precision", CLASS, one_against_rest(sk.average_precision_score)),
    whole("balanced accuracy", CLASS, balanced),
    whole("f1", CLASS, f1),
    mean_of("rmse", NUMBER, squared, root),
    whole("r2", NUMBER, r2, -np.inf),
    mean_of("mae", NUMBER, absolute),
    mean_of("poisson deviance", COUNT, deviance_rows),
    mean_of("rmse", COUNT, squared, root),
    mean_of("mae", COUNT, absolute),
    whole("r2", COUNT, r2, -np.inf),
    mean_of("log loss", LABELS, label_loss_rows),
    mean_of("label accuracy", LABELS, lambda y, p: ((p >= 0.5) != y).mean(1), rest,
            most=1.0, greater=True),
    mean_of("exact match", LABELS, lambda y, p: ((p >= 0.5) != y).any(1) * 1.0, rest,
            most=1.0, greater=True),
    mean_of("brier score", LABELS, lambda y, p: ((p - y) ** 2).mean(1), most=1.0),
    whole("roc auc", LABELS, lambda y, p, w=None: over_columns(
        sk.roc_auc_score, y, p, w)),
]  # fmt: skip


def metrics_for(task, first=None) -> list[Metric]:
    """All metrics of a task, the ranking one first."""
    found = [m for m in METRICS if m.task == task]
    if first is None:
        return found
    name = first.replace("_", " ").lower()
    chosen = [m for m in found if m.name == name]
    if not chosen:
        known = ", ".join(m.name for m in found)
        raise ValueError(f"metric must be one of {known}, got {first!r}.")
    return chosen + [m for m in found if m.name != name]

"""Scores: a proper one first, for probabilities or for squared error.

Every metric is computed in every fold; one of them ranks. `rows` gives the loss of
single rows where the metric is a mean over rows, which the selection estimate needs.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn import metrics as sk

TINY = 1e-15


class Metric(NamedTuple):
    """How well predictions p (numbers or probabilities) meet y."""

    name: str
    task: str
    greater: bool  # greater is better
    score: Callable  # (y, p) -> number
    rows: Callable | None = None  # (y, p) -> one loss per row
    undo: Callable = float  # mean of the row losses -> score


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


def roc_auc(y, p):
    if p.shape[1] == 2:
        return sk.roc_auc_score(y, p[:, 1])
    labels = np.arange(p.shape[1])
    return sk.roc_auc_score(y, clipped(p), multi_class="ovr", labels=labels)


CLASS, NUMBER = "classification", "regression"
METRICS = [
    Metric(
        "log loss",
        CLASS,
        False,
        lambda y, p: float(log_loss_rows(y, p).mean()),
        log_loss_rows,
    ),
    Metric(
        "accuracy",
        CLASS,
        True,
        lambda y, p: float((p.argmax(1) == y).mean()),
        lambda y, p: (p.argmax(1) != y).astype(float),
        lambda loss: 1 - loss,
    ),
    Metric(
        "brier score",
        CLASS,
        False,
        lambda y, p: float(brier_rows(y, p).mean()),
        brier_rows,
    ),
    Metric("roc auc", CLASS, True, roc_auc),
    Metric(
        "rmse",
        NUMBER,
        False,
        lambda y, p: float(np.sqrt(np.mean((y - p) ** 2))),
        lambda y, p: (y - p) ** 2,
        lambda loss: float(np.sqrt(loss)),
    ),
    Metric("r2", NUMBER, True, lambda y, p: float(sk.r2_score(y, p))),
    Metric(
        "mae",
        NUMBER,
        False,
        lambda y, p: float(np.abs(y - p).mean()),
        lambda y, p: np.abs(y - p),
    ),
]


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

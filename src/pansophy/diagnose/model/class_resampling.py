"""Balances the classes of training rows by undersampling, oversampling or jitter.

    down    as many rows of every class as the smallest has, drawn without replacement
    up      every row, and repeated rows of the smaller classes until all have as many
            as the largest; each round repeats every row once before any row again

With `jitter` s the rows repeated by `up` get normal noise of s standard deviations of
their column within the class. Resampling changes the shares of classes, so the
probabilities of a model fitted to it are not calibrated for the data, and a row that is
copied before a split is in both parts. Hence `train`: only these rows are drawn from,
and the places of all others are returned unchanged.

For stochastic methods, which draw one row at a time, `balanced_rates` gives the
probability of each row for which classes are drawn at given rates, and
`optim.sgd(..., sample_weight="balanced", y=y)` draws with it.
"""

from typing import Any, NamedTuple

import numpy as np

from ...core.arrays.labels import class_codes
from ...core.random import make_rng
from ...optim.stochastic.stochastic import balanced_rates
from ..data.column_access import indexable_rows, n_rows, select_rows

__all__ = ["Resampled", "balanced_rates", "balance_classes"]


class Resampled(NamedTuple):
    """The training rows after resampling; `rows` are where they came from."""

    X: Any
    y: np.ndarray
    rows: np.ndarray  # places in the X given
    held_out: np.ndarray  # places not in `train`, untouched


def balance_classes(
    X, y, method="up", *, jitter=0.0, train=None, columns=None, random_state=0
) -> Resampled:
    """Resample rows so that all classes have the same number of rows.

    Parameters
    ----------
    X : array, sparse matrix or data frame
    y : array of labels of shape (n,)
    method : {"up", "down"}
    jitter : float
        s of the module text; needs numbers.
    train : array of rows or mask, optional
        The training part; all rows by default. Others are never drawn.
    columns : list of column numbers, optional
        Those that are jittered; all by default.
    random_state : seed

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import balance_classes
    >>> X, y = np.arange(5.0)[:, None], np.array([0, 0, 0, 0, 1])
    >>> up = balance_classes(X, y, "up")
    >>> up.y, up.X[-3:, 0]
    (array([0, 0, 0, 0, 1, 1, 1, 1]), array([4., 4., 4.]))
    >>> balance_classes(X, y, "down").y
    array([0, 1])
    """
    X, y = indexable_rows(X), np.asarray(y)
    n = n_rows(X)
    if y.ndim != 1 or len(y) != n:
        raise ValueError(f"y must have one label for each of {n} rows, got {y.shape}.")
    if method not in ("up", "down"):
        raise ValueError(f"method must be 'up' or 'down', got {method!r}.")
    if not jitter >= 0 or (jitter and method == "down"):
        raise ValueError(
            f"jitter must be 0, or above with method='up', got {jitter!r}."
        )
    rng = make_rng(random_state)
    train = np.arange(n) if train is None else np.asarray(train)
    train = np.flatnonzero(train) if train.dtype == bool else train
    held_out = np.setdiff1d(np.arange(n), train)
    rows = (_undersample if method == "down" else oversample)(y, train, rng)
    X_balanced = select_rows(X, rows)
    if jitter:
        X_balanced = _jitter_rows(X_balanced, y[rows], len(train), jitter, columns, rng)
    return Resampled(X_balanced, y[rows], rows, held_out)


def _undersample(y, train, rng):
    """Rows of an undersample: as many of each class as the smallest has."""
    labels, z = class_codes(y[train])
    counts = np.bincount(z, minlength=len(labels))
    smallest_count = counts.min(initial=len(train))
    parts = [
        rng.choice(train[z == k], smallest_count, replace=False)
        for k in range(len(labels))
    ]
    kept = np.concatenate(parts) if parts else train
    return train[np.isin(train, kept)]


def oversample(y, train, rng):
    """All rows, then repeated rows of the smaller classes."""
    labels, z = class_codes(y[train])
    counts = np.bincount(z, minlength=len(labels))
    parts = [train]
    for k in range(len(labels)):
        class_rows = train[z == k]
        lack = counts.max() - counts[k]
        rounds = [
            rng.permutation(class_rows) for _ in range(-(-lack // len(class_rows)))
        ]
        parts.append(np.concatenate([*rounds, class_rows[:0]])[:lack])
    return np.concatenate(parts)


def _jitter_rows(X, y, start, jitter, columns, rng):
    """Adds noise to the rows from `start` on, scaled by the class's deviations."""
    X = np.array(X, dtype=float)
    if X.ndim != 2:
        raise ValueError("jitter needs rows of numbers.")
    jittered = np.arange(X.shape[1]) if columns is None else np.asarray(columns)
    for label in np.unique(y):
        in_class = y == label
        late = np.flatnonzero(in_class & (np.arange(len(y)) >= start))
        early = np.flatnonzero(in_class[:start])
        early = early if len(early) > 1 else np.arange(start)  # a single row: of all
        size = X[np.ix_(early, jittered)].std(0)
        noise = rng.standard_normal((len(late), len(jittered)))
        X[np.ix_(late, jittered)] += jitter * size * noise
    return X

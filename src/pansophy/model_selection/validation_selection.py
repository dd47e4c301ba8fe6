"""Model selection on a validation set, with an unbiased estimate on a test set.

    train        every candidate m is fitted here
    validation   L_val(m) = mean loss, without any penalty; the smallest wins       (1)
    test         read once, at the end, by the winner alone                        (2)

The winner's validation loss is the smallest of many and so too good; (2) is not.
`tune_hyperparameters` chooses by cross-validation in place of one validation part, and
fits the winner to all rows it was given; keep test rows away from it (`LeakGuard`).

Ratings are rows too: a row is an observed cell (user, item), so that parts are parts of
the observed cells, and cells nobody rated are in none.

Refs      [HastieTibshiraniFriedman2009] ch. 7
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import (
    GridSearchCV,
    ParameterGrid,
    RandomizedSearchCV,
    train_test_split,
)

from ..core.random import draw_seed, make_rng
from .leak_guard import LeakGuard


class ThreeWaySplit(NamedTuple):
    """Row numbers of three disjoint parts."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


class CandidateLoss(NamedTuple):
    """One candidate and its mean validation loss."""

    name: str
    loss: float


class SelectionResult(NamedTuple):
    """Result of `select_on_validation`."""

    table: tuple[CandidateLoss, ...]  # in the order given
    best: str
    model: Any  # the winner, fitted
    test_loss: float
    split: ThreeWaySplit

    def __str__(self):
        rows = sorted(self.table, key=lambda t: t.loss)
        lines = [f"  {t.loss:.4g}  {t.name}" for t in rows]
        return "\n".join(
            [
                "validation loss:",
                *lines,
                f"{self.best} has a loss of {self.test_loss:.4g} on "
                f"{len(self.split.test)} test rows, which had no part in choosing it.",
            ]
        )


def train_validation_test_split(
    n, fractions=(0.6, 0.2, 0.2), *, y=None, random_state=0
) -> ThreeWaySplit:
    """Three disjoint random parts of n rows; stratified if y is given.

    Examples
    --------
    >>> from pansophy.compare import train_validation_test_split
    >>> [len(part) for part in train_validation_test_split(10)]
    [6, 2, 2]
    """
    shares = np.asarray(fractions, dtype=float)
    if shares.shape != (3,) or np.any(shares <= 0):
        raise ValueError(f"fractions must be three numbers above 0, got {fractions}.")
    shares = shares / shares.sum()
    sizes = np.maximum(1, np.round(shares[1:] * n).astype(int))
    if n - sizes.sum() < 1:
        raise ValueError(f"{n} rows are too few for three parts.")
    seed = draw_seed(make_rng(random_state))
    cut = lambda rows, k: train_test_split(
        rows,
        test_size=int(k),
        random_state=seed,
        stratify=None if y is None else y[rows],
    )
    y = None if y is None else np.asarray(y)
    rest, test = cut(np.arange(n), sizes[1])
    train, validation = cut(rest, sizes[0])
    return ThreeWaySplit(np.sort(train), np.sort(validation), np.sort(test))


def _candidates_by_name(candidates) -> list[tuple[str, Any]]:
    """(name, estimator) from a dict, a list, or a pair (estimator, grid)."""
    if isinstance(candidates, tuple) and len(candidates) == 2:
        estimator, grid = candidates
        return [
            (describe_setting(s), clone(estimator).set_params(**s))
            for s in expand_grid(grid)
        ]
    if isinstance(candidates, Mapping):
        return list(candidates.items())
    if hasattr(candidates, "fit"):
        return [(type(candidates).__name__, candidates)]
    return [(repr(c), c) for c in candidates]


def expand_grid(grid) -> list[dict]:
    """All settings of a grid, or a list of settings as it is."""
    listed = isinstance(grid, (list, tuple)) and all(
        isinstance(s, Mapping) for s in grid
    )
    is_scalar = lambda v: isinstance(v, str) or not hasattr(v, "__iter__")
    if listed and any(is_scalar(v) for s in grid for v in s.values()):
        return [dict(s) for s in grid]
    return list(ParameterGrid(grid))


def describe_setting(s) -> str:
    return ", ".join(f"{k}={v!r}" for k, v in sorted(s.items())) or "as given"


def default_loss(model):
    """Lower is better: log loss, share of errors, or mean squared error."""
    if is_classifier(model):
        return _log_loss_of if hasattr(model, "predict_proba") else _error_rate_of
    return _mean_squared_error_of


def _mean_squared_error_of(model, X, y) -> float:
    return float(np.mean((np.asarray(model.predict(X)) - y) ** 2))


def _error_rate_of(model, X, y) -> float:
    return float(np.mean(np.asarray(model.predict(X)) != y))


def _log_loss_of(model, X, y) -> float:
    """Mean of -log p(y); a class the model has not seen has p = 1e-15."""
    p, y = np.asarray(model.predict_proba(X)), np.asarray(y)
    match = np.asarray(model.classes_)[None, :] == y[:, None]
    return float(-np.log(np.clip((p * match).sum(1), 1e-15, 1)).mean())


def _fit_rows(model, X, y, rows):
    """A fitted copy; ratings carry their own values."""
    return (
        clone(model).fit(X[rows]) if y is None else clone(model).fit(X[rows], y[rows])
    )


def select_on_validation(
    candidates,
    X,
    y=None,
    *,
    split=None,
    fractions=(0.6, 0.2, 0.2),
    loss=None,
    refit=True,
    random_state=0,
) -> SelectionResult:
    """Choose by validation loss, report by test loss.

    Parameters
    ----------
    candidates : dict of estimators, list, or (estimator, grid)
    X : array, data frame, or `Ratings` (whose rows are the observed cells)
    y : array (n,) or None
        None for `Ratings`, which hold their values.
    split : Split or None
        Row numbers of the three parts; drawn with `fractions` by default, stratified
        for classifiers where every class has rows enough.
    loss : function (model, X, y) -> number, or None
        Lower is better. By default log loss, share of errors or squared error.
    refit : bool
        Fit the winner to training and validation rows before the test.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare import select_on_validation
    >>> from pansophy.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 5))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=100)
    >>> found = select_on_validation((Ridge(), {"alpha": [0.1, 1000.0]}), X, y)
    >>> found.best, found.test_loss < 0.1
    ('alpha=0.1', True)
    """
    tried = _candidates_by_name(candidates)
    if not tried:
        raise ValueError("candidates must hold at least one estimator.")
    n = len(y) if y is not None else len(X)
    if split is None:
        codes = np.unique(y, return_inverse=True)[1] if y is not None else None
        is_stratified = is_classifier(tried[0][1]) and np.bincount(codes).min() >= 10
        stratify = codes if is_stratified else None
        split = train_validation_test_split(
            n, fractions, y=stratify, random_state=random_state
        )
    split = ThreeWaySplit(*(np.asarray(part) for part in split))
    _check_split(split, n)
    guard = LeakGuard(X, y, test=split.test)
    table = []
    for name, estimator in tried:
        loss_of = default_loss(estimator) if loss is None else loss
        model = _fit_rows(estimator, guard.X, guard.y, split.train)
        part = guard.X[split.validation]
        truth = part.values if guard.y is None else guard.y[split.validation]
        table.append(CandidateLoss(name, float(loss_of(model, part, truth))))
    if not np.isfinite([t.loss for t in table]).any():
        raise ValueError("No candidate has a finite validation loss.")
    best = int(np.nanargmin([t.loss for t in table]))
    rows = np.r_[split.train, split.validation] if refit else split.train
    model = _fit_rows(tried[best][1], guard.X, guard.y, rows)
    loss_of = default_loss(model) if loss is None else loss
    X_test, y_test = guard.test()
    y_test = X_test.values if y_test is None else y_test
    test_loss = float(loss_of(model, X_test, y_test))
    return SelectionResult(tuple(table), tried[best][0], model, test_loss, split)


def _check_split(split, n):
    all_rows = np.concatenate(split)
    if any(len(part) == 0 for part in split):
        raise ValueError("Every part of the split needs at least one row.")
    if len(np.unique(all_rows)) < len(all_rows):
        raise ValueError("The parts of the split share rows.")
    if all_rows.min() < 0 or all_rows.max() >= n:
        raise ValueError(f"The split names rows outside 0 to {n - 1}.")


class TuningResult(NamedTuple):
    """Result of `tune_hyperparameters`."""

    best: dict
    score: float  # cross-validated, of the best of many: too good
    model: Any  # fitted to all rows
    table: tuple[tuple[dict, float], ...]  # every setting and its score, best first


def tune_hyperparameters(
    estimator, space, X, y, *, scoring=None, cv=5, n_iter=None, random_state=0
) -> TuningResult:
    """Search settings by cross-validation and fit the best to all rows.

    The best is the arg-best of the table whatever the order of the space: of equal
    scores the setting that comes first in the alphabet wins.

    Parameters
    ----------
    space : dict or list of dicts
        Values to try, all of them; with `n_iter` that many draws, and distributions
        are allowed.
    scoring : str, function or None
        scikit-learn's; greater is better. The metric of the task, not the loss fitted.

    Examples
    --------
    >>> from pansophy.compare import tune_hyperparameters
    >>> from pansophy.linear_model import Ridge
    >>> X = [[float(i)] for i in range(20)]
    >>> y = [2.0 * i for i in range(20)]
    >>> tune_hyperparameters(Ridge(), {"alpha": [100.0, 0.001]}, X, y).best
    {'alpha': 0.001}
    """
    common = {"scoring": scoring, "cv": cv, "refit": False, "error_score": np.nan}
    if n_iter is None:
        search = GridSearchCV(estimator, space, **common)
    else:
        seed = draw_seed(make_rng(random_state))
        search = RandomizedSearchCV(
            estimator, space, n_iter=n_iter, random_state=seed, **common
        )
    search.fit(X, y)
    results = search.cv_results_
    scores = zip(results["params"], results["mean_test_score"])
    rows = [(dict(setting), float(score)) for setting, score in scores]
    rows = [r for r in rows if np.isfinite(r[1])]
    if not rows:
        raise ValueError("No setting of the space has a finite score.")
    rows.sort(key=lambda r: (-r[1], describe_setting(r[0])))
    best, score = rows[0]
    model = clone(estimator).set_params(**best).fit(X, y)
    return TuningResult(best, score, model, tuple(rows))

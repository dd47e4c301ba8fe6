"""Nested cross-validation over all rotations of a test and a validation fold.

n folds; for each ordered pair (t, v) of different folds every setting is fitted to the
n - 2 others, n (n - 1) fits a setting. For test fold t

    m*_t = argmin_m  mean_{v != t} loss_v(model_m(t, v))                         (1)

is chosen without fold t; reported is the loss of the chosen setting on fold t,

    mean_{v != t} loss_t(model_{m*_t}(t, v)).                                    (2)

Tuned means nested: (2) is the only loss to quote for the procedure of choosing.

Shapes    validation, test (n, n), row t and column v, NaN on the diagonal
Refs      [VarmaSimon2006] [CawleyTalbot2010]
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from ..compare.evaluation.statistics import Interval, corrected_interval
from ..core.arrays.frames import rows_of_table
from ..core.random import draw_seed, make_rng
from .validation_selection import default_loss, describe_setting, expand_grid


class NestedResult(NamedTuple):
    """Result of `nested_cross_validation`."""

    chosen: tuple[dict, ...]  # one setting for each test fold
    validation: np.ndarray  # losses of the chosen settings
    test: np.ndarray
    fits: int

    @property
    def loss(self) -> float:
        """Eq. (2), averaged over test folds."""
        return float(np.nanmean(self.test))

    def interval(self, level=0.95) -> Interval:
        """The loss with an interval over test folds."""
        n = len(self.test)
        return corrected_interval(np.nanmean(self.test, axis=1), 1 / (n - 1), level)

    def __str__(self):
        i = self.interval()
        names = dict.fromkeys(map(describe_setting, self.chosen))
        return (
            f"Loss {i.mean:.4g} [{i.low:.4g}, {i.high:.4g}] on test folds that had no "
            f"part in choosing; {self.fits} fits; chosen: {' | '.join(names)}."
        )


def nested_cross_validation(
    estimator, grid, X, y, *, folds=5, loss=None, random_state=0
) -> NestedResult:
    """The honest loss of an estimator whose setting is chosen by validation.

    Parameters
    ----------
    estimator : estimator
    grid : dict, list of dicts or list of settings
    X : array or data frame
    y : array (n,)
    folds : int of at least 3, or array (n,) of fold numbers
    loss : function (model, X, y) -> number, or None
        Lower is better. None: log loss or error rate for classifiers, else the mean
        squared error (`default_loss`).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare import nested_cross_validation
    >>> from pansophy.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> grid = {"alpha": [0.1, 100.0]}
    >>> result = nested_cross_validation(Ridge(), grid, X, X[:, 0], folds=4)
    >>> result.fits, result.chosen[0]
    (24, {'alpha': 0.1})
    """
    y, tried = np.asarray(y), expand_grid(grid)
    fold = _fold_numbers(y, folds, is_classifier(estimator), random_state)
    n = int(fold.max()) + 1
    validation, test = np.full((n, n), np.nan), np.full((n, n), np.nan)
    chosen = []
    for t in range(n):
        inner_folds = [v for v in range(n) if v != t]
        models = [{} for _ in tried]
        losses = np.empty((len(tried), len(inner_folds)))
        for j, v in enumerate(inner_folds):
            fit, held = (
                np.flatnonzero(r) for r in ((fold != t) & (fold != v), fold == v)
            )
            X_fit, X_held = rows_of_table(X, fit), rows_of_table(X, held)
            for m, s in enumerate(tried):
                model = clone(estimator).set_params(**s).fit(X_fit, y[fit])
                loss_of = default_loss(model) if loss is None else loss
                losses[m, j] = loss_of(model, X_held, y[held])
                models[m][v] = model
        best = _best_setting(losses, tried)
        chosen.append(tried[best])
        rows = np.flatnonzero(fold == t)  # only now
        X_test = rows_of_table(X, rows)
        for j, v in enumerate(inner_folds):
            model = models[best][v]
            loss_of = default_loss(model) if loss is None else loss
            validation[t, v] = losses[best, j]
            test[t, v] = loss_of(model, X_test, y[rows])
    return NestedResult(tuple(chosen), validation, test, n * (n - 1) * len(tried))


def _best_setting(losses, settings) -> int:
    """Eq. (1); of equals the setting that comes first in the alphabet."""
    mean = losses.mean(1)
    if not np.isfinite(mean).any():
        raise ValueError("No setting has a finite validation loss.")
    good = np.flatnonzero(mean == np.nanmin(mean))
    return int(min(good, key=lambda m: describe_setting(settings[m])))


def _fold_numbers(y, folds, stratified, random_state) -> np.ndarray:
    """The fold (n,) of each row."""
    if not isinstance(folds, (int, np.integer)):
        fold = np.unique(np.asarray(folds), return_inverse=True)[1]
        if len(fold) != len(y):
            raise ValueError(f"folds must have {len(y)} entries, got {len(fold)}.")
        count = int(fold.max()) + 1
    else:
        count = int(folds)
        fold = np.empty(len(y), dtype=int)
    if count < 3:
        raise ValueError("Nested folds need three parts: to fit, to choose, to test.")
    if count > len(y):
        raise ValueError(f"{len(y)} rows are too few for {count} folds.")
    if isinstance(folds, (int, np.integer)):
        kind = StratifiedKFold if stratified else KFold
        parts = kind(
            count, shuffle=True, random_state=draw_seed(make_rng(random_state))
        )
        for f, (_, rows) in enumerate(parts.split(np.zeros((len(y), 1)), y)):
            fold[rows] = f
    return fold

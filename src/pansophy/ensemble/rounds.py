"""What both AdaBoosts share: a round, the driver of the rounds, and reading them.

A round fits a member to the current row weights and says how well it did; the weights
that follow are the business of the two methods. Trees of ours grow on one table that
is sorted once (`members.py`), and answer for the training rows by the leaves in which
growth has put them, without a prediction.
"""

import warnings
from abc import abstractmethod
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator, InterruptedFitWarning, check_weights
from ..core import threads
from ..core.iterate import iterate
from ..core.progress import watched
from . import level_coding
from .members import (
    TreeTable,
    can_share_table,
    check_float32_rows,
    clone_with_seed,
    has_threshold_tree,
)
from .resample import member_seeds

MIN_WEIGHT = np.finfo(float).eps  # below this a positive weight is not let fall
PARALLEL_VALUES = (
    1 << 21
)  # values of the table from which a round is shared between threads


class AdaBoostState(NamedTuple):
    """What a round hands to the next."""

    w: np.ndarray  # (n,) weights, sum 1
    models: tuple = ()
    weights: tuple = ()
    errors: tuple = ()
    objective: float = 1.0
    done: bool = False

    def add(self, model, weight, error, objective, done=False):
        """The state with a member more."""
        return self._replace(
            models=(*self.models, model),
            weights=(*self.weights, weight),
            errors=(*self.errors, error),
            objective=objective,
            done=done,
        )


def change_until_done(old, new) -> float:
    """A change for `iterate`: none once a round says that it was the last."""
    return 0.0 if new.done else np.inf


class AdaBoostData(NamedTuple):
    """What the rounds look at."""

    X: Any
    y: np.ndarray
    template: Any
    table: TreeTable | None

    def member(self, seed):
        """An unfitted member."""
        if self.table is not None:
            return self.table.copy(seed)
        return clone_with_seed(self.template, seed)


class AbstractAdaBoost(Estimator):
    """Members in `estimators_` with a weight and an error each."""

    @abstractmethod
    def fit(self, X, y, sample_weight=None) -> Any: ...

    @abstractmethod
    def staged_predict(self, X) -> Any: ...

    @abstractmethod
    def _default(self) -> Any:
        """The estimator that None stands for."""

    @abstractmethod
    def _round(self, state, data, seed) -> AdaBoostState:
        """One member more, and the weights after it."""

    def _template(self):
        return self._default() if self.estimator is None else self.estimator

    def _checked(self, X, y, y_kind, w):
        return level_coding.check_fit_table(self, self._template(), X, y, y_kind, w)

    def _fit(self, X, y, sample_weight):
        """Rounds until there are enough members, or none is of use."""
        n = X.shape[0]
        w = check_weights(sample_weight, np.empty((n, 0)))
        w = np.full(n, 1.0 / n) if w is None else w / w.sum()
        self.__dict__.pop("_forest", None)
        self.estimator_ = template = clone(self._template())
        table = TreeTable(template, X, y, True) if can_share_table(template) else None
        coding = getattr(self, "coding_", None)
        template = template if coding is None else coding.told(template)
        data = AdaBoostData(X, y, template, table)
        seeds = iter(member_seeds(self.random_state, self.n_estimators))
        step = lambda state: self._round(state, data, next(seeds))
        run = lambda task: iterate(
            step,
            AdaBoostState(w),
            max_iter=self.n_estimators,
            tol=0.0,
            change=change_until_done,
            task=task,
        )
        # rounds follow each other: threads pay only where one round is long
        jobs = 1 if table is not None and n * X.shape[1] < PARALLEL_VALUES else None
        with threads.limited(jobs):
            result = watched(self, run, total=self.n_estimators, X=X, y=y)
        self._store(result)
        _ = self._forest  # packed now: predictions leave the model as it is
        return self

    def _store(self, result):
        state, k = result.state, len(result.state.models)
        if result.interrupted and k:
            warnings.warn(
                f"{type(self).__name__} was interrupted after {k} members; the model "
                "is usable as it stands.",
                InterruptedFitWarning,
                stacklevel=5,
            )
        elif result.interrupted:
            raise KeyboardInterrupt
        self.estimators_ = list(state.models)
        self.estimator_weights_ = np.zeros(self.n_estimators)
        self.estimator_errors_ = np.ones(self.n_estimators)
        self.estimator_weights_[:k] = state.weights
        self.estimator_errors_[:k] = state.errors
        self.weighted_errors_ = np.array(state.errors)
        self.n_iter_, self.history_ = result.n_iter, result.history

    @cached_property
    def _forest(self):
        """All members in one packed forest where they are trees of numbers."""
        if not all(has_threshold_tree(m) for m in self.estimators_):
            return None
        return self._pack()

    @abstractmethod
    def _pack(self) -> Any: ...

    def _rows(self, X):
        """X checked for a prediction: float32 for the forest, else as it is."""
        check_is_fitted(self)
        if self._forest is not None:
            return check_float32_rows(self, X)
        return level_coding.check_prediction_table(self, X)

    @property
    def feature_importances_(self):
        """Mean of the members' importances, by their weights."""
        check_is_fitted(self)
        if not all(hasattr(m, "feature_importances_") for m in self.estimators_):
            name = type(self.estimator_).__name__
            raise AttributeError(f"{name} has no feature_importances_.")
        a = self.estimator_weights_[: len(self.estimators_)]
        a = a if a.sum() > 0 else np.ones(len(a))
        return a @ [m.feature_importances_ for m in self.estimators_] / a.sum()

    def staged_score(self, X, y, sample_weight=None):
        """The score after each round."""
        from sklearn.metrics import accuracy_score, r2_score

        score = accuracy_score if hasattr(self, "classes_") else r2_score
        for answer in self.staged_predict(X):
            yield score(y, answer, sample_weight=sample_weight)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "estimators_")

    def __len__(self):
        return len(self.estimators_)

    def __getitem__(self, index):
        return self.estimators_[index]

    def __iter__(self):
        return iter(self.estimators_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._template()).input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.allow_nan = inner.allow_nan
        words = getattr(self._template(), "categorical_features", None)
        tags.input_tags.string = words is not None
        return tags

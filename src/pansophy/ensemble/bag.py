"""What both bags share: fitting the members, their mean, and rows out of the bag."""

import warnings
from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator, check_weights
from ..core import threads
from ..core.progress import watched
from ..params import ParameterError
from . import level_coding
from .members import (
    TreeTable,
    can_share_table,
    check_float32_rows,
    collect_members,
    fit_member,
    has_threshold_tree,
    is_own_tree,
    mean_of_packed_trees,
    pack_member_trees,
    takes_sample_weight,
)
from .resample import (
    ResamplingPlan,
    member_seeds,
    number_of_columns_to_draw,
    number_of_rows_to_draw,
)


def available_if_member_has(method):
    """A method that exists where the estimator (or the first member) has it."""

    def has(bag):
        fitted = getattr(bag, "estimators_", None)
        return hasattr(fitted[0] if fitted else bag._template(), method)

    return available_if(has)


def columns_of_member(X, columns):
    """The columns of a member; no copy if these are all."""
    whole = len(columns) == X.shape[1] and bool(np.all(np.diff(columns) == 1))
    return X if whole else X[:, columns]


def fit_bagged_member(seed, template, scheme, X, y, w, table=None, coding=None):
    """The member of a seed, fitted to what it draws, and its columns."""
    columns, counts = scheme.draw(seed)
    counts = None if scheme.all_rows else counts
    some = None if scheme.all_columns else columns
    if table is None:
        template = template if coding is None else coding.told(template, some)
        return fit_member(template, seed, X, y, some, counts, w), columns
    model, weight = table.copy(seed), counts
    if w is not None:
        weight = w if counts is None else counts * w
    table.grow(model, weight, some)
    return model, columns


class AbstractBagging(Estimator):
    """Members in `estimators_`, each with its seed and its columns."""

    @abstractmethod
    def fit(self, X, y, sample_weight=None) -> Any: ...

    @abstractmethod
    def _default(self) -> Any:
        """The estimator that None stands for."""

    @abstractmethod
    def _answer(self, model, X, method) -> Any:
        """What one member says of rows."""

    @abstractmethod
    def _set_oob(self, mean, y, covered) -> None:
        """Store predictions out of the bag and their score."""

    def _template(self):
        return self._default() if self.estimator is None else self.estimator

    def _checked(self, X, y, y_kind, w):
        return level_coding.check_fit_table(self, self._template(), X, y, y_kind, w)

    def _fit(self, X, y, sample_weight):
        """Members not yet there, and what lies out of their bags."""
        scheme, w = self._scheme(X, sample_weight)
        if self.oob_score and not self.bootstrap:
            raise ParameterError("oob_score needs bootstrap=True.")
        if self.oob_score and self.warm_start:
            raise ParameterError("oob_score needs warm_start=False.")
        kept = self.warm_start and hasattr(self, "estimators_")
        have = len(self.estimators_) if kept else 0
        if self.n_estimators < have:
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be at least the {have} members "
                "that warm_start keeps."
            )
        if have == self.n_estimators:
            warnings.warn(
                "warm_start without more n_estimators fits no new members.",
                stacklevel=3,
            )
            return self
        self.__dict__.pop("_forest", None)
        self.estimator_ = clone(self._template())
        seeds = member_seeds(self.random_state, self.n_estimators, have)
        made = lambda: self._fitted(scheme, seeds, X, y, w)
        run = lambda task: collect_members(self, made(), task, "member", have)
        with threads.limited(self.n_jobs):
            verbose = self.verbose
            pairs = watched(self, run, total=len(seeds), X=X, y=y, verbose=verbose)
            self._store(pairs, (scheme, seeds[: len(pairs)]), kept)
            _ = self._forest  # packed now: predictions leave the model as it is
            if self.oob_score:
                self._score_out_of_bag(X, y)
        return self

    def _scheme(self, X, sample_weight):
        """How rows and columns are drawn; weights that members get, or None."""
        n, d = X.shape
        w = check_weights(sample_weight, np.empty((n, 0)))
        rows = number_of_rows_to_draw(
            self.max_samples, n, w if self.bootstrap else None
        )
        columns = number_of_columns_to_draw(self.max_features, d)
        if not self.bootstrap and rows > n:
            raise ParameterError(
                f"max_samples={self.max_samples} rows cannot be drawn from {n} without "
                "replacement."
            )
        if columns > d and not self.bootstrap_features:
            raise ParameterError(f"max_features={columns} is more than the {d} of X.")
        if (
            w is not None
            and not self.bootstrap
            and not takes_sample_weight(self._template())
        ):
            raise ValueError(
                f"{type(self._template()).__name__} takes no sample_weight; use "
                "bootstrap=True to draw rows by weight."
            )
        p = w / w.sum() if w is not None and self.bootstrap else None
        scheme = ResamplingPlan(
            n, d, rows, columns, self.bootstrap, self.bootstrap_features, p
        )
        return scheme, None if self.bootstrap else w

    def _store(self, pairs, draws, kept):
        """Members, their columns and how they were drawn, after those that are kept."""
        if not kept:
            self.estimators_, self.estimators_features_, self._draws = [], [], []
        self.estimators_ = [*self.estimators_, *(model for model, _ in pairs)]
        columns = [columns for _, columns in pairs]
        self.estimators_features_ = [*self.estimators_features_, *columns]
        self._draws = [*self._draws, draws]

    def _fitted(self, scheme, seeds, X, y, w):
        """(member, columns) one after the other, computed a few at a time."""
        template = self.estimator_
        table = TreeTable(template, X, y) if can_share_table(template) else None
        if table is not None and not scheme.all_columns and not table.takes_features:
            table = None
        job = (template, scheme, X, y, w, table, getattr(self, "coding_", None))
        if is_own_tree(template):
            return threads.run((lambda s=s: fit_bagged_member(s, *job)) for s in seeds)
        pool = Parallel(n_jobs=self.n_jobs, return_as="generator")
        return pool(delayed(fit_bagged_member)(s, *job) for s in seeds)

    @cached_property
    def _forest(self):
        """All members in one packed forest where they are trees of numbers."""
        if not all(has_threshold_tree(m) for m in self.estimators_):
            return None
        whole = all(s.all_columns for s, _ in self._draws)
        columns = None if whole else self.estimators_features_
        return pack_member_trees(self.estimators_, columns, self.n_features_in_)

    def _mean(self, X, method):
        """Mean of the members' answers, eq. (1)."""
        check_is_fitted(self)
        if self._forest is not None:
            with threads.limited(self.n_jobs):
                mean = mean_of_packed_trees(self._forest, check_float32_rows(self, X))
            if method == "predict_proba":
                return mean[:, 0]
            return mean[:, 0, 0] if mean.shape[1] == 1 else mean[:, :, 0]
        X = level_coding.check_prediction_table(self, X)
        with threads.limited(self.n_jobs):
            pairs = zip(self.estimators_, self.estimators_features_)
            pool = Parallel(n_jobs=self.n_jobs, return_as="generator")
            ask = delayed(self._answer)
            return sum(
                pool(ask(m, columns_of_member(X, c), method) for m, c in pairs)
            ) / len(self)

    def _score_out_of_bag(self, X, y):
        """Predictions of each row by the members that have not drawn it."""
        method = "predict_proba" if hasattr(self, "classes_") else "predict"
        counts = (s.draw(seed)[1] for s, seeds in self._draws for seed in seeds)

        def ask(model, columns, drawn):
            rows = np.flatnonzero(drawn == 0)
            if not len(rows):
                return rows, None
            return rows, self._answer(
                model, columns_of_member(X[rows], columns), method
            )

        triples = zip(self.estimators_, self.estimators_features_, counts)
        total, times = None, np.zeros(len(y), np.int64)
        for rows, answer in threads.run((lambda t=t: ask(*t)) for t in triples):
            if answer is not None:
                total = (
                    np.zeros((len(y), *answer.shape[1:])) if total is None else total
                )
                total[rows] += answer
                times[rows] += 1
        self._store_out_of_bag(total, times, y)

    def _store_out_of_bag(self, total, times, y):
        self.oob_missing_ = np.flatnonzero(times == 0)
        if len(self.oob_missing_):
            warnings.warn(
                f"{len(self.oob_missing_)} of {len(y)} rows were drawn by every member "
                "and have no prediction out of the bag; oob_missing_ lists them.",
                stacklevel=4,
            )
        if total is None:
            shape = (len(y), self.n_classes_) if hasattr(self, "classes_") else y.shape
            total = np.zeros(shape)
        share = np.where(times > 0, times, np.nan)
        mean = total / (share if total.ndim == 1 else share[:, None])
        self._set_oob(mean, y, np.flatnonzero(times))

    @property
    def estimators_samples_(self):
        """Rows that each member drew, in ascending order; drawn again when asked."""
        seen = [s.draw(seed)[1] for s, seeds in self._draws for seed in seeds]
        return [np.repeat(np.arange(len(c)), c) for c in seen]

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
        tags.input_tags.sparse, tags.input_tags.allow_nan = (
            inner.sparse,
            inner.allow_nan,
        )
        words = getattr(self._template(), "categorical_features", None)
        tags.input_tags.string = words is not None
        return tags

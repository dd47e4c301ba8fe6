"""The fit that both exact boosters share: check, start, run, store."""

import math
from numbers import Integral
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from ..core.random import rng_from
from ..losses import base as kinds
from ..params import Rule
from ..tree.abstract import begin, features_at_a_node, weights_of
from ..tree.columns import columns
from ..tree.decision_tree import DecisionTreeRegressor
from ..tree.grow import DEEP, Limits
from . import boosting
from .abstract_boosting import AbstractBoosting
from .trees import concatenate_trees

EPS = np.finfo(float).eps
DEVIANCE_KINDS = (kinds.HALF_SQUARED, kinds.LOGISTIC)  # scores are deviances of these
InitEstimator = Annotated[
    Any, Rule("an estimator", lambda v: hasattr(v, "fit") and hasattr(v, "predict"))
]


class AbstractGradientBoosting(AbstractBoosting):
    """Boosting with exact trees by eq. (3) of `boosting.py`."""

    def _start(self, X):
        K = self.n_trees_per_iteration_
        if isinstance(self.init_, str):
            return np.zeros((len(X), K))
        return raw_prediction_of_init(self, X)

    def _take(self, X, y, sample_weight, y_kind):
        """X as float32, y and w, all checked; rows of weight 0 are dropped."""
        X, y = begin(self, X, y, y_kind)
        w = weights_of(sample_weight, X.shape[0])
        if w is not None and not np.all(w > 0):
            keep = np.flatnonzero(w > 0)
            X, y, w = X.tocsr()[keep] if sp.issparse(X) else X[keep], y[keep], w[keep]
        return X, y, w

    def _boost(self, X, y, labels, w, K, monitor, given):
        """Run the rounds and store what came of them; labels are y as given.

        `given` are validation rows of the user's own, or None.
        """
        begun = self._goes_on()
        old = self._old_trees(K)
        if self.n_estimators < len(old) // K:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to the "
                f"{len(old) // K} rounds that a warm start goes on from."
            )
        if not begun:
            self._seed = int(rng_from(self.random_state).integers(0, 2**62))
        self.n_trees_per_iteration_ = K
        (X, y, labels, w), held = self._held_out(X, y, labels, w, given)
        self.max_features_ = features_at_a_node(self.max_features, X.shape[1])
        if not begun:
            self._begin_init(X, labels, w)
            self.trees_ = concatenate_trees([], X.shape[1])
        X = X.toarray() if sp.issparse(X) else X
        table = boosting.BoostingRows(X, y, w, self._raw_now(X))
        if held is not None:
            V = held[0].toarray() if sp.issparse(held[0]) else held[0]
            held = boosting.BoostingRows(V, held[1], held[2], self._raw_now(V))
        rule = self._rule(len(y), float(len(y) if w is None else w.sum()))
        booster = boosting.Booster(columns(X, w), table, rule, self._seed, held)
        self._run(booster, old, begun, X, y, monitor)
        return self

    def _raw_now(self, X):
        """(K, n) raw predictions of the trees there are."""
        raw = self._climb(X, self._start(X), 0, None)
        return np.ascontiguousarray(raw.T)

    def _held_out(self, X, y, labels, w, given):
        """Training rows and, for early stopping, validation rows."""
        if given is not None and self.n_iter_no_change is None:
            raise ValueError(
                "X_val and y_val are given, but n_iter_no_change=None; it must be a "
                "number of rounds to use them."
            )
        if given is not None or self.n_iter_no_change is None:
            return (X, y, labels, w), given
        stratify = labels if hasattr(self, "classes_") else None
        X = X.tocsr() if sp.issparse(X) else X
        train, test = train_test_split(
            np.arange(X.shape[0]),
            test_size=self.validation_fraction,
            stratify=stratify,
            random_state=self._seed % 2**32,
        )
        part = lambda r: None if w is None else w[r]
        held = X[test], y[test], part(test)
        return (X[train], y[train], labels[train], part(train)), held

    def _begin_init(self, X, labels, w):
        """Fit what boosting starts from, into `init_`."""
        if isinstance(self.init, str):
            self.init_ = self.init
            return
        self.init_ = self._plain(labels, w) if self.init is None else clone(self.init)
        if w is None:
            self.init_.fit(X, labels)
            return
        try:
            self.init_.fit(X, labels, sample_weight=w)
        except TypeError as error:
            if "sample_weight" not in str(error):
                raise
            raise ValueError(
                f"the initial estimator {type(self.init_).__name__} does not support "
                "sample weights."
            ) from error

    def _rule(self, n, total) -> boosting.BoostingOptions:
        """The parameters as a rule of boosting."""
        whole = lambda v: int(v) if isinstance(v, Integral) else math.ceil(v * n)
        least = whole(self.min_samples_leaf)
        limits = Limits(
            max_depth=int(DEEP if self.max_depth is None else self.max_depth),
            min_split=max(whole(self.min_samples_split), 2, 2 * least),
            min_leaf=least,
            min_weight=float(self.min_weight_fraction_leaf) * total * self.subsample,
            min_gain=(float(self.min_impurity_decrease) - EPS) * total * self.subsample,
            max_leaves=int(self.max_leaf_nodes or 0),
            max_features=self.max_features_,
        )
        loss = self._loss_of()
        adapts = loss.kind == kinds.HUBER and isinstance(self.loss, str)
        return boosting.BoostingOptions(
            loss,
            float(self.learning_rate),
            limits,
            newton=False,
            share=float(self.subsample),
            level=getattr(self, "alpha", None) if adapts else None,
            alpha=float(self.ccp_alpha),
        )

    def _run(self, booster, old, begun, X, y, monitor):
        """The rounds with their scores, the stopping rule and the monitor."""
        self._factor = 2.0 if self._loss_of().kind in DEVIANCE_KINDS else 1.0
        log = RoundScores(self, booster, begun, monitor)
        state = booster.start(old)
        before = getattr(self, "history_", {}) if begun else {}
        left = self.n_estimators - len(old) // booster.K
        shot = lambda s: {"trees_": concatenate_trees(s.trees, self.n_features_in_)}
        result = self._drive(
            lambda task: booster.run(state, left, log.stop, task, log.note),
            total=left,
            X=X,
            y=y,
            snapshot=shot,
        )
        log.store(result.state)
        for name, values in before.items():
            self.history_[name] = np.concatenate((values, self.history_.get(name, [])))

    @property
    def estimators_(self):
        """(rounds, K) decision trees, leaf values without the learning rate."""
        check_is_fitted(self)
        out = np.empty(self.trees_.total, object)
        for t, tree in enumerate(self.trees_.all()):
            if self.learning_rate:
                tree = tree._replace(value=tree.value / self.learning_rate)
            model = DecisionTreeRegressor(
                max_depth=self.max_depth, max_leaf_nodes=self.max_leaf_nodes
            )
            model.tree_, model.n_outputs_ = tree, 1
            model.n_features_in_ = self.n_features_in_
            model.max_features_ = self.max_features_
            out[t] = model
        return out.reshape(-1, self.n_trees_per_iteration_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class RoundScores:
    """Scores of the rounds, kept on the model, and whether to stop."""

    def __init__(self, model, booster, begun, monitor):
        self.model, self.booster, self.monitor = model, booster, monitor
        old = lambda name: list(getattr(model, name, [])) if begun else []
        self.train, self.oob = old("train_score_"), old("oob_scores_")
        self.gained = old("oob_improvement_")
        self.recent = np.full(model.n_iter_no_change or 0, np.inf)
        self.halt = False

    def note(self, state):
        """Write down the scores after a round."""
        model, factor, i = self.model, self.model._factor, len(self.train)
        self.train.append(factor * state.objective)
        if model.subsample < 1:
            self.oob.append(factor * state.outside)
            before = self.oob[-2] if i else factor * state.before
            self.gained.append(before - self.oob[-1])
        if self.monitor is not None:
            self.store(state)
            self.halt = bool(self.monitor(i, model, {"state": state}))
        if self.booster.held is not None:
            late = factor * state.validation
            if np.any(late + model.tol < self.recent):
                self.recent[i % len(self.recent)] = late
            else:
                self.halt = True
        return state

    def stop(self, state):
        return self.halt

    def store(self, state):
        """What is known so far, as fitted attributes."""
        model = self.model
        model.trees_ = concatenate_trees(state.trees, model.n_features_in_)
        model.n_estimators_ = model.trees_.total // model.n_trees_per_iteration_
        model.n_iter_ = model.n_estimators_
        model.train_score_ = np.array(self.train)
        if model.subsample < 1 and self.oob:
            model.oob_scores_ = np.array(self.oob)
            model.oob_improvement_ = np.array(self.gained)
            model.oob_score_ = float(self.oob[-1])


def raw_prediction_of_init(model, X):
    """(n, K) raw predictions of the estimator that boosting starts from."""
    loss, first = model._loss_of(), model.init_
    if not hasattr(model, "classes_"):
        return loss.link(np.asarray(first.predict(X), float)).reshape(len(X), 1)
    if not hasattr(first, "predict_proba"):
        raise ValueError(
            f"init of {type(model).__name__} must have predict_proba, "
            f"{type(first).__name__} has not."
        )
    p = np.clip(np.asarray(first.predict_proba(X), float), EPS, 1 - EPS)
    if model.n_trees_per_iteration_ > 1:
        logs = np.log(p)
        return logs - logs.mean(axis=1, keepdims=True)
    odds = np.log(p[:, 1]) - np.log1p(-p[:, 1])
    return (odds / 2 if loss.kind == kinds.EXPONENTIAL else odds)[:, None]

"""The fit that both histogram boosters share: check, hold out, bin, run, store."""

import math
from numbers import Integral
from typing import Annotated, Any

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import validate_data

from ..core import arrays
from ..core.random import rng_from
from ..core.rows import DatasetRows, is_dataset
from ..losses import base as kinds
from ..params import ParameterError, Rule, check_params
from ..tree.abstract import CHECKS, check_signs, weights_of
from ..tree.grow import DEEP, Limits
from ..tree.inputs import Inputs, names_of, narrowing
from . import boosting
from .abstract_boosting import AbstractBoosting
from .binning import bin_columns, float32_blocks, number_of_rows, take_float32_rows
from .trees import concatenate_trees

MIN_LEAF_CURVATURE = 1e-3  # summed over a leaf
EARLY_STOPPING_ROWS = 10_000  # rows from which early_stopping="auto" stops early
DENSE_CHECKS = {**CHECKS, "accept_sparse": False}
Splitter = Annotated[Any, Rule("a splitter", lambda v: hasattr(v, "split"))]
Interactions = Annotated[
    Any,
    Rule(
        "a list of lists of columns",
        lambda v: (
            isinstance(v, (list, tuple)) and all(hasattr(g, "__iter__") for g in v)
        ),
    ),
]


class AbstractHistGradientBoosting(AbstractBoosting):
    """Boosting on binned columns by eq. (2) of `boosting.py`."""

    def _start(self, X):
        return np.tile(self.baseline_, (len(X), 1))

    def _take(self, X, y, sample_weight, y_kind):
        """X encoded as float32 (or a table on disk), y and w, all checked.

        Sets `inputs_` and `is_categorical_`; a warm start keeps the old ones.
        """
        check_params(self)
        if is_dataset(X) and not has_categorical_columns(X, self.categorical_features):
            return self._take_dataset(X, y, sample_weight, y_kind)
        X = arrays.to_numpy(X) if arrays.is_foreign(X) else X
        words = self.categorical_features
        w = None
        if words is None or (isinstance(words, str) and names_of(X) is None):
            inputs = None
        elif self._goes_on():
            inputs = self.inputs_
        else:
            if sample_weight is not None:
                w = weights_of(sample_weight, np.shape(X)[0])
            inputs = Inputs.learn(X, words, w=w)
        table = X if inputs is None or inputs.plain else inputs.encode(X)
        with narrowing():
            table, y, _ = self._begin(table, y, y_kind=y_kind, **DENSE_CHECKS)
        if table is not X and inputs is not None and not inputs.plain:
            validate_data(self, X, skip_check_array=True)  # for the names of columns
        if inputs is None:
            inputs = Inputs(np.zeros(table.shape[1], np.int8))
        self.inputs_ = inputs
        mask = inputs.is_categorical
        self.is_categorical_ = mask if mask.any() else None
        return table, y, weights_of(sample_weight, len(table))

    def _take_dataset(self, X, y, sample_weight, y_kind):
        if self.categorical_features not in (None, "from_dtype"):
            raise ParameterError(
                "categorical_features must be None or 'from_dtype' for a table on "
                "disk, whose columns are read as numbers."
            )
        X, y, w = self._begin(X, y, sample_weight, y_kind=y_kind)
        y = np.asarray(y)
        if y.ndim != 1 or len(y) != X.n:
            raise ValueError(f"X has {X.n} rows, but y has shape {y.shape}.")
        self.inputs_, self.is_categorical_ = Inputs(np.zeros(X.d, np.int8)), None
        return X, y, w

    # -- validation rows -------------------------------------------------------

    def _held_out(self, X, y, w, given, stratify):
        """Training rows, and validation rows or None.

        `given` is what `fit` was handed for validation, or None.
        """
        n = X.shape[0]
        early = self.early_stopping
        self.do_early_stopping_ = (
            n > EARLY_STOPPING_ROWS if early == "auto" else bool(early)
        )
        if given is not None:
            if early is False:
                raise ValueError(
                    "X_val and y_val are given, but early_stopping=False; it must be "
                    "True or 'auto' to use them."
                )
            self.do_early_stopping_ = True
            return (X, y, w), given
        share = self.validation_fraction
        if not self.do_early_stopping_ or share is None:
            return (X, y, w), None
        if hasattr(share, "split"):
            train, test = next(iter(share.split(np.zeros((n, 1)), y)))
        else:
            train, test = train_test_split(
                np.arange(n),
                test_size=share,
                stratify=y if stratify else None,
                random_state=self._seed % 2**32,
            )
        part = lambda T, r: (T, y[r], None if w is None else w[r])
        held = part(take_float32_rows(X, test), test)
        train = np.sort(train)
        rows = (X, train) if isinstance(X, DatasetRows) else X[train]
        return part(rows, train), held

    # -- the rounds ------------------------------------------------------------

    def _boost(self, X, y, w, held, K):
        """Run the rounds and store what came of them."""
        loss = self._loss_of()
        begun = self._goes_on()
        old = self._old_trees(K)
        done = len(old) // K
        if self.max_iter < done:
            raise ValueError(
                f"max_iter={self.max_iter} must be at least the {done} rounds that a "
                "warm start goes on from."
            )
        X, y, w = drop_zero_weight_rows(X, y, w)
        forms = self.inputs_.forms
        limits = self._limits(forms)
        table = bin_columns(X, w, self.max_bins, forms)
        self.n_trees_per_iteration_ = K
        if not begun:
            self.baseline_ = initial_raw_prediction(loss, y, w, K)
            self.trees_ = concatenate_trees([], len(forms))
        first = self._raw_of(X, begun)
        held_table = None
        if held is not None:
            start = self._raw_of(held[0], begun)
            held_table = boosting.BoostingRows(held[0], held[1], held[2], start)
        rows = boosting.BoostingRows(None, y, w, first)
        rule = boosting.BoostingOptions(
            loss, self.learning_rate, limits, l2=float(self.l2_regularization)
        )
        booster = boosting.Booster(table, rows, rule, self._seed, held_table)
        state = booster.start(old)
        self._run(booster, state, begun, X, y)
        return self

    def _run(self, booster, state, begun, X, y):
        watch = BoostingEarlyStopping(self, booster)
        if begun:
            watch.train, watch.late = (
                list(self.train_score_),
                list(self.validation_score_),
            )
        else:
            watch.note(state)
        before = getattr(self, "history_", {}) if begun else {}
        left = self.max_iter - len(state.trees) // booster.K
        shot = lambda s: {"trees_": concatenate_trees(s.trees, self.n_features_in_)}
        result = self._drive(
            lambda task: booster.run(state, left, watch.stop, task, watch.note),
            total=left,
            X=X,
            y=y,
            snapshot=shot,
        )
        self.trees_ = concatenate_trees(result.state.trees, self.n_features_in_)
        self.n_iter_ = self.trees_.total // booster.K
        for name, values in before.items():
            self.history_[name] = np.concatenate((values, self.history_.get(name, [])))
        self.train_score_ = np.array(watch.train)
        self.validation_score_ = np.array(watch.late)

    def _raw_of(self, X, begun):
        """(K, n) raw predictions that the first round starts from."""
        if not begun:
            return np.repeat(self.baseline_[:, None], number_of_rows(X), axis=1)
        parts = [self._climb(b, self._start(b), 0, None) for b in float32_blocks(X)]
        return np.ascontiguousarray(np.concatenate(parts).T)

    def _limits(self, forms) -> Limits:
        """The parameters as limits of growth."""
        d = len(forms)
        signs = self._signs(d)
        if signs is not None and np.any(signs[forms > 0]):
            raise ValueError("categorical features cannot have monotonic constraints.")
        return Limits(
            max_depth=int(self.max_depth or DEEP),
            min_leaf=int(self.min_samples_leaf),
            min_split=max(2, 2 * int(self.min_samples_leaf)),
            min_weight=MIN_LEAF_CURVATURE,
            min_gain=np.finfo(float).tiny,
            max_leaves=int(self.max_leaf_nodes or 0),
            max_features=max(1, math.ceil(self.max_features * d)),
            signs=signs,
            groups=interaction_groups(self.interaction_cst, d),
        )

    def _signs(self, d):
        """Monotone constraints by feature, or None."""
        signs = self.monotonic_cst
        if isinstance(signs, dict):
            names = getattr(self, "feature_names_in_", None)
            if names is None:
                raise ValueError(
                    "monotonic_cst is a dict of names, but X has no column names."
                )
            unknown = [n for n in signs if n not in names]
            if unknown:
                raise ValueError(f"monotonic_cst names {unknown[0]!r}, which X lacks.")
            signs = [signs.get(name, 0) for name in names]
        found = check_signs(signs, d, 1, len(getattr(self, "classes_", "ab")))
        return found if found is not None and np.any(found) else None


class BoostingEarlyStopping:
    """Scores after each round, and whether to stop."""

    def __init__(self, model, booster):
        self.model, self.booster = model, booster
        self.train: list[float] = []
        self.late: list[float] = []
        self.scorer: Any = None
        if model.do_early_stopping_ and model.scoring != "loss":
            self.scorer = check_scoring(model, model.scoring)

    def note(self, state):
        """Append the scores of a state, if the fit stops early."""
        if not self.model.do_early_stopping_:
            return state
        held = self.booster.held
        if self.scorer is None:
            self.train.append(-state.objective)
            if held is not None:
                self.late.append(-state.validation)
        else:
            self.train.append(self.score(self.booster.table, state.f))
            if held is not None:
                self.late.append(self.score(held, state.held))
        return state

    def score(self, table, f):
        """The scorer's answer for raw predictions f."""
        model = self.model
        y = table.y
        if hasattr(model, "classes_"):
            y = model.classes_[np.where(y > 0, y, 0).astype(int)]
        extra = {} if table.w is None else {"sample_weight": table.w}
        model._given = f.T
        try:
            return self.scorer(model, table.X, y, **extra)
        finally:
            del model._given

    def stop(self, state):
        """None of the last rounds was better than the one before them by tol."""
        scores = self.late if self.booster.held is not None else self.train
        back = self.model.n_iter_no_change + 1
        if not self.model.do_early_stopping_ or len(scores) < back:
            return False
        return not any(s > scores[-back] + self.model.tol for s in scores[-back + 1 :])


def has_categorical_columns(X, categorical):
    """Whether X is an Arrow table in memory with categorical columns."""
    table = hasattr(X, "column_names") and hasattr(X, "num_rows")
    return table and bool(Inputs.learn(X, categorical).is_categorical.any())


def initial_raw_prediction(loss, y, w, K):
    """(K,) the loss's best constant; a class in no training row starts far below."""
    if loss.kind == kinds.SOFTMAX:
        share = np.bincount(y, w, K) / (len(y) if w is None else np.sum(w))
        start = np.log(np.maximum(share, np.finfo(float).eps))
        return start - start.mean()
    start = np.atleast_1d(loss.constant(y, w)).astype(float)
    if len(start) < K:
        start = np.append(start, np.full(K - len(start), start.min()))
    return np.where(np.isinf(start), np.copysign(700.0, start), start)


def drop_zero_weight_rows(X, y, w):
    """The rows of positive weight."""
    if w is None or np.all(w > 0):
        return X, y, w
    keep = np.flatnonzero(w > 0)
    if isinstance(X, DatasetRows):
        return (X, keep), y[keep], w[keep]
    if isinstance(X, tuple):
        return (X[0], X[1][keep]), y[keep], w[keep]
    return X[keep], y[keep], w[keep]


def interaction_groups(interaction, d):
    """(k, d) mask of the groups of features that may meet, or None for all."""
    if interaction is None:
        return None
    if isinstance(interaction, str):
        if interaction == "no_interactions":
            return np.eye(d, dtype=bool)
        a, b = np.triu_indices(d, 1)
        out = np.zeros((len(a), d), bool)
        out[np.arange(len(a)), a] = out[np.arange(len(a)), b] = True
        return out if len(a) else np.ones((1, d), bool)
    groups = np.zeros((len(interaction), d), bool)
    for g, members in enumerate(interaction):
        for f in members:
            if not isinstance(f, Integral) or not 0 <= int(f) < d:
                raise ValueError(
                    f"interaction_cst has {f!r}, but columns are 0 to {d - 1}."
                )
            groups[g, f] = True
    rest = ~groups.any(axis=0)
    return np.vstack((groups, rest)) if rest.any() else groups


def seed_of_fit(model):
    """A whole number that names the draws of a fit; a warm start keeps it."""
    if model._goes_on() and hasattr(model, "_seed"):
        return model._seed
    return int(rng_from(model.random_state).integers(0, 2**62))

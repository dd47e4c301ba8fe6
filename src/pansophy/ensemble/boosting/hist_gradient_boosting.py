"""Histogram gradient boosting: fast boosting on binned columns, for tables of any size.

Columns become up to 255 bins (`tree/growing/prepared_columns.py`); a round grows a tree
best first on the sums of first and second derivatives by bin (`boosting.py`, eq. 3).
Missing values go to the side with the larger gain, categories are split into two sets,
monotone and interaction constraints hold in every tree. Infinite values are the least
and the greatest of a column.

    f(x) = b + sum_t nu T_t(x)      mean = g^-1(f): identity, log, sigmoid, softmax

X may be a Parquet file or dataset: it is read twice, and kept as one byte per value.

Time O(n d) a tree, whatever its size up to the depth; memory n d bytes and O(n).

Shapes    X (n, d)   y (n,)
Refs      [Friedman2001] [Chen2016] [Ke2017]
"""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.metrics import check_scoring
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ...base import Classifier, Regressor, host_array
from ...core.arrays.class_weight import apply_class_weight
from ...core.arrays.frames import column_names
from ...core.arrays.open_rows import is_lazy
from ...core.arrays.rows import DatasetRows, is_dataset
from ...core.arrays.weighted import check_sample_weight
from ...core.random import make_rng
from ...losses import base as kinds
from ...params import (
    Count,
    Flag,
    Fraction,
    NonNegative,
    OpenFraction,
    ParameterError,
    ParameterRule,
    Positive,
    TwoOrMore,
    Verbosity,
    check_params,
)
from ...tree.abstract_decision_tree import (
    ARRAY_CHECKS,
    BinCount,
    PositiveFraction,
    refuse_tiny_spread,
)
from ...tree.growing.grower import NO_DEPTH_LIMIT, GrowthLimits
from ...tree.growing.input_encoding import InputEncoder
from ...tree.growing.prepared_columns import (
    bin_columns,
    clip_infinities,
    float32_blocks,
    number_of_rows,
    silent_float32_overflow,
    take_float32_rows,
    training_rows_as_float32,
)
from ...tree.storage.tree import LEAF, round_down_float32
from ...typing import ListLike, Matrix, Seed
from ..members import checks_warm_start, require_in_memory
from .abstract_boosting import (
    AbstractBoosting,
    LossObject,
    classes_from_raw,
    classification_loss,
    concatenate_trees,
    keeps_best_rounds,
    probabilities_from_raw,
    regression_loss,
    set_classes,
    targets_from_codes,
)
from .booster_words import answers_fit_words
from .boosting import (
    MULTICLASS_KINDS,
    QUANTILE_KINDS,
    Booster,
    BoostingOptions,
    BoostingRows,
    check_target_domain,
)

MIN_LEAF_CURVATURE = 1e-3  # summed over a leaf
EARLY_STOPPING_ROWS = 10_000  # rows from which early_stopping="auto" stops early
DENSE_CHECKS = {**ARRAY_CHECKS, "accept_sparse": False, "ensure_all_finite": False}
Splitter = Annotated[Any, ParameterRule("a splitter", lambda v: hasattr(v, "split"))]
Interactions = Annotated[
    Any,
    ParameterRule("a list of lists of columns", lambda v: isinstance(v, (list, tuple))),
]


class AbstractHistGradientBoosting(AbstractBoosting):
    """Boosting on binned columns by eq. (3) of `boosting.py`."""

    _tensors = False

    def _initial_raw(self, X):
        return np.tile(self.baseline_, (len(X), 1))

    @property
    def _baseline_prediction(self):
        """(1, K) start of the rounds, under the name by which shap reads it."""
        return self.baseline_[None]

    @property
    def _predictors(self):
        """By round and column the nodes of a tree, in the form that shap reads."""
        K = self.n_trees_per_iteration_
        trees = [NodeTable(node_records(tree)) for tree in self.trees_.to_list()]
        return [trees[t : t + K] for t in range(0, len(trees), K)]

    def _check_inputs(self, X, y, sample_weight, y_kind):
        """X encoded as float32 (or a table on disk), y and w, all checked.

        Sets `inputs_` and `is_categorical_`; a warm start keeps the old ones.
        """
        check_params(self)
        is_table = is_dataset(X) or is_lazy(X)
        if is_table and not has_categorical_columns(X, self.categorical_features):
            return self._check_dataset(X, y, sample_weight, y_kind)
        X = host_array(self, X)
        categorical = self.categorical_features
        w = None
        nameless = isinstance(categorical, str) and column_names(X) is None
        if categorical is None or nameless:
            inputs = None
        elif self._continues():
            inputs = self.inputs_
        else:
            if sample_weight is not None:
                w = check_sample_weight(sample_weight, np.shape(X)[0])
            inputs = InputEncoder.learn(X, categorical, w=w)
        table = X
        if inputs is not None and not inputs.plain:
            table = inputs.encode(X, allow_infinite=True)
        with training_rows_as_float32(table):
            table, y, _ = self._check_training_data(
                table, y, y_kind=y_kind, **DENSE_CHECKS
            )
        table = clip_infinities(table, lambda: table_of_doubles(X))
        if table is not X and inputs is not None and not inputs.plain:
            validate_data(self, X, skip_check_array=True)  # for the names of columns
        if inputs is None:
            inputs = InputEncoder(np.zeros(table.shape[1], np.int8))
        self.inputs_ = inputs
        mask = inputs.is_categorical
        self.is_categorical_ = mask if mask.any() else None
        return table, y, check_sample_weight(sample_weight, len(table))

    def _rows(self, X):
        """X as the trees see it, float32 (n, d)."""
        check_is_fitted(self)
        if not self.inputs_.plain:
            validate_data(self, X, reset=False, skip_check_array=True)
            return self.inputs_.encode(X, allow_infinite=True)
        X = require_in_memory(self, X)
        with silent_float32_overflow():
            table = self._check_new_data(X, **DENSE_CHECKS)
        return clip_infinities(table, lambda: table_of_doubles(X))

    def _check_dataset(self, X, y, sample_weight, y_kind):
        """A table on disk, y and w, all checked."""
        if self.categorical_features not in (None, "from_dtype"):
            raise ParameterError(
                "categorical_features must be None or 'from_dtype' for a table on "
                "disk, whose columns are read as numbers."
            )
        X, y, w = self._check_training_data(X, y, sample_weight, y_kind=y_kind)
        y = np.asarray(y)
        if y.ndim != 1 or len(y) != X.n:
            raise ValueError(f"X has {X.n} rows, but y has shape {y.shape}.")
        self.inputs_ = InputEncoder(np.zeros(X.d, np.int8))
        self.is_categorical_ = None
        return X, y, w

    # -- validation rows -------------------------------------------------------

    def _hold_out(self, X, y, w, given, stratify):
        """Training rows, and validation rows or None.

        `given` are the user's validation rows, or None.
        """
        n = X.shape[0]
        early = self.early_stopping
        self.do_early_stopping_ = (
            n > EARLY_STOPPING_ROWS if early == "auto" else bool(early)
        )
        if given is not None:
            if early is False:
                raise ValueError(
                    "X_val and y_val are passed to fit while at the same time "
                    "early_stopping is False; it must be True or 'auto' to use them."
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
        held_out = part(take_float32_rows(X, test), test)
        train = np.sort(train)
        rows = (X, train) if isinstance(X, DatasetRows) else X[train]
        return part(rows, train), held_out

    # -- the rounds ------------------------------------------------------------

    def _boost(self, X, y, w, held_out, K, init_score=None):
        """Run the rounds and store the result."""
        loss = self._loss()
        if init_score is not None and np.ndim(init_score) and held_out is not None:
            raise ValueError(
                "init_score by row cannot be combined with early stopping: the "
                "validation rows have none. Set early_stopping=False."
            )
        warm = self._continues()
        kept = self._kept_trees(K)
        done = len(kept) // K
        if self.max_iter < done:
            raise ValueError(
                f"max_iter={self.max_iter} must be larger than or equal to "
                f"n_iter_={done} when warm_start==True."
            )
        start = first_scores(init_score, y, w, K)
        X, y, w = drop_zero_weight_rows(X, y, w)
        forms = self.inputs_.forms
        limits = self._limits(forms)
        table = bin_columns(X, w, self.max_bins, forms)
        self.n_trees_per_iteration_ = K
        if not warm:
            self.baseline_ = initial_raw_prediction(loss, y, w, K)
            if init_score is not None:
                scalar = np.ndim(init_score) == 0
                self.baseline_ = np.full(K, float(init_score) if scalar else 0.0)
            self.trees_ = concatenate_trees([], len(forms))
        raw = self._current_raw_columns(X, warm) + start
        rows = BoostingRows(self._rows_to_predict(X), y, w, raw)
        validation = None
        if held_out is not None:
            V, y_val, w_val = held_out
            raw = self._current_raw_columns(V, warm)
            validation = BoostingRows(V, y_val, w_val, raw)
        options = BoostingOptions(
            loss,
            self.learning_rate,
            limits,
            l2=float(self.l2_regularization),
            subsample=self.subsample,
        )
        booster = Booster(table, rows, options, self._seed, validation)
        self._run_rounds(booster, booster.initial_state(kept), warm, X, y)
        return self

    def _rows_to_predict(self, X):
        """The rows as float32 if each round has to predict some; else None."""
        if self.subsample >= 1:
            return None
        if not isinstance(X, np.ndarray):
            raise ParameterError(
                "subsample must be 1 for a table on disk, whose rows are binned once."
            )
        return X

    def _run_rounds(self, booster, state, warm, X, y):
        """The rounds, with their scores and the stopping rule."""
        scores = BoostingEarlyStopping(self, booster)
        if warm:
            done = len(state.trees) // booster.K
            scores.train = list(self.train_score_[: done + 1])
            scores.validation = list(self.validation_score_[: done + 1])
        else:
            scores.record(state)
        before = getattr(self, "history_", {}) if warm else {}
        rounds = self.max_iter - len(state.trees) // booster.K
        result = self._run_driver(
            lambda task: booster.run(state, rounds, scores.stop, task, scores.record),
            total=rounds,
            X=X,
            y=y,
            snapshot=lambda s: {
                "trees_": concatenate_trees(s.trees, self.n_features_in_)
            },
        )
        trees = result.state.trees
        self.n_iter_ = len(trees) // booster.K
        self.best_iteration_ = self.n_iter_
        if hasattr(self, "best_score_"):
            del self.best_score_
        if scores.validation:
            self.best_iteration_ = max(1, int(np.argmax(scores.validation)))
            self.best_score_ = float(scores.validation[self.best_iteration_])
        if keeps_best_rounds(self, booster):
            trees = trees[: self.best_iteration_ * booster.K]
        self.trees_ = concatenate_trees(trees, self.n_features_in_)
        for name, values in before.items():
            self.history_[name] = np.concatenate((values, self.history_.get(name, [])))
        self.train_score_ = np.array(scores.train)
        self.validation_score_ = np.array(scores.validation)

    def _current_raw_columns(self, X, warm):
        """(K, n) raw predictions that the first round starts from."""
        if not warm:
            return np.repeat(self.baseline_[:, None], number_of_rows(X), axis=1)
        parts = [
            self._add_rounds(b, self._initial_raw(b), 0, None)
            for b in float32_blocks(X)
        ]
        return np.ascontiguousarray(np.concatenate(parts).T)

    def _limits(self, forms) -> GrowthLimits:
        """The parameters as limits of growth."""
        d = len(forms)
        signs = self._signs(d)
        if signs is not None and np.any(signs[forms > 0]):
            raise ValueError("Categorical features cannot have monotonic constraints.")
        return GrowthLimits(
            max_depth=int(self.max_depth or NO_DEPTH_LIMIT),
            min_leaf=int(self.min_samples_leaf),
            min_split=max(2, 2 * int(self.min_samples_leaf)),
            min_weight=MIN_LEAF_CURVATURE,
            min_gain=max(float(self.min_split_gain), np.finfo(float).tiny),
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
            signs = signs_by_name(signs, names, type(self).__name__)
        if signs is None:
            return None
        if np.shape(signs) != (d,):
            raise ValueError(
                f"monotonic_cst has shape {np.shape(signs)} but the input data X has "
                f"{d} features."
            )
        if not np.all(np.isin(signs, (-1, 0, 1))):
            raise ValueError(
                "monotonic_cst must be an array-like of -1, 0 or 1. Observed values: "
                f"{np.unique(signs).tolist()}."
            )
        if len(getattr(self, "classes_", "ab")) > 2:
            raise ValueError(
                "monotonic constraints are not supported for multiclass classification."
            )
        return np.asarray(signs, np.int64) if np.any(signs) else None


class NodeTable(NamedTuple):
    """The nodes of a tree, one record each, as scikit-learn has them."""

    nodes: np.ndarray


def node_records(tree) -> np.ndarray:
    """Nodes as records; the order of the fields is scikit-learn's."""
    if tree.splits_by_set:
        raise TypeError(
            "a model with categorical features splits by set, which other packages "
            "cannot read from it: use pansophy.tree.shap_values."
        )
    leaf = tree.children_left == LEAF
    fields = {
        "value": (tree.value[:, 0, 0], np.float64),
        "count": (tree.n_node_samples, np.uint32),
        "feature_idx": (np.where(leaf, 0, tree.feature), np.intp),
        "num_threshold": (thresholds_of_doubles(tree.threshold), np.float64),
        "missing_go_to_left": (tree.missing_go_to_left, np.uint8),
        "left": (np.where(leaf, 0, tree.children_left), np.uint32),
        "right": (np.where(leaf, 0, tree.children_right), np.uint32),
        "gain": (node_gains(tree), np.float64),
        "depth": (tree.places[0], np.uint32),
        "is_leaf": (leaf, np.uint8),
    }
    layout = [(name, kind) for name, (_, kind) in fields.items()]
    records = np.empty(tree.node_count, layout)
    for name, (values, _) in fields.items():
        records[name] = values
    return records


def thresholds_of_doubles(threshold) -> np.ndarray:
    """Thresholds that part float64 numbers as they are parted once they are float32.

    The greatest number that is rounded to t or below lies midway to the float32 after
    t, and is left out where that middle is rounded up (to an even mantissa).
    """
    t = round_down_float32(threshold)
    middle = t.astype(float) / 2 + np.nextafter(t, np.float32(np.inf)).astype(float) / 2
    with np.errstate(over="ignore"):
        return np.where(
            middle.astype(np.float32) > t, np.nextafter(middle, -np.inf), middle
        )


def node_gains(tree) -> np.ndarray:
    """Fall of the summed impurity at each node, 0 at leaves."""
    total = tree.weighted_n_node_samples * tree.impurity
    left, right = tree.children_left, tree.children_right
    return np.where(left == LEAF, 0.0, total - total[left] - total[right])


class BoostingEarlyStopping:
    """Scores after each round, and whether to stop."""

    def __init__(self, model, booster):
        self.model = model
        self.booster = booster
        self.train: list[float] = []
        self.validation: list[float] = []
        self.scorer: Any = None
        if model.do_early_stopping_ and model.scoring != "loss":
            self.scorer = check_scoring(model, model.scoring)

    def record(self, state):
        """Append the scores of a state, if the fit stops early."""
        if not self.model.do_early_stopping_:
            return state
        held_out = self.booster.validation
        if self.scorer is None:
            self.train.append(-state.objective)
            if held_out is not None:
                self.validation.append(-state.validation)
        else:
            self.train.append(self.score(self.booster.rows, state.f))
            if held_out is not None:
                self.validation.append(self.score(held_out, state.validation_f))
        return state

    def score(self, rows, f):
        """The score of raw predictions f for rows."""
        model = self.model
        y = rows.y
        if hasattr(model, "classes_"):
            y = model.classes_[np.where(y > 0, y, 0).astype(int)]
        weights = {} if rows.w is None else {"sample_weight": rows.w}
        model._current_raw = f.T  # the model predicts these until the score is known
        try:
            return self.scorer(model, rows.X, y, **weights)
        finally:
            del model._current_raw

    def stop(self, state):
        """Whether none of the last rounds was better by tol than the one before."""
        held_out = self.booster.validation is not None
        scores = self.validation if held_out else self.train
        back = self.model.n_iter_no_change + 1
        if not self.model.do_early_stopping_ or len(scores) < back:
            return False
        return not any(s > scores[-back] + self.model.tol for s in scores[-back + 1 :])


def table_of_doubles(X):
    """X as float64, infinite values included."""
    return check_array(X, dtype=np.float64, ensure_all_finite=False)


def has_categorical_columns(X, categorical):
    """Whether X is an Arrow table in memory with categorical columns."""
    table = hasattr(X, "column_names") and hasattr(X, "num_rows")
    return table and bool(InputEncoder.learn(X, categorical).is_categorical.any())


def initial_raw_prediction(loss, y, w, K):
    """(K,) the loss's best constant; very low for a class without training rows."""
    if loss.kind == kinds.SOFTMAX:
        share = np.bincount(y, w, K) / (len(y) if w is None else np.sum(w))
        start = np.log(np.maximum(share, np.finfo(float).eps))
        return start - start.mean()
    start = np.atleast_1d(loss.constant(y, w)).astype(float)
    if len(start) < K:
        start = np.append(start, np.full(K - len(start), start.min()))
    return np.where(np.isinf(start), np.copysign(700.0, start), start)


def first_scores(init_score, y, w, K) -> Any:
    """(K, n) raw predictions that rows of positive weight start from, or 0."""
    if init_score is None or np.ndim(init_score) == 0:
        return 0.0
    start = np.asarray(init_score, float)
    start = start[:, None] if start.ndim == 1 else start
    if start.shape != (len(y), K):
        raise ValueError(
            f"init_score must be a number or have the shape {(len(y), K)}, got "
            f"{np.shape(init_score)}."
        )
    if not np.isfinite(start).all():
        raise ValueError("init_score must be finite.")
    return start.T if w is None else start[w > 0].T


def pair_of_eval_set(eval_set, X_val, y_val) -> tuple:
    """X_val and y_val, from `eval_set` where that is given."""
    if eval_set is None:
        return X_val, y_val
    if X_val is not None or y_val is not None:
        raise ValueError("give eval_set or X_val and y_val, not both.")
    pairs = [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
    if len(pairs) != 1 or not isinstance(pairs[0], (tuple, list)) or len(pairs[0]) != 2:
        raise ValueError(
            "eval_set must be (X, y) or a list of one such pair: one set of rows is "
            "watched."
        )
    return tuple(pairs[0])


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


def signs_by_name(signs, names, model) -> list:
    """Monotone constraints by column, of a dict by name."""
    if names is None:
        raise ValueError(
            f"{model} was not fitted on data with feature names. Pass monotonic_cst as "
            "an integer array instead."
        )
    unknown = sorted(set(signs) - set(names))
    if unknown:
        shown = unknown if len(unknown) <= 5 else [*unknown[:5], "..."]
        raise ValueError(
            f"monotonic_cst contains {len(unknown)} unexpected feature names: {shown}."
        )
    for name, sign in signs.items():
        if sign not in (-1, 0, 1):
            raise ValueError(
                f"monotonic_cst[{name!r}] must be either -1, 0 or 1. Got {sign!r}."
            )
    return [signs.get(name, 0) for name in names]


def interaction_groups(interaction, d):
    """(k, d) mask of the groups of features that may interact, or None for all."""
    if interaction is None:
        return None
    if isinstance(interaction, str):
        if interaction == "no_interactions":
            return np.eye(d, dtype=bool)
        a, b = np.triu_indices(d, 1)
        out = np.zeros((len(a), d), bool)
        out[np.arange(len(a)), a] = out[np.arange(len(a)), b] = True
        return out if len(a) else np.ones((1, d), bool)
    if not all(hasattr(group, "__iter__") for group in interaction):
        raise ValueError(
            "Interaction constraints must be a sequence of tuples or lists, got: "
            f"{interaction!r}."
        )
    groups = np.zeros((len(interaction), d), bool)
    for g, members in enumerate(interaction):
        for f in members:
            if not isinstance(f, Integral) or not 0 <= int(f) < d:
                raise ValueError(
                    "Interaction constraints must consist of integer indices in "
                    f"[0, n_features - 1] = [0, {d - 1}], specifying the position of "
                    f"features, got {f!r}."
                )
            groups[g, f] = True
    rest = ~groups.any(axis=0)
    return np.vstack((groups, rest)) if rest.any() else groups


def seed_of_fit(model):
    """The seed of the draws of a fit; a warm start keeps it."""
    if model._continues() and hasattr(model, "_seed"):
        return model._seed
    return int(make_rng(model.random_state).integers(0, 2**62))


@dataclass(eq=False, repr=False)
class HistGradientBoostingRegressor(Regressor, AbstractHistGradientBoosting):
    """Gradient boosting of numbers on binned columns.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "gamma", "poisson", "quantile", \
            "huber", "tweedie", "pinball"} or Loss, default="squared_error"
        The loss to minimise. "gamma", "poisson" and "tweedie" predict through a log
        link. Any loss of numbers of `pansophy.losses` can be given as an object, with
        a parameter of its own: `losses.huber(2.0)`, `losses.tweedie(1.7)`. A plain
        function (y, f) -> (gradient, curvature) of all training rows will do too; the
        rounds then start from 0 or `init_score`.
    quantile : float or None, default=None
        The level of loss="quantile".
    learning_rate : float, default=0.1
        Factor of the leaf values.
    max_iter : int, default=100
        Rounds at most; a round is one tree.
    max_leaf_nodes : int or None, default=31
        Leaves of a tree at most; the split of largest gain comes first.
    max_depth : int or None, default=None
        Splits between root and leaf at most.
    min_samples_leaf : int, default=20
        Rows in a leaf at least.
    l2_regularization : float, default=0.0
        Penalty on the square of a leaf value.
    min_split_gain : float, default=0.0
        Gain that a split needs at least, eq. (3) of `boosting.py`: as in LightGBM, and
        twice the gamma of XGBoost.
    subsample : float, default=1.0
        Share of the rows that are drawn, without replacement, for each round.
    max_features : float, default=1.0
        Share of the features that are drawn at each node.
    max_bins : int, default=255
        Bins of a column at most, besides the one for missing values.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        A mask, indices or names; "from_dtype" takes the categorical and text columns
        of a data frame.
    monotonic_cst : array-like of -1, 0, 1, dict or None, default=None
        By feature (or feature name): predictions may only fall, are free, may only
        rise.
    interaction_cst : {"pairwise", "no_interactions"}, list of lists or None, \
            default=None
        Features that may interact: that may be on one path of a tree.
    warm_start : bool, default=False
        Whether `fit` adds rounds to those of the last fit, up to max_iter.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop when the validation score no longer improves; "auto" is True
        for more than 10,000 rows.
    scoring : str, callable or None, default="loss"
        What is watched: the loss, or a scorer; None is the model's own score.
    validation_fraction : int, float, splitter or None, default=0.1
        Rows held out for early stopping: how many, which share, or the first split
        of a splitter. None watches the training rows.
    n_iter_no_change : int, default=10
        Rounds without improvement until a stop.
    tol : float, default=1e-7
        Smaller improvements do not count.
    keep_best : "auto" or bool, default="auto"
        Whether the model ends with the round of the best validation score; otherwise
        it has all rounds that were done (as scikit-learn's has). "auto" is True where
        rows are held out, unless warm_start is set.
    verbose : int, default=0
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=None
        For the rows held out and for max_features.

    Attributes
    ----------
    trees_ : Trees
        All trees concatenated, leaf values times the learning rate.
    baseline_ : array of shape (1,)
        The raw prediction before the first tree.
    n_iter_ : int
        Rounds that were done.
    best_iteration_ : int
        Rounds up to the best validation score; n_iter_ without one.
    best_score_ : float
        The best validation score; only with validation rows.
    n_trees_per_iteration_ : int
    train_score_, validation_score_ : arrays of shape (n_iter_ + 1,)
        Scores before the first round and after each; empty without early stopping.
    do_early_stopping_ : bool
    is_categorical_ : mask of shape (n_features,) or None
    feature_importances_ : array of shape (n_features,)
        Share of the total gain.
    history_ : dict
        "objective", the mean training loss, and "validation", by round.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import HistGradientBoostingRegressor
    >>> X = np.arange(200.0)[:, None]
    >>> model = HistGradientBoostingRegressor(max_iter=50).fit(X, np.sqrt(X[:, 0]))
    >>> bool(abs(model.predict([[100.0]])[0] - 10) < 0.2)
    True
    """

    loss: (
        Literal[
            "squared_error",
            "absolute_error",
            "gamma",
            "poisson",
            "quantile",
            "huber",
            "tweedie",
            "pinball",
        ]
        | LossObject
        | Callable
    ) = "squared_error"
    _: KW_ONLY
    quantile: Fraction | None = None
    learning_rate: Positive = 0.1
    max_iter: Count = 100
    max_leaf_nodes: TwoOrMore | None = 31
    max_depth: Count | None = None
    min_samples_leaf: Count = 20
    l2_regularization: NonNegative = 0.0
    min_split_gain: NonNegative = 0.0
    subsample: PositiveFraction = 1.0
    max_features: PositiveFraction = 1.0
    max_bins: BinCount = 255
    categorical_features: Literal["from_dtype"] | ListLike | Matrix | None = (
        "from_dtype"
    )
    monotonic_cst: dict | ListLike | Matrix | None = None
    interaction_cst: Literal["pairwise", "no_interactions"] | Interactions | None = None
    warm_start: Flag = False
    early_stopping: Literal["auto"] | Flag = "auto"
    scoring: str | Callable | None = "loss"
    validation_fraction: Count | OpenFraction | Splitter | None = 0.1
    n_iter_no_change: Count = 10
    tol: NonNegative = 1e-7
    keep_best: Literal["auto"] | Flag = "auto"
    verbose: Verbosity = 0
    random_state: Seed = None

    @answers_fit_words
    @checks_warm_start("trees_")
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
        eval_set=None,
        init_score=None,
    ):
        """Boost on X, y; stop by validation rows where they are given.

        Parameters
        ----------
        X : array, data frame or Parquet file of n rows
        y : array of shape (n,)
        sample_weight : array of shape (n,) or None
        X_val, y_val, sample_weight_val : like X, y, sample_weight, or None
            Rows to stop by.
        eval_set : (X, y), a list of one such pair, or None
            Another way to write X_val and y_val.
        init_score : float, array of shape (n,) or (n, K), or None
            Raw predictions that the rounds start from, in place of the best constant.
            A number is part of the model; those of rows are not, and are to be added to
            raw predictions by you.
        """
        X_val, y_val = pair_of_eval_set(eval_set, X_val, y_val)
        X, y, w = self._check_inputs(X, y, sample_weight, "number")
        y = np.asarray(y, float)
        used = y if w is None else y[w > 0]
        check_target_domain(self._loss(), used, type(self).__name__)
        if self._loss().kind not in QUANTILE_KINDS:
            refuse_tiny_spread(used, type(self).__name__)
        self._seed = seed_of_fit(self)
        given = self._validation_rows(X_val, y_val, sample_weight_val)
        (X, y, w), held_out = self._hold_out(X, y, w, given, False)
        return self._boost(X, y, w, held_out, 1, init_score)

    def predict(self, X, n_rounds=None):
        """The predicted mean (or quantile) of each row, by the first rounds or all."""
        return self._loss().link.inverse(self._raw(X, n_rounds)[:, 0])

    def staged_predict(self, X):
        """Predictions after each round."""
        for raw in self._staged_raw(X):
            yield self._loss().link.inverse(raw[:, 0])

    def _loss(self):
        return regression_loss(self.loss, self.quantile, type(self).__name__)


@dataclass(eq=False, repr=False)
class HistGradientBoostingClassifier(Classifier, AbstractHistGradientBoosting):
    """Gradient boosting of classes on binned columns.

    Parameters
    ----------
    loss : {"log_loss", "exponential"} or Loss, default="log_loss"
        The loss to minimise: the log loss of two or more classes, the exponential loss
        of two, or any loss of classes of `pansophy.losses` as an object.
    learning_rate : float, default=0.1
        Factor of the leaf values.
    max_iter : int, default=100
        Rounds at most; a round is one tree, or one per class if there are several.
    max_leaf_nodes : int or None, default=31
        Leaves of a tree at most; the split of largest gain comes first.
    max_depth : int or None, default=None
        Splits between root and leaf at most.
    min_samples_leaf : int, default=20
        Rows in a leaf at least.
    l2_regularization : float, default=0.0
        Penalty on the square of a leaf value.
    min_split_gain : float, default=0.0
        Gain that a split needs at least, eq. (3) of `boosting.py`: as in LightGBM, and
        twice the gamma of XGBoost.
    subsample : float, default=1.0
        Share of the rows that are drawn, without replacement, for each round.
    max_features : float, default=1.0
        Share of the features that are drawn at each node.
    max_bins : int, default=255
        Bins of a column at most, besides the one for missing values.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        A mask, indices or names; "from_dtype" takes the categorical and text columns
        of a data frame.
    monotonic_cst : array-like of -1, 0, 1, dict or None, default=None
        By feature (or feature name): the second class's probability may only fall,
        is free, may only rise.
    interaction_cst : {"pairwise", "no_interactions"}, list of lists or None, \
            default=None
        Features that may interact: that may be on one path of a tree.
    warm_start : bool, default=False
        Whether `fit` adds rounds to those of the last fit, up to max_iter.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop when the validation score no longer improves; "auto" is True
        for more than 10,000 rows.
    scoring : str, callable or None, default="loss"
        What is watched: the loss, or a scorer; None is the model's own score.
    validation_fraction : int, float, splitter or None, default=0.1
        Rows held out for early stopping: how many, which share, or the first split
        of a splitter. None watches the training rows.
    n_iter_no_change : int, default=10
        Rounds without improvement until a stop.
    tol : float, default=1e-7
        Smaller improvements do not count.
    keep_best : "auto" or bool, default="auto"
        Whether the model ends with the round of the best validation score; otherwise
        it has all rounds that were done (as scikit-learn's has). "auto" is True where
        rows are held out, unless warm_start is set.
    verbose : int, default=0
        Whether to show a progress bar.
    random_state : int, RandomState, Generator or None, default=None
        For the rows held out and for max_features.
    class_weight : dict, "balanced" or None, default=None
        Weights of the rows by class.

    Attributes
    ----------
    classes_ : array
    trees_ : Trees
        All trees concatenated, leaf values times the learning rate.
    baseline_ : array of shape (n_trees_per_iteration_,)
        The raw predictions before the first tree.
    n_iter_ : int
        Rounds that were done.
    best_iteration_ : int
        Rounds up to the best validation score; n_iter_ without one.
    best_score_ : float
        The best validation score; only with validation rows.
    n_trees_per_iteration_ : int
        1 for two classes, else one per class.
    train_score_, validation_score_ : arrays of shape (n_iter_ + 1,)
        Scores before the first round and after each; empty without early stopping.
    do_early_stopping_ : bool
    is_categorical_ : mask of shape (n_features,) or None
    feature_importances_ : array of shape (n_features,)
        Share of the total gain.
    history_ : dict
        "objective", the mean training loss, and "validation", by round.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import HistGradientBoostingClassifier
    >>> X = np.arange(200.0)[:, None]
    >>> y = np.where(X[:, 0] < 60, "low", "high")
    >>> model = HistGradientBoostingClassifier(max_iter=20).fit(X, y)
    >>> model.predict([[10.0], [150.0]])
    array(['low', 'high'], dtype='<U4')
    """

    loss: Literal["log_loss", "exponential"] | LossObject = "log_loss"
    _: KW_ONLY
    learning_rate: Positive = 0.1
    max_iter: Count = 100
    max_leaf_nodes: TwoOrMore | None = 31
    max_depth: Count | None = None
    min_samples_leaf: Count = 20
    l2_regularization: NonNegative = 0.0
    min_split_gain: NonNegative = 0.0
    subsample: PositiveFraction = 1.0
    max_features: PositiveFraction = 1.0
    max_bins: BinCount = 255
    categorical_features: Literal["from_dtype"] | ListLike | Matrix | None = (
        "from_dtype"
    )
    monotonic_cst: dict | ListLike | Matrix | None = None
    interaction_cst: Literal["pairwise", "no_interactions"] | Interactions | None = None
    warm_start: Flag = False
    early_stopping: Literal["auto"] | Flag = "auto"
    scoring: str | Callable | None = "loss"
    validation_fraction: Count | OpenFraction | Splitter | None = 0.1
    n_iter_no_change: Count = 10
    tol: NonNegative = 1e-7
    keep_best: Literal["auto"] | Flag = "auto"
    verbose: Verbosity = 0
    random_state: Seed = None
    class_weight: dict | Literal["balanced"] | None = None

    @answers_fit_words
    @checks_warm_start("trees_")
    def fit(
        self,
        X,
        y,
        sample_weight=None,
        *,
        X_val=None,
        y_val=None,
        sample_weight_val=None,
        eval_set=None,
        init_score=None,
    ):
        """Boost on X, y; stop by validation rows where they are given.

        Parameters
        ----------
        X : array, data frame or Parquet file of n rows
        y : array of shape (n,)
        sample_weight : array of shape (n,) or None
        X_val, y_val, sample_weight_val : like X, y, sample_weight, or None
            Rows to stop by.
        eval_set : (X, y), a list of one such pair, or None
            Another way to write X_val and y_val.
        init_score : float, array of shape (n,) or (n, K), or None
            Raw predictions that the rounds start from, in place of the best constant.
            A number is part of the model; those of rows are not, and are to be added to
            raw predictions by you.
        """
        X_val, y_val = pair_of_eval_set(eval_set, X_val, y_val)
        X, y, w = self._check_inputs(X, y, sample_weight, "class")
        w = apply_class_weight(self.class_weight, y, w)
        codes = set_classes(self, y, least=1)
        loss = self._loss()
        y = targets_from_codes(loss, codes)
        self._seed = seed_of_fit(self)
        given = self._validation_rows(X_val, y_val, sample_weight_val)
        (X, y, w), held_out = self._hold_out(X, y, w, given, True)
        K = len(self.classes_) if loss.kind in MULTICLASS_KINDS else 1
        return self._boost(X, y, w, held_out, K, init_score)

    def predict(self, X, n_rounds=None):
        """The class of highest raw prediction, by the first rounds or all."""
        return classes_from_raw(self, self._raw(X, n_rounds))

    def predict_proba(self, X, n_rounds=None):
        """Class probabilities (n, classes), by the first rounds or all."""
        return self._probabilities(self._raw(X, n_rounds))

    def _probabilities(self, raw):
        if len(self.classes_) == 1:
            return np.ones((len(raw), 1))
        return probabilities_from_raw(self._loss(), raw)

    def decision_function(self, X):
        """Raw predictions: (n,) for two classes, else (n, classes)."""
        raw = self._raw(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def staged_predict(self, X):
        """Classes after each round."""
        for raw in self._staged_raw(X):
            yield classes_from_raw(self, raw)

    def staged_predict_proba(self, X):
        """Class probabilities after each round."""
        for raw in self._staged_raw(X):
            yield self._probabilities(raw)

    def staged_decision_function(self, X):
        """Raw predictions after each round."""
        for raw in self._staged_raw(X):
            yield raw[:, 0] if raw.shape[1] == 1 else raw

    def _loss(self):
        return classification_loss(self.loss, len(self.classes_), type(self).__name__)

"""Random forests: the mean of many trees, each grown on its own draw of the rows.

Tree b is grown on n rows drawn with replacement and, at each node, on the best split of
a few features drawn for that node. The forest predicts the mean

    f(x) = 1/B sum_b t_b(x).                                                    (1)

If trees of variance s^2 have correlation r, the mean has variance r s^2 + (1-r)/B s^2:
more trees remove the second term, drawing features lowers r. So B never overfits, and
trees may be grown fully.

A tree leaves a row out with probability (1 - 1/n)^n -> 1/e, so about a third of the
trees can be tested on it. This out-of-bag error (`oob_score`) is close to that of
held-out data and needs no further fit. The same draws give the variance of f(x) itself
(`forest_uncertainty.py`).

Growth. The columns are sorted or binned once for all trees: a column with more than
`max_bins` distinct values is cut into that many bins of about equal weight, the others
are exact, and None is exact for all. Each tree has its own seed, from which it draws
its rows (`members.py`) and, at each node, its features. A row that is drawn c times is
a row of weight c, so no row is copied. A finished tree is packed at once
(`tree/storage/packed_forest.py`). Neither the number of threads nor that of trees
changes a tree.

This file holds the parameters, `fit` and predictions of all supervised forests, and
the random forests. `extra_trees.py` differs in two parameters only.

Time O(B n log n sqrt(d)) for fully grown trees on sqrt(d) features; memory 1 byte per
value of X, O(n) for each tree in work, 20 to 30 bytes a leaf for the finished forest.

Shapes    X (n, d)   y (n,) or (n, m)   w (n,)
Refs      [Breiman2001]
"""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property, partial
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from ...base import Classifier, Estimator, Regressor
from ...core.arrays.class_weight import apply_class_weight
from ...core.arrays.open_rows import columns_by_name
from ...core.arrays.rows import DatasetRows
from ...core.arrays.weighted import check_sample_weight
from ...core.drivers.progress import run_with_progress
from ...core.loops import threads
from ...params import (
    Count,
    Flag,
    Jobs,
    NonNegative,
    ParameterError,
    ParameterRule,
    TwoOrMore,
    Verbosity,
)
from ...persist.saved_state import Part, Whole, saved_state
from ...tree import abstract_decision_tree
from ...tree.abstract_decision_tree import (
    BinCount,
    HalfAtMost,
    MonotoneSigns,
    PositiveFraction,
    ProperFraction,
    VirtualSubclass,
    check_column_forms,
    classification_target,
    encode_grid,
    growth_limits,
    refuse_sparse_target,
    regression_target,
    resolve_max_features,
    splits_match_inputs,
    validate_prediction_rows,
    validate_training_data,
)
from ...tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from ...tree.extra_tree import ExtraTreeClassifier, ExtraTreeRegressor
from ...tree.growing._structures import ABSOLUTE, SQUARE
from ...tree.growing.criteria import Criterion
from ...tree.growing.grower import Grower, GrowthLimits, needs_sorted_columns
from ...tree.growing.input_encoding import InputEncoder
from ...tree.growing.prepared_columns import PreparedColumns, prepare_columns
from ...tree.pruning import pruning
from ...tree.storage.packed_forest import (
    KEEP_ALL,
    KEEP_IMPURITIES,
    KEEP_LEAVES,
    PackedForest,
    PackedTree,
    join_packed_trees,
    pack_tree,
    packed_tree_at,
)
from ...tree.storage.tree import map_dense_blocks
from ...typing import Seed
from ..members import (
    ResamplingPlan,
    checks_warm_start,
    collect_members,
    member_seeds,
    number_of_rows_to_draw,
)
from . import forest_uncertainty as uncertainty

TREES_PER_CHUNK = 16  # trees whose leaves are held for all rows at a time
CLASS_WEIGHT_NAMES = ("balanced", "balanced_subsample")
ForestClassWeight = Annotated[
    Any,
    ParameterRule(
        "'balanced', 'balanced_subsample', a dict by class or a list of dicts",
        lambda v: (
            isinstance(v, (dict, list))
            or (isinstance(v, str) and v in CLASS_WEIGHT_NAMES)
        ),
    ),
]
PositiveFactor = Annotated[
    float, ParameterRule("a fraction above 0", lambda v: 0 < v < np.inf)
]


# -- growing the trees -----------------------------------------------------------


class ForestPlan(NamedTuple):
    """Data and settings that every tree of a forest is grown from."""

    columns: PreparedColumns
    y: np.ndarray  # (n, m) numbers, or classes from 0
    w: np.ndarray | None  # weights of the rows, where no rows are drawn
    criterion: Criterion
    limits: GrowthLimits
    resampling: ResamplingPlan
    min_fractions: tuple[float, float]  # of the total weight: in a leaf, as a gain
    ccp_alpha: float
    balance_draws: bool  # give the classes among the drawn rows equal weight
    keep: int  # what is packed of a tree: LEAVES, IMPURITIES or ALL


class GrownTree(NamedTuple):
    """A packed tree of a forest, and the importance of each feature in it."""

    part: PackedTree
    importance: np.ndarray


def plan_forest(model, X, y, w, criterion, signs, resampling) -> ForestPlan:
    """Sort or bin the columns, and turn the parameters into numbers."""
    n, d = X.shape
    model.max_features_ = resolve_max_features(model.max_features, d)
    absolute = criterion.kind == ABSOLUTE
    forms = model.inputs_.forms
    limits = growth_limits(model, n, 1.0, signs)
    table = prepare_columns(
        X,
        w,
        None if absolute else model.max_bins,
        as_bytes=not absolute,
        forms=forms if forms.any() else None,
        sort=needs_sorted_columns(criterion, limits, forms),
    )
    if criterion.kind == SQUARE and signs is None:
        keep = KEEP_LEAVES
    else:
        keep = KEEP_ALL if absolute or signs is not None else KEEP_IMPURITIES
    by_draw = getattr(model, "class_weight", None) == "balanced_subsample"
    return ForestPlan(
        table,
        criterion.columns(y),
        None if resampling.bootstrap else w,
        criterion,
        limits,
        resampling,
        (limits.min_weight, limits.min_gain),
        float(model.ccp_alpha),
        by_draw and resampling.bootstrap,
        keep,
    )


def rows_and_weights_of_tree(plan: ForestPlan, seed):
    """Rows that the tree of a seed draws, and weights by row of the table.

    None stands for all rows, or for weights of 1.
    """
    if plan.resampling.all_rows:
        return None, plan.w
    counts = plan.resampling.draw(seed)[1]
    rows = np.flatnonzero(counts).astype(np.int32)
    w = counts.astype(np.float64)
    if plan.balance_draws:
        w = apply_class_weight("balanced", plan.y, w)
    return rows, w


def grow_forest_tree(plan: ForestPlan, seed) -> GrownTree:
    """Grow, prune and pack the tree of a seed."""
    rows, w = rows_and_weights_of_tree(plan, seed)
    if w is None:
        total = float(len(plan.y))
    else:
        total = float(w.sum() if rows is None else w[rows].sum())
    min_weight, min_gain = plan.min_fractions
    limits = plan.limits._replace(
        min_weight=min_weight * total, min_gain=min_gain * total
    )
    grower = Grower(plan.columns, plan.criterion, limits, many=True)
    tree = grower.grow(plan.y, w, seed=int(seed), rows=rows).tree
    if plan.ccp_alpha > 0:
        tree = pruning.prune_cost_complexity(tree, plan.ccp_alpha)
    importance = tree.compute_feature_importances()
    return GrownTree(pack_tree(tree, plan.keep), importance)


def grow_forest_trees(plan: ForestPlan, seeds):
    """Trees in the order of their seeds, a few at a time on threads."""
    return threads.run_tasks((lambda s=s: grow_forest_tree(plan, s)) for s in seeds)


# -- what all forests share ------------------------------------------------------


@saved_state(
    forest_=Part(PackedForest, n_features="n_features_in_"),
    inputs_=Part(InputEncoder),
    n_outputs_=Whole(low=1),
    check=splits_match_inputs,
)
class AbstractForest(VirtualSubclass, Estimator):
    """Packed trees in `forest_`: growing them, and predictions from all of them."""

    _tensors = False

    @abstractmethod
    def fit(self, X, y, sample_weight=None) -> Any: ...

    @abstractmethod
    def _unfitted_tree(self) -> Any:
        """One tree of the forest as an estimator, without its arrays."""

    @abstractmethod
    def _set_oob(self, mean, y, covered) -> None:
        """Store out-of-bag predictions and their score."""

    def _grow(self, X, y, w, criterion, signs=None):
        """Grow the trees that are missing, pack them, and predict out of the bag."""
        # rows of weight 0 are left out of growth; `positive` are the others
        positive = None if w is None or np.all(w > 0) else np.flatnonzero(w)
        if positive is not None and isinstance(X, DatasetRows):
            raise ValueError(
                f"{type(self).__name__} takes no weights of 0 with a table on disk: "
                "leave these rows out of it."
            )
        select = lambda a: a if positive is None or a is None else a[positive]
        resampling = self._resampling(select(X), select(w))
        check_column_forms(self, self.inputs_.forms, False, signs)
        warm = self.warm_start and hasattr(self, "forest_")
        n_kept = len(self.forest_) if warm else 0
        if self.n_estimators < n_kept:
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be larger or equal to the "
                f"{n_kept} trees that warm_start keeps."
            )
        if warm and self.n_estimators == n_kept:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new "
                "trees.",
                stacklevel=3,
            )
            if self.oob_score and not hasattr(self, "oob_score_"):
                self._score_out_of_bag(X, y)
            return self
        seeds = member_seeds(self.random_state, self.n_estimators, n_kept)
        plan = plan_forest(
            self, select(X), select(y), select(w), criterion, signs, resampling
        )
        parts = [packed_tree_at(self.forest_, t) for t in range(n_kept)]
        importances = [self._importance_sum] if warm else []
        self._n_rows = X.shape[0]
        self._drop_derived_attributes()

        run = lambda task: collect_members(
            self, grow_forest_trees(plan, seeds), task, n_kept=n_kept
        )
        with threads.limit_threads(self.n_jobs):
            trees = run_with_progress(
                self, run, total=len(seeds), X=X, y=y, verbose=self.verbose
            )
            parts += [tree.part for tree in trees]
            importances += [tree.importance for tree in trees]
            draws = (resampling, seeds[: len(trees)], positive)
            self._draws = [*(self._draws if warm else []), draws]
            shape = (criterion.n_outputs, max(criterion.classes, default=1))
            self.forest_ = join_packed_trees(parts, shape, X.shape[1])
            self._importance_sum = np.sum(importances, axis=0)
            if getattr(self, "keep_targets", False):
                self.targets_ = uncertainty.collect_leaf_targets(self, X, y, w)
            if self.oob_score:
                self._score_out_of_bag(X, y)
        return self

    def _resampling(self, X, w) -> ResamplingPlan:
        """Resampling plan of the rows of each tree."""
        n, d = X.shape
        if not self.bootstrap and self.max_samples is not None:
            raise ParameterError(
                "`max_sample` cannot be set if `bootstrap=False`. Either switch to "
                "`bootstrap=True` or set `max_sample=None`."
            )
        if self.oob_score and not self.bootstrap:
            raise ParameterError(
                "Out of bag estimation only available if bootstrap=True: without it "
                "every tree has all rows (oob_score)."
            )
        n_drawn = number_of_rows_to_draw(self.max_samples, n, w)
        p = w / w.sum() if w is not None and self.bootstrap else None
        return ResamplingPlan(n, d, n_drawn, d, bool(self.bootstrap), False, p)

    def _drop_derived_attributes(self):
        """Remove what was computed from an earlier forest."""
        for name in ("estimators_", "targets_", "oob_score_", "oob_missing_"):
            self.__dict__.pop(name, None)

    @cached_property
    def estimators_(self):
        """The trees as estimators, built at the first access."""
        check_is_fitted(self, "forest_")
        seeds = np.concatenate([seeds for _, seeds, _ in self._draws])
        members = []
        for t in range(len(self.forest_)):
            model = self._unfitted_tree()
            model.tree_ = self.forest_.tree(t)
            model.inputs_ = self.inputs_
            model.n_outputs_ = self.n_outputs_
            model.n_features_in_ = self.n_features_in_
            model.max_features_ = self.max_features_
            model.random_state = int(seeds[t])
            members.append(model)
        return members

    @property
    def estimator_(self):
        """The kind of tree that the forest is made of."""
        return type(self._unfitted_tree())()

    @property
    def estimator(self):
        """Template of a tree, by the name that scikit-learn gives it before a fit."""
        return self.estimator_

    def _tree_options(self) -> dict[str, Any]:
        """Parameters that the trees share with the forest."""
        names = (
            "criterion splitter max_depth min_samples_split min_samples_leaf "
            "min_weight_fraction_leaf max_features max_leaf_nodes ccp_alpha "
            "min_impurity_decrease monotonic_cst max_bins categorical_features"
        )
        return {name: getattr(self, name, None) for name in names.split()}

    @property
    def splitter(self) -> str:
        """Splitter of the trees, as decision trees name it."""
        return "best"

    @property
    def estimators_samples_(self):
        """Rows that each tree drew, in ascending order; drawn again from the seeds."""
        check_is_fitted(self, "forest_")
        drawn = self._draw_counts(self._n_rows)
        return [np.repeat(np.arange(len(c), dtype=np.int32), c) for c in drawn]

    def _draw_counts(self, n):
        """Counts of the draws of each of n rows, tree by tree."""
        left = len(self.forest_)  # a fit that was stopped has fewer trees than seeds
        for resampling, seeds, positive in self._draws:
            for seed in seeds[:left]:
                counts = resampling.draw(seed)[1]
                if positive is not None:
                    counts = uncertainty.scatter_counts(positive, counts, n)
                yield counts
            left -= min(left, len(seeds))

    @property
    def feature_importances_(self):
        """Mean over the trees of each feature's share of the decrease of impurity."""
        check_is_fitted(self, "forest_")
        total = self._importance_sum.sum()
        if total > 0:
            return self._importance_sum / total
        return np.zeros_like(self._importance_sum)

    def apply(self, X):
        """(n, trees) number of the leaf that each row falls into."""
        X = validate_prediction_rows(self, X)
        with threads.limit_threads(self.n_jobs):
            return map_dense_blocks(X, self.forest_.apply).astype(np.int64)

    def decision_path(self, X):
        """Nodes that rows pass: a sparse matrix over all trees, and their starts."""
        X = validate_prediction_rows(self, X)
        X = X.toarray() if sp.issparse(X) else X
        paths = [model.tree_.decision_path(X) for model in self.estimators_]
        return sp.hstack(paths).tocsr(), self.forest_.start.copy()

    def proximity(self, X, Z=None, *, dense_output=None):
        """Share of the trees in which two rows fall into the same leaf.

        Parameters
        ----------
        X, Z : arrays of shape (n, d) and (m, d)
            Z=None compares the rows of X with each other.
        dense_output : bool or None
            None: dense up to a quarter of a gigabyte, sparse (CSR) beyond.

        Returns
        -------
        array or CSR matrix of shape (n, m)
        """
        return uncertainty.forest_proximity(self, X, Z, dense_output)

    def _mean_leaf_values(self, X):
        """(n, outputs, classes) mean of the leaf values over the trees."""
        X = validate_prediction_rows(self, X)
        with threads.limit_threads(self.n_jobs):
            total = map_dense_blocks(X, self.forest_.sum)
        return (total / len(self.forest_)).reshape(len(total), *self.forest_.shape)

    def _score_out_of_bag(self, X, y):
        """Mean of the trees that did not draw a row, for every row."""
        forest = self.forest_
        n = X.shape[0]
        total = np.zeros((n, forest.value.shape[1]))
        times = np.zeros(n, np.int64)
        counts = self._draw_counts(n)
        for a in range(0, len(forest), TREES_PER_CHUNK):
            b = min(a + TREES_PER_CHUNK, len(forest))
            leaf = map_dense_blocks(X, partial(forest.leaves, start=a, stop=b))
            for t, c in zip(range(b - a), counts):
                rows = np.flatnonzero(c == 0)
                total[rows] += forest.value[leaf[rows, t]]
                times[rows] += 1
        self.oob_missing_ = np.flatnonzero(times == 0)
        if len(self.oob_missing_):
            warnings.warn(
                "Some inputs do not have OOB scores. This probably means too few trees "
                "were used to compute any reliable OOB estimates. "
                f"{len(self.oob_missing_)} of {n} rows were drawn by every tree; "
                "oob_missing_ lists them.",
                stacklevel=5,
            )
        mean = total / np.where(times > 0, times, np.nan)[:, None]
        self._set_oob(mean.reshape(n, *forest.shape), y, np.flatnonzero(times))

    def __sklearn_is_fitted__(self):
        return hasattr(self, "forest_")

    def __len__(self):
        return len(self.forest_)

    def __getitem__(self, index):
        return self.estimators_[index]

    def __iter__(self):
        return iter(self.estimators_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = getattr(self, "categorical_features", None) is not None
        return tags

    def __str__(self):
        if not hasattr(self, "forest_"):
            return repr(self)
        f = self.forest_
        return f"{self!r}\n{len(f)} trees, {f.node_count:,} nodes, {f.nbytes:,} bytes"


# -- forests with targets --------------------------------------------------------


@dataclass(eq=False, repr=False)
class AbstractSupervisedForest(AbstractForest):
    """The parameters of a forest for classes or numbers."""

    n_estimators: Count = 100
    _: KW_ONLY
    criterion: Any = ""
    max_depth: Count | None = None
    min_samples_split: TwoOrMore | PositiveFraction = 2
    min_samples_leaf: Count | ProperFraction = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_features: Count | PositiveFraction | Literal["sqrt", "log2"] | None = 1.0
    max_leaf_nodes: TwoOrMore | None = None
    min_impurity_decrease: NonNegative = 0.0
    bootstrap: Flag = True
    oob_score: Flag | Callable = False
    n_jobs: Jobs = None
    random_state: Seed = None
    verbose: Verbosity = 0
    warm_start: Flag = False
    ccp_alpha: NonNegative = 0.0
    max_samples: Count | PositiveFactor | None = None
    monotonic_cst: MonotoneSigns | None = None
    max_bins: BinCount | None = 255
    categorical_features: (
        abstract_decision_tree.ColumnSelection | Literal["from_dtype"] | None
    ) = None


@dataclass(eq=False, repr=False)
class AbstractForestClassifier(Classifier, AbstractSupervisedForest):
    """A forest for classes: the mean of the trees' class proportions."""

    _: KW_ONLY
    criterion: Literal["gini", "entropy", "log_loss"] = "gini"
    class_weight: ForestClassWeight | None = None

    @checks_warm_start("forest_")
    def fit(self, X, y, sample_weight=None):
        """Grow the forest for the classes y, one column or several."""
        refuse_sparse_target(y, ValueError)
        X, y, sample_weight = columns_by_name(X, y, sample_weight)
        weigh = lambda y: self._row_weights(y, sample_weight)
        X, y = validate_training_data(self, X, y, "labels", weigh)
        w = weigh(y)
        target = classification_target(self, y, X.shape[1], self._check_same_classes)
        if self.n_outputs_ > 1:
            self.n_classes_: Any = list(self.n_classes_)
        return self._grow(X, target.Y, w, target.criterion, target.signs)

    def _row_weights(self, y, sample_weight):
        """Row weights times the factors of their classes, or None."""
        w = check_sample_weight(sample_weight, len(y))
        class_weight = self.class_weight
        if class_weight == "balanced_subsample":
            # with a bootstrap each tree balances its own draw
            class_weight = None if self.bootstrap else "balanced"
        return apply_class_weight(class_weight, y, w)

    def _check_same_classes(self, counts):
        if not (self.warm_start and hasattr(self, "forest_")):
            return
        before = self.n_classes_ if self.n_outputs_ > 1 else [self.n_classes_]
        if list(before) != list(counts):
            raise ValueError(
                f"y has {counts} classes by output, but warm_start keeps a forest for "
                f"{tuple(before)}."
            )

    def predict(self, X):
        """The class of the largest mean proportion; of equals the first."""
        best = self._mean_leaf_values(X).argmax(axis=2)
        if self.n_outputs_ == 1:
            return self.classes_[best[:, 0]]
        return np.stack([c[b] for c, b in zip(self.classes_, best.T)], axis=1)

    def predict_proba(self, X):
        """Mean of the trees' class proportions, a list of arrays if several outputs."""
        mean = self._mean_leaf_values(X)
        if self.n_outputs_ == 1:
            return mean[:, 0]
        return [mean[:, o, :k] for o, k in enumerate(self.n_classes_)]

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`."""
        p = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(p) if self.n_outputs_ == 1 else [np.log(q) for q in p]

    def _unfitted_tree(self):
        random = self.splitter == "random"
        make = ExtraTreeClassifier if random else DecisionTreeClassifier
        model = make(**self._tree_options())
        if hasattr(self, "classes_"):
            single = self.n_outputs_ == 1
            counts = [self.n_classes_] if single else self.n_classes_
            codes = [np.arange(float(k)) for k in counts]
            model.classes_ = codes[0] if single else codes
            model.n_classes_ = self.n_classes_ if single else np.array(counts)
        return model

    def _set_oob(self, mean, y, covered):
        single = self.n_outputs_ == 1
        self.oob_decision_function_ = mean[:, 0] if single else np.moveaxis(mean, 1, 2)
        if not len(covered):
            self.oob_score_ = np.nan
            return
        classes = [self.classes_] if single else self.classes_
        labels_of = lambda codes: np.stack(
            [c[v.astype(int)] for c, v in zip(classes, codes.T)], axis=1
        )
        truth = labels_of(y[covered])
        predicted = labels_of(mean[covered].argmax(axis=2))
        if single:
            truth, predicted = truth[:, 0], predicted[:, 0]
        if callable(self.oob_score):
            self.oob_score_ = self.oob_score(truth, predicted)
        elif single:
            self.oob_score_ = float(accuracy_score(truth, predicted))
        else:
            # every label of a row must be right, as in `score`
            self.oob_score_ = float(np.mean((truth == predicted).all(axis=1)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@dataclass(eq=False, repr=False)
class AbstractForestRegressor(Regressor, AbstractSupervisedForest):
    """A forest for numbers: the mean of the trees' leaf values, and its uncertainty."""

    _: KW_ONLY
    criterion: Literal["squared_error", "friedman_mse", "absolute_error", "poisson"] = (
        "squared_error"
    )
    keep_targets: Flag = False

    @checks_warm_start("forest_")
    def fit(self, X, y, sample_weight=None):
        """Grow the forest for the numbers y, one column or several."""
        refuse_sparse_target(y, ValueError)
        X, y, sample_weight = columns_by_name(X, y, sample_weight)
        weigh = lambda y: check_sample_weight(sample_weight, len(y))
        X, y = validate_training_data(self, X, y, "numbers", weigh)
        w = weigh(y)
        target = regression_target(self, y, w, X.shape[1], self._check_same_outputs)
        return self._grow(X, target.Y, w, target.criterion, target.signs)

    def _check_same_outputs(self, outputs):
        warm = self.warm_start and hasattr(self, "forest_")
        if warm and self.n_outputs_ != outputs:
            raise ValueError(
                f"y has {outputs} outputs, but warm_start keeps a forest for "
                f"{self.n_outputs_}."
            )

    def predict(self, X, return_std=False):
        """Mean over the trees, (n,) or (n, outputs).

        `return_std` adds the standard deviation of the predictive distribution, see
        `predict_dist`.
        """
        if return_std:
            mean, variance = self.predict_dist(X)
            return mean, np.sqrt(variance)
        mean = self._mean_leaf_values(X)[:, :, 0]
        return mean[:, 0] if self.n_outputs_ == 1 else mean

    def predict_dist(self, X, *, within=None):
        """A normal distribution for every row: mean and variance over the trees.

        `within` adds the mean variance inside the leaves (law of total variance), so
        that the distribution is that of a new y. None adds it where the leaves keep
        it: one output, squared error, no monotone constraints. Fully grown leaves have
        no variance inside.
        """
        check_is_fitted(self, "forest_")
        if within is None:
            f = self.forest_
            kept = f.impurity is not None and len(f.impurity) == len(f.value)
            within = self.n_outputs_ == 1 and kept
        return uncertainty.predictive_normal(self, X, within)

    def predict_quantiles(self, X, q=(0.05, 0.5, 0.95)):
        """Quantiles of y given X: training targets weighted by shared leaves.

        One level gives (n,), several (n, levels). Needs `keep_targets=True`.
        """
        check_is_fitted(self, "forest_")
        return uncertainty.predictive_quantiles(self, X, q)

    def predict_variance(self, X, *, method="infinitesimal"):
        """Variance of the mean over training sets, estimated by the jackknife.

        Parameters
        ----------
        X : array of shape (n, d)
        method : {"infinitesimal", "bootstrap"}
            Infinitesimal jackknife, or jackknife after bootstrap; both corrected for
            the number of trees. Needs bootstrap=True.
        """
        if method not in ("infinitesimal", "bootstrap"):
            raise ParameterError(
                f"method must be 'infinitesimal' or 'bootstrap', got {method!r}."
            )
        check_is_fitted(self, "forest_")
        return uncertainty.jackknife_variance(self, X, method)

    def _compute_partial_dependence_recursion(self, grid, target_features):
        """Partial dependence by the trees; scikit-learn's inspection calls it."""
        check_is_fitted(self, "forest_")
        out = np.zeros(len(grid))
        rows = encode_grid(self, grid, target_features)
        for t in range(len(self.forest_)):
            tree = self.forest_.tree(t)
            tree.compute_partial_dependence(rows, target_features, out)
        return out / len(self.forest_)

    def _unfitted_tree(self):
        options = self._tree_options()
        if self.criterion == "absolute_error":
            options["max_bins"] = None
        random = self.splitter == "random"
        return (ExtraTreeRegressor if random else DecisionTreeRegressor)(**options)

    def _set_oob(self, mean, y, covered):
        single = self.n_outputs_ == 1
        predicted = mean[:, 0, 0] if single else mean[:, :, 0]
        self.oob_prediction_ = predicted
        if len(covered) < 2:
            self.oob_score_ = np.nan
            return
        truth = (y[:, 0] if single else y)[covered]
        score = self.oob_score if callable(self.oob_score) else r2_score
        self.oob_score_ = float(score(truth, predicted[covered]))


@dataclass(eq=False, repr=False)
class RandomForestClassifier(AbstractForestClassifier):
    """A random forest for classes.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity; the last two are the same.
    max_depth : int or None, default=None
        Most splits between root and leaf.
    min_samples_split : int or float, default=2
        Rows a node needs to be split; a fraction is of all rows.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must keep.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight that each side of a split must keep.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features drawn at each node; more are drawn until one can split.
    max_leaf_nodes : int or None, default=None
        If given, nodes are split in the order of their gain up to so many leaves.
    min_impurity_decrease : float, default=0.0
        Gain, as a share of the total weight, that a split must reach.
    bootstrap : bool, default=True
        Whether each tree draws rows with replacement (by weight, if there are
        weights); otherwise each has all rows.
    oob_score : bool or callable, default=False
        Score the rows by the trees that did not draw them; a callable is
        `score(y_true, y_pred)` in place of accuracy.
    n_jobs : int or None, default=None
        Threads; None is all.
    random_state : int, RandomState, Generator or None, default=None
    verbose : int, default=0
        Shows progress if not 0.
    warm_start : bool, default=False
        Keep the trees of the last fit and grow those that are missing.
    class_weight : dict, list of dict, "balanced", "balanced_subsample" or None, \
default=None
        Factors of the weights by class. "balanced" gives every class the same total
        weight, "balanced_subsample" does so among the rows that each tree draws.
    ccp_alpha : float, default=0.0
        Cost of a leaf in cost-complexity pruning after growth.
    max_samples : int, float or None, default=None
        Rows that each tree draws; a fraction is of all rows, or of the total weight.
    monotonic_cst : array-like of -1, 0, 1 or None, default=None
        By feature: the second class's probability may only fall, is free, or may
        only rise.
    max_bins : int or None, default=255
        Bins of columns with more different values; None is exact.
    categorical_features : None, "from_dtype", mask, indices or names, default=None
        Columns whose values are levels.

    Attributes
    ----------
    forest_ : Forest
        All trees, packed.
    estimators_ : list of DecisionTreeClassifier
        The trees one by one, built at the first access; their classes are numbers.
    estimator_ : DecisionTreeClassifier
    estimators_samples_ : list of arrays
        Rows that each tree drew.
    classes_ : array, or list of arrays if there are several outputs
    n_classes_ : int, or list
    n_outputs_ : int
    feature_importances_ : array of shape (n_features,)
    oob_score_ : float
    oob_decision_function_ : array of shape (n, classes) or (n, classes, outputs)
        NaN for rows that every tree drew.
    oob_missing_ : array
        Those rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pansophy.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> bool(model.oob_score_ > 0.93)
    True
    """

    _: KW_ONLY
    max_features: Count | PositiveFraction | Literal["sqrt", "log2"] | None = "sqrt"


@dataclass(eq=False, repr=False)
class RandomForestRegressor(AbstractForestRegressor):
    """A random forest for numbers.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson"}, \
default="squared_error"
        Impurity. "friedman_mse" is the same as "squared_error"; "absolute_error"
        predicts means of medians and is always exact; "poisson" is for counts.
    max_depth : int or None, default=None
        Most splits between root and leaf.
    min_samples_split : int or float, default=2
        Rows a node needs to be split; a fraction is of all rows.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must keep.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight that each side of a split must keep.
    max_features : {"sqrt", "log2"}, int, float or None, default=1.0
        Features drawn at each node; more are drawn until one can split.
    max_leaf_nodes : int or None, default=None
        If given, nodes are split in the order of their gain up to so many leaves.
    min_impurity_decrease : float, default=0.0
        Gain, as a share of the total weight, that a split must reach.
    bootstrap : bool, default=True
        Whether each tree draws rows with replacement (by weight, if there are
        weights); otherwise each has all rows.
    oob_score : bool or callable, default=False
        Score the rows by the trees that did not draw them; a callable is
        `score(y_true, y_pred)` in place of R^2.
    n_jobs : int or None, default=None
        Threads; None is all.
    random_state : int, RandomState, Generator or None, default=None
    verbose : int, default=0
        Shows progress if not 0.
    warm_start : bool, default=False
        Keep the trees of the last fit and grow those that are missing.
    ccp_alpha : float, default=0.0
        Cost of a leaf in cost-complexity pruning after growth.
    max_samples : int, float or None, default=None
        Rows that each tree draws; a fraction is of all rows, or of the total weight.
    monotonic_cst : array-like of -1, 0, 1 or None, default=None
        By feature: the prediction may only fall, is free, or may only rise.
    max_bins : int or None, default=255
        Bins of columns with more different values; None is exact.
    categorical_features : None, "from_dtype", mask, indices or names, default=None
        Columns whose values are levels.
    keep_targets : bool, default=False
        Keep the training targets of every leaf, for `predict_quantiles`.

    Attributes
    ----------
    forest_ : Forest
        All trees, packed.
    estimators_ : list of DecisionTreeRegressor
        The trees one by one, built at the first access.
    estimator_ : DecisionTreeRegressor
    estimators_samples_ : list of arrays
        Rows that each tree drew.
    n_outputs_ : int
    feature_importances_ : array of shape (n_features,)
    oob_score_ : float
    oob_prediction_ : array of shape (n,) or (n, outputs)
        NaN for rows that every tree drew.
    oob_missing_ : array
        Those rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.ensemble import RandomForestRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = RandomForestRegressor(random_state=0, keep_targets=True)
    >>> mean, std = model.fit(X, np.sin(X[:, 0])).predict(X, return_std=True)
    >>> bool(np.abs(mean - np.sin(X[:, 0])).max() < 0.05)
    True
    >>> model.predict_quantiles(X, [0.1, 0.9]).shape
    (200, 2)
    """

"""Isolation forest: outliers are separated from the rest by few random splits.

A tree on psi rows splits, at each node, one random column at a random place between
its extremes. With h(x) the number of splits until x is alone (a leaf that still holds m
rows counts c(m) more, the mean number for m rows), and its mean over the trees,

    c(m) = 2 (ln(m - 1) + gamma) - 2 (m - 1) / m,   c(2) = 1,   c(1) = 0         (1)
    score(x) = - 2^(-mean h(x) / c(psi)).                                        (2)

Scores run from -1 (isolated at once) to 0; a row among many others has about -1/2.
Outliers are few and different, so a small psi shows them best, and time and memory
depend on n only for drawing and scoring. Trees end at depth log2 psi: rows that are
deeper are no outliers.

h(x) is stored as the value of the leaf, so scoring is one sum over the packed trees.

Time O(B psi log psi) for the fit, O(B log psi) for the score of a row.

Shapes    X (n, d)   B trees   psi rows each
Refs      [Liu2008]
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from numbers import Integral
from typing import Annotated, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator, OneClass
from ...core.arrays.open_rows import columns_by_name
from ...core.arrays.rows import DatasetRows
from ...core.arrays.weighted import check_sample_weight
from ...core.drivers.progress import run_with_progress
from ...core.loops import threads
from ...params import Count, Flag, Jobs, ParameterError, ParameterRule, Verbosity
from ...persist.saved_state import Part, Whole, saved_state
from ...tree.abstract_decision_tree import (
    ARRAY_CHECKS,
    PositiveFraction,
    VirtualSubclass,
    reads_table,
    require_rows_in_memory,
    splits_match_inputs,
    validate_prediction_rows,
)
from ...tree.extra_tree import ExtraTreeRegressor
from ...tree.growing._structures import SQUARE
from ...tree.growing.criteria import Criterion
from ...tree.growing.grower import Grower, GrowthLimits, needs_sorted_columns
from ...tree.growing.input_encoding import InputEncoder
from ...tree.growing.prepared_columns import (
    check_float32,
    prepare_columns,
    training_rows_as_float32,
)
from ...tree.storage.additive_trees import AdditiveTrees, dense_prediction_rows
from ...tree.storage.packed_forest import (
    KEEP_LEAVES,
    PackedForest,
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
    number_of_columns_to_draw,
)

DEFAULT_MAX_SAMPLES = 256  # rows of a tree by default
Contamination = Annotated[
    float, ParameterRule("a share above 0, at most 0.5", lambda v: 0 < v <= 0.5)
]


def mean_path_length(m):
    """c(m) of eq. (1).

    >>> mean_path_length(np.array([1, 2, 256])).round(4)
    array([ 0.    ,  1.    , 10.2448])
    """
    m = np.asarray(m, float)
    many = np.maximum(m, 3.0)
    c = 2.0 * (np.log(many - 1.0) + np.euler_gamma) - 2.0 * (many - 1.0) / many
    return np.where(m > 2, c, np.where(m == 2, 1.0, 0.0))


def draw_isolation_sample(plan, seed):
    """Columns and counts of rows of the tree of a seed; by weight, if given."""
    features, counts = plan.draw(seed)
    if plan.p is not None and not plan.bootstrap:
        rng = np.random.default_rng([int(seed), 1])
        rows = rng.choice(plan.n, plan.n_rows, replace=False, p=plan.p)
        counts = np.zeros(plan.n, np.int64)
        counts[rows] = 1
    return features, counts


def grow_isolation_tree(X, seed, plan, depth):
    """The isolation tree of a seed, its leaves' values being h of eq. (2)."""
    features, counts = draw_isolation_sample(plan, seed)
    rows = np.flatnonzero(counts)
    Z = X[rows] if plan.all_columns else X[rows][:, features]
    Z = Z.toarray() if sp.issparse(Z) else Z
    y = np.random.default_rng(seed).random((len(rows), 1))
    limits = GrowthLimits(max_depth=depth, max_features=1, random=True)
    criterion = Criterion(SQUARE, 1)
    ordered = needs_sorted_columns(criterion, limits, 0)
    table = prepare_columns(np.ascontiguousarray(Z), as_bytes=False, sort=ordered)
    tree = Grower(table, criterion, limits).grow(y, seed=int(seed)).tree
    path = tree.places[0] + mean_path_length(tree.n_node_samples)
    inner = tree.children_left >= 0
    return tree._replace(
        value=path[:, None, None],
        impurity=np.zeros(tree.node_count),
        feature=np.where(inner, features[np.maximum(tree.feature, 0)], -2),
        n_features=plan.d,
    )


class SampledRows:
    """The rows of a table on disk that the trees of some seeds draw."""

    def __init__(self, X: DatasetRows, plan, seeds):
        drawn = [np.flatnonzero(draw_isolation_sample(plan, s)[1]) for s in seeds]
        self.numbers = np.unique(np.concatenate([*drawn, np.empty(0, np.intp)]))
        self.rows = check_float32(X.take(self.numbers))
        if np.isinf(self.rows).any():
            raise ValueError("Input X contains infinity.")

    def __getitem__(self, numbers):
        return self.rows[np.searchsorted(self.numbers, numbers)]


def isolation_depth(n_rows) -> int:
    """Splits up to which trees of so many rows are grown: about the mean path."""
    return int(np.ceil(np.log2(max(n_rows, 2))))


def tree_of_columns(tree, columns):
    """A tree that numbers its features by their place among ascending columns."""
    place = np.searchsorted(columns, tree.feature)
    feature = np.where(tree.feature >= 0, place, tree.feature)
    return tree._replace(feature=feature, n_features=len(columns))


@saved_state(
    forest_=Part(PackedForest, n_features="n_features_in_"),
    inputs_=Part(InputEncoder),
    max_samples_=Whole(low=1),
    check=splits_match_inputs,
)
@dataclass(eq=False, repr=False)
class IsolationForest(OneClass, VirtualSubclass, Estimator):
    """Detects outliers by how few random splits isolate them.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    max_samples : "auto", int or float, default="auto"
        Rows that each tree draws; "auto" is 256 or all, a fraction is of all rows.
    contamination : "auto" or float, default="auto"
        Share of outliers among the training rows, which sets `offset_`; "auto" takes
        the offset -0.5.
    max_features : int or float, default=1.0
        Columns that each tree draws.
    bootstrap : bool, default=False
        Whether rows are drawn with replacement.
    n_jobs : int or None, default=None
        Threads; None is all.
    random_state : int, RandomState, Generator or None, default=None
    verbose : int, default=0
        Shows progress if not 0.
    warm_start : bool, default=False
        Keep the trees of the last fit and grow those that are missing.

    Attributes
    ----------
    forest_ : Forest
        All trees, packed; the value of a leaf is its path length.
    offset_ : float
        `decision_function` is `score_samples` less this.
    max_samples_ : int
    estimators_ : list of ExtraTreeRegressor
        The trees one by one, built at the first access.
    estimator_ : ExtraTreeRegressor
    estimators_features_ : list of arrays
        Columns that each tree drew.
    estimators_samples_ : list of arrays
        Rows that each tree drew.

    Examples
    --------
    >>> from pansophy.ensemble import IsolationForest
    >>> X = [[-1.1], [0.3], [0.5], [100.0]]
    >>> IsolationForest(random_state=0).fit(X).predict([[0.1], [0.0], [90.0]])
    array([ 1,  1, -1])
    """

    _: KW_ONLY
    n_estimators: Count = 100
    max_samples: Count | PositiveFraction | Literal["auto"] = "auto"
    contamination: Contamination | Literal["auto"] = "auto"
    max_features: Count | PositiveFraction = 1.0
    bootstrap: Flag = False
    n_jobs: Jobs = None
    random_state: Seed = None
    verbose: Verbosity = 0
    warm_start: Flag = False

    _tensors = False

    @checks_warm_start("forest_")
    def fit(self, X, y=None, sample_weight=None):
        """Grow the trees. y is not used; rows are drawn by weight, if given."""
        X, _, sample_weight = columns_by_name(X, None, sample_weight)
        if reads_table(self, X):
            X, _ = self._check_training_data(X)
        else:
            X = require_rows_in_memory(X)
            with training_rows_as_float32(X):
                X, _ = self._check_training_data(X, **ARRAY_CHECKS)
        X = X.tocsr() if sp.issparse(X) else X
        w = check_sample_weight(sample_weight, X.shape[0])
        self.inputs_ = InputEncoder(np.zeros(X.shape[1], np.int8))
        warm = self.warm_start and hasattr(self, "forest_")
        n_kept = len(self.forest_) if warm else 0
        if self.n_estimators < n_kept:
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be larger or equal to the "
                f"{n_kept} trees that warm_start keeps."
            )
        plan = self._resampling(X, w)
        depth = isolation_depth(plan.n_rows)
        seeds = member_seeds(self.random_state, self.n_estimators, n_kept)
        kept = [packed_tree_at(self.forest_, t) for t in range(n_kept)]
        self.__dict__.pop("estimators_", None)
        table = SampledRows(X, plan, seeds) if isinstance(X, DatasetRows) else X
        grow = lambda s: pack_tree(
            grow_isolation_tree(table, s, plan, depth), KEEP_LEAVES
        )
        grow_each = lambda: threads.run_tasks((lambda s=s: grow(s)) for s in seeds)
        run = lambda task: collect_members(self, grow_each(), task, n_kept=n_kept)
        with threads.limit_threads(self.n_jobs):
            parts = run_with_progress(
                self, run, total=len(seeds), X=X, verbose=self.verbose
            )
        draws = (plan, seeds[: len(parts)])
        self._draws = [*(self._draws if warm else []), draws]
        self.forest_ = join_packed_trees([*kept, *parts], (1, 1), X.shape[1])
        self.offset_ = -0.5
        if self.contamination != "auto":
            self.offset_ = float(
                np.percentile(self._scores(X), 100.0 * self.contamination)
            )
        return self

    def _resampling(self, X, w):
        """Resampling plan of the rows and columns of each tree; sets `max_samples_`."""
        n, d = X.shape
        n_positive = n if w is None else int(np.count_nonzero(w))
        rows = self.max_samples
        if rows == "auto":
            rows = min(DEFAULT_MAX_SAMPLES, n_positive)
        elif not isinstance(rows, Integral):
            rows = max(1, int(rows * n_positive))
        if rows > n_positive:
            warnings.warn(
                f"max_samples ({rows}) is greater than the total number of samples "
                f"({n_positive}). max_samples will be set to n_samples for estimation.",
                stacklevel=3,
            )
            rows = n_positive
        self.max_samples_ = int(rows)
        features = number_of_columns_to_draw(self.max_features, d)
        if features > d:
            raise ParameterError(f"max_features={features} is more than the {d} of X.")
        p = None if w is None else w / w.sum()
        return ResamplingPlan(
            n, d, self.max_samples_, features, bool(self.bootstrap), False, p
        )

    def _scores(self, X):
        """Eq. (2) of checked rows."""
        with threads.limit_threads(self.n_jobs):
            total = map_dense_blocks(X, self.forest_.sum)[:, 0]
        normal = len(self.forest_) * float(mean_path_length(self.max_samples_))
        return -(2.0 ** -(total / normal if normal > 0 else np.ones(len(total))))

    def score_samples(self, X):
        """Scores of eq. (2): the lower, the more abnormal."""
        return self._scores(validate_prediction_rows(self, X))

    def decision_function(self, X):
        """Scores less `offset_`: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X):
        """1, or -1 for an outlier."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def _additive(self) -> AdditiveTrees:
        """Mean path lengths as a sum of trees, for explanations."""
        T = len(self.forest_)
        trees = [self.forest_.tree(t) for t in range(T)]
        return AdditiveTrees(
            trees,
            [tree.value[:, :, 0] / T for tree in trees],
            [0] * T,
            np.zeros(1),
            lambda X: dense_prediction_rows(self, X),
            lambda X: (
                map_dense_blocks(validate_prediction_rows(self, X), self.forest_.sum)
                / T
            ),
            scale="mean path length",
        )

    @cached_property
    def estimators_(self):
        """The trees as estimators of the columns that each drew."""
        check_is_fitted(self, "forest_")
        members = []
        for t, columns in enumerate(self.estimators_features_[: len(self.forest_)]):
            depth = isolation_depth(self.max_samples_)
            model = ExtraTreeRegressor(max_features=1, max_depth=depth)
            model.tree_ = tree_of_columns(self.forest_.tree(t), columns)
            model.inputs_ = InputEncoder(np.zeros(len(columns), np.int8))
            model.n_features_in_ = len(columns)
            model.n_outputs_ = 1
            model.max_features_ = 1
            members.append(model)
        return members

    @property
    def estimator_(self):
        """The kind of tree that the forest is made of."""
        return ExtraTreeRegressor(max_features=1)

    @property
    def estimators_features_(self):
        """Columns that each tree drew; drawn again from the seeds."""
        check_is_fitted(self, "forest_")
        return [
            draw_isolation_sample(plan, seed)[0]
            for plan, seeds in self._draws
            for seed in seeds
        ]

    @property
    def estimators_samples_(self):
        """Rows that each tree drew, in ascending order; drawn again from the seeds."""
        check_is_fitted(self, "forest_")
        drawn = [
            draw_isolation_sample(plan, seed)[1]
            for plan, seeds in self._draws
            for seed in seeds
        ]
        return [np.repeat(np.arange(len(c)), c) for c in drawn]

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
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def __str__(self):
        if not hasattr(self, "forest_"):
            return repr(self)
        f = self.forest_
        return f"{self!r}\n{len(f)} trees, {f.node_count:,} nodes, {f.nbytes:,} bytes"

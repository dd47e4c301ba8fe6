"""Decision trees of an ensemble, grown on one prepared table.

`TreeTable` checks and sorts the table once and grows all members on it, each with its
own weights: a member costs its growth and no more. The trees are those of
`members.fit_member` from the same weights and seed, unless columns are binned
(`max_bins`) or categorical, where bins and codes are learned from all rows.

Screening of stumps. For two classes a split is a point (v, u): the weight on the left
and the part of it in the second class. The gain is a convex function of that point.
Walking through the rows of a coarse bin in order of their values, the point moves from
one limit of the bin to the other, each row adding to v and, in the second class, as
much to u. So it stays in the parallelogram whose corners are the two limits and the two
ways to take one class before the other, and the gain is largest at a corner:

    gain within a bin <= max over its four corners                              (1)

A column whose bound over all bins is below the best gain found at any limit of bins
cannot hold the best split. The few columns that are left go to the exact search of the
tree engine. So the stump is the same as without screening; one pass over bytes replaces
most of the passes over sorted columns.

Time of the screening O(n d) with a small constant; memory one byte per value.

Shapes    X (n, d)   codes (n, d)   H (d, 256, 2)
"""

from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ...core.arrays.class_weight import apply_class_weight
from ...core.random import make_rng
from ...tree import DecisionTreeClassifier, DecisionTreeRegressor
from ...tree.abstract_decision_tree import (
    ARRAY_CHECKS,
    classification_target,
    growth_limits,
    regression_target,
    resolve_max_features,
    validate_training_data,
)
from ...tree.growing.grower import Grower, TreeWithRows
from ...tree.growing.prepared_columns import (
    PreparedColumns,
    prepare_columns,
    silent_float32_overflow,
)
from ...tree.pruning import pruning
from ...tree.storage.packed_forest import PackedForest, pack_forest
from ...tree.storage.tree import map_dense_blocks
from ..members import member_random_state, require_in_memory
from . import _tree_table as loops

MIN_SCREENED_ROWS = 2048  # rows from which screening pays
ROUNDING_SLACK = 1e-9  # relative error of a gain by rounding
OWN_TREES = (DecisionTreeClassifier, DecisionTreeRegressor)
SHARED_CRITERIA = frozenset(
    ["gini", "entropy", "log_loss", "squared_error", "friedman_mse"]
)
USUAL_PARAMETERS = frozenset(
    [
        "criterion",
        "splitter",
        "max_depth",
        "min_samples_split",
        "min_samples_leaf",
        "min_weight_fraction_leaf",
        "max_features",
        "random_state",
        "max_leaf_nodes",
        "min_impurity_decrease",
        "class_weight",
        "ccp_alpha",
        "monotonic_cst",
        "max_bins",
    ]
)


def is_own_tree(model) -> bool:
    """Whether the model is a decision tree of this package."""
    return type(model) in OWN_TREES


def special_parameters(model) -> set[str]:
    """Parameters of a tree, beyond scikit-learn's and `max_bins`, that are set."""
    further = [f for f in fields(model) if f.name not in USUAL_PARAMETERS]
    simple = (str, int, float, type(None))
    same = lambda a, b: isinstance(a, simple) and a == b
    return {f.name for f in further if not same(getattr(model, f.name), f.default)}


def can_share_table(model) -> bool:
    """Whether members like this one can grow on one `TreeTable`."""
    return (
        is_own_tree(model)
        and model.criterion in SHARED_CRITERIA
        and not special_parameters(model)
    )


def has_threshold_tree(model) -> bool:
    """Whether a fitted member predicts the value of a leaf behind thresholds only."""
    return is_own_tree(model) and not special_parameters(model)


class TreeTable:
    """A table prepared once, on which any number of trees like `template` grow.

    `sequential` says that they grow one after the other, so that scratch memory and
    the bins for screening can be kept.
    """

    def __init__(self, template, X, y, sequential=False):
        model = clone(template)
        known = set(vars(model))
        classes = isinstance(model, DecisionTreeClassifier)
        self.template = model
        self.X, self.y = validate_training_data(
            model, X, y, "labels" if classes else "numbers"
        )
        self.class_weight = model.class_weight if classes else None
        d = self.X.shape[1]
        self.Y, self.criterion, self.signs = (
            classification_target(model, self.y, d)
            if classes
            else regression_target(model, self.y, None, d)
        )
        self.columns = prepare_columns(self.X, None, model.max_bins)
        self.params = model.get_params(deep=False)
        self.screen: Any = None if sequential else False  # made at its first use
        self.fitted = {k: v for k, v in vars(model).items() if k not in known}

    def clone_with_seed(self, seed):
        """A clone as in `members.py`, in less time: nothing is nested in a tree."""
        made = type(self.template)(**self.params)
        made.random_state = member_random_state(seed)
        return made

    def grow(self, model, w=None, features=None) -> TreeWithRows:
        """Fit a clone of the template to weighted rows; weight 0 leaves a row out."""
        # "balanced" counts classes by the weights of this very member
        w = apply_class_weight(self.class_weight, self.y, w)
        n = len(self.Y)
        total = float(n)
        rows = None
        if w is not None:
            w = np.asarray(w, np.float64)
            total = float(w.sum())
            if not w.min() > 0:
                rows = np.flatnonzero(w > 0).astype(np.int32)
                n = len(rows)
        table = self.columns
        if features is not None:
            table = select_columns(table, features)
        vars(model).update(self.fitted)
        d = model.n_features_in_ = len(table.properties)
        model.max_features_ = resolve_max_features(model.max_features, d)
        limits = growth_limits(model, n, total, self.signs)
        draws = limits.random or 0 < limits.max_features < d
        seed = int(make_rng(model.random_state).integers(0, 2**62)) if draws else 0
        screened = self.screened_columns(limits, w, rows) if features is None else None
        if screened is not None:
            table = select_columns(table, screened)
        grower = Grower(table, self.criterion, limits)
        grown = grower.grow(self.Y, w, seed=seed, rows=rows)
        if screened is not None:
            grown = grown._replace(tree=renumber_features(grown.tree, screened, d))
        tree = grown.tree
        alpha = model.ccp_alpha
        model.tree_ = pruning.prune_cost_complexity(tree, alpha) if alpha > 0 else tree
        return grown

    def screened_columns(self, limits, w, rows):
        """Columns that may hold the best split of a stump; None for all."""
        if w is None or rows is not None:
            return None
        if self.screen is None:
            able = can_screen_stumps(self.columns, self.criterion, limits, len(self.Y))
            self.screen = StumpScreen(self.columns) if able else False
        return self.screen.columns(self.Y, w) if self.screen else None

    @property
    def takes_features(self) -> bool:
        """Whether members may grow on some of the columns."""
        return (
            len(self.columns.order) == len(self.columns.properties)
            and self.signs is None
        )


class StumpScreen:
    """Coarse bins of a table, made once, and the columns worth a search, eq. (1)."""

    def __init__(self, columns):
        d, n = columns.order.shape
        self.codes = np.empty((n, d), np.uint8)
        self.H = np.empty((d, loops.BINS, 2))
        self.best = np.empty(d)
        self.bound = np.empty(d)
        for f in range(d):
            loops.coarse_bin_codes(columns.x[f], columns.order[f], f, self.codes)

    def columns(self, y, w):
        """Numbers of the columns that may hold the best split, ascending."""
        loops.class_weight_by_bin(self.codes, w, y, self.H)
        W, S = self.H[0].sum(axis=0)
        loops.column_gain_bounds(self.H, float(S), float(W), self.best, self.bound)
        return np.flatnonzero(self.bound >= self.best.max() * (1.0 - ROUNDING_SLACK))


def can_screen_stumps(columns, criterion, limits, n) -> bool:
    """Whether trees of these settings are stumps that can be screened."""
    d = len(columns.properties)
    sorted_columns = len(columns.order) == d > 1
    complete = not np.any(columns.properties["has_missing"])
    free = limits.min_leaf == 1 and limits.min_weight == 0 and limits.signs is None
    every = not limits.random and limits.max_features in (0, d)
    stump = limits.max_depth == 1 and limits.max_leaves in (0, 2)
    able = sorted_columns and complete and free and every and stump
    return n >= MIN_SCREENED_ROWS and criterion.binary_gini and able


def select_columns(columns, features) -> PreparedColumns:
    """Some of the columns of a table whose columns are all sorted."""
    properties = columns.properties[features]
    properties["slot"] = np.arange(len(features))
    if len(features) == 1:  # a slice is no copy
        features = slice(features[0], features[0] + 1)
    x, order = columns.x[features], columns.order[features]
    return columns._replace(x=x, order=order, properties=properties)


def renumber_features(tree, features, d):
    """A tree grown on some columns, with the numbers of all d columns."""
    inner = tree.feature >= 0
    place = np.where(inner, features[np.where(inner, tree.feature, 0)], tree.feature)
    return tree._replace(feature=place, n_features=d)


def pack_member_trees(models, columns=None, d=None) -> PackedForest:
    """The trees of fitted members as one forest, with the numbers of all columns."""
    trees = [m.tree_ for m in models]
    if columns is not None:
        trees = [renumber_features(t, c, d) for t, c in zip(trees, columns)]
    return pack_forest(trees)


def mean_of_packed_trees(forest, X):
    """(n, outputs, values): the mean prediction of packed trees for checked rows."""
    total = map_dense_blocks(X, forest.sum)
    return total.reshape(len(total), *forest.shape) / len(forest)


def check_float32_rows(model, X):
    """X checked for a prediction by trees of numbers, as float32."""
    with silent_float32_overflow():
        X = model._check_new_data(require_in_memory(model, X), **ARRAY_CHECKS)
    return X.tocsr() if sp.issparse(X) else X

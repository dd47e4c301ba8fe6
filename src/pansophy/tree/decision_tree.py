"""Decision trees: CART for classes and for numbers.

A tree tests at each node whether one column is at most a threshold, whether a level is
in a set or whether an angle is in a half circle, and predicts at a leaf the weighted
class shares, mean or quantile of the training rows there. It is grown from the
root by the split that lowers the summed impurity most,

    gain = W I - W_l I_l - W_r I_r                                              (1)

over all features and all midpoints between neighbouring values (criteria.py has I,
grower.py the search). No look-ahead: finding the smallest tree is NP-hard, one greedy
step is a sort.

Details that matter
- Values are compared in single precision, as in scikit-learn: columns are converted
  to float32 first. Any two different float32 values can be split (scikit-learn keeps
  values closer than 1e-7 together, whatever their scale).
- Gains that differ by less than 1e-10 of W I are equal; then the lowest feature and
  the lowest threshold win. So the tree does not depend on the order of rows, and
  rows of weight k grow the same tree as k copies of them.
- A missing value (NaN) is sent, at each node, to the side that gains more; where
  training had none missing, to the heavier side.
- `max_bins` trades exactness for speed: columns with more distinct values are cut
  into that many bins of about equal weight first. None is exact.
- Levels of a categorical column are split into the best two sets: of one sum (numbers,
  two classes) some head of the levels in the order of their means is best, so a sort
  finds it; of several sums all sets are tried up to eight levels present at a node, and
  beyond that heads of the order along the first principal direction of the means.
  `categorical_split="level"` tries one level against the rest only. A level that a node
  did not see in training goes where missing values go.
- `missing="both"` answers for a missing value with the average of both branches, by
  the training weight that went there. Growth is the same: a training row with a
  missing value takes the side that gains more, with all of its weight, so that leaves
  count every row once and sums stay exact. `missing="mean"`, `"mode"` and `"model"`
  fill missing values in before growth and before predictions
  (`tree/growing/missing_fill.py`).
- Zero gain is still a split (two features may help only together), so without
  limits the tree fits all rows whose columns differ.

Time O(n d) per level after one sort of each column. Memory 12 bytes per value.

Shapes    X (n, d)   y (n,) or (n, m)   w (n,)
Refs      [Breiman1984]; [Fisher1958] sets by means; [Coppersmith1999] main direction
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Classifier, Regressor
from ..core.arrays.class_weight import apply_class_weight
from ..core.arrays.weighted import check_sample_weight
from ..params import Count, NonNegative, OpenFraction, ParameterError, TwoOrMore
from ..typing import Seed
from .abstract_decision_tree import (
    AbstractDecisionTree,
    AngleSelection,
    BinCount,
    ClassWeightOption,
    ColumnSelection,
    HalfAtMost,
    MonotoneSigns,
    PositiveFraction,
    ProperFraction,
    classification_target,
    encode_grid,
    fit_tree,
    leaf_values_of_rows,
    regression_target,
    validate_training_data,
)
from .growing._structures import GAUSS, JOINT

ONE_OUTPUT_CRITERIA = (
    "zero_one",
    "gain_ratio",
)  # criteria for one column of classes only


class AbstractTreeClassifier(Classifier, AbstractDecisionTree):
    """Shares of classes at the leaves."""

    def fit(self, X, y, sample_weight=None):
        """Grow the tree for the classes y, one column or several."""
        weigh = lambda y: class_weighted_rows(self, y, sample_weight)
        X, y = validate_training_data(self, X, y, "labels", weigh)
        w = weigh(y)
        target = classification_target(self, y, X.shape[1])
        if self.n_outputs_ > 1 and self.criterion in ONE_OUTPUT_CRITERIA:
            raise ParameterError(
                f"criterion={self.criterion!r} is for one column of classes, got "
                f"{self.n_outputs_}."
            )
        if target.signs is not None and self.smoothing > 0:
            raise ParameterError(
                "smoothing must be 0 with monotonic_cst: shares drawn to 1 / K by the "
                f"size of their leaf lose their order, got {self.smoothing}."
            )
        self.tree_ = fit_tree(self, X, target.Y, w, target.criterion, target.signs)
        return self

    def predict(self, X):
        """The most likely class; of equals the first."""
        check_is_fitted(self)
        if self.missing != "both" and self.n_outputs_ == 1:
            labels = lambda tree: self.classes_[tree.value[:, 0].argmax(axis=1)]
            return leaf_values_of_rows(self, X, labels)
        best = leaf_values_of_rows(self, X, lambda tree: tree.value).argmax(axis=2)
        if self.n_outputs_ == 1:
            return self.classes_[best[:, 0]]
        return np.stack([c[b] for c, b in zip(self.classes_, best.T)], axis=1)

    def predict_proba(self, X):
        """Class shares in the leaf, a list of arrays if there are several outputs."""
        p = leaf_values_of_rows(
            self, X, lambda tree: smoothed_probabilities(self, tree)
        )
        if self.n_outputs_ == 1:
            return p
        return np.split(p, np.cumsum(self.n_classes_)[:-1], axis=1)

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`."""
        p = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(p) if self.n_outputs_ == 1 else [np.log(q) for q in p]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def class_weighted_rows(model, y, sample_weight):
    """Row weights times the factors of their classes, or None."""
    w = check_sample_weight(sample_weight, len(y))
    return apply_class_weight(model.class_weight, y, w)


def smoothed_probabilities(model, tree):
    """(nodes, K) shares (n_c + a) / (n + a K), n and n_c by weight, by output."""
    a = getattr(model, "smoothing", 0.0)
    n = tree.weighted_n_node_samples[:, None]
    counts = np.atleast_1d(model.n_classes_)
    parts = [tree.value[:, o, :k] for o, k in enumerate(counts)]
    if a > 0:
        parts = [(p * n + a) / (n + a * k) for p, k in zip(parts, counts)]
    return np.concatenate(parts, axis=1)


class AbstractTreeRegressor(Regressor, AbstractDecisionTree):
    """Means, medians or quantiles at the leaves."""

    def fit(self, X, y, sample_weight=None):
        """Grow the tree for the numbers y, one column or several."""
        weigh = lambda y: check_sample_weight(sample_weight, len(y))
        X, y = validate_training_data(self, X, y, "numbers", weigh)
        w = weigh(y)
        Y, criterion, signs = regression_target(self, y, w, X.shape[1])
        fit = fit_standardized_tree if criterion.kind in (GAUSS, JOINT) else fit_tree
        self.tree_ = fit(self, X, Y, w, criterion, signs)
        return self

    def predict(self, X):
        """The value of the leaf: (n,), or (n, outputs) if there are several."""
        one = lambda tree: tree.value[:, 0, 0]
        all_of = lambda tree: tree.value[:, :, 0]
        check_is_fitted(self)
        return leaf_values_of_rows(self, X, one if self.n_outputs_ == 1 else all_of)

    def _compute_partial_dependence_recursion(self, grid, target_features):
        """Partial dependence by the tree itself; scikit-learn's inspection calls it."""
        out = np.zeros(len(grid))
        rows = encode_grid(self, grid, target_features)
        self.tree_.compute_partial_dependence(rows, target_features, out)
        return out


def fit_standardized_tree(model, X, Y, w, criterion, signs):
    """The tree for targets of mean 0 and variance 1, its values taken back."""
    mean = np.average(Y, axis=0, weights=w)
    spread = np.sqrt(np.average((Y - mean) ** 2, axis=0, weights=w))
    spread[spread == 0] = 1.0
    tree = fit_tree(model, X, (Y - mean) / spread, w, criterion, signs)
    return tree._replace(value=tree.value * spread[:, None] + mean[:, None])


@dataclass(eq=False, repr=False)
class DecisionTreeClassifier(AbstractTreeClassifier):
    """A decision tree for classes.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "zero_one", "gain_ratio"}, \
default="gini"
        Impurity; entropy and log loss are the same. "zero_one" counts errors;
        "gain_ratio" divides the gain of entropy by the entropy of the split.
    splitter : {"best", "random"}, default="best"
        "random" draws one threshold per feature, evenly between its extremes.
    max_depth : int or None, default=None
        Most splits between root and leaf.
    min_samples_split : int or float, default=2
        Rows a node needs to be split; a fraction is of all rows.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must keep.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight that each side of a split must keep.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features drawn at each node; more are drawn until one can split.
    random_state : int, RandomState, Generator or None, default=None
        Only the draws of `splitter` and `max_features` use it.
    max_leaf_nodes : int or None, default=None
        If given, nodes are split in the order of their gain until there are so many.
    min_impurity_decrease : float, default=0.0
        Gain, as a share of the total weight, that a split must reach.
    class_weight : dict, list of dict, "balanced" or None, default=None
        Factors on the weights by class (a list has one dict per output).
    ccp_alpha : float, default=0.0
        Price of a leaf for cost-complexity pruning after growth.
    monotonic_cst : array-like of -1, 0, 1 or None, default=None
        By feature: the second class's probability may only fall, is free, or may
        only rise.
    max_bins : int or None, default=None
        None is exact; 2 to 255 bins per column are faster on large tables.
    categorical_features : None, "from_dtype", mask, indices or names, default=None
        Columns whose values are levels; "from_dtype" takes the categorical and text
        columns of a data frame.
    directional_features : None, mask, indices, names or dict, default=None
        Columns whose values are angles, in radians; a dict gives the period of each
        (7 for a day of the week).
    categorical_split : {"subset", "level"}, default="subset"
        Whether levels are split into any two sets or one against the rest.
    missing : {"default", "both", "mean", "mode", "model"}, default="default"
        Whether a missing value takes the side chosen in training, or both branches
        are averaged, or it is filled in beforehand: by the mean of its column (levels
        and angles by the mode), its mode, or the prediction of a tree of the other
        columns.
    smoothing : float, default=0.0
        a in the leaf probabilities (n_c + a) / (n + a K); 1 is Laplace's.

    Attributes
    ----------
    classes_ : array, or list of arrays if there are several outputs
    n_classes_ : int, or array
    n_outputs_ : int
    max_features_ : int
    tree_ : Tree
        Arrays with an entry per node; see `pansophy.tree.Tree`.
    inputs_ : Inputs
        Levels and angles of the columns.
    splits_ : list
        What each node asks, in words.
    feature_importances_ : array of shape (n_features,)

    Examples
    --------
    >>> from pansophy.tree import DecisionTreeClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = DecisionTreeClassifier().fit(X, ["no", "yes", "yes", "no"])
    >>> model.predict([[1, 1], [0, 1]])
    array(['no', 'yes'], dtype='<U3')
    >>> model.get_depth(), model.get_n_leaves()
    (2, 4)
    """

    criterion: Literal["gini", "entropy", "log_loss", "zero_one", "gain_ratio"] = "gini"
    _: KW_ONLY
    splitter: Literal["best", "random"] = "best"
    max_depth: Count | None = None
    min_samples_split: TwoOrMore | PositiveFraction = 2
    min_samples_leaf: Count | ProperFraction = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_features: Count | PositiveFraction | Literal["sqrt", "log2"] | None = None
    random_state: Seed = None
    max_leaf_nodes: TwoOrMore | None = None
    min_impurity_decrease: NonNegative = 0.0
    class_weight: ClassWeightOption | None = None
    ccp_alpha: NonNegative = 0.0
    monotonic_cst: MonotoneSigns | None = None
    max_bins: BinCount | None = None
    categorical_features: ColumnSelection | Literal["from_dtype"] | None = None
    directional_features: AngleSelection | None = None
    categorical_split: Literal["subset", "level"] = "subset"
    missing: Literal["default", "both", "mean", "mode", "model"] = "default"
    smoothing: NonNegative = 0.0


@dataclass(eq=False, repr=False)
class DecisionTreeRegressor(AbstractTreeRegressor):
    """A decision tree for numbers.

    Parameters
    ----------
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson", \
"quantile", "gaussian", "gaussian_joint"}, default="squared_error"
        Impurity. "friedman_mse" ranks splits as "squared_error" does and is the
        same; "absolute_error" predicts medians and "quantile" other quantiles;
        "poisson" is for counts; "gaussian" is the entropy of a normal distribution,
        "gaussian_joint" of all outputs together.
    splitter : {"best", "random"}, default="best"
        "random" draws one threshold per feature, evenly between its extremes.
    max_depth : int or None, default=None
        Most splits between root and leaf.
    min_samples_split : int or float, default=2
        Rows a node needs to be split; a fraction is of all rows.
    min_samples_leaf : int or float, default=1
        Rows that each side of a split must keep.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight that each side of a split must keep.
    max_features : int, float, {"sqrt", "log2"} or None, default=None
        Features drawn at each node; more are drawn until one can split.
    random_state : int, RandomState, Generator or None, default=None
        Only the draws of `splitter` and `max_features` use it.
    max_leaf_nodes : int or None, default=None
        If given, nodes are split in the order of their gain until there are so many.
    min_impurity_decrease : float, default=0.0
        Gain, as a share of the total weight, that a split must reach.
    ccp_alpha : float, default=0.0
        Price of a leaf for cost-complexity pruning after growth.
    monotonic_cst : array-like of -1, 0, 1 or None, default=None
        By feature: the prediction may only fall, is free, or may only rise.
    max_bins : int or None, default=None
        None is exact; 2 to 255 bins per column are faster on large tables.
    categorical_features : None, "from_dtype", mask, indices or names, default=None
        Columns whose values are levels; "from_dtype" takes the categorical and text
        columns of a data frame.
    directional_features : None, mask, indices, names or dict, default=None
        Columns whose values are angles, in radians; a dict gives the period of each
        (7 for a day of the week).
    categorical_split : {"subset", "level"}, default="subset"
        Whether levels are split into any two sets or one against the rest.
    missing : {"default", "both", "mean", "mode", "model"}, default="default"
        Whether a missing value takes the side chosen in training, or both branches
        are averaged, or it is filled in beforehand: by the mean of its column (levels
        and angles by the mode), its mode, or the prediction of a tree of the other
        columns.
    quantile : float, default=0.5
        The quantile that criterion="quantile" predicts.

    Attributes
    ----------
    n_outputs_ : int
    max_features_ : int
    tree_ : Tree
        Arrays with an entry per node; see `pansophy.tree.Tree`.
    inputs_ : Inputs
        Levels and angles of the columns.
    splits_ : list
        What each node asks, in words.
    feature_importances_ : array of shape (n_features,)

    Examples
    --------
    >>> from pansophy.tree import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor(max_depth=1)
    >>> model.fit([[1], [2], [3], [4]], [1.0, 1.0, 5.0, 7.0]).predict([[0], [9]])
    array([1., 6.])
    """

    criterion: Literal[
        "squared_error",
        "friedman_mse",
        "absolute_error",
        "poisson",
        "quantile",
        "gaussian",
        "gaussian_joint",
    ] = "squared_error"
    _: KW_ONLY
    splitter: Literal["best", "random"] = "best"
    max_depth: Count | None = None
    min_samples_split: TwoOrMore | PositiveFraction = 2
    min_samples_leaf: Count | ProperFraction = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_features: Count | PositiveFraction | Literal["sqrt", "log2"] | None = None
    random_state: Seed = None
    max_leaf_nodes: TwoOrMore | None = None
    min_impurity_decrease: NonNegative = 0.0
    ccp_alpha: NonNegative = 0.0
    monotonic_cst: MonotoneSigns | None = None
    max_bins: BinCount | None = None
    categorical_features: ColumnSelection | Literal["from_dtype"] | None = None
    directional_features: AngleSelection | None = None
    categorical_split: Literal["subset", "level"] = "subset"
    missing: Literal["default", "both", "mean", "mode", "model"] = "default"
    quantile: OpenFraction = 0.5

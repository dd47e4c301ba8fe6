"""Decision trees: CART for classes and for numbers.

A tree asks at each node whether one column is at most a threshold and answers at a
leaf with the weighted class shares, mean or median of the training rows there. It is
grown from the root by the split that lowers the summed impurity most,

    gain = W I - W_l I_l - W_r I_r                                              (1)

over all features and all midpoints between neighbouring values (criteria.py has I,
grow.py the search). No look-ahead: finding the smallest tree is NP-hard, one greedy
step is a sort.

Details that matter
- Values are compared in single precision, as in scikit-learn: columns are converted
  to float32 first. Any two different float32 values can be split (scikit-learn keeps
  values closer than 1e-7 together, whatever their scale).
- Gains that differ by less than 1e-10 of W I are equal; then the lowest feature and
  the lowest threshold win. So the tree does not depend on the order of rows, and
  rows of weight k grow the same tree as k copies of them.
- A missing value (NaN) is sent, at each node, to the side that gains more; where
  training had none missing, to the side with more rows.
- `max_bins` trades exactness for speed: columns with more distinct values are cut
  into that many bins of about equal weight first. None is exact.
- Zero gain is still a split (two features may help only together), so without
  limits the tree fits all rows whose columns differ.

Time O(n d) per level after one sort of each column. Memory 12 bytes per value.

Shapes    X (n, d)   y (n,) or (n, m)   w (n,)
Refs      [Breiman1984]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from ..base import Classifier, Regressor
from ..params import Count, NonNegative
from ..typing import Seed
from .abstract import (
    AbstractDecisionTree,
    Bins,
    HalfAtMost,
    OpenShare,
    Share,
    Signs,
    TwoOrMore,
    Weights,
    begin,
    check_signs,
    fit_tree,
    weights_of,
)
from .criteria import KINDS, Criterion


@dataclass(eq=False, repr=False)
class DecisionTreeClassifier(Classifier, AbstractDecisionTree):
    """A decision tree for classes.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        Impurity; the last two are the same.
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

    Attributes
    ----------
    classes_ : array, or list of arrays if there are several outputs
    n_classes_ : int, or array
    n_outputs_ : int
    max_features_ : int
    tree_ : Tree
        Arrays with an entry per node; see `pansophy.tree.Tree`.
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

    criterion: Literal["gini", "entropy", "log_loss"] = "gini"
    _: KW_ONLY
    splitter: Literal["best", "random"] = "best"
    max_depth: Count | None = None
    min_samples_split: TwoOrMore | Share = 2
    min_samples_leaf: Count | OpenShare = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_features: Count | Share | Literal["sqrt", "log2"] | None = None
    random_state: Seed = None
    max_leaf_nodes: TwoOrMore | None = None
    min_impurity_decrease: NonNegative = 0.0
    class_weight: Weights | None = None
    ccp_alpha: NonNegative = 0.0
    monotonic_cst: Signs | None = None
    max_bins: Bins | None = None

    def fit(self, X, y, sample_weight=None):
        """Grow the tree for the classes y, one column or several."""
        X, y = begin(self, X, y, "labels")
        Y = y[:, None] if y.ndim == 1 else y
        w = weights_of(sample_weight, len(Y))
        if self.class_weight is not None:
            factor = compute_sample_weight(self.class_weight, Y)
            w = factor if w is None else w * factor
        pairs = [np.unique(column, return_inverse=True) for column in Y.T]
        counts = tuple(len(classes) for classes, _ in pairs)
        self.n_outputs_ = len(pairs)
        one = self.n_outputs_ == 1
        self.classes_ = pairs[0][0] if one else [classes for classes, _ in pairs]
        self.n_classes_ = counts[0] if one else np.array(counts)
        signs = check_signs(self.monotonic_cst, X.shape[1], len(pairs), counts[0])
        codes = np.stack([code for _, code in pairs], axis=1).astype(float)
        criterion = Criterion(KINDS[self.criterion], len(pairs), counts)
        self.tree_ = fit_tree(self, X, codes, w, criterion, signs)
        return self

    def predict(self, X):
        """The most likely class; of equals the first."""
        leaf = self.apply(X)
        best = self.tree_.value.argmax(axis=2)
        if self.n_outputs_ == 1:
            return self.classes_[best[:, 0]][leaf]
        columns = [c[b][leaf] for c, b in zip(self.classes_, best.T)]
        return np.stack(columns, axis=1)

    def predict_proba(self, X):
        """Class shares in the leaf, a list of arrays if there are several outputs."""
        leaf, value = self.apply(X), self.tree_.value
        if self.n_outputs_ == 1:
            return value[:, 0, :][leaf]
        return [value[:, o, : len(c)][leaf] for o, c in enumerate(self.classes_)]

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`."""
        p = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(p) if self.n_outputs_ == 1 else [np.log(q) for q in p]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


@dataclass(eq=False, repr=False)
class DecisionTreeRegressor(Regressor, AbstractDecisionTree):
    """A decision tree for numbers.

    Parameters
    ----------
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson"}, \
default="squared_error"
        Impurity. "friedman_mse" ranks splits as "squared_error" does and is the
        same; "absolute_error" predicts medians; "poisson" is for counts.
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

    Attributes
    ----------
    n_outputs_ : int
    max_features_ : int
    tree_ : Tree
        Arrays with an entry per node; see `pansophy.tree.Tree`.
    feature_importances_ : array of shape (n_features,)

    Examples
    --------
    >>> from pansophy.tree import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor(max_depth=1)
    >>> model.fit([[1], [2], [3], [4]], [1.0, 1.0, 5.0, 7.0]).predict([[0], [9]])
    array([1., 6.])
    """

    criterion: Literal["squared_error", "friedman_mse", "absolute_error", "poisson"] = (
        "squared_error"
    )
    _: KW_ONLY
    splitter: Literal["best", "random"] = "best"
    max_depth: Count | None = None
    min_samples_split: TwoOrMore | Share = 2
    min_samples_leaf: Count | OpenShare = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_features: Count | Share | Literal["sqrt", "log2"] | None = None
    random_state: Seed = None
    max_leaf_nodes: TwoOrMore | None = None
    min_impurity_decrease: NonNegative = 0.0
    ccp_alpha: NonNegative = 0.0
    monotonic_cst: Signs | None = None
    max_bins: Bins | None = None

    def fit(self, X, y, sample_weight=None):
        """Grow the tree for the numbers y, one column or several."""
        X, y = begin(self, X, y, "numbers")
        Y = np.asarray(y[:, None] if y.ndim == 1 else y, float)
        w = weights_of(sample_weight, len(Y))
        sums = Y.sum(axis=0) if w is None else w @ Y
        if self.criterion == "poisson" and (np.any(Y < 0) or np.any(sums <= 0)):
            raise ValueError(
                "criterion='poisson' needs y without negative values and with a "
                "positive sum in every column."
            )
        self.n_outputs_ = Y.shape[1]
        signs = check_signs(self.monotonic_cst, X.shape[1], self.n_outputs_)
        criterion = Criterion(KINDS[self.criterion], self.n_outputs_)
        self.tree_ = fit_tree(self, X, Y, w, criterion, signs)
        return self

    def predict(self, X):
        """The value of the leaf: (n,), or (n, outputs) if there are several."""
        leaf = self.apply(X)
        value = self.tree_.value[:, :, 0]
        return (value[:, 0] if self.n_outputs_ == 1 else value)[leaf]

"""Extremely randomised trees: forests whose thresholds are random too.

At a node a few features are drawn and for each one threshold, uniformly between the
extremes of the node's rows; the best of these splits is taken. Nothing is searched, so
growth is faster than a random forest's, the trees differ more, and there is no need to
draw rows: by default every tree has all of them. `fit`, predictions and the other
parameters are those of `forest.py`.

Refs      [Geurts2006]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from ...params import Count, Flag
from ...tree.abstract_decision_tree import PositiveFraction
from .forest import AbstractForestClassifier, AbstractForestRegressor


@dataclass(eq=False, repr=False)
class ExtraTreesClassifier(AbstractForestClassifier):
    """Extremely randomised trees for classes.

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
    bootstrap : bool, default=False
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
    estimators_ : list of ExtraTreeClassifier
        The trees one by one, built at the first access; their classes are numbers.
    estimator_ : ExtraTreeClassifier
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
    >>> from pansophy.ensemble import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ExtraTreesClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y)
    1.0
    """

    _: KW_ONLY
    max_features: Count | PositiveFraction | Literal["sqrt", "log2"] | None = "sqrt"
    bootstrap: Flag = False

    @property
    def splitter(self) -> str:
        """Splitter of the trees, as decision trees name it."""
        return "random"


@dataclass(eq=False, repr=False)
class ExtraTreesRegressor(AbstractForestRegressor):
    """Extremely randomised trees for numbers.

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
    bootstrap : bool, default=False
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
    estimators_ : list of ExtraTreeRegressor
        The trees one by one, built at the first access.
    estimator_ : ExtraTreeRegressor
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
    >>> from pansophy.ensemble import ExtraTreesRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = ExtraTreesRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict([[1.5]]) - np.sin(1.5))[0] < 0.05)
    True
    """

    _: KW_ONLY
    bootstrap: Flag = False

    @property
    def splitter(self) -> str:
        """Splitter of the trees, as decision trees name it."""
        return "random"

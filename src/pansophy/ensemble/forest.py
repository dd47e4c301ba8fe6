"""Random forests: the mean of many trees, each grown on rows and features drawn anew.

Tree b sees n rows drawn with replacement and, at each node, the best split of a few
features drawn for that node. The forest's answer is the mean

    f(x) = 1/B sum_b t_b(x).                                                    (1)

If trees of variance s^2 have correlation r, the mean has variance r s^2 + (1-r)/B s^2:
more trees remove the second term, drawing features lowers r. So B never overfits, and
trees may be grown fully.

A row is left out by a tree with probability (1 - 1/n)^n -> 1/e, so a good third of the
trees can be tested on it: the out-of-bag error (`oob_score`), nearly that of held-out
data, for nothing. The same draws give the variance of f(x) itself (forest_uncertainty.py).

Columns with more than `max_bins` different values are cut into that many bins of about
equal weight, once for all trees; columns with fewer are exact. None is exact for all.

Time O(B n log n sqrt(d)) for fully grown trees on sqrt(d) features; memory 1 byte per
value of X, O(n) for each tree in work, 20 to 30 bytes a leaf for the finished forest.

Shapes    X (n, d)   y (n,) or (n, m)   w (n,)
Refs      [Breiman2001]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from ..params import Count
from ..tree.abstract import Share
from .forest_roles import AbstractForestClassifier, AbstractForestRegressor


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
        If given, nodes are split in the order of their gain until there are so many.
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
        Factors on the weights by class; "balanced_subsample" finds them for the rows
        that each tree draws.
    ccp_alpha : float, default=0.0
        Price of a leaf for cost-complexity pruning after growth.
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
        The trees one by one, built when first asked for; their classes are numbers.
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
    max_features: Count | Share | Literal["sqrt", "log2"] | None = "sqrt"


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
        If given, nodes are split in the order of their gain until there are so many.
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
        Price of a leaf for cost-complexity pruning after growth.
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
        The trees one by one, built when first asked for.
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

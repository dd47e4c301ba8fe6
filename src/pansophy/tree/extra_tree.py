"""Extremely randomised trees: the best of one random split per feature.

At a node each of `max_features` features drawn gets one split at random (a threshold
evenly between its extremes, a coin for each level, one of the half circles) and the
split that gains most is used. Alone such a tree is weak; its errors differ from those
of its like, so that many of them average well.

Time O(n d) per level, without sorting what is random.

Shapes    X (n, d)   y (n,) or (n, m)   w (n,)
Refs      [Geurts2006]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from ..params import Count, NonNegative, OpenFraction, TwoOrMore
from ..typing import Seed
from .abstract_decision_tree import (
    AngleSelection,
    BinCount,
    ClassWeightOption,
    ColumnSelection,
    HalfAtMost,
    MonotoneSigns,
    PositiveFraction,
    ProperFraction,
)
from .decision_tree import AbstractTreeClassifier, AbstractTreeRegressor


@dataclass(eq=False, repr=False)
class ExtraTreeClassifier(AbstractTreeClassifier):
    """A decision tree for classes with random splits.

    Parameters are those of `DecisionTreeClassifier`; only the defaults of `splitter`
    ("random") and `max_features` ("sqrt") differ.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "zero_one", "gain_ratio"}, \
default="gini"
    splitter : {"random", "best"}, default="random"
    max_depth : int or None, default=None
    min_samples_split : int or float, default=2
    min_samples_leaf : int or float, default=1
    min_weight_fraction_leaf : float, default=0.0
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
    random_state : int, RandomState, Generator or None, default=None
    max_leaf_nodes : int or None, default=None
    min_impurity_decrease : float, default=0.0
    class_weight : dict, list of dict, "balanced" or None, default=None
    ccp_alpha : float, default=0.0
    monotonic_cst : array-like of -1, 0, 1 or None, default=None
    max_bins : int or None, default=None
    categorical_features : None, "from_dtype", mask, indices or names, default=None
    directional_features : None, mask, indices, names or dict, default=None
    categorical_split : {"subset", "level"}, default="subset"
    missing : {"default", "both", "mean", "mode", "model"}, default="default"
    smoothing : float, default=0.0

    Attributes
    ----------
    classes_ : array, or list of arrays if there are several outputs
    n_classes_ : int, or array
    n_outputs_ : int
    max_features_ : int
    tree_ : Tree
    inputs_ : Inputs
    feature_importances_ : array of shape (n_features,)

    Examples
    --------
    >>> from pansophy.tree import ExtraTreeClassifier
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = ExtraTreeClassifier(random_state=0).fit(X, ["no", "yes", "yes", "no"])
    >>> model.predict([[1, 1], [0, 1]])
    array(['no', 'yes'], dtype='<U3')
    """

    criterion: Literal["gini", "entropy", "log_loss", "zero_one", "gain_ratio"] = "gini"
    _: KW_ONLY
    splitter: Literal["random", "best"] = "random"
    max_depth: Count | None = None
    min_samples_split: TwoOrMore | PositiveFraction = 2
    min_samples_leaf: Count | ProperFraction = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_features: Count | PositiveFraction | Literal["sqrt", "log2"] | None = "sqrt"
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
class ExtraTreeRegressor(AbstractTreeRegressor):
    """A decision tree for numbers with random splits.

    Parameters are those of `DecisionTreeRegressor`; only the defaults of `splitter`
    ("random") and `max_features` (1.0) differ.

    Parameters
    ----------
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson", \
"quantile", "gaussian", "gaussian_joint"}, default="squared_error"
    splitter : {"random", "best"}, default="random"
    max_depth : int or None, default=None
    min_samples_split : int or float, default=2
    min_samples_leaf : int or float, default=1
    min_weight_fraction_leaf : float, default=0.0
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
    random_state : int, RandomState, Generator or None, default=None
    min_impurity_decrease : float, default=0.0
    max_leaf_nodes : int or None, default=None
    ccp_alpha : float, default=0.0
    monotonic_cst : array-like of -1, 0, 1 or None, default=None
    max_bins : int or None, default=None
    categorical_features : None, "from_dtype", mask, indices or names, default=None
    directional_features : None, mask, indices, names or dict, default=None
    categorical_split : {"subset", "level"}, default="subset"
    missing : {"default", "both", "mean", "mode", "model"}, default="default"
    quantile : float, default=0.5

    Attributes
    ----------
    n_outputs_ : int
    max_features_ : int
    tree_ : Tree
    inputs_ : Inputs
    feature_importances_ : array of shape (n_features,)

    Examples
    --------
    >>> from pansophy.tree import ExtraTreeRegressor
    >>> model = ExtraTreeRegressor(random_state=0)
    >>> model.fit([[1], [2], [3], [4]], [1.0, 1.0, 5.0, 7.0]).predict([[0], [9]])
    array([1., 7.])
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
    splitter: Literal["random", "best"] = "random"
    max_depth: Count | None = None
    min_samples_split: TwoOrMore | PositiveFraction = 2
    min_samples_leaf: Count | ProperFraction = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    max_features: Count | PositiveFraction | Literal["sqrt", "log2"] | None = 1.0
    random_state: Seed = None
    min_impurity_decrease: NonNegative = 0.0
    max_leaf_nodes: TwoOrMore | None = None
    ccp_alpha: NonNegative = 0.0
    monotonic_cst: MonotoneSigns | None = None
    max_bins: BinCount | None = None
    categorical_features: ColumnSelection | Literal["from_dtype"] | None = None
    directional_features: AngleSelection | None = None
    categorical_split: Literal["subset", "level"] = "subset"
    missing: Literal["default", "both", "mean", "mode", "model"] = "default"
    quantile: OpenFraction = 0.5

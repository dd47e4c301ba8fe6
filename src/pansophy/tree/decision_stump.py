"""Decision stump: a classifier with a single split.

A stump tests whether one column is above a threshold, or equal to one level, and
predicts the majority class of either side:

    theta = (feature, threshold)   left if x_f <= threshold                     (1)
    theta = (feature, level)       left if x_f = level                          (2)

Every theta is tried: of a column of numbers all midpoints between neighbouring
different values, of a categorical one each level; the one with the fewest weighted
errors is taken (or the best by another criterion), the lowest feature, then the lowest
threshold, among equals. With an error of zero possible it is found, since it is among
those tried. The search is that of the engine at a depth of one.

Time O(n d) after one sort of each column.

Shapes    X (n, d)   y (n,)   w (n,)
Refs      [Iba1992]
"""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

from ..params import Count
from .abstract_decision_tree import (
    AngleSelection,
    BinCount,
    ClassWeightOption,
    ColumnSelection,
    HalfAtMost,
)
from .decision_tree import AbstractTreeClassifier


@dataclass(eq=False, repr=False)
class DecisionStump(AbstractTreeClassifier):
    """A classifier with a single split.

    Parameters
    ----------
    criterion : {"zero_one", "gini", "entropy", "log_loss", "gain_ratio"}, \
default="zero_one"
        What the split is chosen by; "zero_one" counts errors.
    min_samples_leaf : int, default=1
        Rows that each side must keep.
    min_weight_fraction_leaf : float, default=0.0
        Share of the total weight that each side must keep.
    class_weight : dict, list of dict, "balanced" or None, default=None
    max_bins : int or None, default=None
        None tries every threshold; 2 to 255 bins per column are faster.
    categorical_features : None, "from_dtype", mask, indices or names, default=None
        Columns whose values are levels, split in the form of eq. (2).
    directional_features : None, mask, indices, names or dict, default=None
        Columns whose values are angles.
    categorical_split : {"level", "subset"}, default="level"
        "subset" sends any set of levels left.

    Attributes
    ----------
    feature_ : int or None
        The column asked; None if no split is possible.
    split_ : ThresholdSplit, LevelSplit, DirectionalSplit or None
        The question.
    classes_ : array of shape (n_classes,)
    n_classes_ : int
    n_outputs_ : int
    max_features_ : int
    tree_ : Tree
    inputs_ : Inputs
    feature_importances_ : array of shape (n_features,)

    Examples
    --------
    >>> from pansophy.tree import DecisionStump
    >>> stump = DecisionStump().fit([[5, 1], [6, 2], [1, 3], [2, 4]], [0, 0, 1, 1])
    >>> stump.feature_, stump.split_.threshold
    (0, 3.5)
    >>> words = DecisionStump(categorical_features=[0])
    >>> words = words.fit([["sun"], ["rain"], ["snow"]], ["out", "in", "in"])
    >>> print(words.split_, words.predict([["sun"], ["hail"]]))
    column 0 in {sun} ['out' 'in']
    """

    criterion: Literal["zero_one", "gini", "entropy", "log_loss", "gain_ratio"] = (
        "zero_one"
    )
    _: KW_ONLY
    min_samples_leaf: Count = 1
    min_weight_fraction_leaf: HalfAtMost = 0.0
    class_weight: ClassWeightOption | None = None
    max_bins: BinCount | None = None
    categorical_features: ColumnSelection | Literal["from_dtype"] | None = None
    directional_features: AngleSelection | None = None
    categorical_split: Literal["level", "subset"] = "level"

    # what the other trees leave to the user
    splitter: ClassVar[str] = "best"
    max_depth: ClassVar[int] = 1
    min_samples_split: ClassVar[int] = 2
    max_features: ClassVar[None] = None
    random_state: ClassVar[int] = 0
    max_leaf_nodes: ClassVar[None] = None
    min_impurity_decrease: ClassVar[float] = 0.0
    ccp_alpha: ClassVar[float] = 0.0
    monotonic_cst: ClassVar[None] = None
    missing: ClassVar[str] = "default"
    smoothing: ClassVar[float] = 0.0

    @property
    def split_(self):
        """The question, or None."""
        return self.splits_[0]

    @property
    def feature_(self):
        """The column asked, or None."""
        split = self.split_
        return None if split is None else split.feature

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        tags.classifier_tags.multi_label = False
        tags.classifier_tags.poor_score = True  # two answers for any number of classes
        return tags

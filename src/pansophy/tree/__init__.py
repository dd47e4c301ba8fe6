"""Decision trees and the engine that grows them."""

from ..scikit_learn import share_names
from .criteria import entropy, gini, information_gain, split_impurity
from .decision_stump import DecisionStump
from .decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from .directional_tree import DirectionalTreeRegressor
from .export import export_graphviz, export_text
from .extra_tree import ExtraTreeClassifier, ExtraTreeRegressor
from .growth_curve import GrowthCurve, growth_curve
from .id3 import C45Classifier, ID3Classifier
from .multiway_tree import MultiwayTree
from .pruning import prune_reduced_error
from .rules import RuleList, export_rules, extract_rules, prune_rules
from .shap import Explanation, shap_values
from .split_curve import split_curve
from .splits import DirectionalSplit, LevelSplit, ThresholdSplit
from .tree import Tree
from .tree_drawing import export_svg

__all__ = [
    "C45Classifier",
    "DecisionStump",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "DirectionalSplit",
    "DirectionalTreeRegressor",
    "Explanation",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "GrowthCurve",
    "ID3Classifier",
    "LevelSplit",
    "MultiwayTree",
    "RuleList",
    "ThresholdSplit",
    "Tree",
    "entropy",
    "export_graphviz",
    "export_rules",
    "export_svg",
    "export_text",
    "extract_rules",
    "gini",
    "growth_curve",
    "information_gain",
    "prune_reduced_error",
    "prune_rules",
    "shap_values",
    "split_curve",
    "split_impurity",
]

__getattr__, __dir__ = share_names(__name__)

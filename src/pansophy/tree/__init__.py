"""Decision trees and the engine that grows them."""

from .criteria import entropy, gini, information_gain, split_curve, split_impurity
from .decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from .directional import DirectionalTreeRegressor
from .export import export_graphviz, export_text
from .extra_tree import ExtraTreeClassifier, ExtraTreeRegressor
from .growth import GrowthCurve, growth_curve
from .id3 import C45Classifier, ID3Classifier
from .multiway import MultiwayTree
from .prune import prune_reduced_error
from .rules import RuleList, export_rules, extract_rules, prune_rules
from .shap import Explanation, shap_values
from .splits import DirectionalSplit, LevelSplit, ThresholdSplit
from .structure import Tree
from .stump import DecisionStump
from .svg import export_svg

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

"""Decision trees and the engine that grows them.

Rooms

    growing      growing: prepared columns, criteria, searches for a split, the grower
                 itself
    storage      grown trees as arrays: one, many packed together, sums of them
    pruning      pruning of grown trees by cost or by rows held out
    explanation  what a tree says: drawings, rules, exports, Shapley values
"""

from ..scikit_learn import share_names
from .decision_stump import DecisionStump
from .decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from .directional_tree import DirectionalTreeRegressor
from .explanation.export import export_graphviz, export_text
from .explanation.rules import RuleList, export_rules, extract_rules, prune_rules
from .explanation.shap import Explanation, shap_values
from .explanation.splits import DirectionalSplit, LevelSplit, ThresholdSplit
from .explanation.tree_drawing import export_svg
from .extra_tree import ExtraTreeClassifier, ExtraTreeRegressor
from .growing.criteria import entropy, gini, information_gain, split_impurity
from .id3 import C45Classifier, ID3Classifier
from .multiway_tree import MultiwayTree
from .pruning.pruning import prune_reduced_error
from .storage.tree import Tree

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
    "information_gain",
    "prune_reduced_error",
    "prune_rules",
    "shap_values",
    "split_impurity",
]

__getattr__, __dir__ = share_names(__name__)

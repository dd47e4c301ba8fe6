"""Decision trees and the engine that grows them."""

from .criteria import entropy, gini, information_gain, split_curve, split_impurity
from .decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from .export import export_rules, export_text
from .structure import Tree

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "Tree",
    "entropy",
    "export_rules",
    "export_text",
    "gini",
    "information_gain",
    "split_curve",
    "split_impurity",
]

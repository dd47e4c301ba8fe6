"""Ensembles: bagging, forests, boosting, voting, stacking and mixtures of experts.

Rooms

    boosting  boosting: trees that correct their predecessors
    forests   forests: trees of their own that vote, their uncertainty and leaves
"""

from ..scikit_learn import share_names
from .bagging import BaggingClassifier, BaggingRegressor
from .boosting.adaboost import AdaBoostClassifier, AdaBoostRegressor
from .boosting.gradient_boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from .boosting.hist_gradient_boosting import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from .cascade import CascadeClassifier
from .diversity import Diversity, diversity
from .forests.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from .forests.forest import RandomForestClassifier, RandomForestRegressor
from .forests.isolation_forest import IsolationForest
from .forests.random_trees_embedding import RandomTreesEmbedding
from .forests.rotation_forest import RotationForestClassifier, RotationForestRegressor
from .mixture_of_experts import MixtureOfExperts, MixtureOfExpertsClassifier
from .stacking import StackingClassifier, StackingRegressor
from .voting import VotingClassifier, VotingRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "CascadeClassifier",
    "Diversity",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "MixtureOfExperts",
    "MixtureOfExpertsClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomTreesEmbedding",
    "RotationForestClassifier",
    "RotationForestRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "diversity",
]

__getattr__, __dir__ = share_names(__name__)

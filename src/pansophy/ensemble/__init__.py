"""Ensembles: bagging, forests, boosting, voting, stacking and mixtures of experts."""

from ..scikit_learn import share_names
from .adaboost import AdaBoostClassifier, AdaBoostRegressor
from .bagging import BaggingClassifier, BaggingRegressor
from .cascade import CascadeClassifier
from .diversity import Diversity, diversity
from .extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from .forest import RandomForestClassifier, RandomForestRegressor
from .gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from .hist_gradient_boosting import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from .isolation_forest import IsolationForest
from .mixture_of_experts import MixtureOfExperts, MixtureOfExpertsClassifier
from .random_trees_embedding import RandomTreesEmbedding
from .rotation_forest import RotationForestClassifier, RotationForestRegressor
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

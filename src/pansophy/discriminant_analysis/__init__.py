"""Discriminant analysis: normal classes, and the directions that separate them."""

from ..scikit_learn import share_names
from .fisher import FisherDirection, fisher_direction
from .linear import LinearDiscriminantAnalysis
from .quadratic import QuadraticDiscriminantAnalysis

__all__ = [
    "FisherDirection",
    "LinearDiscriminantAnalysis",
    "QuadraticDiscriminantAnalysis",
    "fisher_direction",
]

__getattr__, __dir__ = share_names(__name__)

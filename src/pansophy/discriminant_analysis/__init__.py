"""Discriminant analysis: normal classes, and the directions that separate them."""

from .fisher import FisherDirection, fisher_direction
from .linear import LinearDiscriminantAnalysis
from .quadratic import QuadraticDiscriminantAnalysis

__all__ = [
    "FisherDirection",
    "LinearDiscriminantAnalysis",
    "QuadraticDiscriminantAnalysis",
    "fisher_direction",
]

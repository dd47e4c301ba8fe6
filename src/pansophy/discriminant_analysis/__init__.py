"""Discriminant analysis: classes as Normals, and the directions that separate them."""

from .fisher import Fisher, fisher_direction
from .linear import LinearDiscriminantAnalysis
from .quadratic import QuadraticDiscriminantAnalysis

__all__ = [
    "Fisher",
    "LinearDiscriminantAnalysis",
    "QuadraticDiscriminantAnalysis",
    "fisher_direction",
]

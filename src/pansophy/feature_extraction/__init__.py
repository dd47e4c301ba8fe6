"""Feature maps: columns by formulas, polynomials, and polar coordinates."""

from .basis import BasisFeatures
from .polar import PolarFeatures, RadiusFeature
from .polynomial import PolynomialFeatures, polynomial_size

__all__ = [
    "BasisFeatures",
    "PolarFeatures",
    "PolynomialFeatures",
    "RadiusFeature",
    "polynomial_size",
]

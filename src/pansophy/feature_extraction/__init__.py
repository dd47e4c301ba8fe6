"""Feature maps: formulas, polynomials, quadratic maps and polar coordinates."""

from ..scikit_learn import share_names
from .basis import BasisFeatures
from .polar import PolarFeatures, RadiusFeature
from .polynomial import PolynomialFeatures, polynomial_size
from .quadratic_map import QuadraticMap

__all__ = [
    "BasisFeatures",
    "PolarFeatures",
    "PolynomialFeatures",
    "QuadraticMap",
    "RadiusFeature",
    "polynomial_size",
]

__getattr__, __dir__ = share_names(__name__)

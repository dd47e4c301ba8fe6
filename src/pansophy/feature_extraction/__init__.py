"""Feature maps: columns by formulas, and polar coordinates."""

from .basis import BasisFeatures, polynomial_size
from .polar import PolarFeatures, RadiusFeature

__all__ = ["BasisFeatures", "PolarFeatures", "RadiusFeature", "polynomial_size"]

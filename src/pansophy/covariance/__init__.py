"""Covariance of the columns: empirical, shrunk, robust, and outliers by it."""

from ..scikit_learn import share_names
from .empirical import OAS, EmpiricalCovariance, LedoitWolf, ShrunkCovariance
from .minimum_covariance_determinant import EllipticEnvelope, MinCovDet

__all__ = [
    "OAS",
    "EllipticEnvelope",
    "EmpiricalCovariance",
    "LedoitWolf",
    "MinCovDet",
    "ShrunkCovariance",
]

__getattr__, __dir__ = share_names(__name__)

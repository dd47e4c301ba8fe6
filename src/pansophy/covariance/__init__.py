"""Covariance of the columns: empirical, shrunk, robust, and outliers by it."""

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

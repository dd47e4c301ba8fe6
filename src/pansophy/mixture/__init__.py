"""Mixtures: densities that are sums of simpler ones, fitted by EM; outliers by them."""

from .gaussian_mixture import DegenerateWarning, GaussianMixture
from .outliers import (
    ClassifierWithOutliers,
    DensityOutlierDetector,
    best_threshold,
    threshold_curve,
)

__all__ = [
    "ClassifierWithOutliers",
    "DegenerateWarning",
    "DensityOutlierDetector",
    "GaussianMixture",
    "best_threshold",
    "threshold_curve",
]

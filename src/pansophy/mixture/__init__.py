"""Mixtures: densities that are sums of simpler ones, fitted by EM; outliers by them."""

from .bayesian_mixture import BayesianGaussianMixture
from .choice import Choice, choose_components, match_components, reorder
from .classifier import MixtureClassifier
from .gaussian_mixture import DegenerateWarning, GaussianMixture
from .mixture import Mixture
from .outliers import (
    ClassifierWithOutliers,
    DensityOutlierDetector,
    best_threshold,
    threshold_curve,
)
from .regressor import MixtureRegressor

__all__ = [
    "BayesianGaussianMixture",
    "Choice",
    "ClassifierWithOutliers",
    "DegenerateWarning",
    "DensityOutlierDetector",
    "GaussianMixture",
    "Mixture",
    "MixtureClassifier",
    "MixtureRegressor",
    "best_threshold",
    "choose_components",
    "match_components",
    "reorder",
    "threshold_curve",
]

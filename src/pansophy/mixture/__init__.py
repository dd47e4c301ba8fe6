"""Mixture models fitted by EM, and outlier detection, classification, regression."""

from ..scikit_learn import share_names
from .bayesian_gaussian_mixture import BayesianGaussianMixture
from .component_selection import (
    ComponentSelection,
    choose_components,
    match_components,
    reorder_components,
)
from .gaussian_mixture import DegenerateWarning, GaussianMixture
from .mixture import Mixture
from .mixture_classifier import MixtureClassifier
from .mixture_regressor import MixtureRegressor
from .outlier_detection import (
    ClassifierWithOutliers,
    DensityOutlierDetector,
    best_threshold,
    threshold_curve,
)

__all__ = [
    "BayesianGaussianMixture",
    "ComponentSelection",
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
    "reorder_components",
    "threshold_curve",
]

__getattr__, __dir__ = share_names(__name__)

"""Linear models: least squares, ridge, lasso, logistic regression, GLM and SGD."""

from ..scikit_learn import share_names
from .adaline import Adaline
from .ard_regression import ARDRegression
from .bayesian_linear_regression import (
    BayesianLinearRegression,
    NormalInverseGammaRegression,
)
from .bayesian_ridge import BayesianRidge
from .cost_sensitive_classifier import CostSensitiveClassifier
from .generalized_least_squares import GeneralizedLeastSquares
from .glm import GeneralizedLinearModel
from .group_lasso import GroupLasso
from .hat_matrix import hat_values, loo_residuals, smoother_weights
from .huber import HuberRegressor
from .lasso import ElasticNet, Lasso
from .lasso_cv import ElasticNetCV, LassoCV
from .lasso_path import enet_path, lasso_path
from .linear_classifier import LinearClassifier, canonical_plane, margins
from .linear_regression import LinearRegression, add_intercept, lstsq
from .logistic import LogisticRegression
from .logistic_cv import LogisticRegressionCV
from .multi_task import (
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    MultiTaskLasso,
    MultiTaskLassoCV,
)
from .multi_task_ridge import MultiTaskRidge
from .multiclass_reductions import ambiguous_mask, hamming_codes, normalize_scores
from .negative_binomial import NegativeBinomialRegressor
from .perceptron import Perceptron
from .polynomial_regression import PolynomialRegression
from .proportional_odds import ProportionalOdds
from .quantile import QuantileRegressor
from .ransac import RANSACRegressor
from .recursive_least_squares import RecursiveLeastSquares
from .regularized_risk import RegularizedRisk, RegularizedRiskClassifier
from .reweighted_lasso import AdaptiveLasso, BridgeRegression
from .ridge import Ridge, RidgePath, ridge_path
from .ridge_classifier import (
    LeastSquaresClassifier,
    RidgeClassifier,
    RidgeClassifierCV,
)
from .ridge_cv import RidgeCV
from .robust_regressor import RobustRegressor
from .separability import is_separable
from .sgd_classifier import SGDClassifier
from .sgd_regressor import SGDRegressor
from .summary import Summary
from .theil_sen import TheilSenRegressor
from .tikhonov import Tikhonov
from .tweedie import GammaRegressor, PoissonRegressor, TweedieRegressor

__all__ = [
    "AdaptiveLasso",
    "BridgeRegression",
    "RegularizedRisk",
    "RegularizedRiskClassifier",
    "RANSACRegressor",
    "RobustRegressor",
    "TheilSenRegressor",
    "Adaline",
    "QuantileRegressor",
    "HuberRegressor",
    "ARDRegression",
    "BayesianLinearRegression",
    "BayesianRidge",
    "NormalInverseGammaRegression",
    "RecursiveLeastSquares",
    "GeneralizedLinearModel",
    "TweedieRegressor",
    "PoissonRegressor",
    "GammaRegressor",
    "NegativeBinomialRegressor",
    "ProportionalOdds",
    "ElasticNet",
    "ElasticNetCV",
    "GroupLasso",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "CostSensitiveClassifier",
    "LinearClassifier",
    "LogisticRegression",
    "LogisticRegressionCV",
    "ambiguous_mask",
    "canonical_plane",
    "hamming_codes",
    "is_separable",
    "margins",
    "normalize_scores",
    "GeneralizedLeastSquares",
    "LeastSquaresClassifier",
    "MultiTaskRidge",
    "PolynomialRegression",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "RidgePath",
    "Summary",
    "Tikhonov",
    "add_intercept",
    "hat_values",
    "loo_residuals",
    "lstsq",
    "ridge_path",
    "smoother_weights",
    "Perceptron",
    "SGDClassifier",
    "SGDRegressor",
    "enet_path",
    "lasso_path",
]

__getattr__, __dir__ = share_names(__name__)

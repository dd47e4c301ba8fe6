"""Linear models: least squares, ridge, lasso, logistic regression, GLM and SGD.

Rooms

    least_squares  least squares: ordinary, weighted, with ridge penalties, recursive
    lasso          penalties that select columns: lasso, elastic net, groups, many
                   tasks, whole paths
    classifiers    linear classifiers: logistic regression and its solvers, perceptrons,
                   reductions
    glm            generalised linear models and quantiles
    robust         regression that bears outliers: Huber, RANSAC, Theil-Sen
    bayesian       Bayesian linear regression: evidence, relevance, predictive
                   distributions
    sgd            stochastic gradient descent for classifiers and regressors
"""

from ..scikit_learn import share_names
from .bayesian.ard_regression import ARDRegression
from .bayesian.bayesian_linear_regression import (
    BayesianLinearRegression,
    NormalInverseGammaRegression,
)
from .bayesian.bayesian_ridge import BayesianRidge
from .classifiers.adaline import Adaline
from .classifiers.cost_sensitive_classifier import CostSensitiveClassifier
from .classifiers.linear_classifier import LinearClassifier, canonical_plane, margins
from .classifiers.logistic import LogisticRegression
from .classifiers.logistic_cv import LogisticRegressionCV
from .classifiers.multiclass_reductions import (
    ambiguous_mask,
    hamming_codes,
    normalize_scores,
)
from .classifiers.perceptron import Perceptron
from .classifiers.proportional_odds import ProportionalOdds
from .classifiers.ridge_classifier import (
    LeastSquaresClassifier,
    RidgeClassifier,
    RidgeClassifierCV,
)
from .classifiers.separability import is_separable
from .glm.glm import GeneralizedLinearModel
from .glm.negative_binomial import NegativeBinomialRegressor
from .glm.quantile import QuantileRegressor
from .glm.tweedie import GammaRegressor, PoissonRegressor, TweedieRegressor
from .lasso.group_lasso import GroupLasso
from .lasso.lasso import ElasticNet, Lasso
from .lasso.lasso_cv import ElasticNetCV, LassoCV
from .lasso.lasso_path import enet_path, lasso_path
from .lasso.multi_task import (
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    MultiTaskLasso,
    MultiTaskLassoCV,
)
from .lasso.reweighted_lasso import AdaptiveLasso, BridgeRegression
from .least_squares.generalized_least_squares import GeneralizedLeastSquares
from .least_squares.hat_matrix import hat_values, loo_residuals, smoother_weights
from .least_squares.linear_regression import LinearRegression, add_intercept, lstsq
from .least_squares.multi_task_ridge import MultiTaskRidge
from .least_squares.polynomial_regression import PolynomialRegression
from .least_squares.recursive_least_squares import RecursiveLeastSquares
from .least_squares.ridge import Ridge, RidgePath, ridge_path
from .least_squares.ridge_cv import RidgeCV
from .least_squares.tikhonov import Tikhonov
from .regularized_risk import RegularizedRisk, RegularizedRiskClassifier
from .robust.huber import HuberRegressor
from .robust.ransac import RANSACRegressor
from .robust.robust_regressor import RobustRegressor
from .robust.theil_sen import TheilSenRegressor
from .sgd.sgd_classifier import SGDClassifier
from .sgd.sgd_regressor import SGDRegressor
from .summary import Summary

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

"""Linear models: least squares, ridge, lasso, logistic regression."""

from .lasso import ElasticNet, Lasso, enet_path, lasso_path
from .linear_regression import LinearRegression
from .logistic import LogisticRegression
from .ridge import Ridge

__all__ = [
    "ElasticNet",
    "Lasso",
    "LinearRegression",
    "LogisticRegression",
    "Ridge",
    "enet_path",
    "lasso_path",
]

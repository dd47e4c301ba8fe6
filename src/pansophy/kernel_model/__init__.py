"""Models of kernel values: logistic regression, perceptron, least-squares machines."""

from ..kernels.kernel_tests import (
    Discrepancy,
    KernelTestResult,
    hsic_test,
    median_distance,
    mmd,
    mmd_test,
)
from .asymmetric_ls_svm import AsymmetricLSSVM
from .falkon import FalkonClassifier, FalkonRegressor
from .kernel_logistic_regression import KernelLogisticRegression
from .kernel_perceptron import KernelPerceptron, perceptron_objective
from .locally_weighted_regression import LocallyWeightedRegression
from .ls_svm import LSSVMClassifier, LSSVMRegressor

__all__ = [
    "AsymmetricLSSVM",
    "Discrepancy",
    "FalkonClassifier",
    "FalkonRegressor",
    "KernelLogisticRegression",
    "KernelPerceptron",
    "LSSVMClassifier",
    "KernelTestResult",
    "LSSVMRegressor",
    "LocallyWeightedRegression",
    "hsic_test",
    "median_distance",
    "mmd",
    "mmd_test",
    "perceptron_objective",
]

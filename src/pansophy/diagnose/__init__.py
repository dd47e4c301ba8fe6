"""Diagnostics of tables and models."""

from ..kernel_model.kernel_tests import mmd
from ..tables import detect_task
from .attribution import Attribution, attribute_error
from .bias_variance import BiasVariance, bias_variance, bias_variance_path
from .class_resampling import Resampled, balance_classes, balanced_rates
from .concentration import Concentration, concentration_path, distance_concentration
from .conditioning import Conditioning, conditioning
from .data_report import DataReport, data_report
from .dependence import Dependence, partial_dependence
from .drift import DriftReport, drift
from .duplicates import Duplicates, duplicates
from .explore import Exploration, explore
from .extrapolation import Extrapolation, extrapolation
from .fairness import Fairness, fairness
from .findings import (
    Finding,
    as_dicts,
    by_severity,
    findings_text,
    json_ready,
    make_finding,
    worst_severity,
)
from .fit_verdict import (
    FitVerdict,
    compare_fits,
    fit_verdict,
    judge_fit,
    shows_overfitting,
    weight_norm,
)
from .group_errors import ErrorGroups, group_errors
from .imbalance import Imbalance, imbalance, risk_by_class
from .learning_curve import (
    ComplexityCurve,
    LearningCurve,
    complexity_curve,
    learning_curve,
)
from .measurement import MeasurementRisk, measurement_risk
from .missingness import Missingness, missingness
from .model_size import ModelSize, gaussian_parameters, model_size
from .outliers import outliers
from .overview import Overview, overview
from .permutation_check import PermutationCheck, permutation_check
from .residuals import Residuals, residuals
from .risk import Optimism, SimulatedRisk, optimism, sample_error, true_risk
from .runtime import Reference, reference_of
from .selection import SelectionBias, selection_bias
from .shortcuts import Shortcut, shortcuts
from .simpson import Simpson, simpson
from .subgroups import WeakSlice, subgroups
from .target_leakage import find_leaks
from .two_sample import classifier_two_sample_test

__all__ = [
    "Concentration",
    "concentration_path",
    "distance_concentration",
    "DataReport",
    "data_report",
    "DriftReport",
    "drift",
    "Duplicates",
    "duplicates",
    "Exploration",
    "explore",
    "Extrapolation",
    "extrapolation",
    "ErrorGroups",
    "group_errors",
    "Imbalance",
    "imbalance",
    "risk_by_class",
    "find_leaks",
    "Missingness",
    "missingness",
    "outliers",
    "Overview",
    "overview",
    "Resampled",
    "balanced_rates",
    "balance_classes",
    "Reference",
    "reference_of",
    "SelectionBias",
    "selection_bias",
    "Simpson",
    "simpson",
    "mmd",
    "classifier_two_sample_test",
    "detect_task",
    "Attribution",
    "BiasVariance",
    "ComplexityCurve",
    "Dependence",
    "Conditioning",
    "Fairness",
    "Finding",
    "FitVerdict",
    "LearningCurve",
    "MeasurementRisk",
    "ModelSize",
    "Optimism",
    "PermutationCheck",
    "Residuals",
    "SimulatedRisk",
    "Shortcut",
    "WeakSlice",
    "as_dicts",
    "attribute_error",
    "bias_variance",
    "bias_variance_path",
    "by_severity",
    "compare_fits",
    "complexity_curve",
    "conditioning",
    "fairness",
    "make_finding",
    "fit_verdict",
    "gaussian_parameters",
    "judge_fit",
    "learning_curve",
    "measurement_risk",
    "model_size",
    "optimism",
    "shows_overfitting",
    "partial_dependence",
    "permutation_check",
    "json_ready",
    "residuals",
    "sample_error",
    "shortcuts",
    "subgroups",
    "findings_text",
    "true_risk",
    "weight_norm",
    "worst_severity",
]

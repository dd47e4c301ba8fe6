"""Diagnostics of tables and models.

Rooms

    data     faults of a table: `explore` looks at everything, each other module at one
             thing
    leakage  leakage: columns that know the target, or the future, or whose scores are
             too good
    model    faults of a model: residuals, groups, curves of learning, dependence,
             imbalance
    shift    shift: new rows against old ones, selected samples, reversed comparisons
"""

from ..kernels.kernel_tests import mmd
from ..tables import detect_task
from .data.concentration import (
    Concentration,
    concentration_path,
    distance_concentration,
)
from .data.conditioning import Conditioning, conditioning
from .data.data_report import DataReport, data_report
from .data.duplicates import Duplicates, duplicates
from .data.explore import Exploration, explore
from .data.missingness import Missingness, missingness
from .data.outliers import outliers
from .data.overview import Overview, overview
from .findings import (
    Finding,
    as_dicts,
    by_severity,
    findings_text,
    json_ready,
    make_finding,
    worst_severity,
)
from .leakage.shortcuts import Shortcut, shortcuts
from .leakage.target_leakage import find_leaks
from .model.bias_variance import BiasVariance, bias_variance, bias_variance_path
from .model.class_resampling import Resampled, balance_classes, balanced_rates
from .model.dependence import Dependence, partial_dependence
from .model.extrapolation import Extrapolation, extrapolation
from .model.fairness import Fairness, fairness
from .model.fit_verdict import (
    FitVerdict,
    compare_fits,
    fit_verdict,
    judge_fit,
    shows_overfitting,
    weight_norm,
)
from .model.group_errors import ErrorGroups, group_errors
from .model.imbalance import Imbalance, imbalance, risk_by_class
from .model.learning_curve import (
    ComplexityCurve,
    LearningCurve,
    complexity_curve,
    learning_curve,
)
from .model.model_size import ModelSize, gaussian_parameters, model_size
from .model.permutation_check import PermutationCheck, permutation_check
from .model.residuals import Residuals, residuals
from .model.subgroups import WeakSlice, subgroups
from .shift.drift import DriftReport, drift
from .shift.runtime import Reference, reference_of
from .shift.selection import SelectionBias, selection_bias
from .shift.simpson import Simpson, simpson
from .shift.two_sample import classifier_two_sample_test

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
    "BiasVariance",
    "ComplexityCurve",
    "Dependence",
    "Conditioning",
    "Fairness",
    "Finding",
    "FitVerdict",
    "LearningCurve",
    "ModelSize",
    "PermutationCheck",
    "Residuals",
    "Shortcut",
    "WeakSlice",
    "as_dicts",
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
    "model_size",
    "shows_overfitting",
    "partial_dependence",
    "permutation_check",
    "json_ready",
    "residuals",
    "shortcuts",
    "subgroups",
    "findings_text",
    "weight_norm",
    "worst_severity",
]

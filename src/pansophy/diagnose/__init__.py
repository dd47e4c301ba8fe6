"""What is wrong with the data or the model, said before it costs anything."""

from ..tables import detect_task
from .attribution import Attribution, attribute_error
from .bias_variance import BiasVariance, bias_variance, bias_variance_path
from .concentration import Concentration, concentration_path, distance_concentration
from .conditioning import Conditioning, conditioning
from .data_report import DataReport, data_report
from .dependence import Dependence, partial_dependence
from .drift import Drift, drift
from .duplicates import Duplicates, duplicates
from .explore import Exploration, explore
from .extrapolation import Extrapolation, extrapolation
from .fairness import Fairness, fairness
from .findings import Finding, as_dicts, by_severity, finding, plain, tell, worst
from .fit_verdict import (
    FitVerdict,
    compare_fits,
    fit_verdict,
    judge_fit,
    overfits,
    weight_norm,
)
from .group_errors import ErrorGroups, group_errors
from .imbalance import Imbalance, imbalance, risk_by_class
from .leaks import find_leaks
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
from .resample import Resampled, balanced_rates, resample
from .residuals import Residuals, residuals
from .risk import Optimism, Risk, optimism, sample_error, true_risk
from .runtime import Reference, reference_of
from .selection import SelectionBias, selection_bias
from .shortcuts import Shortcut, shortcuts
from .simpson import Simpson, simpson
from .subgroups import Slice, subgroups
from .two_sample import mmd, separation

__all__ = [
    "Concentration",
    "concentration_path",
    "distance_concentration",
    "DataReport",
    "data_report",
    "Drift",
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
    "resample",
    "Reference",
    "reference_of",
    "SelectionBias",
    "selection_bias",
    "Simpson",
    "simpson",
    "mmd",
    "separation",
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
    "Risk",
    "Shortcut",
    "Slice",
    "as_dicts",
    "attribute_error",
    "bias_variance",
    "bias_variance_path",
    "by_severity",
    "compare_fits",
    "complexity_curve",
    "conditioning",
    "fairness",
    "finding",
    "fit_verdict",
    "gaussian_parameters",
    "judge_fit",
    "learning_curve",
    "measurement_risk",
    "model_size",
    "optimism",
    "overfits",
    "partial_dependence",
    "permutation_check",
    "plain",
    "residuals",
    "sample_error",
    "shortcuts",
    "subgroups",
    "tell",
    "true_risk",
    "weight_norm",
    "worst",
]

"""Generative models."""

from .quality import (
    ModeCoverage,
    PrecisionRecall,
    TwoSampleAccuracy,
    bits_per_dimension,
    classifier_two_sample_accuracy,
    frechet_distance,
    mmd,
    mode_coverage,
    precision_recall,
    sample_quality,
)

__all__ = [
    "ModeCoverage",
    "PrecisionRecall",
    "TwoSampleAccuracy",
    "bits_per_dimension",
    "classifier_two_sample_accuracy",
    "frechet_distance",
    "mmd",
    "mode_coverage",
    "precision_recall",
    "sample_quality",
]

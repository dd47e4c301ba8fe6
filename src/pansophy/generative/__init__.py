"""Generative models: estimators that learn to draw rows like those they have seen.

All have `fit(X, y=None, sample_weight=None)`, `sample(n_samples, y=None,
random_state=None)` and `score_samples` (`abstract_generator`); those with a code have
`encode`, `decode` and `reconstruct` (`abstract_latent_model`).
"""

from .critic_regularisers import clip_weights, gradient_penalty, r1_penalty
from .gan_objectives import GAN_OBJECTIVES, gan_value, virtual_criterion
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
    "GAN_OBJECTIVES",
    "ModeCoverage",
    "PrecisionRecall",
    "TwoSampleAccuracy",
    "bits_per_dimension",
    "classifier_two_sample_accuracy",
    "clip_weights",
    "frechet_distance",
    "gan_value",
    "gradient_penalty",
    "mmd",
    "mode_coverage",
    "precision_recall",
    "r1_penalty",
    "sample_quality",
    "virtual_criterion",
]

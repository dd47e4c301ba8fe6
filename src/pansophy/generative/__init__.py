"""Generative models: estimators that learn to draw rows like those they have seen.

All have `fit(X, y=None, sample_weight=None)`, `sample(n_samples, y=None,
random_state=None)` and `score_samples` (`abstract_generator`); those with a code have
`encode`, `decode` and `reconstruct` (`abstract_latent_model`).
"""

from .adversarial_attacks import fgsm, pgd
from .adversarial_training import adversarial_training
from .attack_generator import AttackGenerator
from .autoencoder import Autoencoder
from .autoencoder_detector import AutoencoderDetector, error_threshold
from .conv_autoencoder import ConvAutoencoder
from .critic_regularisers import clip_weights, gradient_penalty, r1_penalty
from .gan import GAN
from .gan_monitor import GANAlarm, GANReport, gan_monitor
from .gan_objectives import GAN_OBJECTIVES, gan_value, virtual_criterion
from .info_gan import InferredCodes, InfoGAN
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
from .robustness import RobustnessCurve, robustness
from .sparse_autoencoder import SparseAutoencoder
from .wgan import WGAN

__all__ = [
    "AttackGenerator",
    "Autoencoder",
    "AutoencoderDetector",
    "ConvAutoencoder",
    "GAN",
    "GANAlarm",
    "GANReport",
    "GAN_OBJECTIVES",
    "InferredCodes",
    "InfoGAN",
    "ModeCoverage",
    "PrecisionRecall",
    "RobustnessCurve",
    "SparseAutoencoder",
    "TwoSampleAccuracy",
    "WGAN",
    "adversarial_training",
    "bits_per_dimension",
    "classifier_two_sample_accuracy",
    "clip_weights",
    "error_threshold",
    "fgsm",
    "frechet_distance",
    "gan_monitor",
    "gan_value",
    "gradient_penalty",
    "mmd",
    "mode_coverage",
    "pgd",
    "precision_recall",
    "r1_penalty",
    "robustness",
    "sample_quality",
    "virtual_criterion",
]

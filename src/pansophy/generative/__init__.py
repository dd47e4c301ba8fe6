"""Generative models: estimators that learn to draw rows like those they have seen.

All have `fit(X, y=None, sample_weight=None)`, `sample(n_samples, y=None,
random_state=None)` and `score_samples` (`abstract_generator`); those with a code have
`encode`, `decode` and `reconstruct` (`abstract_latent_model`).
"""

from .. import nn as _nn  # noqa: F401 - says what to install where there is no torch
from .abstract_vae import PosteriorCollapseWarning
from .adversarial_attacks import fgsm, pgd
from .adversarial_training import adversarial_training
from .attack_generator import AttackGenerator
from .autoencoder import Autoencoder
from .autoencoder_detector import AutoencoderDetector, error_threshold
from .conditional_vae import ConditionalVAE
from .conv_autoencoder import ConvAutoencoder
from .critic_regularisers import clip_weights, gradient_penalty, r1_penalty
from .denoiser import PARAMETRIZATIONS, Denoiser
from .denoising_nets import DenoisingMLP, UNet
from .diffusion import DDPM, DiffusionModel
from .diffusion_process import denoising_posterior, diffuse, diffusion_elbo
from .diffusion_samplers import SAMPLERS, denoise_rows
from .energy_model import EnergyModel
from .flow import FLOW_ARCHITECTURES, Flow
from .flow_likelihood import denoiser_log_prob
from .flow_transforms import (
    AutoregressiveTransform,
    Composition,
    ContinuousTransform,
    CouplingTransform,
    LinearTransform,
    Permutation,
)
from .gan import GAN
from .gan_monitor import GANAlarm, GANReport, gan_monitor
from .gan_objectives import GAN_OBJECTIVES, gan_value, virtual_criterion
from .info_gan import InferredCodes, InfoGAN
from .iwae import IWAE
from .latent_diffusion import LatentDiffusion
from .latent_sampling import latent_interpolation, sample_decoder
from .memorisation import MemorisationReport, memorisation_report
from .noise_schedule import NoiseSchedule, noise_levels, noise_schedule
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
from .reparameterization import mc_elbo, reparameterize
from .robustness import RobustnessCurve, robustness
from .score_matching import fisher_divergence, score
from .score_model import ScoreModel
from .sparse_autoencoder import SparseAutoencoder
from .table_vae import TableVAE
from .vade import VaDE
from .vae import VAE
from .vq_vae import VQVAE
from .wgan import WGAN

__all__ = [
    "AttackGenerator",
    "Autoencoder",
    "AutoencoderDetector",
    "AutoregressiveTransform",
    "Composition",
    "ConditionalVAE",
    "ContinuousTransform",
    "ConvAutoencoder",
    "CouplingTransform",
    "DDPM",
    "Denoiser",
    "DenoisingMLP",
    "DiffusionModel",
    "EnergyModel",
    "FLOW_ARCHITECTURES",
    "Flow",
    "GAN",
    "GANAlarm",
    "GANReport",
    "GAN_OBJECTIVES",
    "IWAE",
    "InferredCodes",
    "InfoGAN",
    "LatentDiffusion",
    "LinearTransform",
    "MemorisationReport",
    "ModeCoverage",
    "NoiseSchedule",
    "PARAMETRIZATIONS",
    "Permutation",
    "PosteriorCollapseWarning",
    "PrecisionRecall",
    "RobustnessCurve",
    "SAMPLERS",
    "ScoreModel",
    "SparseAutoencoder",
    "TableVAE",
    "TwoSampleAccuracy",
    "UNet",
    "VAE",
    "VQVAE",
    "VaDE",
    "WGAN",
    "adversarial_training",
    "bits_per_dimension",
    "classifier_two_sample_accuracy",
    "clip_weights",
    "denoise_rows",
    "denoiser_log_prob",
    "denoising_posterior",
    "diffuse",
    "diffusion_elbo",
    "error_threshold",
    "fgsm",
    "fisher_divergence",
    "frechet_distance",
    "gan_monitor",
    "gan_value",
    "gradient_penalty",
    "latent_interpolation",
    "mc_elbo",
    "memorisation_report",
    "mmd",
    "mode_coverage",
    "noise_levels",
    "noise_schedule",
    "pgd",
    "precision_recall",
    "r1_penalty",
    "reparameterize",
    "robustness",
    "sample_decoder",
    "sample_quality",
    "score",
    "virtual_criterion",
]

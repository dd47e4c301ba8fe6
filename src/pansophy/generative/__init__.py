"""Generative models: estimators that learn to draw rows like those they have seen.

All have `fit(X, y=None, sample_weight=None)`, `sample(n_samples, y=None,
random_state=None)` and `score_samples` (`abstract_generator`); those with a code have
`encode`, `decode` and `reconstruct` (`abstract_latent_model`).

Rooms

    autoencoders  autoencoders: dense, convolutional, sparse, and a detector of unlike
                  rows
    vae           variational autoencoders: bounds, likelihoods of columns, mixtures and
                  codebooks
    gan           adversarial models: games, critics, what keeps them stable
    diffusion     diffusion, scores and flow matching: processes, denoisers, samplers
    flows         normalising flows and energy models
    tabular       generators of tables with mixed columns, and whether they memorise
                  rows
    attacks       adversarial attacks on predictors, training against them, robustness
"""

from .. import nn as _nn  # noqa: F401 - says what to install where there is no torch
from .attacks.adversarial_attacks import fgsm, pgd
from .attacks.adversarial_training import adversarial_training
from .attacks.attack_generator import AttackGenerator
from .attacks.robustness import RobustnessCurve, robustness
from .autoencoders.autoencoder import Autoencoder
from .autoencoders.autoencoder_detector import AutoencoderDetector, error_threshold
from .autoencoders.conv_autoencoder import ConvAutoencoder
from .autoencoders.sparse_autoencoder import SparseAutoencoder
from .diffusion.denoiser import PARAMETRIZATIONS, Denoiser
from .diffusion.denoising_nets import DenoisingMLP, UNet
from .diffusion.diffusion import DDPM, DiffusionModel
from .diffusion.diffusion_process import denoising_posterior, diffuse, diffusion_elbo
from .diffusion.diffusion_samplers import SAMPLERS, denoise_rows
from .diffusion.flow_likelihood import denoiser_log_prob
from .diffusion.latent_diffusion import LatentDiffusion
from .diffusion.noise_schedule import NoiseSchedule, noise_levels, noise_schedule
from .diffusion.score_matching import fisher_divergence, score
from .diffusion.score_model import ScoreModel
from .flows.energy_model import EnergyModel
from .flows.flow import FLOW_ARCHITECTURES, Flow
from .flows.flow_transforms import (
    AutoregressiveTransform,
    Composition,
    ContinuousTransform,
    CouplingTransform,
    LinearTransform,
    Permutation,
)
from .gan.critic_regularisers import clip_weights, gradient_penalty, r1_penalty
from .gan.gan import GAN
from .gan.gan_monitor import GANAlarm, GANReport, gan_monitor
from .gan.gan_objectives import GAN_OBJECTIVES, gan_value, virtual_criterion
from .gan.info_gan import InferredCodes, InfoGAN
from .gan.wgan import WGAN
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
from .tabular.memorisation import MemorisationReport, memorisation_report
from .tabular.table_vae import TableVAE
from .vae.abstract_vae import PosteriorCollapseWarning
from .vae.conditional_vae import ConditionalVAE
from .vae.iwae import IWAE
from .vae.latent_sampling import latent_interpolation, sample_decoder
from .vae.reparameterization import mc_elbo, reparameterize
from .vae.vade import VaDE
from .vae.vae import VAE
from .vae.vq_vae import VQVAE

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

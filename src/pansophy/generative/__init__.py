"""Generative models: estimators that learn to draw rows like those they have seen.

All have `fit(X, y=None, sample_weight=None)`, `sample(n_samples, y=None,
random_state=None)` and `score_samples` (`abstract_generator`); those with a code have
`encode`, `decode` and `reconstruct` (`abstract_latent_model`).
"""

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
from .noise_schedule import NoiseSchedule, noise_levels, noise_schedule
from .score_matching import fisher_divergence, score
from .score_model import ScoreModel

__all__ = [
    "AutoregressiveTransform",
    "Composition",
    "ContinuousTransform",
    "CouplingTransform",
    "DDPM",
    "Denoiser",
    "DenoisingMLP",
    "DiffusionModel",
    "EnergyModel",
    "FLOW_ARCHITECTURES",
    "Flow",
    "LinearTransform",
    "NoiseSchedule",
    "PARAMETRIZATIONS",
    "Permutation",
    "SAMPLERS",
    "ScoreModel",
    "UNet",
    "denoise_rows",
    "denoiser_log_prob",
    "denoising_posterior",
    "diffuse",
    "diffusion_elbo",
    "fisher_divergence",
    "noise_levels",
    "noise_schedule",
    "score",
]

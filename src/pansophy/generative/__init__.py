"""Generative models: estimators that learn to draw rows like those they have seen.

All have `fit(X, y=None, sample_weight=None)`, `sample(n_samples, y=None,
random_state=None)` and `score_samples` (`abstract_generator`); those with a code have
`encode`, `decode` and `reconstruct` (`abstract_latent_model`).
"""

from .abstract_vae import PosteriorCollapseWarning
from .autoencoder import Autoencoder
from .autoencoder_detector import AutoencoderDetector, error_threshold
from .conditional_vae import ConditionalVAE
from .conv_autoencoder import ConvAutoencoder
from .iwae import IWAE
from .latent_sampling import latent_walk, sample_decoder
from .memorisation import MemorisationReport, memorisation_report
from .reparameterization import mc_elbo, reparameterize
from .sparse_autoencoder import SparseAutoencoder
from .table_vae import TableVAE
from .vade import VaDE
from .vae import VAE
from .vq_vae import VQVAE

__all__ = [
    "IWAE",
    "VAE",
    "VQVAE",
    "Autoencoder",
    "AutoencoderDetector",
    "ConditionalVAE",
    "ConvAutoencoder",
    "MemorisationReport",
    "PosteriorCollapseWarning",
    "SparseAutoencoder",
    "TableVAE",
    "VaDE",
    "error_threshold",
    "latent_walk",
    "mc_elbo",
    "memorisation_report",
    "reparameterize",
    "sample_decoder",
]

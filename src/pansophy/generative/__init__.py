"""Generative models: estimators that learn to draw rows like those they have seen.

All have `fit(X, y=None, sample_weight=None)`, `sample(n_samples, y=None,
random_state=None)` and `score_samples` (`abstract_generator`); those with a code have
`encode`, `decode` and `reconstruct` (`abstract_latent_model`).
"""

from .autoencoder import Autoencoder
from .autoencoder_detector import AutoencoderDetector, error_threshold
from .conv_autoencoder import ConvAutoencoder
from .sparse_autoencoder import SparseAutoencoder

__all__ = [
    "Autoencoder",
    "AutoencoderDetector",
    "ConvAutoencoder",
    "SparseAutoencoder",
    "error_threshold",
]

"""Base class of autoencoders: codes, reconstruction errors, samples by the decoder.

The error of a row is the mean of its squared deviations in standardised units,

    error_i = mean_j ((x_ij - x^_ij) / s_j)^2                                     (1)

and the score of a row is minus its error: a row unlike the training rows is
reconstructed badly.
"""

from dataclasses import dataclass

import numpy as np
import torch

from ...distributions.gaussian.normal import moments
from ..abstract_generator import values_in_blocks
from ..abstract_latent_model import AbstractLatentModel


@dataclass(eq=False, repr=False)
class AbstractAutoencoder(AbstractLatentModel):
    """Codes, errors and samples of a net of `autoencoder_net`."""

    _is_density = False

    def _encode(self, net, X, y):
        return net.encode(X)

    def _decode(self, net, codes, y):
        return net.decode(codes)

    def _log_density(self, net, X, y):
        return -(net.decode(net.encode(X)) - X).square().mean(1)

    def _generate(self, net, n, y):
        return net.decode(net.draw_codes(n))

    def _prepare_sampling(self, net, rows):
        """The Gaussian of the training rows' codes, as mean and root of covariance."""
        raw = values_in_blocks(net, lambda net, X, y: net.encoder(X), rows.X)
        result = moments(raw, rows.w)
        values, V = np.linalg.eigh(result.scatter / result.weight)
        root = V * np.sqrt(np.maximum(values, 0.0))
        net.code_mean.copy_(torch.as_tensor(result.mean))
        net.code_root.copy_(torch.as_tensor(root))

    def reconstruction_error(self, X):
        """Error of each row, eq. (1): (n,)."""
        return -self.score_samples(X)

    def score_samples(self, X, y=None):
        """Minus the reconstruction error of each row, eq. (1): (n,); y is not used."""
        return self._scores(self._log_density, X)

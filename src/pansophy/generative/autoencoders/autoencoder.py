"""Autoencoder: a net that reproduces rows through a code of few numbers.

Encoder and decoder are dense layers (`autoencoder_net` has the objective). Without
hidden layers both are linear: the best such autoencoder spans the subspace of the
leading principal components and has their error, no less [Bourlard1988]. With hidden
layers codes follow curved surfaces. Noise on the inputs makes it a denoising
autoencoder, a penalty on the slopes of the code a contractive one.

Cost      O(n (d + k) h) an epoch for a hidden layer of h units; contraction k times it
Shapes    X (n, d) or images   codes (n, n_components)
Refs      [Hinton2006]; [Bourlard1988]; [Vincent2008]; [Rifai2011]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from ...base import Transformer
from ...nn.layers.dense_layers import DenseLayers
from ...params import (
    Activation,
    Count,
    Flag,
    LayerSizes,
    NonNegative,
    ParameterError,
    Positive,
)
from .abstract_autoencoder import AbstractAutoencoder
from .autoencoder_net import AutoencoderNet, TiedDecoder


def layer_sizes(hidden) -> list[int]:
    """The parameter `hidden_layer_sizes` as a list."""
    return np.atleast_1d(np.asarray(hidden, int)).tolist()


def dense_autoencoder(model, n_features, **options) -> AutoencoderNet:
    """The net of an estimator's parameters, with dense layers."""
    k = int(model.n_components)
    sizes = [n_features, *layer_sizes(model.hidden_layer_sizes), k]
    encoder = DenseLayers(sizes, activation=model.activation)
    tied = bool(getattr(model, "tied_weights", False))
    make = TiedDecoder if tied else DenseLayers
    decoder = make(sizes[::-1], activation=model.activation)
    return AutoencoderNet(encoder, decoder, k, **options)


@dataclass(eq=False, repr=False)
class Autoencoder(Transformer, AbstractAutoencoder):
    """Autoencoder of dense layers: linear, deep, denoising or contractive.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(64,)
        Units of the hidden layers of the encoder; the decoder has them in reverse. ():
        a linear autoencoder.
    activation : {"relu", "leaky", "elu", "tanh", "logistic", "identity"}, \
default="elu"
        Of the hidden layers; the code has none.
    tied_weights : bool, default=False
        Whether the decoder uses the transposed matrices of the encoder.
    corruption : {"gaussian", "masking"}, default="gaussian"
        What happens to training rows if `noise` is above 0: normal noise is added, or
        entries are set to the mean of their column.
    noise : float, default=0
        Standard deviation of the noise in units of the columns' standard deviations,
        or the share of masked entries.
    contraction : float, default=0
        Weight of the squared slopes of the code (contractive autoencoder).

    Attributes
    ----------
    history_ : dict of arrays
        Per epoch: loss and its terms (reconstruction, contraction), valid_loss with
        early stopping.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import Autoencoder
    >>> t = np.random.default_rng(0).uniform(-3, 3, (300, 1))
    >>> X = np.hstack([t, t**2, np.sin(t)])  # a curve: one number tells a row
    >>> model = Autoencoder(1, n_epochs=200, random_state=0, device="cpu").fit(X)
    >>> model.encode(X).shape, bool(model.reconstruction_error(X).mean() < 0.1)
    ((300, 1), True)
    """

    _: KW_ONLY
    hidden_layer_sizes: LayerSizes = (64,)
    activation: Activation = "elu"
    tied_weights: Flag = False
    corruption: Literal["gaussian", "masking"] = "gaussian"
    noise: NonNegative = 0.0
    contraction: NonNegative = 0.0
    weight_decay: NonNegative = 0.0
    learning_rate_init: Positive = 0.003
    n_epochs: Count = 100

    def fit(self, X, y=None, sample_weight=None):
        """Train the net.

        Parameters
        ----------
        X : array of shape (n, d), or images (n, h, w) or (n, h, w, channels)
        y : ignored
        sample_weight : array of shape (n,) or None
        """
        return self._fit(X, y, sample_weight)

    def _build_net(self, n_features, n_classes):
        if self.corruption == "masking" and self.noise >= 1:
            raise ParameterError(
                "noise must be below 1 if corruption is 'masking': it is the share of "
                f"entries that are masked, got {self.noise}."
            )
        return dense_autoencoder(
            self,
            n_features,
            corruption=self.corruption,
            noise=self.noise,
            contraction=self.contraction,
        )

    def transform(self, X):
        """`encode`: the code of each row, (n, n_components)."""
        return self.encode(X)

    def inverse_transform(self, X):
        """`decode`: the row of each code, (n, d)."""
        return self.decode(X)

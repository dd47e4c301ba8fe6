"""Sparse autoencoder: codes of many units of which few are on.

The code has logistic units, and their mean activation over the rows of a step is pulled
to a small rho by the Kullback-Leibler divergence (eq. 4 of `autoencoder_net`). The
gradient that unit j gains before its own slope is, for each of n rows,

    (beta / n) (-rho / r_j + (1 - rho) / (1 - r_j))                               (1)

so that the code may have more units than a row has columns. The mean activation is that
of the batch: batches should have some hundred rows.

Shapes    X (n, d) or images   codes (n, n_components) in (0, 1)
Refs      [Ng2011]
"""

from dataclasses import KW_ONLY, dataclass

from ...base import Transformer
from ...params import (
    Activation,
    Count,
    Flag,
    LayerSizes,
    NonNegative,
    OpenFraction,
    Positive,
)
from .abstract_autoencoder import AbstractAutoencoder
from .autoencoder import dense_autoencoder


@dataclass(eq=False, repr=False)
class SparseAutoencoder(Transformer, AbstractAutoencoder):
    """Autoencoder with logistic codes whose mean activation is kept small.

    Parameters
    ----------
    n_components : int, default=32
        Units of the code; there may be more than columns.
    sparsity : float, default=0.1
        beta, the weight of the divergence; 0: a plain autoencoder with logistic codes.
    target_activation : float, default=0.05
        rho, the mean activation that units are pulled to.
    hidden_layer_sizes : sequence of int, default=()
        Units of the hidden layers of the encoder; the decoder has them in reverse.
    activation : {"relu", "leaky", "elu", "tanh", "logistic", "identity"}, \
default="elu"
        Of the hidden layers; the code is logistic.
    tied_weights : bool, default=False
        Whether the decoder uses the transposed matrices of the encoder.

    Attributes
    ----------
    history_ : dict of arrays
        Per epoch: loss and its terms (reconstruction, sparsity), valid_loss with
        early stopping.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import SparseAutoencoder
    >>> X = np.random.default_rng(0).normal(size=(400, 6))
    >>> model = SparseAutoencoder(12, sparsity=3.0, random_state=0, device="cpu")
    >>> bool(model.fit(X).encode(X).mean() < 0.1)
    True
    """

    n_components: Count = 32
    _: KW_ONLY
    sparsity: NonNegative = 0.1
    target_activation: OpenFraction = 0.05
    hidden_layer_sizes: LayerSizes = ()
    activation: Activation = "elu"
    tied_weights: Flag = False
    weight_decay: NonNegative = 0.0
    learning_rate_init: Positive = 0.01
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
        return dense_autoencoder(
            self,
            n_features,
            code_activation="logistic",
            sparsity=self.sparsity,
            target_activation=self.target_activation,
        )

    def transform(self, X):
        """`encode`: the activations of each row, (n, n_components)."""
        return self.encode(X)

    def inverse_transform(self, X):
        """`decode`: the row of each code, (n, d)."""
        return self.decode(X)

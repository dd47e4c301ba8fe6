"""Variational autoencoder: a density with a code, trained on a lower bound.

Encoder and decoder are dense nets; `vae_net` has the model and its bounds, the
likelihood of the columns is a part (`likelihoods`). History has minus the expected
log-likelihood (reconstruction) and the divergence (kl), both in nats per row and
unweighted, whatever beta is; with beta, free bits or warm-up also `kl_penalty`, by
which the objective differs from minus the bound.

A linear model (hidden_layer_sizes=(), variance="global") is probabilistic PCA, with
variance="column" factor analysis.

Shapes    X (n, d) or images   codes (n, n_components)
Refs      [Kingma2014]; [Rezende2014]; [Higgins2017]; [Kingma2016]; [Burda2016]
"""

from dataclasses import KW_ONLY, dataclass

from ...base import Transformer
from ...params import Natural, NonNegative
from .abstract_vae import AbstractArrayVAE


def kl_options(model) -> dict:
    """Options of `VAENet` that weigh the divergence."""
    return {"beta": model.beta, "free_bits": model.free_bits}


@dataclass(eq=False, repr=False)
class VAE(Transformer, AbstractArrayVAE):
    """Variational autoencoder.

    Parameters
    ----------
    beta : float, default=1
        Weight of the divergence from the prior; above 1 the units of the code are
        pressed to be independent, 0 leaves an autoencoder.
    free_bits : float, default=0
        Nats of divergence that each unit has for nothing: a remedy for collapse.
    kl_warm_up : int, default=0
        Epochs in which the weight of the divergence rises from 0 to beta.

    Attributes
    ----------
    history_ : dict of arrays
        Per epoch: loss and its terms (reconstruction, kl, kl_penalty), valid_loss with
        early stopping.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import VAE
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-2, 2, (400, 1))
    >>> X = np.hstack([t, t**2]) + 0.1 * rng.normal(size=(400, 2))
    >>> model = VAE(1, random_state=0, device="cpu").fit(X)
    >>> model.sample(3).shape, model.encode(X).shape, model.active_units_
    ((3, 2), (400, 1), array([ True]))
    >>> bool(model.score([[1.0, 1.0]]) > model.score([[0.0, 4.0]]))
    True
    """

    _: KW_ONLY
    beta: NonNegative = 1.0
    free_bits: NonNegative = 0.0
    kl_warm_up: Natural = 0

    def fit(self, X, y=None, sample_weight=None):
        """Train the net.

        Parameters
        ----------
        X : array of shape (n, d), or images (n, h, w) or (n, h, w, channels)
        y : ignored
        sample_weight : array of shape (n,) or None
        """
        return self._fit(X, y, sample_weight)

    def _net_options(self):
        return kl_options(self)

    def transform(self, X):
        """`encode`: the mean code of each row, (n, n_components)."""
        return self.encode(X)

    def inverse_transform(self, X):
        """`decode`: the mean row of each code, (n, d)."""
        return self.decode(X)

"""Importance-weighted autoencoder: a VAE trained on a tighter bound.

With the importance weights w_k of K draws of the code, eq. (1) of `vae_net`, the
objective is

    L_K = E log (1 / K) sum_k w_k <= log p(x)                                     (1)

It is the ELBO for K = 1, does not fall with K and tends to log p(x): the posterior of
the encoder matters less, the generative model more.

Shapes    X (n, d) or images   codes (n, n_components)
Refs      [Burda2016]
"""

import math
from dataclasses import KW_ONLY, dataclass

from torch import Tensor

from ...base import Transformer
from ...params import Count
from ..abstract_generator import batch_mean
from .abstract_vae import AbstractArrayVAE
from .vae_net import AbstractVAENet


class IWAENet(AbstractVAENet):
    """A net that is trained on the importance-weighted bound, eq. (1)."""

    def losses(self, batch) -> dict[str, Tensor]:
        """Minus eq. (1), in nats per row."""
        log_w = self.log_weights(batch["X"], batch.get("y"), self.n_samples)
        bound = log_w.logsumexp(0) - math.log(self.n_samples)
        return {"bound": -batch_mean(bound, batch)}


@dataclass(eq=False, repr=False)
class IWAE(Transformer, AbstractArrayVAE):
    """Importance-weighted autoencoder.

    Parameters
    ----------
    n_samples : int, default=8
        K, draws of the code in the bound that is trained.

    Attributes
    ----------
    history_ : dict of arrays
        Per epoch: loss and its terms (bound), valid_loss with
        early stopping.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import IWAE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1)) * [1.0, 2.0, 3.0] + rng.normal(size=(300, 3))
    >>> model = IWAE(1, random_state=0, device="cpu").fit(X)
    >>> loose = model.log_prob_bound(X, n_samples=1).mean()
    >>> bool(loose < model.log_prob_bound(X, n_samples=64).mean())
    True
    """

    _: KW_ONLY
    n_samples: Count = 8

    _net_class = IWAENet

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
        return {"n_samples": self.n_samples}

    def transform(self, X):
        """`encode`: the mean code of each row, (n, n_components)."""
        return self.encode(X)

    def inverse_transform(self, X):
        """`decode`: the mean row of each code, (n, d)."""
        return self.decode(X)

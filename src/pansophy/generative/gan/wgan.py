"""Wasserstein generative adversarial network.

    min_G max_f  E_x f(x) - E_z f(G(z)),   |f(a) - f(b)| <= |a - b|                (1)

The largest value over all critics f of slope at most 1 is the Wasserstein-1 distance
between data and samples, which falls smoothly with the distance also where the two have
no rows in common. The critic takes several steps for each one of the generator, so that
`history_["wasserstein"]`, the critic's mean score of real rows less that of samples,
follows the distance W, in standardised units. A penalty of weight v lets the slope of
the best critic be 1 + W / (2 v); with clipped weights the estimate follows W up to a
factor that the clipping sets.

Shapes    X (n, d) or images   y (n,)   codes (n, n_components)
Refs      [Arjovsky2017]; [Gulrajani2017] gradient penalty; [Petzka2018] one-sided
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from ...params import Count, FractionBelowOne, NonNegative, Positive
from .abstract_gan import AbstractGAN


@dataclass(eq=False, repr=False)
class WGAN(AbstractGAN):
    """Wasserstein GAN, with a gradient penalty, clipped or spectrally normed weights.

    Parameters
    ----------
    n_critic : int, default=5
        Steps of the critic for each one of the generator.
    discriminator_rate : float, default=2
        Factor on the learning rate of the critic.
    penalty : {"one_sided", "gradient", "clip", "spectral"}, default="one_sided"
        What holds the critic to slope 1: a penalty on steeper slopes, or on all others
        ("gradient"), or bounds on its weights.
    penalty_weight : float, default=10
        Weight of "one_sided" and "gradient".
    clip_value : float, default=0.05
        Bound of the critic's weights for "clip".

    Attributes
    ----------
    history_ : dict of arrays
        Per epoch: the losses `discriminator` and `generator`, and
        `wasserstein`, the critic's estimate of the distance;
        `gan_monitor` reads it.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import WGAN
    >>> X = np.random.default_rng(0).normal(5, 2, (1000, 1))
    >>> model = WGAN(4, n_epochs=60, random_state=0, device="cpu").fit(X)
    >>> bool(abs(model.history_["wasserstein"][-1]) < 0.2)
    True
    >>> bool(abs(model.sample(2000, random_state=0).mean() - 5) < 0.5)
    True
    """

    _: KW_ONLY
    penalty: Literal["one_sided", "gradient", "clip", "spectral"] = "one_sided"
    penalty_weight: NonNegative = 10.0
    clip_value: Positive = 0.05
    n_critic: Count = 5
    beta_1: FractionBelowOne = 0.0
    beta_2: FractionBelowOne = 0.9

    def fit(self, X, y=None, sample_weight=None):
        """Train both nets.

        Parameters
        ----------
        X : array of shape (n, d), or images (n, h, w) or (n, h, w, channels)
        y : array of n labels or None
            Makes the model conditional: `sample(n, y=label)`.
        sample_weight : array of shape (n,) or None
        """
        return self._fit(X, y, sample_weight)

    def _game(self):
        return {
            "objective": "wasserstein",
            "penalty": self.penalty,
            "penalty_weight": self.penalty_weight,
        }

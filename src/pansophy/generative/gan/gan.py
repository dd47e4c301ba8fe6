"""Generative adversarial network.

    min_G max_D  E_x log D(x) + E_z log(1 - D(G(z)))                               (1)

Steps of the discriminator D on a batch and as many generated rows alternate with steps
of the generator G. `gan_objectives` has the losses, `critic_regularisers` what keeps
the game from running away, `adversarial_net` the nets; `gan_monitor` reads how the game
went, since neither loss says how good the samples are.

Shapes    X (n, d) or images   y (n,)   codes (n, n_components)
Refs      [Goodfellow2014]; [Mescheder2018] the penalty taken by default
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from ...core.numerics import sigmoid
from ...params import NonNegative, Positive
from .abstract_gan import AbstractGAN


@dataclass(eq=False, repr=False)
class GAN(AbstractGAN):
    """Generative adversarial network for tables, points and images.

    Parameters
    ----------
    objective : {"non_saturating", "minimax", "hinge", "least_squares"}, \
default="non_saturating"
        The losses of both halves; "minimax" is the saturating form.
    penalty : {"r1", "gradient", "one_sided", "spectral", "clip"} or None, \
default="r1"
        What bounds the slope of the discriminator.
    penalty_weight : float, default=0.1
        Weight of "r1", "gradient" and "one_sided".
    clip_value : float, default=0.01
        Bound of the discriminator's weights for "clip".

    Attributes
    ----------
    history_ : dict of arrays
        Per epoch: the losses `discriminator` and `generator`, and
        `real_accuracy` and `fake_accuracy` of the discriminator in the last steps;
        `gan_monitor` reads it.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import GAN
    >>> X = np.random.default_rng(0).normal(5, 2, (1000, 1))
    >>> model = GAN(4, n_epochs=30, random_state=0, device="cpu").fit(X)
    >>> made = model.sample(2000, random_state=0)
    >>> bool(abs(made.mean() - 5) < 0.4), bool(abs(made.std() - 2) < 0.4)
    (True, True)
    """

    _: KW_ONLY
    objective: Literal["non_saturating", "minimax", "hinge", "least_squares"] = (
        "non_saturating"
    )
    penalty: Literal["r1", "gradient", "one_sided", "spectral", "clip"] | None = "r1"
    penalty_weight: NonNegative = 0.1
    clip_value: Positive = 0.01

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
            "objective": self.objective,
            "penalty": self.penalty,
            "penalty_weight": self.penalty_weight,
        }

    def discriminate(self, X, y=None):
        """Probability that each row is real, in the discriminator's eyes: (n,).

        Only for the objectives "non_saturating" and "minimax", whose scores are log
        odds; `score_samples` has the scores of all.
        """
        if self.objective not in ("non_saturating", "minimax"):
            raise ValueError(
                f"scores under objective={self.objective!r} are no log odds: use "
                "score_samples."
            )
        return sigmoid(self.score_samples(X, y))

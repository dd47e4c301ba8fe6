"""InfoGAN: a GAN whose noise holds a code that the samples must tell.

    min_{G, Q} max_D  V(D, G) - weight L_I,   L_I = H(c) + E log Q(c | G(z, c))    (1)

L_I is a lower bound on the mutual information of the code c and the sample
(`distributions.mi_lower_bound`): a generator that ignores the code gets no more than 0.
Q is a head on the discriminator's features that guesses the code, a class by a softmax
and numbers by Normals with a variance of their own. With weight 0 this is the GAN.

Shapes    X (n, d) or images   codes (n, n_components + n_categories + n_continuous):
          noise, the one-hot class, the numbers
Refs      [Chen2016InfoGAN]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch

from ...core.random import make_rng
from ...params import Natural, NonNegative, Positive, check_count
from .abstract_gan import AbstractGAN
from .adversarial_net import NoiseCodes


class InferredCodes(NamedTuple):
    """Codes of rows, as the head Q infers them."""

    category: np.ndarray  # (n, n_categories) probabilities
    continuous: np.ndarray  # (n, n_continuous) means


@dataclass(eq=False, repr=False)
class InfoGAN(AbstractGAN):
    """GAN with codes for what varies in the rows, found without labels.

    Parameters
    ----------
    n_components : int, default=16
        Numbers of noise besides the codes.
    n_categories : int, default=10
        Values of the categorical code, equally likely; 0: none.
    n_continuous : int, default=2
        Continuous codes, standard Normals.
    information_weight : float, default=1
        Weight of L_I in eq. (1).
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
        `real_accuracy`, `fake_accuracy` and `information` (L_I) in the last steps;
        `gan_monitor` reads it.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import InfoGAN
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(0, 0.3, (600, 1)) + rng.choice([-4, 4], (600, 1))
    >>> model = InfoGAN(2, n_categories=2, n_continuous=0, n_epochs=60,
    ...                 random_state=0, device="cpu").fit(X)
    >>> sides = model.infer_codes([[-4.0], [4.0]]).category.argmax(axis=1)
    >>> sorted(sides.tolist())  # one value of the code for each cluster
    [0, 1]
    """

    _: KW_ONLY
    n_categories: Natural = 10
    n_continuous: Natural = 2
    information_weight: NonNegative = 1.0
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
            "information_weight": self.information_weight,
        }

    def _noise_codes(self):
        codes = NoiseCodes(int(self.n_categories), int(self.n_continuous))
        if not codes.width:
            raise ValueError(
                "n_categories and n_continuous of InfoGAN are both 0: without a code "
                "it is a GAN."
            )
        return codes

    def draw_codes(
        self, n_samples=1, *, category=None, continuous=None, random_state=None
    ):
        """Codes for `decode`, with some of their parts fixed.

        Parameters
        ----------
        n_samples : int, default=1
        category : int or array of n_samples ints, optional
            Values of the categorical code, from 0; drawn by default.
        continuous : array of n_continuous numbers, or one row for each sample, optional
            Values of the continuous codes; drawn by default.
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        array of shape (n_samples, n_components + n_categories + n_continuous)
        """
        n = check_count("n_samples", n_samples)
        rng = make_rng(random_state)
        k, r = self._noise_codes()
        Z = rng.standard_normal((n, self._n_codes()))
        offset = int(self.n_components)
        if k:
            drawn = rng.integers(k, size=n) if category is None else category
            drawn = np.broadcast_to(np.asarray(drawn), (n,))
            if drawn.dtype.kind not in "iu" or drawn.min() < 0 or drawn.max() >= k:
                raise ValueError(f"category must be whole numbers from 0 to {k - 1}.")
            Z[:, offset : offset + k] = np.eye(k)[drawn]
        elif category is not None:
            raise ValueError("category was given, but n_categories is 0.")
        if continuous is not None:
            Z[:, offset + k :] = np.broadcast_to(np.asarray(continuous, float), (n, r))
        return Z

    def infer_codes(self, X) -> InferredCodes:
        """Codes of rows, as Q infers them, eq. (1)."""
        rows, _ = self._check_scored_rows(X)
        k, r = self._noise_codes()

        def head(net, part, _):
            half = net.discriminator
            outputs = half.codes(half.features(part))
            return torch.cat([outputs[:, :k].softmax(1), outputs[:, k : k + r]], 1)

        result = self._row_values(head, rows)
        return InferredCodes(result[:, :k], result[:, k:])

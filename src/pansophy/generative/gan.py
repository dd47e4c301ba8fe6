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

from ..core.numerics import sigmoid
from ..params import NonNegative, Positive
from .abstract_gan import AbstractGAN


@dataclass(eq=False, repr=False)
class GAN(AbstractGAN):
    """Generative adversarial network for tables, points and images.

    Parameters
    ----------
    n_components : int, default=16
        Numbers of noise that a row is made of.
    hidden_layer_sizes : sequence of int, default=(128, 128)
        Units of the hidden layers of both nets, for tables and points.
    architecture : {"auto", "dense", "conv"}, default="auto"
        "conv" takes rows as images, and "auto" does so where stacks of images or
        `image_shape` are given.
    n_filters : sequence of int, default=(32, 64)
        Kernels of the convolutions; each halves the sides of the images.
    image_shape : (h, w) or (h, w, channels) or None, default=None
        What flat rows are.
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
    n_critic : int, default=1
        Steps of the discriminator for each one of the generator.
    discriminator_rate : float, default=2
        Factor on the learning rate of the discriminator.
    ema_decay : float, default=0.999
        Decay of the running mean of the generator's weights, which draws the samples;
        0: the last weights.
    beta_1, beta_2 : float, default=0.5 and 0.99
        Decays of Adam's running moments.
    scaling : {"auto", "column", "global"} or None, default="auto"
        Whether each column is standardised, or all by one mean and scale; "auto": each
        column of tables, and pixels to the range from -1 to 1.
    quality_every : int, default=0
        Epochs between measurements of the samples (`history_`: "mmd", "c2st", ...); 0:
        none.
    weight_decay : float, default=0
        Pull of the weights towards 0 in each step, times the rate.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto": a twentieth of the rows, from 32 to 256.
    learning_rate : {"cosine", "constant"}, default="cosine"
        Whether the rate rises for a tenth of the steps and then falls to 0.
    learning_rate_init : float, default=0.002
        The highest rate.
    n_epochs : int, default=100
        Epochs, over which the rate falls.
    early_stopping : bool, default=False
        Hold out a share of the rows, stop by the MMD between them and samples, and keep
        the best epoch; the losses of the game say nothing of the samples.
    validation_fraction : float, default=0.1
        That share.
    n_iter_no_change : int, default=10
        Epochs without improvement that are borne.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the weights, held-out rows, order and noise.
    verbose : bool or int, default=False
        1: show a progress bar; more: print the loss of each epoch too.
    dtype : {"float32", "float64"}, default="float32"
        Precision of training.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train and compute; "auto" takes a GPU if there is one.
    checkpoint : path or None, default=None
        File for the state of the run, written after each epoch.
    resume : bool, default=False
        Go on from `checkpoint` where it stopped; the result is that of one run.

    Attributes
    ----------
    net_ : torch module
        With `generator` and `discriminator`.
    classes_, class_prior_ : arrays or None
        Labels and their shares, if labels were given.
    mean_, scale_ : arrays of shape (d,)
        Standardisation of the columns.
    image_shape_ : tuple or None
        Shape of an image, if stacks of images were given.
    n_iter_ : int
        Epochs.
    history_ : dict of arrays
        Per epoch: the losses `discriminator` and `generator`, and
        `real_accuracy` and `fake_accuracy` of the discriminator in the last steps;
        `gan_monitor` reads it.
    converged_, interrupted_ : bool
        How training ended.

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

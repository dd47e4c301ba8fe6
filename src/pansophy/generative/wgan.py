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

from ..neural_network.mlp import FractionBelowOne
from ..params import Count, NonNegative, Positive
from .abstract_gan import AbstractGAN


@dataclass(eq=False, repr=False)
class WGAN(AbstractGAN):
    """Wasserstein GAN, with a gradient penalty, clipped or spectrally normed weights.

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
    penalty : {"one_sided", "gradient", "clip", "spectral"}, default="one_sided"
        What holds the critic to slope 1: a penalty on steeper slopes, or on all others
        ("gradient"), or bounds on its weights.
    penalty_weight : float, default=10
        Weight of "one_sided" and "gradient".
    clip_value : float, default=0.05
        Bound of the critic's weights for "clip".
    n_critic : int, default=5
        Steps of the critic for each one of the generator.
    discriminator_rate : float, default=2
        Factor on the learning rate of the critic.
    ema_decay : float, default=0.999
        Decay of the running mean of the generator's weights, which draws the samples;
        0: the last weights.
    beta_1, beta_2 : float, default=0 and 0.9
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
        `wasserstein`, the critic's estimate of the distance;
        `gan_monitor` reads it.
    converged_, interrupted_ : bool
        How training ended.

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

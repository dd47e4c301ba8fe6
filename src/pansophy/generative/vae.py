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

from ..base import Transformer
from ..params import Natural, NonNegative
from .abstract_vae import AbstractArrayVAE


def kl_options(model) -> dict:
    """Options of `VAENet` that weigh the divergence."""
    return {"beta": model.beta, "free_bits": model.free_bits}


@dataclass(eq=False, repr=False)
class VAE(Transformer, AbstractArrayVAE):
    """Variational autoencoder.

    Parameters
    ----------
    n_components : int, default=2
        Numbers of a code.
    hidden_layer_sizes : sequence of int, default=(64,)
        Units of the hidden layers of the encoder; the decoder has them in reverse.
    activation : {"relu", "leaky", "elu", "tanh", "logistic", "identity"}, \
default="elu"
        Of the hidden layers.
    likelihood : {"normal", "bernoulli", "categorical", "poisson"}, default="normal"
        Distribution of the columns given the code: numbers, values from 0 to 1, levels
        0, 1, 2, ..., or counts.
    variance : {"column", "global", "predicted"} or float, default="column"
        Variance of a normal likelihood in units of the standardised columns: learnt
        for each column, for all at once, predicted for each row, or given.
    beta : float, default=1
        Weight of the divergence from the prior; above 1 the units of the code are
        pressed to be independent, 0 leaves an autoencoder.
    free_bits : float, default=0
        Nats of divergence that each unit has for nothing: a remedy for collapse.
    kl_warm_up : int, default=0
        Epochs in which the weight of the divergence rises from 0 to beta.
    scaling : {"auto", "column", "global"} or None, default="auto"
        Whether each column is standardised, or all by one mean and scale; "auto" takes
        one for stacks of images. Only for a normal likelihood.
    quality_every : int, default=0
        Epochs between measurements of the samples (`history_`: "mmd", "c2st"); 0: none.
    weight_decay : float, default=0
        Pull of the weights towards 0 in each step, times the rate.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto": a twentieth of the rows, from 32 to 256.
    learning_rate : {"cosine", "constant"}, default="cosine"
        Whether the rate rises for a tenth of the steps and then falls to 0.
    learning_rate_init : float, default=0.003
        The highest rate.
    n_epochs : int, default=100
        Epochs, over which the rate falls.
    early_stopping : bool, default=False
        Hold out a share of the rows, stop by their loss and keep the best epoch.
    validation_fraction : float, default=0.1
        That share.
    n_iter_no_change : int, default=10
        Epochs without improvement that are borne.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the weights, held-out rows, order and noise.
    verbose : bool or int, default=False
        1: show a progress bar; more: print the loss of each epoch too.
    dtype : {"float32", "float64"}, default="float32"
        Precision of training; scores and codes have that of X, at least this.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train and compute; "auto" takes a GPU if there is one.
    checkpoint : path or None, default=None
        File for the state of the run, written after each epoch.
    resume : bool, default=False
        Go on from `checkpoint` where it stopped; the result is that of one run.

    Attributes
    ----------
    active_units_ : array of bool, (n_components,)
        Units of the code whose mean varies over the rows.
    unit_variance_ : array of shape (n_components,)
        That variance.
    net_ : torch module
    mean_, scale_ : arrays of shape (d,)
        Standardisation of the columns.
    image_shape_ : tuple or None
        Shape of an image, if stacks of images were given.
    loss_ : float
        Training loss of the last epoch.
    n_iter_ : int
        Epochs.
    history_ : dict of arrays
        Per epoch: loss and its terms (reconstruction, kl, kl_penalty), valid_loss with
        early stopping.
    converged_, interrupted_ : bool
        How training ended.

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

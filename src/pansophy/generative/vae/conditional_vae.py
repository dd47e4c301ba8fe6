"""Conditional variational autoencoder: p(x | y) for classes y.

Encoder and decoder of a VAE see the label beside the row and the code,

    E_q log p(x | z, y) - KL(q(z | x, y) || N(0, I)) <= log p(x | y)              (1)

so that the code tells what the label does not, and rows of a class can be drawn. With
one class it is the VAE.

Shapes    X (n, d) or images   y (n,)   codes (n, n_components)
Refs      [Sohn2015]
"""

from dataclasses import KW_ONLY, dataclass

from ...params import Natural, NonNegative
from .abstract_vae import AbstractArrayVAE
from .vae import VAENet, kl_options


@dataclass(eq=False, repr=False)
class ConditionalVAE(AbstractArrayVAE):
    """Variational autoencoder of rows given their class.

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
    classes_ : array
    class_prior_ : array of shape (n_classes,)
        Shares of the classes, which labels of samples are drawn by.
    history_ : dict of arrays
        Per epoch: loss and its terms (reconstruction, kl, kl_penalty), valid_loss with
        early stopping.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pansophy.generative import ConditionalVAE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConditionalVAE(2, random_state=0, device="cpu").fit(X, y)
    >>> model.sample(500, y=0, random_state=0)[:, 2].mean().round(1)
    np.float64(1.5)
    >>> bool(model.score(X, y) > model.score(X, (y + 1) % 3) + 3)
    True
    """

    _: KW_ONLY
    beta: NonNegative = 1.0
    free_bits: NonNegative = 0.0
    kl_warm_up: Natural = 0

    _net_class = VAENet
    _conditional = True
    _needs_labels = True

    def fit(self, X, y=None, sample_weight=None):
        """Train the net.

        Parameters
        ----------
        X : array of shape (n, d), or images (n, h, w) or (n, h, w, channels)
        y : array of shape (n,)
            The class of each row.
        sample_weight : array of shape (n,) or None
        """
        return self._fit(X, y, sample_weight)

    def _net_options(self):
        return kl_options(self)

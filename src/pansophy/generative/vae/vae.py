"""Variational autoencoder: a density with a code, trained on a lower bound.

A row x comes from a code z ~ N(0, I) by p(x | z), the likelihood of the decoder, and
the encoder gives q(z | x) = N(m(x), diag s(x)^2) (`vae_net`). The evidence lower bound
is

    ELBO = E_q log p(x | z) - KL(q(z | x) || N(0, I)) <= log p(x)                 (1)
    KL   = sum_u KL_u,   KL_u = (s_u^2 + m_u^2 - 1 - log s_u^2) / 2               (2)

with E_q by one draw of z. What is minimised is

    reconstruction + kl + kl_penalty,                                             (3)
    kl_penalty = b t sum_u max(KL_u, f) - KL

where reconstruction and kl are the two terms of minus (1), b is `beta`, t the warm-up,
which rises from 0 to 1, and f the free bits, for the mean divergence of each unit:
kl_penalty is 0 for b = t = 1 and f = 0. `history_` has the three terms in nats per row,
so that the first two are unweighted whatever beta is.

A decoder without hidden layers and a normal likelihood of fixed spread make the first
term of (1) a quadratic in z with a closed expectation,

    E |x - W z - c|^2 = |x - W m - c|^2 + sum_u s_u^2 |W_u|^2                     (4)

(columns scaled by the spread): its gradient has no noise, and such a model reaches the
maximum-likelihood solution: hidden_layer_sizes=() with variance="global" is
probabilistic PCA, with variance="column" factor analysis.

Shapes    X (n, d) or images   codes, m, s (n, n_components)
Refs      [Kingma2014]; [Rezende2014]; [Higgins2017] beta; [Kingma2016] free bits;
          [Lucas2019] eq. (4)
"""

from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor

from ...base import Transformer
from ...nn.layers.dense_layers import DenseLayers
from ...params import Natural, NonNegative
from ..abstract_generator import batch_mean
from .abstract_vae import AbstractArrayVAE
from .likelihoods import NormalLikelihood
from .vae_net import AbstractVAENet


def kl_to_standard_normal(mean: Tensor, log_var: Tensor) -> Tensor:
    """Eq. (2) before the sum over units."""
    return (log_var.exp() + mean.square() - 1 - log_var) / 2


class VAENet(AbstractVAENet):
    """A net that is trained on the evidence lower bound, eq. (3)."""

    def losses(self, batch) -> dict[str, Tensor]:
        """The terms of eq. (3), in nats per row."""
        X = batch["X"]
        y = batch.get("y")
        mean, log_var = self.posterior(X, y)
        log_px = self.expected_log_likelihood(X, mean, log_var, y)
        divergence = kl_to_standard_normal(mean, log_var)
        losses = {
            "reconstruction": -batch_mean(log_px, batch),
            "kl": batch_mean(divergence.sum(1), batch),
        }
        weight = self.beta * self.warm_up_factor()
        if self.beta != 1 or self.warm_up or self.free_bits:
            kl = losses["kl"]
            charged = kl
            if self.free_bits:
                units = torch.stack([batch_mean(u, batch) for u in divergence.T])
                charged = units.clamp(min=self.free_bits).sum()
            losses["kl_penalty"] = weight * charged - kl
        return losses

    def expected_log_likelihood(self, X, mean, log_var, y=None) -> Tensor:
        """E_q log p(x | z) of each row: eq. (4), or by one draw of z."""
        if not self.linear_normal:
            z = mean + (log_var / 2).exp() * torch.randn_like(mean)
            return self.log_likelihood(X, z, y)
        at_mean = self.log_likelihood(X, mean, y)
        W = self.decoder.layers[0].weight[:, : mean.shape[1]]
        _, scale = self.likelihood.mean_and_scale(W.t())
        curvature = (W / scale.expand(len(W))[:, None]).square().sum(0)
        return at_mean - (log_var.exp() @ curvature) / 2

    @property
    def linear_normal(self) -> bool:
        """Whether eq. (4) applies."""
        normal = isinstance(self.likelihood, NormalLikelihood)
        dense = isinstance(self.decoder, DenseLayers) and len(self.decoder.layers) == 1
        return normal and dense and not self.likelihood.predicted

    def warm_up_factor(self):
        """t of eq. (3); 1 when the model is validated."""
        if not self.training or not self.warm_up:
            return 1.0
        self.step += 1
        return (self.step / self.warm_up).clamp(max=1.0)


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

    _net_class = VAENet

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

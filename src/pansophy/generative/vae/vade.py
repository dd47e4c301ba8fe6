"""Variational deep embedding: a VAE whose prior is a mixture, hence a clustering.

    c ~ Cat(pi),   z ~ N(mu_c, diag s_c^2),   x ~ p(x | z)                        (1)

with q(z | x) = N(m, diag v) from the encoder and q(c | x) the responsibilities of a
draw of z in the mixture. The bound has five terms,

    ELBO = E log p(x | z) + E log p(z | c) + E log p(c)
         - E log q(z | x) - E log q(c | x)                                        (2)

whose negatives are the named losses, in nats per row. The second and fourth have closed
forms: with g_c = q(c | x),

    E log p(z | c)  = -sum_c g_c sum_u [log 2 pi s_cu^2 + (v_u + (m_u - mu_cu)^2)
                                        / s_cu^2] / 2                             (3)
    -E log q(z | x) = sum_u [1 + log 2 pi v_u] / 2                                (4)

Training begins with `n_pretrain` epochs as a plain autoencoder; then the mixture starts
from a Gaussian mixture of the codes, without which clusters merge. With one cluster the
model is a VAE with a learnt normal prior.

Shapes    X (n, d)   z, m, v (n, k)   mu, s (C, k)   g (n, C)
Refs      [Jiang2017]
"""

import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor, nn

from ...base import Clusterer, fit_stage
from ...core.numerics import LOG_2PI
from ...core.random import draw_seed
from ...mixture import GaussianMixture
from ...params import Count, Natural
from ..abstract_generator import batch_mean, values_in_blocks
from ..autoencoders.autoencoder import layer_sizes
from .abstract_vae import AbstractArrayVAE
from .vae import VAENet

LEAST_VARIANCE = 1e-4  # of a cluster, in units of the code


class LatentMixturePrior(nn.Module):
    """Mixture of diagonal normals over codes."""

    def __init__(self, n_clusters: int, n_components: int):
        super().__init__()
        self.scores = nn.Parameter(torch.zeros(n_clusters))
        self.mean = nn.Parameter(torch.randn(n_clusters, n_components))
        self.log_var = nn.Parameter(torch.zeros(n_clusters, n_components))

    @property
    def variances(self) -> Tensor:
        return self.log_var.exp() + LEAST_VARIANCE

    def joint_log_prob(self, z: Tensor) -> Tensor:
        """log pi_c N(z; mu_c, s_c^2): (..., C)."""
        gap = z[..., None, :] - self.mean
        v = self.variances
        log_prob = -(gap.square() / v + v.log() + LOG_2PI).sum(-1) / 2
        return log_prob + self.scores.log_softmax(-1)

    def draw(self, n: int) -> Tensor:
        """n codes."""
        c = torch.multinomial(self.scores.softmax(-1), n, replacement=True)
        eps = torch.randn_like(self.mean[c])
        return self.mean[c] + self.variances[c].sqrt() * eps

    @torch.no_grad()
    def start_at(self, mixture) -> None:
        """The parameters of a fitted Gaussian mixture."""
        variances = np.maximum(mixture.covariances_ - LEAST_VARIANCE, LEAST_VARIANCE)
        self.scores.copy_(torch.as_tensor(np.log(mixture.weights_ + 1e-12)))
        self.mean.copy_(torch.as_tensor(mixture.means_))
        self.log_var.copy_(torch.as_tensor(np.log(variances)))


class VaDENet(nn.Module):
    """Encoder and decoder of a VAE with a mixture prior, eq. (2).

    `pretraining` counts the epochs in which only the reconstruction is still trained.
    """

    pretraining: Tensor

    def __init__(self, vae: VAENet, prior: LatentMixturePrior):
        super().__init__()
        self.vae, self.prior = vae, prior
        self.register_buffer("pretraining", torch.zeros((), dtype=torch.int64))

    def flops(self, n: int) -> float:
        """Operations of a training step on n rows."""
        return self.vae.flops(n)

    @property
    def likelihood(self):
        return self.vae.likelihood

    def posterior(self, X, y=None):
        return self.vae.posterior(X)

    def scores(self, z, y=None):
        return self.vae.scores(z)

    def responsibilities(self, z: Tensor) -> Tensor:
        """q(c | x) at a code: (n, C)."""
        return self.prior.joint_log_prob(z).softmax(-1)

    def losses(self, batch) -> dict[str, Tensor]:
        """Minus the five terms of eq. (2), in nats per row."""
        X = batch["X"]
        mean, log_var = self.posterior(X)
        if self.training and bool(self.pretraining):
            log_px = self.vae.log_likelihood(X, mean)
            return {"reconstruction": -batch_mean(log_px, batch)}
        v = log_var.exp()
        z = mean + v.sqrt() * torch.randn_like(mean)
        log_g = self.prior.joint_log_prob(z).log_softmax(-1)
        g = log_g.exp()
        s2 = self.prior.variances
        gap = mean[:, None] - self.prior.mean
        quadratic = ((v[:, None] + gap.square()) / s2 + s2.log() + LOG_2PI).sum(-1) / 2
        terms = {
            "reconstruction": -self.vae.log_likelihood(X, z),
            "cluster_density": (g * quadratic).sum(1),  # (3)
            "cluster_share": -(g * self.prior.scores.log_softmax(-1)).sum(1),
            "code_entropy": -(1 + LOG_2PI + log_var).sum(1) / 2,  # (4)
            "cluster_entropy": (g * log_g).sum(1),
        }
        return {name: batch_mean(value, batch) for name, value in terms.items()}

    def log_weights(self, X, y=None, n_samples=1, *, eps=None) -> Tensor:
        """log p(x | z) p(z) / q(z | x) of draws of z: (K, n)."""
        mean, log_var = self.posterior(X)
        if eps is None:
            shape = (n_samples, *mean.shape)
            eps = torch.randn(shape, dtype=mean.dtype, device=mean.device)
        z = mean + (log_var / 2).exp() * eps
        log_q = -(eps.square() + LOG_2PI).sum(-1) / 2 - log_var.sum(-1) / 2
        log_prior = self.prior.joint_log_prob(z).logsumexp(-1)
        return self.vae.log_likelihood(X, z) + log_prior - log_q

    def draw_codes(self, n: int) -> Tensor:
        """Codes from the mixture."""
        return self.prior.draw(n)

    def start_at(self, X) -> None:
        self.vae.start_at(X)

    @torch.no_grad()
    def start_mixture(self, mixture) -> None:
        """Begin with the clusters of a mixture fitted to the codes.

        The variances of q(z | x), which pretraining left as they were drawn, start at
        a tenth of those of the clusters: wider ones would merge clusters at once.
        """
        self.prior.start_at(mixture)
        mean_variance = mixture.weights_ @ mixture.covariances_
        last = self.vae.code_layer
        k = len(mean_variance)
        last.weight[k:] = 0
        last.bias[k:] = torch.as_tensor(np.log(0.1 * mean_variance + LEAST_VARIANCE))


@dataclass(eq=False, repr=False)
class VaDE(Clusterer, AbstractArrayVAE):
    """Variational deep embedding: clusters in the code of a VAE.

    Parameters
    ----------
    n_clusters : int, default=8
        Components of the mixture.
    n_pretrain : int, default=20
        Epochs of training as an autoencoder before the mixture starts, at most half of
        `n_epochs`.

    Attributes
    ----------
    labels_ : array of shape (n,)
        Clusters of the training rows.
    weights_ : array of shape (n_clusters,)
        Shares of the clusters.
    cluster_means_ : array of shape (n_clusters, n_components)
        Their means in the space of codes.
    history_ : dict of arrays
        Per epoch: loss and its terms (the five of the bound), valid_loss with
        early stopping.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from pansophy.generative import VaDE
    >>> X, y = make_blobs(300, 5, centers=3, random_state=1)
    >>> model = VaDE(2, n_clusters=3, random_state=0, device="cpu").fit(X)
    >>> bool(adjusted_rand_score(y, model.labels_) > 0.9)
    True
    """

    n_components: Count = 10
    _: KW_ONLY
    n_clusters: Count = 8
    n_pretrain: Natural = 20

    _fixed_prior = False

    def fit(self, X, y=None, sample_weight=None):
        """Train the net.

        Parameters
        ----------
        X : array of shape (n, d), or images (n, h, w) or (n, h, w, channels)
        y : ignored
        sample_weight : array of shape (n,) or None
        """
        return self._fit(X, y, sample_weight)

    def _build_net(self, n_features, n_classes):
        vae = VAENet(
            self._make_likelihood(n_features),
            self.n_components,
            layer_sizes(self.hidden_layer_sizes),
            activation=self.activation,
            image=self._image_layers(n_features),
        )
        return VaDENet(vae, LatentMixturePrior(self.n_clusters, self.n_components))

    def _start_net(self, net, rows):
        super()._start_net(net, rows)
        net.pretraining.fill_(self._n_start_epochs())
        if not net.pretraining:
            self._start_mixture(net, rows, 0)

    def _n_start_epochs(self):
        return min(self.n_pretrain, self.n_epochs // 2)

    def _monitors(self, rows, held_out, rng):
        seed = draw_seed(rng)

        def end_pretraining(net):
            if net.pretraining == 1:
                self._start_mixture(net, rows, seed)
            if net.pretraining:
                net.pretraining -= 1
            return {}

        return [end_pretraining, *super()._monitors(rows, held_out, rng)]

    def _start_mixture(self, net, rows, seed):
        """Let the prior start from a Gaussian mixture of the codes."""
        codes = values_in_blocks(net, self._encode, rows.X)
        if len(codes) < self.n_clusters:
            return
        mixture = GaussianMixture(
            self.n_clusters, covariance_type="diag", random_state=seed
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a start will do
            net.start_mixture(fit_stage(mixture, codes, sample_weight=rows.w))

    def _finish_fit(self, rows):
        if self.net_.pretraining:  # training ended before the mixture had started
            self._start_mixture(self.net_, rows, 0)
            self.net_.pretraining.zero_()
        super()._finish_fit(rows)
        prior = self.net_.prior
        self.weights_ = prior.scores.detach().double().softmax(-1).numpy()
        self.cluster_means_ = prior.mean.detach().double().numpy()
        g = values_in_blocks(self.net_, self._cluster_shares, rows.X)
        self.labels_ = g.argmax(axis=1)

    def _cluster_shares(self, net, X, y):
        return net.responsibilities(net.posterior(X)[0])

    def predict_proba(self, X):
        """q(c | x) at the mean code of each row: (n, n_clusters)."""
        rows, _ = self._check_scored_rows(X)
        return self._row_values(self._cluster_shares, rows)

    def predict(self, X):
        """The most probable cluster of each row."""
        return self.predict_proba(X).argmax(axis=1)

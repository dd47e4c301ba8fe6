"""The net of a variational autoencoder: encoder, decoder, and bounds of log p(x).

A row x comes from a code z: z ~ N(0, I), x ~ p(x | z), a likelihood whose scores the
decoder gives (`likelihoods`). The encoder gives q(z | x) = N(m(x), diag s(x)^2). With
z = m + s e, e ~ N(0, I) (reparameterisation), the evidence lower bound is

    ELBO = E_q log p(x | z) - KL(q(z | x) || N(0, I)) <= log p(x)                 (1)
    KL   = sum_u (s_u^2 + m_u^2 - 1 - log s_u^2) / 2                              (2)

and the importance-weighted bound, which rises with K to log p(x),

    L_K = E log (1 / K) sum_k w_k,   w_k = p(x | z_k) p(z_k) / q(z_k | x)         (3)

L_1 is (1) with (2) estimated. What is minimised is minus (3), or

    reconstruction + kl + kl_penalty                                              (4)
    kl_penalty = b t sum_u max(KL_u, f) - KL

with weight b (beta), warm-up t, which rises from 0 to 1, and free bits f for the mean
divergence of each unit: kl_penalty is 0 for b = t = 1 and f = 0. With labels y both
encoder and decoder see them (conditional model). Both are dense layers, or convolutions
for images (`conv_coders`).

A decoder without hidden layers and a normal likelihood of fixed spread make the first
term of (1) a quadratic in z with a closed expectation,

    E |x - W z - c|^2 = |x - W m - c|^2 + sum_u s_u^2 |W_u|^2                     (5)

(columns scaled by the spread): its gradient has no noise, and such a model reaches the
maximum-likelihood solution of probabilistic PCA.

Cost      one pass of encoder and K of decoder
Shapes    X (n, d)   z, m, s (n, k)   log w (K, n)
Refs      [Kingma2014]; [Rezende2014]; [Burda2016] eq. (3); [Higgins2017] beta;
          [Kingma2016] free bits; [Sohn2015] labels; [Lucas2019] eq. (5)
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...core.numerics import LOG_2PI
from ...nn.layers.dense_layers import DenseLayers
from ..abstract_generator import batch_mean
from ..autoencoders.conv_coders import ConvDecoder, ConvEncoder
from .likelihoods import NormalLikelihood

LARGEST_LOG_VARIANCE = 20.0


class ImageLayers(NamedTuple):
    """Convolutions of an encoder, which the decoder mirrors."""

    shape: tuple[int, int, int]  # height, width, channels
    n_filters: tuple[int, ...]
    kernel_size: int = 3


def kl_to_standard_normal(mean: Tensor, log_var: Tensor) -> Tensor:
    """Eq. (2) before the sum over units."""
    return (log_var.exp() + mean.square() - 1 - log_var) / 2


def standard_normal_log_prob(z: Tensor) -> Tensor:
    """log N(z; 0, I), summed over the last axis."""
    return -(z.square() + LOG_2PI).sum(-1) / 2


def clear_weights(decoder, outputs) -> None:
    """Let some outputs of a decoder, a mask, start without a code: weights of 0."""
    if isinstance(decoder, DenseLayers):
        kernel = decoder.layers[-1].weight
    elif decoder.convs:  # whole channels
        kernel = decoder.convs[-1].weight.transpose(0, 1)
        outputs = outputs.reshape(decoder.n_parts, -1)[:, 0]
        outputs = outputs.repeat(len(kernel) // decoder.n_parts)
    else:
        return
    with torch.no_grad():
        kernel[torch.as_tensor(outputs)] = 0.0


class VAENet(nn.Module):
    """Encoder, decoder and bounds, eq. (1) to (5).

    Parameters
    ----------
    likelihood : torch module of `likelihoods`
    n_components : int
        k.
    hidden : sequence of int
        Units of the hidden layers of the encoder; the decoder has them in reverse.
    activation : str
    n_classes : int
        Labels that encoder and decoder see; 0: none.
    image : ImageLayers or None
        Convolutions in the place of `hidden`.
    beta, free_bits : float
    warm_up : int
        Steps in which the weight of the divergence rises from 0 to 1.
    n_samples : int
        K of eq. (3); 0: eq. (4).
    """

    step: Tensor

    def __init__(
        self, likelihood, n_components: int, hidden: Sequence[int], *,
        activation="elu", n_classes=0, image: ImageLayers | None = None, beta=1.0,
        free_bits=0.0, warm_up=0, n_samples=0,
    ):  # fmt: skip
        super().__init__()
        self.likelihood, self.n_classes = likelihood, n_classes
        self.n_components = k = int(n_components)
        outputs = likelihood.n_outputs
        if image is None:
            hidden = [int(m) for m in hidden]
            inputs = likelihood.n_features + n_classes
            self.encoder = DenseLayers([inputs, *hidden, 2 * k], activation=activation)
            self.decoder = DenseLayers(
                [k + n_classes, *hidden[::-1], outputs], activation=activation
            )
        else:
            parts = outputs // math.prod(image.shape)
            self.encoder = ConvEncoder(*image, activation, 2 * k, n_classes)
            self.decoder = ConvDecoder(self.encoder, k + n_classes, parts, offset=True)
        self.beta, self.free_bits = float(beta), float(free_bits)
        self.warm_up, self.n_samples = int(warm_up), int(n_samples)
        self.register_buffer("step", torch.zeros((), dtype=torch.int64))

    @property
    def capturable(self) -> bool:
        """Whether every step does the same work: not while the divergence warms up."""
        return not self.warm_up

    def flops(self, n: int) -> float:
        """Operations of a training step on n rows."""
        return self.encoder.flops(n) + self.decoder.flops(n) * max(self.n_samples, 1)

    def with_labels(self, h: Tensor, y: Tensor | None) -> Tensor:
        """Rows and their labels side by side."""
        if not self.n_classes:
            return h
        hot = functional.one_hot(y, self.n_classes).to(h.dtype)
        return torch.cat([h, hot.expand(*h.shape[:-1], -1)], -1)

    def posterior(self, X: Tensor, y: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Mean and log variance of q(z | x)."""
        h = self.encoder(self.with_labels(self.likelihood.features(X), y))
        mean, log_var = h.chunk(2, -1)
        return mean, log_var.clamp(-LARGEST_LOG_VARIANCE, LARGEST_LOG_VARIANCE)

    def scores(self, z: Tensor, y: Tensor | None = None) -> Tensor:
        """F of codes z (..., n, k)."""
        return self.decoder(self.with_labels(z, y))

    def log_likelihood(self, X, z, y=None) -> Tensor:
        """log p(x | z): (..., n)."""
        return self.likelihood.log_prob(X, self.scores(z, y)).sum(-1)

    @property
    def linear_normal(self) -> bool:
        """Whether eq. (5) applies."""
        normal = isinstance(self.likelihood, NormalLikelihood)
        dense = isinstance(self.decoder, DenseLayers) and len(self.decoder.layers) == 1
        return normal and dense and not self.likelihood.predicted

    def expected_log_likelihood(self, X, mean, log_var, y=None) -> Tensor:
        """E_q log p(x | z) of each row: eq. (5), or by one draw of z."""
        if not self.linear_normal:
            z = mean + (log_var / 2).exp() * torch.randn_like(mean)
            return self.log_likelihood(X, z, y)
        at_mean = self.log_likelihood(X, mean, y)
        W = self.decoder.layers[0].weight[:, : mean.shape[1]]
        _, scale = self.likelihood.mean_and_scale(W.t())
        curvature = (W / scale.expand(len(W))[:, None]).square().sum(0)
        return at_mean - (log_var.exp() @ curvature) / 2

    def losses(self, batch) -> dict[str, Tensor]:
        """The terms of eq. (4), or minus eq. (3), in nats per row."""
        X = batch["X"]
        y = batch.get("y")
        if self.n_samples:
            log_w = self.log_weights(X, y, self.n_samples)
            bound = log_w.logsumexp(0) - math.log(self.n_samples)
            return {"bound": -batch_mean(bound, batch)}
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

    def warm_up_factor(self):
        """t of eq. (4); 1 when the model is validated."""
        if not self.training or not self.warm_up:
            return 1.0
        self.step += 1
        return (self.step / self.warm_up).clamp(max=1.0)

    def log_weights(self, X, y=None, n_samples=1, *, eps=None) -> Tensor:
        """log w_k of eq. (3): (K, n); `eps` (K, 1, k) is noise that all rows share."""
        mean, log_var = self.posterior(X, y)
        if eps is None:
            shape = (n_samples, *mean.shape)
            eps = torch.randn(shape, dtype=mean.dtype, device=mean.device)
        z = mean + (log_var / 2).exp() * eps
        log_q = standard_normal_log_prob(eps) - log_var.sum(-1) / 2
        return self.log_likelihood(X, z, y) + self.log_prior(z) - log_q

    def log_prior(self, z) -> Tensor:
        """log p(z): (..., n)."""
        return standard_normal_log_prob(z)

    def draw_codes(self, n: int) -> Tensor:
        """Codes from the prior."""
        like = next(self.decoder.parameters())
        return torch.randn(n, self.n_components, dtype=like.dtype, device=like.device)

    @property
    def code_layer(self) -> nn.Linear:
        """The last layer of the encoder."""
        dense = isinstance(self.encoder, DenseLayers)
        return self.encoder.layers[-1] if dense else self.encoder.output

    def start_at(self, X) -> None:
        """Let the decoder start at the columns' means.

        Scores that are logarithms start there for every code: random ones give the
        first steps gradients from which some units never come back.
        """
        start = torch.as_tensor(self.likelihood.initial_outputs(X))
        clear_weights(self.decoder, self.likelihood.exponentiated)
        with torch.no_grad():
            if isinstance(self.decoder, DenseLayers):
                self.decoder.layers[-1].bias.copy_(start)
            elif self.decoder.offset is not None:
                self.decoder.offset.copy_(start)

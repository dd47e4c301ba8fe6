"""The nets of variational autoencoders: encoder, decoder, and importance weights.

A row x comes from a code z: z ~ N(0, I), x ~ p(x | z), a likelihood whose scores the
decoder gives (`likelihoods`). The encoder gives q(z | x) = N(m(x), diag s(x)^2), and a
code is drawn as z = m + s e, e ~ N(0, I) (reparameterisation). The weights

    w_k = p(x | z_k) p(z_k) / q(z_k | x)                                          (1)

of K draws have the mean p(x): log mean_k w_k is a lower bound of log p(x) on average. A
model adds what it trains, the bound of `vae` or that of `iwae`. With labels y both
encoder and decoder see them (conditional model). Both are dense layers, or convolutions
for images (`conv_coders`).

Cost      one pass of encoder and K of decoder
Shapes    X (n, d)   z, m, s (n, k)   log w (K, n)
Refs      [Kingma2014]; [Rezende2014]; [Burda2016]; [Sohn2015] labels
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...core.numerics import LOG_2PI
from ...nn.layers.dense_layers import DenseLayers
from ..autoencoders.conv_coders import ConvDecoder, ConvEncoder

LARGEST_LOG_VARIANCE = 20.0


class ImageLayers(NamedTuple):
    """Convolutions of an encoder, which the decoder mirrors."""

    shape: tuple[int, int, int]  # height, width, channels
    n_filters: tuple[int, ...]
    kernel_size: int = 3


def _standard_normal_log_prob(z: Tensor) -> Tensor:
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


class AbstractVAENet(nn.Module):
    """Encoder, decoder and importance weights; a model adds its `losses`.

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
        b and f of eq. (3) of `vae`.
    warm_up : int
        Steps in which the weight of the divergence rises from 0 to 1.
    n_samples : int
        K, draws of a code in eq. (1) of `iwae`; 0: the bound of `vae`.
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

    @abstractmethod
    def losses(self, batch) -> dict[str, Tensor]:
        """Terms of minus the bound that is trained, in nats per row."""

    def log_weights(self, X, y=None, n_samples=1, *, eps=None) -> Tensor:
        """log w_k of eq. (1): (K, n); `eps` (K, 1, k) is noise that all rows share."""
        mean, log_var = self.posterior(X, y)
        if eps is None:
            shape = (n_samples, *mean.shape)
            eps = torch.randn(shape, dtype=mean.dtype, device=mean.device)
        z = mean + (log_var / 2).exp() * eps
        log_q = _standard_normal_log_prob(eps) - log_var.sum(-1) / 2
        return self.log_likelihood(X, z, y) + self.log_prior(z) - log_q

    def log_prior(self, z) -> Tensor:
        """log p(z): (..., n)."""
        return _standard_normal_log_prob(z)

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

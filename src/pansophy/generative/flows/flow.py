"""Normalising flows: exact densities by invertible maps to a normal distribution.

With f a transform of `flow_transforms` and phi the density of N(0, I),

    log p(x) = log phi(f(x)) + log |det df/dx|                                   (1)

`fit` maximises the mean of (1) over rows, `sample` takes normal rows through f^-1.
`FLOW_ARCHITECTURES`, with as many layers as `n_transforms` and the order of the
columns reversed between layers:

    spline            autoregressive rational-quadratic splines
    spline_coupling   the same in couplings: as quick to sample as to score
    maf               autoregressive affine maps
    realnvp           affine couplings
    affine            one linear map: a Gaussian
    continuous        the flow of a vector field

Discrete columns get noise in training (`abstract_continuous_density`).

Cost      one pass of every conditioner a row; samples of an autoregressive flow take d
Refs      [Rezende2015]; [Papamakarios2021]; [Durkan2019]
"""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from ...params import Count, LayerSizes, NonNegative, Positive, TwoOrMore
from ..abstract_continuous_density import (
    AbstractContinuousDensity,
    with_uniform_noise,
)
from ..abstract_generator import batch_mean
from ..autoencoders.autoencoder import layer_sizes
from .flow_transforms import (
    AutoregressiveTransform,
    Composition,
    ContinuousTransform,
    CouplingTransform,
    LinearTransform,
    Permutation,
)


def _layered(kind, column_map):
    """A maker of flows of coupling or autoregressive layers with reversed columns."""

    def make(d, n_transforms, hidden, n_bins, n_context):
        parts: list[nn.Module] = []
        for i in range(n_transforms):
            if i:
                parts.append(Permutation(list(range(d))[::-1]))
            parts.append(
                kind(d, column_map, hidden, n_bins=n_bins, n_context=n_context)
            )
        return parts

    return make


def _make_continuous(d, n_transforms, hidden, n_bins, n_context):
    return [
        ContinuousTransform(d, hidden, n_context=n_context) for _ in range(n_transforms)
    ]


FLOW_ARCHITECTURES: dict[str, Callable] = {
    "spline": _layered(AutoregressiveTransform, "spline"),
    "spline_coupling": _layered(CouplingTransform, "spline"),
    "maf": _layered(AutoregressiveTransform, "affine"),
    "realnvp": _layered(CouplingTransform, "affine"),
    "affine": lambda d, *rest: [],
    "continuous": _make_continuous,
}
FlowArchitecture = Literal[
    "spline", "spline_coupling", "maf", "realnvp", "affine", "continuous"
]


class FlowDensity(nn.Module):
    """A transform to N(0, I), trained by eq. (1).

    Parameters
    ----------
    transform : transform
    n_classes : int
        Classes whose indicators are the context.
    widths : tensor of shape (d,) or None
        Widths of the uniform noise that columns get in training.
    """

    widths: Tensor

    def __init__(self, transform, *, n_classes: int = 0, widths=None):
        super().__init__()
        self.transform = transform
        self.n_classes = int(n_classes)
        known_widths = torch.zeros(0) if widths is None else torch.as_tensor(widths)
        self.register_buffer("widths", known_widths)

    @property
    def capturable(self) -> bool:
        """Whether every step does the same work: solvers of a flow in time adapt."""
        return not any(isinstance(m, ContinuousTransform) for m in self.modules())

    def context(self, y):
        """Indicators of class numbers; None without classes."""
        return None if y is None else nn.functional.one_hot(y, self.n_classes)

    def log_prob(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        """Eq. (1), (n,)."""
        z, logdet = self.transform.forward_and_logdet(x, self.context(y))
        d = x.shape[1]
        return logdet - 0.5 * (z.square().sum(1) + d * math.log(2 * math.pi))

    def draw(self, n: int, d: int, y: Tensor | None = None) -> Tensor:
        """n rows by torch's random numbers."""
        like = next(self.parameters())
        z = torch.randn(n, d, dtype=like.dtype, device=like.device)
        return self.transform.inverse_and_logdet(z, self.context(y))[0]

    def losses(self, batch) -> dict[str, Tensor]:
        """Minus the mean of eq. (1), in nats per row."""
        x = with_uniform_noise(batch["X"], self.widths)
        return {"loss": batch_mean(-self.log_prob(x, batch.get("y")), batch)}

    def flops(self, n: int) -> float:
        """Operations of a step on n rows: three products a matrix."""
        return 6.0 * n * sum(p.numel() for p in self.parameters() if p.ndim == 2)


@dataclass(eq=False, repr=False)
class Flow(AbstractContinuousDensity):
    """Normalising flow: exact log densities and samples.

    Parameters
    ----------
    architecture : str, default="spline"
        "spline", "spline_coupling", "maf", "realnvp", "affine" or "continuous".
    n_transforms : int, default=3
        Layers.
    hidden_layer_sizes : int or sequence of int, default=(64, 64)
        Of the conditioners, or of the vector field.
    n_bins : int, default=8
        Bins of a spline.

    Attributes
    ----------
    net_ : torch module
        The transform and its base density.
    classes_, class_prior_ : arrays or None
        Labels and their shares.
    loss_ : float
        Training loss of the last epoch: minus the mean log density of scaled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import Flow
    >>> X = np.random.default_rng(0).normal(2.0, 3.0, size=(500, 1))
    >>> model = Flow("affine", random_state=0, device="cpu").fit(X)
    >>> truth = -0.5 * ((X[:, 0] - 2) / 3) ** 2 - np.log(3 * np.sqrt(2 * np.pi))
    >>> bool(abs(model.score_samples(X) - truth).mean() < 0.05)
    True
    """

    architecture: FlowArchitecture = "spline"
    _: KW_ONLY
    n_transforms: Count = 3
    hidden_layer_sizes: LayerSizes = (64, 64)
    n_bins: TwoOrMore = 8
    weight_decay: NonNegative = 0.0
    learning_rate_init: Positive = 0.005
    n_epochs: Count = 100

    _conditional = True

    def fit(self, X, y=None, sample_weight=None):
        """Maximise the likelihood of the rows, eq. (1).

        Parameters
        ----------
        X : array of shape (n, d), or images
        y : array of n labels or None
            Classes for which densities are learnt apart.
        sample_weight : array of shape (n,) or None
        """
        return self._fit(X, y, sample_weight)

    def _build_net(self, n_features, n_classes):
        hidden = layer_sizes(self.hidden_layer_sizes)
        make = FLOW_ARCHITECTURES[self.architecture]
        parts = make(n_features, self.n_transforms, hidden, self.n_bins, n_classes)
        transform = Composition([*parts, LinearTransform(n_features)])
        return FlowDensity(transform, n_classes=n_classes, widths=self._noise_widths())

    def _generate(self, net, n, y):
        return net.draw(n, self.n_features_in_, y)

    def _log_density(self, net, X, y):
        return net.log_prob(X, y)

    def log_prob(self, X, y=None):
        """Log density of each row, eq. (1); the same as `score_samples`."""
        return self.score_samples(X, y)

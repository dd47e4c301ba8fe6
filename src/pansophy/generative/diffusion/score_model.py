"""Score models: the gradient of the log density, learnt, and followed by samples.

A net s(x) is fitted by one of the losses of `score_matching`:

    implicit, sliced   a net of x alone; the trace of its Jacobian is exact or a
                       projection
    denoising          a net of x and of a level of noise (`denoiser`, row "ve"): the
                       score of rows with noise, (D(z, sigma) - z) / sigma^2

Samples follow Langevin dynamics (`sampling.StochasticLangevin`),

    x <- x + h s(x) + sqrt(2 h) noise                                            (1)

With levels of noise they are annealed: from the highest level to the lowest, n_steps
steps of h = step_size sigma^2 at each, and in the end what is left of the noise is
removed. A net of one level takes as many steps in all, with h that falls from step_size
to a hundredth of it. It is poor where rows are rare and slow between modes, which is
what levels of noise were invented for.

Scores of rows: the density by the probability-flow equation with levels
(`flow_likelihood`); without them, the log density up to a constant, by the integral of
s along the straight line from the mean.

Cost      as `score_matching`; a sample takes n_levels n_steps evaluations
Refs      [Song2019] annealed Langevin; [Hyvarinen2005]; [Vincent2011]
"""

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ... import nn
from ...base import InterruptedFitWarning
from ...core.quadrature import gauss_legendre
from ...core.random import make_rng
from ...params import Count, Fraction, LayerSizes, NonNegative, Positive, TwoOrMore
from ...sampling import StochasticLangevin
from ...sampling import sample as run_chains
from ..abstract_continuous_density import (
    AbstractContinuousDensity,
    with_uniform_noise,
)
from ..abstract_generator import batch_mean
from ..autoencoders.autoencoder import layer_sizes
from .denoiser import VE_RANGE, Denoiser
from .denoising_nets import DenoisingMLP
from .flow_likelihood import denoiser_log_prob
from .score_matching import implicit_score_loss, sliced_score_loss

LINE_POINTS = 32  # of the quadrature along a line


class ScoreNet(torch.nn.Module):
    """s(x) by dense layers, fitted by the implicit or the sliced loss."""

    widths: Tensor

    def __init__(
        self, d: int, hidden, loss: Literal["implicit", "sliced"], widths=None
    ):
        super().__init__()
        noise = torch.zeros(0) if widths is None else widths
        self.register_buffer("widths", noise)
        self.layers = nn.DenseLayers([d, *hidden, d], activation="tanh")
        self.loss = loss

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)

    def losses(self, batch) -> dict[str, Tensor]:
        """Weighted mean of eq. (3) or (4) of `score_matching`."""
        of_row = implicit_score_loss if self.loss == "implicit" else sliced_score_loss
        x = with_uniform_noise(batch["X"], self.widths)
        return {"loss": batch_mean(of_row(self.layers, x), batch)}

    def flops(self, n: int) -> float:
        """Operations of a step on n rows, derivatives included."""
        return 3 * self.layers.flops(n)


def langevin_moves(gradient, x: Tensor, h: float, n_steps: int, rng) -> Tensor:
    """Rows after n_steps of eq. (1) with `gradient`, a function of tensors."""

    def of_arrays(_, rows):
        return gradient(torch.as_tensor(rows).to(x)).double().cpu().numpy()

    sampler = StochasticLangevin(of_arrays, step_size=h)
    start = x.double().cpu().numpy()
    return torch.as_tensor(chain_ends(sampler, start, n_steps, rng)).to(x)


def chain_ends(sampler, start, n_steps, rng):
    """Positions of chains from rows `start` (n, d) after n_steps.

    Raises KeyboardInterrupt if they were interrupted: whoever called for them, the
    training of a net say, is to stop and not to go on from chains of too few steps.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedFitWarning)
        draws = run_chains(sampler, 1, init=start, warmup=n_steps - 1, random_state=rng)
    if draws.reason == "interrupted":
        raise KeyboardInterrupt
    return draws.positions[:, -1]


@dataclass(eq=False, repr=False)
class ScoreModel(AbstractContinuousDensity):
    """Score model: learns grad log p, draws rows by Langevin dynamics.

    Parameters
    ----------
    loss : {"denoising", "sliced", "implicit"}, default="denoising"
        How the score is fitted.
    hidden_layer_sizes : int or sequence of int, default=(128, 128, 128)
        Layers of the net; () with "sliced" or "implicit" is a linear score, that of a
        normal density.
    n_levels : int, default=40
        Levels of noise that a sample goes through.
    n_steps : int, default=10
        Langevin steps at each level.
    step_size : float, default=0.2
        Length of a Langevin step, in units of the squared level.
    n_likelihood_steps : int, default=30
        Steps of the equation that `score_samples` solves, four evaluations each.
    ema_decay : float, default=0.999
        Of the average of the weights over training steps; 0 takes the last weights.

    Attributes
    ----------

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import ScoreModel
    >>> X = np.random.default_rng(0).normal(1.0, 2.0, size=(300, 1))
    >>> model = ScoreModel("implicit", hidden_layer_sizes=(), learning_rate_init=0.05,
    ...                    n_epochs=60, random_state=0, device="cpu").fit(X)
    >>> bool(abs(model.score_function([[3.0]])[0, 0] - (1.0 - 3.0) / 4) < 0.1)
    True
    """

    loss: Literal["denoising", "sliced", "implicit"] = "denoising"
    _: KW_ONLY
    hidden_layer_sizes: LayerSizes = (128, 128, 128)
    n_levels: TwoOrMore = 40
    n_steps: Count = 10
    step_size: Positive = 0.2
    n_likelihood_steps: Count = 30
    ema_decay: Fraction = 0.999
    weight_decay: NonNegative = 0.0
    learning_rate_init: Positive = 0.002
    n_epochs: Count = 200

    def fit(self, X, y=None, sample_weight=None):
        """Fit the score of the rows.

        Parameters
        ----------
        X : array of shape (n, d), or images
        y : ignored
        sample_weight : array of shape (n,) or None
        """
        return self._fit(X, y, sample_weight)

    def _build_net(self, n_features, n_classes):
        hidden = layer_sizes(self.hidden_layer_sizes)
        if self.loss == "denoising":
            net = DenoisingMLP(n_features, hidden)
            return Denoiser(net, "ve", widths=self._noise_widths())
        return ScoreNet(n_features, hidden, self.loss, self._noise_widths())

    def _training_options(self, net, n, valid):
        options = super()._training_options(net, n, valid)
        if self.ema_decay:
            options["average"] = nn.WeightAverage("ema", min(self.ema_decay, 1 - 1e-9))
        return options

    def _levels(self) -> np.ndarray:
        low, high = VE_RANGE
        return np.geomspace(high, low, self.n_levels)

    def _generate(self, net, n, y):
        like = next(net.parameters())
        x = torch.randn(n, self.n_features_in_, dtype=like.dtype, device=like.device)
        rng = make_rng(int(torch.randint(2**31, ())))
        if self.loss != "denoising":
            total = self.n_levels
            for h in self.step_size * np.geomspace(1, 0.01, total):
                x = langevin_moves(net, x, float(h), self.n_steps, rng)
            return x
        levels = self._levels().tolist()
        x = levels[0] * x
        for sigma in levels:
            slope = lambda z, s=sigma: (net(z, s) - z) / s**2
            h = self.step_size * sigma**2
            x = langevin_moves(slope, x, h, self.n_steps, rng)
        return net(x, levels[-1])

    def score_function(self, X, sigma=None):
        """The learnt score grad log p at rows X: (n, d), in the units of X.

        Parameters
        ----------
        X : array of shape (n, d), or images
        sigma : float or None
            Level of noise, in standard deviations of the rows, for a model with
            levels; None: the lowest.
        """
        if sigma is not None and self.loss != "denoising":
            raise ValueError(f'sigma is for loss="denoising", not {self.loss!r}.')
        rows, _ = self._check_scored_rows(X)
        level = VE_RANGE[0] if sigma is None else float(sigma)

        def scores(net, Z, y):
            if self.loss != "denoising":
                return net(Z)
            return (net(Z, level) - Z) / level**2

        return self._row_values(scores, rows) / np.asarray(self.scale_, float)

    def _log_density(self, net, X, y):
        if self.loss == "denoising":
            low, high = VE_RANGE
            n_steps = self.n_likelihood_steps
            return denoiser_log_prob(
                net, X, sigma_min=low, sigma_max=high, n_steps=n_steps
            )
        nodes, weights = gauss_legendre(LINE_POINTS)
        total = torch.zeros_like(X[:, 0])
        for node, weight in zip((nodes + 1) / 2, weights / 2):
            total += weight * (net(node * X) * X).sum(1)
        return total

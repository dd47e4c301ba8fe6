"""Energy-based models: p(x) = exp(-f(x)) / Z with any function f, and Z unknown.

The gradient of the log likelihood needs no Z, but rows of the model itself:

    d log p(x) / dtheta = -df(x)/dtheta + E_p df/dtheta                          (1)

It vanishes when data and model agree, and a constant in f drops out. The expectation is
taken over rows that k Langevin steps of the model (`sampling.StochasticLangevin`) have
moved: from the training rows themselves (contrastive divergence), or from where they
were at the end of the last step (persistent). The loss is

    mean f(data) - mean f(moved) + alpha mean(f(data)^2 + f(moved)^2)            (2)

whose last part keeps energies from drifting. The energy of standardised rows is

    f(x) = |x|^2 / (2 w^2) + g(x),   w = 2, g a perceptron                       (3)
    f(x) = |A' (x - m)|^2 / 2        without hidden layers: a normal density     (4)

so that exp(-f) can be normalised. log Z of the fitted model is estimated by importance
sampling from N(0, w^2 I) (`sampling.importance_sample`), which is good for few columns;
its standard error is told. Samples are drawn by the Metropolis-adjusted Langevin
algorithm (`sampling.MALA`), whose law is that of the model.

Cost      k gradients of f in x a step
Refs      [LeCun2006]; [Hinton2002] contrastive divergence; [Tieleman2008] persistent;
          [Du2019] nets
"""

import math
import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np
import torch
from torch import Tensor

from ... import nn
from ...core.random import make_rng
from ...distributions import Normal
from ...params import Count, Flag, LayerSizes, NonNegative, Positive
from ...sampling import MALA, importance_sample
from ..abstract_generator import AbstractGenerator, batch_mean
from ..autoencoders.autoencoder import layer_sizes
from ..diffusion.score_model import chain_ends, langevin_moves

BASE_WIDTH = 2.0
PARTITION_DRAWS = 20_000
SAMPLING_STEPS = 301  # of the chains that samples are the ends of
LARGEST_MOVE = 4.0  # rows that run away from the data by more standard deviations stop


class EnergyNet(torch.nn.Module):
    """f of eq. (3) or (4), trained by eq. (2).

    Parameters
    ----------
    d : int
    hidden : sequence of int
        Layers of g; none: eq. (4).
    n_steps, step_size : int, float
        Langevin steps of a training step, and h of each.
    n_chains : int
        Rows kept from step to step; 0: every step begins at the data.
    alpha : float
        Of eq. (2).
    """

    chains: Tensor

    def __init__(self, d, hidden, *, n_steps=20, step_size=0.05, n_chains=0, alpha=0.0):
        super().__init__()
        self.d = d
        self.n_steps = int(n_steps)
        self.step_size = float(step_size)
        self.alpha = float(alpha)
        self.layers = (
            nn.DenseLayers([d, *hidden, 1], activation="tanh") if hidden else None
        )
        if not hidden:
            self.root = torch.nn.Parameter(torch.eye(d))
            self.center = torch.nn.Parameter(torch.zeros(d))
        self.register_buffer("chains", torch.randn(n_chains, d))

    def forward(self, x: Tensor) -> Tensor:
        """Energies (n,)."""
        if self.layers is None:
            return 0.5 * ((x - self.center) @ self.root).square().sum(1)
        return 0.5 * x.square().sum(1) / BASE_WIDTH**2 + self.layers(x)[:, 0]

    def score(self, x: Tensor) -> Tensor:
        """-df/dx, the score of the model."""
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            (g,) = torch.autograd.grad(self.forward(leaf).sum(), leaf)
        return -g

    def moved_rows(self, x: Tensor) -> Tensor:
        """Rows of the model for eq. (1): k Langevin steps from data or kept chains."""
        rng = make_rng(int(torch.randint(2**31, ())))
        persistent = len(self.chains) > 0 and self.training
        start = x
        picked = None
        if persistent:
            picked = torch.randperm(len(self.chains))[: len(x)].to(x.device)
            start = self.chains[picked]
        # gradients of f in x alone: those of the parameters are not wanted here
        moved = langevin_moves(self.score, start, self.step_size, self.n_steps, rng)
        limit = LARGEST_MOVE * max(1.0, float(x.abs().max()))
        moved = moved.clamp(-limit, limit)
        if picked is not None:
            self.chains[picked] = moved
        return moved

    def losses(self, batch) -> dict[str, Tensor]:
        """Eq. (2): the gap of energies, and the penalty on their size."""
        x = batch["X"]
        data = self.forward(x)
        model = self.forward(self.moved_rows(x.detach()))
        losses = {"loss": batch_mean(data, batch) - model.mean()}
        if self.alpha:
            size = batch_mean(data.square(), batch) + model.square().mean()
            losses["penalty"] = self.alpha * size
        return losses

    def flops(self, n: int) -> float:
        """Operations of a step on n rows, those of Langevin included."""
        one_pass = (
            self.layers.flops(n) if self.layers is not None else 6.0 * n * self.d**2
        )
        return (2 + self.n_steps) * one_pass


@dataclass(eq=False, repr=False)
class EnergyModel(AbstractGenerator):
    """Energy-based model, fitted by contrastive divergence.

    Parameters
    ----------
    hidden_layer_sizes : int or sequence of int, default=(64, 64)
        Layers of the energy; () is a quadratic one, that of a normal density.
    n_steps : int, default=20
        Langevin steps that make rows of the model, in every training step.
    step_size : float, default=0.05
        Length h of a Langevin step, in squared standard deviations of the rows.
    persistent : bool, default=True
        Whether chains go on from step to step, or begin at the data every time.
    alpha : float, default=0.001
        Weight of the squares of energies in the loss.
    early_stopping : bool, default=False
        Hold out a share of the rows and stop by the gap of energies on them.

    Attributes
    ----------
    net_ : torch module
        The energy.
    log_partition_, log_partition_error_ : float
        log Z of scaled rows, and the standard error of its estimate.
    loss_ : float
        Gap of energies in the last epoch.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import EnergyModel
    >>> X = np.random.default_rng(0).normal(5.0, 2.0, size=(400, 1))
    >>> model = EnergyModel((), n_epochs=10, random_state=0, device="cpu").fit(X)
    >>> energy = model.energy([[5.0], [9.0]])
    >>> bool(energy[0] < energy[1])
    True
    """

    hidden_layer_sizes: LayerSizes = (64, 64)
    _: KW_ONLY
    n_steps: Count = 20
    step_size: Positive = 0.05
    persistent: Flag = True
    alpha: NonNegative = 0.001
    weight_decay: NonNegative = 0.0
    learning_rate_init: Positive = 0.005
    n_epochs: Count = 100

    def fit(self, X, y=None, sample_weight=None):
        """Fit the energy to the rows, eq. (2).

        Parameters
        ----------
        X : array of shape (n, d), or images
        y : ignored
        sample_weight : array of shape (n,) or None
        """
        return self._fit(X, y, sample_weight)

    def _build_net(self, n_features, n_classes):
        hidden = layer_sizes(self.hidden_layer_sizes)
        return EnergyNet(
            n_features,
            hidden,
            n_steps=self.n_steps,
            step_size=self.step_size,
            n_chains=1024 if self.persistent else 0,
            alpha=self.alpha,
        )

    def _finish_fit(self, rows):
        """Estimate log Z by importance sampling."""
        net = self._inference_net(torch.float64)
        device = next(net.parameters()).device
        d = rows.X.shape[1]

        def log_prob(draws):
            with torch.no_grad():
                return -net(torch.as_tensor(draws, device=device)).cpu().numpy()

        base = Normal(np.zeros(d), np.full(d, BASE_WIDTH**2), "diag")
        with warnings.catch_warnings():  # the error of the estimate tells it
            warnings.simplefilter("ignore")
            result = importance_sample(
                lambda x: x[:, 0], log_prob, base, PARTITION_DRAWS, random_state=0
            )
        self.log_partition_ = float(result.log_z)
        ess = max(float(result.ess), 1.0)
        self.log_partition_error_ = math.sqrt(max(1 / ess - 1 / PARTITION_DRAWS, 0.0))

    def _generate(self, net, n, y):
        like = next(net.parameters())
        start = torch.randn(n, self.n_features_in_, device=like.device).double()

        def both(rows):
            x = torch.as_tensor(rows, device=like.device).to(like.dtype)
            with torch.no_grad():
                energies = net(x).double().cpu().numpy()
            return -energies, net.score(x).double().cpu().numpy()

        sampler = MALA(both, grad=True, metric="unit", batched=True)
        rng = make_rng(int(torch.randint(2**31, ())))
        ends = chain_ends(sampler, start.cpu().numpy(), SAMPLING_STEPS, rng)
        return torch.as_tensor(ends).to(like)

    def energy(self, X):
        """f of each row, (n,): lower for more usual rows."""
        rows, _ = self._check_scored_rows(X)
        return self._row_values(lambda net, Z, y: net(Z), rows)

    def score_function(self, X):
        """grad log p = -grad f at rows X: (n, d), in the units of X."""
        rows, _ = self._check_scored_rows(X)
        values = self._row_values(lambda net, Z, y: net.score(Z), rows)
        return values / np.asarray(self.scale_, float)

    def _log_density(self, net, X, y):
        return -net(X) - self.log_partition_

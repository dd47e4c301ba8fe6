"""Base class of variational autoencoders: likelihood, codes, bounds, active units.

The code of a row is the mean of q(z | x). A unit of the code is active if that mean
varies over the rows, Var_x m_u(x) > 0.01 [Burda2016]; a unit that is not has collapsed
to the prior and tells nothing of the row.

Bounds of log p(x) come from K draws of z by importance weights (eq. 1 of `vae_net`),
with their standard error by the delta method,

    log p(x) ~ log mean_k w_k,   error = std_k(w) / (sqrt(K) mean_k w)            (1)

Scores use draws that are the same for every row, from a low-discrepancy sequence, so
that a score does not depend on the other rows.
"""

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from scipy.special import logsumexp
from scipy.stats import norm, qmc

from ...core.numerics import softmax
from ...core.random import draw_seed, make_rng
from ...nn.training.devices import resolve_device, seeded_torch
from ...params import (
    Activation,
    Count,
    ImageShape,
    LayerSizes,
    NonNegative,
    Positive,
    check_count,
)
from ..abstract_generator import values_in_blocks, vanish_far_out
from ..abstract_latent_model import (
    AbstractLatentModel,
    Architecture,
    convolved_shape,
)
from ..autoencoders.autoencoder import layer_sizes
from .likelihoods import (
    BernoulliLikelihood,
    CategoricalLikelihood,
    NormalLikelihood,
    PoissonLikelihood,
    check_likelihood,
)
from .vae_net import AbstractVAENet, ImageLayers

ACTIVE = 0.01  # variance of the posterior mean over rows from which a unit is active
SCORED_DRAWS = 32  # draws of z behind `score_samples`

Variance = Literal["column", "global", "predicted"] | Positive
LikelihoodName = Literal["normal", "bernoulli", "categorical", "poisson"]


class PosteriorCollapseWarning(UserWarning):
    """No unit of a code tells anything of its row."""


def _bound_and_error(log_w):
    """Eq. (1) for log weights (K, n): (n, 2), the bound and its standard error."""
    K = len(log_w)
    bound = log_w.logsumexp(0) - math.log(K)
    ratio = (log_w - bound).exp()
    spread = ratio.var(0, unbiased=False) if K > 1 else torch.full_like(bound, math.nan)
    return torch.stack([bound, (spread / max(K - 1, 1)).sqrt()], 1)


@dataclass(eq=False, repr=False)
class AbstractVAE(AbstractLatentModel):
    """Parameters and answers of variational autoencoders.

    A model gives `_net_class`, whose `losses` are minus the bound that is trained,
    `_make_likelihood(n_features)`, and options of its net.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int
        Units of the hidden layers of the encoder; the decoder has them in reverse.
    activation : {"relu", "leaky", "elu", "tanh", "logistic", "identity"}
        Of the hidden layers.
    variance : {"column", "global", "predicted"} or float
        Variance of a normal likelihood in units of the standardised columns: learnt for
        each column, for all at once, predicted for each row, or given.

    Attributes
    ----------
    active_units_ : array of bool, (n_components,)
        Units of the code whose mean varies over the rows.
    unit_variance_ : array of shape (n_components,)
        That variance.
    """

    _: KW_ONLY
    hidden_layer_sizes: LayerSizes = (64,)
    activation: Activation = "elu"
    variance: Variance = "column"
    weight_decay: NonNegative = 0.0
    learning_rate_init: Positive = 0.003
    n_epochs: Count = 100

    _net_class: ClassVar[type[AbstractVAENet]]
    _fixed_prior = True  # a learnt prior sets the scale of codes itself

    def _net_options(self) -> dict:
        """Arguments that the estimator adds to those of its net."""
        return {}

    def _image_layers(self, n_features) -> ImageLayers | None:
        """Convolutions of encoder and decoder; None: dense layers."""
        return None

    def _build_net(self, n_features, n_classes):
        return self._net_class(
            self._make_likelihood(n_features),
            self.n_components,
            layer_sizes(self.hidden_layer_sizes),
            activation=self.activation,
            n_classes=n_classes,
            image=self._image_layers(n_features),
            **self._net_options(),
        )

    def _start_net(self, net, rows):
        net.start_at(rows.X)
        n = len(rows.X)
        epochs = getattr(self, "kl_warm_up", 0)
        net.warm_up = epochs * math.ceil(n / self._batch_size(n))

    def _training_options(self, net, n, valid):
        options = super()._training_options(net, n, valid)
        if options["stop"] is not None:
            options["stop"] = options["stop"]._replace(after=self._n_start_epochs())
        return options

    def _n_start_epochs(self) -> int:
        """Epochs at the start that are not trained on the whole objective."""
        return getattr(self, "kl_warm_up", 0)

    def _finish_fit(self, rows):
        m = values_in_blocks(self.net_, self._encode, rows.X, rows.y)
        mean = np.average(m, axis=0, weights=rows.w)
        self.unit_variance_ = np.average((m - mean) ** 2, axis=0, weights=rows.w)
        self.active_units_ = self.unit_variance_ > ACTIVE
        if self._fixed_prior and not self.active_units_.any():
            warnings.warn(
                f"no unit of the code of {type(self).__name__} is active: the "
                "posterior collapsed to the prior. Lower beta, or set free_bits or "
                "kl_warm_up; or the columns are independent noise.",
                PosteriorCollapseWarning,
                stacklevel=4,
            )

    def _encode(self, net, X, y):
        return net.posterior(X, y)[0]

    def _decode(self, net, codes, y):
        return net.likelihood.mean(net.scores(codes, y))

    def _generate(self, net, n, y):
        return net.likelihood.draw(net.scores(net.draw_codes(n), y))

    def _log_density(self, net, X, y):
        points = _quasi_normal_points(SCORED_DRAWS, self.n_components)
        eps = torch.as_tensor(points, dtype=X.dtype, device=X.device)
        draws = [net.log_weights(X, y, eps=e[None, None]) for e in eps]
        return _bound_and_error(torch.cat(draws))[:, 0]

    def log_prob_bound(
        self, X, y=None, n_samples=64, *, return_std_error=False, random_state=0
    ):
        """Importance-weighted lower bound of log p(x), eq. (1).

        Parameters
        ----------
        X : array of shape (n, d), or images
        y : array of n labels or None
            For a model that was fitted with labels; None: the mixture of all classes.
        n_samples : int, default=64
            Draws of the code; more make the bound tighter. 1: the ELBO.
        return_std_error : bool, default=False
            Whether to give the standard error of each value too.
        random_state : int, RandomState, Generator or None, default=0
            Seed of the draws.

        Returns
        -------
        bound : array of shape (n,), in nats
        error : array of shape (n,), if asked for
        """
        K = check_count("n_samples", n_samples)
        rows, codes = self._check_scored_rows(X, y)
        rng = make_rng(random_state)

        def estimate(labels):
            with seeded_torch(resolve_device(self.device), draw_seed(rng)):
                function = lambda net, X, y: _importance_bound(net, X, y, K)
                return self._row_values(function, rows, labels, seed=None)

        if self._n_classes() and codes is None:
            classes = range(self._n_classes())
            estimates = np.stack(
                [estimate(np.full(len(rows), c)) for c in classes], axis=1
            )
            joint = estimates[:, :, 0] + np.log(self.class_prior_)
            bound = logsumexp(joint, axis=1)
            with np.errstate(invalid="ignore"):  # -inf for every class: no shares
                shares = softmax(joint)
            error = np.sqrt(((shares * estimates[:, :, 1]) ** 2).sum(axis=1))
        else:
            bound, error = estimate(codes).T
        bound = vanish_far_out(bound, rows) - self._log_volume()
        error = np.where(np.isneginf(bound), 0.0, error)
        return (bound, error) if return_std_error else bound


@dataclass(eq=False, repr=False)
class AbstractArrayVAE(AbstractVAE):
    """Variational autoencoders of arrays, whose columns are all of one kind.

    Parameters
    ----------
    likelihood : {"normal", "bernoulli", "categorical", "poisson"}
        Distribution of the columns given the code: numbers, values from 0 to 1, levels
        0, 1, 2, ..., or counts.
    architecture : {"dense", "auto", "conv"}
        "conv" takes rows as images and encodes them by convolutions, which large images
        need; "auto" does so where stacks of images or `image_shape` are given.
    n_filters : sequence of int
        Kernels of the convolutions; each halves the sides of the images.
    image_shape : (h, w) or (h, w, channels) or None
        What flat rows are.
    scaling : {"auto", "column", "global"} or None
        Whether each column is standardised, or all by one mean and scale; "auto" takes
        one for stacks of images. Only for a normal likelihood.
    """

    _: KW_ONLY
    likelihood: LikelihoodName = "normal"
    architecture: Architecture = "dense"
    n_filters: LayerSizes = (16, 32)
    image_shape: ImageShape | None = None

    def _image_layers(self, n_features):
        shape = convolved_shape(self, n_features)
        if shape is None:
            return None
        if self.likelihood == "categorical":
            if self.architecture != "conv":
                return None
            raise ValueError(
                'likelihood="categorical" has a score for each level of a column, for '
                'which there are no convolutions: set architecture="dense".'
            )
        return ImageLayers(shape, tuple(layer_sizes(self.n_filters)))

    def _learn_scaling(self, X, w):
        check_likelihood(self.likelihood, X, type(self).__name__)
        if self.likelihood == "normal":
            return super()._learn_scaling(X, w)
        # levels, counts and shares stay as they are
        self.n_levels_ = X.max(axis=0).astype(int) + 1
        return np.zeros(X.shape[1], X.dtype), np.ones(X.shape[1], X.dtype)

    def _check_new_rows(self, X, **checks):
        X = super()._check_new_rows(X, **checks)
        check_likelihood(self.likelihood, X, type(self).__name__)
        if self.likelihood == "categorical" and (X.max(axis=0) >= self.n_levels_).any():
            j = int(np.argmax(X.max(axis=0) - self.n_levels_))
            raise ValueError(
                f"column {j} of X holds the level {int(X[:, j].max())}; training rows "
                f"had levels below {self.n_levels_[j]}."
            )
        return X

    def _make_likelihood(self, n_features):
        """The likelihood of the columns, a part of the net."""
        if self.likelihood == "normal":
            return NormalLikelihood(n_features, self.variance)
        if self.likelihood == "categorical":
            return CategoricalLikelihood(self.n_levels_)
        if self.likelihood == "poisson":
            return PoissonLikelihood(self.n_levels_ - 1)
        return BernoulliLikelihood(n_features)


def _importance_bound(net, X, y, n_samples):
    """Eq. (1) for a block of rows: (n, 2)."""
    draws = [net.log_weights(X, y) for _ in range(n_samples)]  # one at a time: memory
    return _bound_and_error(torch.cat(draws))


def _quasi_normal_points(n, k) -> np.ndarray:
    """n points of a low-discrepancy sequence as draws of N(0, I_k): (n, k)."""
    return norm.ppf(qmc.Sobol(k, rng=0).random(n))

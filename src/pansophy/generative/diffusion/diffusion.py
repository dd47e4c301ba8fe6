"""Diffusion models: rows are drawn by removing noise in small steps.

A net learns to tell a row from the row with noise, at every level sigma of noise
(`denoiser`), and samples begin as noise and are denoised level by level
(`diffusion_samplers`):

    fit      minimise E weight(sigma) |D(x_0 + sigma noise, sigma) - x_0|^2      (1)
    sample   z ~ N(0, (sigma_max^2 + 1) I), then a step from each level to the next
    density  by the equation dz/dln(sigma) = z - D(z, sigma) (`flow_likelihood`)  (2)

`DDPM` is the discrete diffusion of T steps with a noise-predicting net: its loss is
the simple or the weighted one of the evidence bound (`diffusion_process`), which
`log_prob_bound` computes. `DiffusionModel` takes any row of the table of `denoiser`,
flow matching included. Both sample with every sampler. Nets are averaged over training
steps (EMA), and samples, scores and saved models use the average.

E[x_0 | z] lies in the convex hull of the rows, so in samples D is clipped to their box,
widened by a fifth: where a net predicts noise, its error in D is sigma times as large,
and one step from the highest level would throw rows far out.

Rows are standardised. Images (n, h, w[, channels]) are denoised by a U-Net, rows of a
table by a residual perceptron. With labels y the model is conditional, and samples can
be guided towards their class.

Cost      a step of (1) is one of the net; a sample takes the sampler's evaluations
Refs      [Ho2020] DDPM; [Karras2022] the shared coordinate; [HoSalimans2022] guidance
"""

import math
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from ... import nn
from ...core.arrays.image_shapes import refuse_channels_first
from ...core.random import draw_seed, make_rng
from ...nn.training.devices import seeded_torch
from ...params import (
    Count,
    Fraction,
    LayerSizes,
    NonNegative,
    Positive,
    TwoOrMore,
    check_count,
)
from ..abstract_continuous_density import AbstractContinuousDensity, Dequantization
from ..abstract_generator import vanish_far_out
from ..autoencoders.autoencoder import layer_sizes
from .denoiser import (
    PARAMETRIZATIONS,
    Denoiser,
    GuidedDenoiser,
    ParametrizationName,
    Weighting,
)
from .denoising_nets import DenoisingMLP, FlatImages, UNet
from .diffusion_process import diffusion_elbo
from .diffusion_samplers import (
    KnownColumns,
    SamplerName,
    SamplerOptions,
    VarianceName,
    denoise_rows,
)
from .flow_likelihood import denoiser_log_prob
from .noise_schedule import (
    ScheduleName,
    noise_levels,
    noise_schedule,
    schedule_levels,
)

STRIP_FRAMES = 8
BOX_MARGIN = 0.2  # of the range of a column


class LogProbBound(NamedTuple):
    """Lower bounds of log densities, and what their estimates are uncertain by."""

    value: np.ndarray  # (n,)
    standard_error: np.ndarray  # (n,)


class DenoisingPath(NamedTuple):
    """Rows on their way from noise to samples."""

    rows: np.ndarray  # (frames, n, d) or images, in the units of the data
    sigma: np.ndarray  # (frames,), levels of noise, the last 0


CONDITIONED_COLUMNS = 64  # up to which `inpaint` conditions its steps by gradients


@dataclass(eq=False, repr=False)
class AbstractDiffusion(AbstractContinuousDensity):
    """Base class of the diffusion models.

    A model gives `_denoiser_options()`, keywords of `Denoiser`, `_lowest_level()`, and
    `_sampling_levels(n_steps)`.

    Parameters
    ----------
    dequantize : {"auto", "round", "none"}
        "round" rounds samples of columns of discrete values to those values; "auto"
        adds uniform noise to them in training too, which makes their density exact.
    hidden_layer_sizes : int or sequence of int
        Blocks of the perceptron, for rows of a table.
    n_channels : int or sequence of int
        Channels of each level of the U-Net, for images.
    ema_decay : float
        Of the average of the weights over training steps; 0 takes the last weights.
    context_dropout : float
        Share of training rows whose class is hidden, for guidance.
    guidance : float
        Weight of the class in samples: 0 ignores it, 1 is the conditional model.
    n_likelihood_steps : int
        Steps of the equation that `score_samples` solves, four evaluations each.

    Attributes
    ----------
    net_ : torch module
        The denoiser, with averaged weights.
    box_ : array of shape (2, d)
        Limits of denoised rows in samples, in standard units.
    classes_, class_prior_ : arrays or None
        Labels and their shares.
    """

    _: KW_ONLY
    dequantize: Dequantization = "round"
    hidden_layer_sizes: LayerSizes = (128, 128, 128)
    n_channels: LayerSizes = (32, 64)
    ema_decay: Fraction = 0.999
    context_dropout: Fraction = 0.1
    guidance: NonNegative = 1.0
    n_likelihood_steps: Count = 30
    weight_decay: NonNegative = 0.0
    learning_rate_init: Positive = 0.002
    n_epochs: Count = 200

    _conditional = True

    def fit(self, X, y=None, sample_weight=None):
        """Train the net to denoise the rows, eq. (1).

        Parameters
        ----------
        X : array of shape (n, d), or images of shape (n, h, w) or (n, h, w, channels)
        y : array of n labels or None
            Classes that samples can be asked for.
        sample_weight : array of shape (n,) or None
        """
        return self._fit(X, y, sample_weight)

    def _learn_scaling(self, X, w):
        mean, scale = super()._learn_scaling(X, w)
        low, high = (X.min(axis=0) - mean) / scale, (X.max(axis=0) - mean) / scale
        margin = BOX_MARGIN * (high - low)
        if self.dequantize == "auto":  # rows with noise reach half a step further
            margin = margin + 0.5 * self.step_ / scale
        self.box_ = np.stack([low - margin, high + margin]).astype(float)
        return mean, scale

    def _build_net(self, n_features, n_classes):
        options: dict[str, Any] = self._denoiser_options()
        parts = 2 if options.get("learn_variance") else 1
        if self.image_shape_ is None:
            sizes = layer_sizes(self.hidden_layer_sizes)
            net = DenoisingMLP(
                n_features, sizes, n_context=n_classes, n_outputs=parts * n_features
            )
        else:
            refuse_channels_first(self.image_shape_)
            C = self.image_shape_[2] if len(self.image_shape_) == 3 else 1
            widths = layer_sizes(self.n_channels)
            images = UNet(C, widths, n_context=n_classes, n_outputs=parts * C)
            net = FlatImages(images, self.image_shape_)
        return Denoiser(
            net, n_classes=n_classes, context_dropout=self.context_dropout,
            widths=self._noise_widths(), **options,
        )  # fmt: skip

    def _training_options(self, net, n, valid):
        options = super()._training_options(net, n, valid)
        if self.ema_decay:
            options["average"] = nn.WeightAverage("ema", min(self.ema_decay, 1 - 1e-9))
        return options

    # -- samples ---------------------------------------------------------------

    def _noise(self, net, n, level):
        """Rows of noise at the highest level, float64."""
        device = next(net.parameters()).device
        z = torch.randn(n, self.n_features_in_, dtype=torch.float64, device=device)
        return (level**2 + 1) ** 0.5 * z

    def _run_sampler(
        self, net, n, y, *, n_steps=None, sampler=None, options=None, guidance=None,
        **driver,
    ):  # fmt: skip
        """n rows in standardised units, by a sampler; `driver`: of `denoise_rows`."""
        levels = self._sampling_levels(n_steps)
        scale = self.guidance if guidance is None else guidance
        if not 0 <= scale < math.inf:
            raise ValueError(f"guidance must be a number of at least 0, got {scale}.")
        box = torch.as_tensor(self.box_, device=next(net.parameters()).device)
        denoise = GuidedDenoiser(net, net.context(y), scale, box)
        z = self._noise(net, n, levels[0])
        return denoise_rows(
            denoise, z, levels, sampler or self.sampler, options, **driver
        )

    def _generate(self, net, n, y):
        return self._run_sampler(net, n, y)

    def sample(
        self, n_samples=1, y=None, random_state=None, *, n_steps=None,
        sampler: SamplerName | None = None, variance: VarianceName | None = None,
        eta=0.0, guidance=None,
    ):  # fmt: skip
        """Draw new rows.

        Parameters
        ----------
        n_samples : int, default=1
        y : label, array of n_samples labels, or None, default=None
            Classes of the rows, for a model that was fitted with labels; None draws
            them by their shares in the training rows.
        random_state : int, RandomState, Generator or None, default=None
        n_steps : int or None
            Steps from noise to rows; None: those of the model.
        sampler : {"heun", "ancestral", "ddim", "dpmpp_2m"} or None
            None: that of the model.
        variance : {"posterior", "beta", "learned", "optimal"} or None
            Variance of a reverse step of "ancestral"; None: that of the model.
        eta : float
            Share of fresh noise in "ddim": 0 is deterministic, 1 is ancestral.
        guidance : float or None
            Weight of the class: 0 ignores it, 1 is the conditional model, more
            exaggerates it; None: that of the model.

        Returns
        -------
        X : array of shape (n_samples, d), or of images
        """
        options = self._sampler_options(variance, eta)
        generate = partial(
            self._run_sampler, n_steps=n_steps, sampler=sampler, options=options,
            guidance=guidance,
        )  # fmt: skip
        return self._draw_rows(generate, n_samples, y, random_state)

    def _sampler_options(self, variance=None, eta=0.0):
        if not 0 <= eta <= 1:
            raise ValueError(f"eta must be from 0 to 1, got {eta}.")
        return SamplerOptions(eta, variance or "posterior")

    def sample_path(
        self,
        n_samples=1,
        y=None,
        random_state=None,
        *,
        n_frames=STRIP_FRAMES,
        **options,
    ) -> DenoisingPath:
        """Rows on their way from noise to samples, for `plot.diffusion`.

        Parameters
        ----------
        n_samples, y, random_state, options
            As in `sample`.
        n_frames : int
            Moments that are kept, the first and the last included.

        Returns
        -------
        DenoisingPath
            `rows` (frames, n_samples, d) or images, each frame scaled to the spread of
            the data, and `sigma` (frames,).
        """
        frames: list = []
        report = lambda z, sigma: frames.append((z / (1 + sigma**2) ** 0.5, sigma))
        variance, eta = options.pop("variance", None), options.pop("eta", 0.0)
        generate = partial(
            self._run_sampler,
            report=report,
            options=self._sampler_options(variance, eta),
            **options,
        )
        self._draw_rows(generate, n_samples, y, random_state)
        count = min(check_count("n_frames", n_frames, 2), len(frames))
        chosen = np.round(np.linspace(0, len(frames) - 1, count)).astype(int)
        rows = [self._decode_rows(frames[i][0].cpu().numpy()) for i in chosen]
        return DenoisingPath(np.stack(rows), np.array([frames[i][1] for i in chosen]))

    def inpaint(self, X, y=None, random_state=None, *, n_repeats=None, n_steps=None):
        """Rows with their missing values drawn given the others.

        Up to 64 columns, every step is conditioned on the known values, eq. (6) of
        `diffusion_samplers`, at the cost of a gradient for each column. Beyond, known
        values are only put back after each step, and what is drawn follows them less
        closely.

        Parameters
        ----------
        X : array of shape (n, d), or images
            NaN where a value is missing.
        y : label, array of n labels, or None
        random_state : int, RandomState, Generator or None
        n_repeats : int or None
            Passes through every step; more make drawn and known values agree better.
            None: 3 up to 64 columns and 10 beyond.
        n_steps : int or None
            None: those of the model.

        Returns
        -------
        array like X, without NaN
        """
        check_is_fitted(self, "net_")
        X = self._flat_rows(X, reset=False)
        rows = self._check_new_data(X, ensure_all_finite="allow-nan")
        known = ~np.isnan(rows)
        Z = np.where(known, self._encode_rows(np.where(known, rows, 0.0)), 0.0)
        codes = None if y is None else self._label_codes(y, len(rows))
        rng = make_rng(random_state)
        if codes is None:
            codes = self._sampled_codes(len(rows), None, rng)
        net = self._inference_net(getattr(torch, self.dtype))
        device = next(net.parameters()).device
        place = lambda a: torch.as_tensor(a, device=device)
        columns = KnownColumns(place(Z).double(), place(known))
        narrow = rows.shape[1] <= CONDITIONED_COLUMNS
        if n_repeats is None:
            n_repeats = 3 if narrow else 10
        with seeded_torch(device, draw_seed(rng)), torch.no_grad():
            drawn = self._run_sampler(
                net, len(rows), None if codes is None else place(codes),
                n_steps=n_steps, inpainting=columns, n_repeats=n_repeats,
                sampler="ancestral",
                options=SamplerOptions(variance="optimal" if narrow else "beta"),
            )  # fmt: skip
        drawn = self._finish_samples(self._decode_rows(drawn.cpu().numpy()))
        return np.where(known.reshape(drawn.shape), rows.reshape(drawn.shape), drawn)

    def _log_density(self, net, X, y):
        levels = self._sampling_levels(None)
        denoise = GuidedDenoiser(net, net.context(y))
        return denoiser_log_prob(
            denoise, X, sigma_min=self._lowest_level(), sigma_max=float(levels[0]),
            n_steps=self.n_likelihood_steps,
        )  # fmt: skip


@dataclass(eq=False, repr=False)
class DiffusionModel(AbstractDiffusion):
    """Diffusion model in any parametrisation, flow matching included.

    Parameters
    ----------
    parametrization : str, default="edm"
        What the net predicts and at which levels it is trained: "edm", "ddpm",
        "cosine", "v", "x0", "ve", "vp" or "flow_matching" (the table of
        `generative.diffusion.denoiser`).
    weighting : {"simple", "elbo", "min_snr"}, default="simple"
        Weights of the levels in the loss.
    sampler : {"heun", "ancestral", "ddim", "dpmpp_2m"}, default="heun"
        Method of the steps from noise to rows (`diffusion_samplers`).
    n_sampling_steps : int, default=18
        Steps of a sample.

    Attributes
    ----------

    See Also
    --------
    DDPM : The discrete diffusion, with its evidence bound.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pansophy.generative import DiffusionModel
    >>> X = make_moons(500, noise=0.05, random_state=0)[0]
    >>> model = DiffusionModel(n_epochs=5, random_state=0, device="cpu").fit(X)
    >>> model.sample(3, random_state=0).shape
    (3, 2)
    """

    parametrization: ParametrizationName = "edm"
    _: KW_ONLY
    weighting: Weighting = "simple"
    sampler: SamplerName = "heun"
    n_sampling_steps: Count = 18

    def _denoiser_options(self):
        return {"parametrization": self.parametrization, "weighting": self.weighting}

    def _lowest_level(self):
        return PARAMETRIZATIONS[self.parametrization].sigma_min

    def _sampling_levels(self, n_steps):
        row = PARAMETRIZATIONS[self.parametrization]
        n = self.n_sampling_steps if n_steps is None else n_steps
        ends = {"sigma_min": row.sigma_min, "sigma_max": row.sigma_max}
        return noise_levels(n, row.ladder, **ends)


@dataclass(eq=False, repr=False)
class DDPM(AbstractDiffusion):
    """Denoising diffusion probabilistic model: T steps, a net that predicts the noise.

    Parameters
    ----------
    n_steps : int, default=1000
        T.
    schedule : {"linear", "cosine"}, default="linear"
        How the noise grows (`noise_schedule`).
    loss : {"simple", "weighted"}, default="simple"
        "weighted" weighs the steps as the evidence bound does.
    variance : {"posterior", "beta", "learned"}, default="posterior"
        Variance of the reverse steps; "learned" trains a second output for it.
    sampler : {"ancestral", "ddim", "heun", "dpmpp_2m"}, default="ancestral"
        Method of the steps from noise to rows (`diffusion_samplers`).
    n_sampling_steps : int or None, default=None
        Steps of a sample; None: all T.

    Attributes
    ----------

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import DDPM
    >>> X = np.random.default_rng(0).normal(3.0, 2.0, size=(400, 1))
    >>> model = DDPM(100, n_epochs=20, random_state=0, device="cpu").fit(X)
    >>> bool(abs(model.sample(500, random_state=0).mean() - 3) < 0.5)
    True
    """

    n_steps: TwoOrMore = 1000
    _: KW_ONLY
    schedule: ScheduleName = "linear"
    loss: Literal["simple", "weighted"] = "simple"
    variance: Literal["posterior", "beta", "learned"] = "posterior"
    sampler: SamplerName = "ancestral"
    n_sampling_steps: Count | None = None

    def _noise_schedule(self):
        return noise_schedule(self.schedule, self.n_steps)

    def _denoiser_options(self):
        return {
            "parametrization": "ddpm",
            "weighting": "simple" if self.loss == "simple" else "elbo",
            "levels": self._noise_schedule().sigma,
            "learn_variance": self.variance == "learned",
        }

    def _lowest_level(self):
        return float(self._noise_schedule().sigma[0])

    def _sampling_levels(self, n_steps):
        n = self.n_sampling_steps if n_steps is None else n_steps
        return schedule_levels(self._noise_schedule(), n)

    def _sampler_options(self, variance=None, eta=0.0):
        return super()._sampler_options(variance or self.variance, eta)

    def _generate(self, net, n, y):
        return self._run_sampler(net, n, y, options=self._sampler_options())

    def log_prob_bound(self, X, y=None, random_state=0, *, n_draws=2) -> LogProbBound:
        """Evidence bound of each row in nats: a lower bound of its log density.

        Parameters
        ----------
        X : array of shape (n, d), or images
        y : array of n labels or None
            For a model that was fitted with labels; None: as if there were none.
        random_state : int, RandomState, Generator or None
        n_draws : int
            Draws of every term, from which the standard error comes.

        Returns
        -------
        LogProbBound
            `value` and `standard_error`, arrays of shape (n,).
        """
        rows, codes = self._check_scored_rows(X, y)
        n_draws = check_count("n_draws", n_draws, 2)
        net = self._inference_net(torch.float64)
        device = next(net.parameters()).device
        schedule = self._noise_schedule()
        labels = None if codes is None else torch.as_tensor(codes, device=device)
        context = net.context(labels)
        root = np.sqrt(schedule.alpha_bar)

        def predict(x_t, t):
            return net(x_t / root[t - 1], schedule.sigma[t - 1], context)

        rng = make_rng(random_state)
        x0 = torch.as_tensor(rows, dtype=torch.float64, device=device)
        kind = "beta" if self.variance == "beta" else "posterior"
        with torch.no_grad(), np.errstate(over="ignore", invalid="ignore"):
            draws = np.stack([
                diffusion_elbo(
                    predict, x0, schedule, kind="x0", variance=kind, random_state=rng
                ).total
                for _ in range(n_draws)
            ])  # fmt: skip
            error = draws.std(axis=0, ddof=1) / n_draws**0.5
        value = vanish_far_out(draws.mean(axis=0), rows) - self._log_volume()
        return LogProbBound(value, np.where(np.isneginf(value), 0.0, error))

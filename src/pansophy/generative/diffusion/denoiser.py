"""Denoisers D(z, sigma) made of a net: DDPM, score models, EDM and flow matching.

With z = x_0 + sigma * noise (`noise_schedule`) every diffusion model is a net F in the
same frame, and models differ by four numbers that depend on sigma, and by the levels
on which they are trained:

    D(z, sigma) = c_skip z + c_out F(c_in z, c_noise)                            (1)
    loss = E weight(sigma) |D(x_0 + sigma noise, sigma) - x_0|^2                 (2)

For rows x_0 with variances of 1, and with s for sigma:

    name             c_skip      c_out            c_in            c_noise   levels
    ddpm, cosine     1           -s               1/sqrt(1+s^2)   ln(s)/4   a schedule
    v                1/(1+s^2)   -s/sqrt(1+s^2)   1/sqrt(1+s^2)   ln(s)/4   cosine
    x0               0           1                1/sqrt(1+s^2)   ln(s)/4   cosine
    ve               1           s                1/sqrt(1+s^2)   ln(s)/4   log-uniform
    vp               1           -s               1/sqrt(1+s^2)   ln(s)/4   its own
    edm              1/(1+s^2)   s/sqrt(1+s^2)    1/sqrt(1+s^2)   ln(s)/4   log-normal
    flow_matching    1/(1+s)     -s/(1+s)         1/(1+s)         ln(s)/4   t uniform

F predicts the noise (ddpm, cosine, vp), minus the noise (ve: sigma times the score), v,
x_0, or the velocity noise - x_0 of straight paths x_t = (1 - t) x_0 + t noise with
s = t / (1 - t) (flow_matching). Levels are quantile functions sigma(u), u uniform:

    cosine   tan(pi/2 (u + .008) / 1.008)       edm   ln s normal, mean -.5, sd 1.2
    vp       sqrt(exp(9.95 u^2 + .1 u) - 1)     ve    .005 to 80, equal in logarithm

(vp is the limit of the linear schedule for T to infinity, so "ddpm" is "vp" where no
schedule is given.)

c_noise is a function of sigma alone, so that a net does not depend on how many steps
its schedule has. Weights:

    simple    1 / c_out^2: the plain squared error of F against what it predicts
    elbo      sigma'(u) / sigma^3: the evidence bound of a diffusion in continuous time
    min_snr   min(sigma^-2, 5), of |D - x_0|^2: no level counts for too much

The u of a batch are spread evenly over (0, 1), from a random start: every batch has
seen all levels. Rows of a class get its indicator as context; a share
of them gets zeros instead, which trains the model without y beside the one with it:

    D = D(z, sigma) + w (D(z, sigma, y) - D(z, sigma))                           (3)

guides samples by a scale w: 0 ignores y, 1 is the conditional model, more exaggerates.
A second output of F, squashed to h in (0, 1), may choose the variance of a reverse
step between its two bounds (`diffusion_samplers`); it learns from the evidence bound
with the mean held fixed.

Refs      [Karras2022] (1), (2); [Ho2020]; [Song2021] ve, vp; [Salimans2022] v;
          [Lipman2023] flow matching; [Kingma2021] elbo weights; [Hang2023] min_snr;
          [HoSalimans2022] (3); [Nichol2021] learnt variance
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..abstract_continuous_density import with_uniform_noise
from ..abstract_generator import batch_mean
from .noise_schedule import COSINE_OFFSET

VE_RANGE = (0.005, 80.0)
LOG_NORMAL = (-0.5, 1.2)
SNR_LIMIT = 5.0
VARIANCE_SHARE = 1e-3  # of the evidence bound in the loss, where a variance is learnt

Weighting = Literal["simple", "elbo", "min_snr"]


class Scalings(NamedTuple):
    """The four numbers of eq. (1), shaped like sigma."""

    skip: Tensor
    out: Tensor
    into: Tensor
    noise: Tensor


class Parametrization(NamedTuple):
    """A row of the table: what F predicts, and levels for training and sampling."""

    scalings: Callable[[Tensor], Scalings]
    level: Callable[[Tensor], Tensor]  # sigma(u)
    ladder: Literal["karras", "log", "time"]  # of sampling
    sigma_min: float
    sigma_max: float


def _log_level(s):
    """c_noise of every row."""
    return s.log() / 4


def _noise_scalings(s):
    unit = 1 / torch.sqrt(1 + s * s)
    return Scalings(torch.ones_like(s), -s, unit, _log_level(s))


def _v_scalings(s):
    unit = 1 / torch.sqrt(1 + s * s)
    return Scalings(unit * unit, -s * unit, unit, _log_level(s))


def _x0_scalings(s):
    unit = 1 / torch.sqrt(1 + s * s)
    return Scalings(torch.zeros_like(s), torch.ones_like(s), unit, _log_level(s))


def _ve_scalings(s):
    # the paper shows z itself to the net (c_in = 1), which a small net, met by numbers
    # up to 80, learns far more slowly
    unit = 1 / torch.sqrt(1 + s * s)
    return Scalings(torch.ones_like(s), s, unit, _log_level(s))


def _edm_scalings(s):
    unit = 1 / torch.sqrt(1 + s * s)
    return Scalings(unit * unit, s * unit, unit, _log_level(s))


def _velocity_scalings(s):
    kept = 1 / (1 + s)
    return Scalings(kept, -s * kept, kept, _log_level(s))


def _cosine_level(u):
    return torch.tan((u + COSINE_OFFSET) / (1 + COSINE_OFFSET) * (math.pi / 2))


def _vp_level(u):
    return torch.expm1(9.95 * u * u + 0.1 * u).sqrt()


def _log_uniform_level(u):
    low, high = (math.log(s) for s in VE_RANGE)
    return torch.exp(low + u * (high - low))


def _log_normal_level(u):
    mean, sd = LOG_NORMAL
    return torch.exp(mean + sd * torch.special.ndtri(u))


def _straight_path_level(u):
    return u / (1 - u)


PARAMETRIZATIONS = {
    "edm": Parametrization(_edm_scalings, _log_normal_level, "karras", 0.002, 80.0),
    "ddpm": Parametrization(_noise_scalings, _vp_level, "karras", 0.01, 150.0),
    "cosine": Parametrization(_noise_scalings, _cosine_level, "karras", 0.0125, 80.0),
    "v": Parametrization(_v_scalings, _cosine_level, "karras", 0.0125, 80.0),
    "x0": Parametrization(_x0_scalings, _cosine_level, "karras", 0.0125, 80.0),
    "ve": Parametrization(_ve_scalings, _log_uniform_level, "karras", *VE_RANGE),
    "vp": Parametrization(_noise_scalings, _vp_level, "karras", 0.01, 150.0),
    "flow_matching": Parametrization(
        _velocity_scalings, _straight_path_level, "time", 0.002, 80.0
    ),
}
ParametrizationName = Literal[
    "edm", "ddpm", "cosine", "v", "x0", "ve", "vp", "flow_matching"
]
LEVEL_MARGIN = 1e-4  # u stays this far inside (0, 1): levels are finite and above 0


def uniform_spread(n: int, like: Tensor) -> Tensor:
    """n numbers in (0, 1) at equal distances from a random start, in random order."""
    start = torch.rand((), dtype=torch.float64, device=like.device)
    place = torch.randperm(n, device=like.device).to(torch.float64)
    return ((place + start) / n).clamp(LEVEL_MARGIN, 1 - LEVEL_MARGIN)


class Denoiser(nn.Module):
    """D of eq. (1), from a net F.

    Parameters
    ----------
    net : torch module of (x, c_noise, context)
        x (n, ...), c_noise (n,), context (n, c) or None; gives the shape of x, or with
        `learn_variance` a second output, joined along the first dimension after rows.
        `flops(n)` tells its operations.
    parametrization : str
        A row of the table.
    weighting : {"simple", "elbo", "min_snr"}
    levels : sequence of float or None
        Levels sigma_1 < ... < sigma_T of a schedule, in place of those of the row.
    n_classes : int
        Classes of the rows, whose indicators are the context; 0 for none.
    context_dropout : float
        Share of training rows whose class is hidden.
    learn_variance : bool
        Whether F has a second output, for levels of a schedule.
    widths : tensor of shape (d,) or None
        Widths of the uniform noise that columns of rows (n, d) get in training.
    """

    levels: Tensor
    widths: Tensor
    capturable = True

    def __init__(
        self,
        net,
        parametrization: ParametrizationName = "edm",
        *,
        weighting: Weighting = "simple",
        levels=None,
        n_classes: int = 0,
        context_dropout: float = 0.1,
        learn_variance: bool = False,
        widths: Tensor | None = None,
    ):
        super().__init__()
        if learn_variance and levels is None:
            raise ValueError("a variance is learnt for the levels of a schedule only.")
        self.net = net
        self.parametrization = parametrization
        self.weighting = weighting
        self.n_classes = int(n_classes)
        self.context_dropout = float(context_dropout)
        self.learn_variance = bool(learn_variance)
        known_levels = torch.zeros(0) if levels is None else torch.as_tensor(levels)
        self.register_buffer("levels", known_levels.to(torch.float64))
        noise = torch.zeros(0) if widths is None else widths
        self.register_buffer("widths", noise)

    @property
    def row(self) -> Parametrization:
        return PARAMETRIZATIONS[self.parametrization]

    def forward(self, z: Tensor, sigma, context: Tensor | None = None) -> Tensor:
        """D(z, sigma): what is left of z (n, ...) without noise; sigma () or (n,)."""
        return self.outputs(z, sigma, context)[0]

    def with_variance(self, z, sigma, context=None) -> tuple[Tensor, Tensor]:
        """D and h, the place of the reverse variance between its bounds, in (0, 1)."""
        D, second = self.outputs(z, sigma, context)
        if second is None:
            raise ValueError('variance "learned" needs a model that has learnt it.')
        return D, second.sigmoid()

    def outputs(self, z, sigma, context=None):
        """D, and the second output of the net or None."""
        sigma = torch.as_tensor(sigma, dtype=z.dtype, device=z.device).expand(len(z))
        c = self.row.scalings(sigma)
        wide = lambda a: a.reshape(-1, *(1,) * (z.ndim - 1))
        net_dtype = next(self.net.parameters()).dtype
        seen = None if context is None else context.to(net_dtype)
        F = self.net((wide(c.into) * z).to(net_dtype), c.noise.to(net_dtype), seen)
        second = None
        if self.learn_variance:
            F, second = F.to(z.dtype).chunk(2, dim=1)
        return wide(c.skip) * z + wide(c.out) * F.to(z.dtype), second

    def context(self, y: Tensor | None) -> Tensor | None:
        """Indicators (n, n_classes) of class numbers; None without classes."""
        return None if y is None else functional.one_hot(y, self.n_classes)

    def losses(self, batch) -> dict[str, Tensor]:
        """Weighted means of `row_losses` over a batch of `abstract_generator`."""
        x = with_uniform_noise(batch["X"], self.widths)
        losses = self.row_losses(x, self.context(batch.get("y")))
        return {name: batch_mean(values, batch) for name, values in losses.items()}

    def flops(self, n: int) -> float:
        """Operations of a training step on n rows."""
        return self.net.flops(n)

    def row_losses(self, x: Tensor, context: Tensor | None = None) -> dict[str, Tensor]:
        """Losses of each row, means over its columns, for levels drawn anew."""
        n = len(x)
        u = uniform_spread(n, x)
        index = None
        if len(self.levels):
            index = (u * len(self.levels)).long().clamp(0, len(self.levels) - 1)
            sigma = self.levels[index].to(x.dtype)
        else:
            sigma = self.row.level(u).to(x.dtype)
        if context is not None and self.training and self.context_dropout:
            shown = torch.rand(n, 1, device=x.device) >= self.context_dropout
            context = context * shown
        wide = sigma.reshape(-1, *(1,) * (x.ndim - 1))
        z = x + wide * torch.randn_like(x)
        D, second = self.outputs(z, sigma, context)
        error = (D - x).square().flatten(1).mean(1)
        losses = {"loss": self.level_weights(u, sigma, index) * error}
        if second is not None:
            cost = learnt_variance_cost(
                z, x, D.detach(), second.sigmoid(), self.levels, index
            )
            losses["variance"] = VARIANCE_SHARE * len(self.levels) * cost
        return losses

    def level_weights(self, u, sigma, index) -> Tensor:
        """weight(sigma) of eq. (2)."""
        if self.weighting == "simple":
            return self.row.scalings(sigma).out.square().reciprocal()
        if self.weighting == "min_snr":
            return sigma.square().reciprocal().clamp(max=SNR_LIMIT)
        if index is not None:
            return self.schedule_weights()[index].to(sigma.dtype)
        with torch.enable_grad():
            v = u.detach().requires_grad_()
            (slope,) = torch.autograd.grad(self.row.level(v).sum(), v)
        return slope.to(sigma.dtype) / sigma**3

    def schedule_weights(self) -> Tensor:
        """Weights of T levels in the evidence bound, in nats per column, (T,).

        Half the fall of sigma^-2 over a step; the first step, to 0, is a density of
        variance sigma_1^2 / (1 + sigma_1^2) = beta_1.
        """
        snr = self.levels.to(torch.float64) ** -2
        falls = 0.5 * (snr[:-1] - snr[1:])
        first = 0.5 * (1 + snr[:1])
        return len(snr) * torch.cat([first, falls])


def reverse_variance_bounds(sigma, lower):
    """Least and largest variance of a reverse step from sigma to `lower`, in z.

    The least is that of q(z_lower | z_sigma, x_0); the largest is beta, as of unit
    noise for x_0. Both are `denoising_posterior`'s in units of z.
    """
    gap = sigma * sigma - lower * lower
    lower_bound = lower * lower * gap / (sigma * sigma)
    largest = gap * (1 + lower * lower) / (1 + sigma * sigma)
    return lower_bound, largest


def interpolated_variance(h, least, largest):
    """The variance at h of (0, 1) between its bounds, on the scale of logarithms."""
    return torch.exp(h * torch.log(largest) + (1 - h) * torch.log(least))


def learnt_variance_cost(z, x, D, h, levels, index) -> Tensor:
    """KL of each row's reverse step with the variance at h, mean over its columns."""
    wide = lambda a: a.to(z.dtype).reshape(-1, *(1,) * (z.ndim - 1))
    next_levels = torch.cat([levels[:1] * 0, levels])[index]
    # the step to 0 has no width: that of the next one stands in for it
    next_levels = torch.where(index == 0, levels[0] / 2, next_levels)
    sigma, lower = wide(levels[index]), wide(next_levels)
    lower_bound, largest = reverse_variance_bounds(sigma, lower)
    variance = interpolated_variance(h, lower_bound, largest)
    gap = (1 - lower * lower / (sigma * sigma)) * (D - x)
    kl = 0.5 * (
        torch.log(variance / lower_bound) + (lower_bound + gap.square()) / variance - 1
    )
    return kl.flatten(1).mean(1)


class GuidedDenoiser:
    """Eq. (3): a denoiser given y, guided by a scale; for samplers.

    Parameters
    ----------
    denoiser : Denoiser
    context : tensor of shape (n, c) or None
        None: without y.
    scale : float
        w; 0 and 1 need one evaluation, others two.
    box : tensor of shape (2, d) or None
        Limits to which D is clipped.
    """

    def __init__(
        self, denoiser: Any, context: Tensor | None = None, scale=1.0, box=None
    ):
        self.denoiser = denoiser
        self.scale = float(scale)
        self.context = context
        self.box = box

    def __call__(self, z, sigma) -> Tensor:
        return self.clipped(self.guided(z, sigma))

    def guided(self, z, sigma):
        if self.context is None or self.scale == 1.0:
            return self.denoiser(z, sigma, self.context)
        unguided = self.denoiser(z, sigma, torch.zeros_like(self.context))
        if self.scale == 0.0:
            return unguided
        conditional = self.denoiser(z, sigma, self.context)
        return unguided + self.scale * (conditional - unguided)

    def clipped(self, D):
        return D if self.box is None else D.clamp(self.box[0].to(D), self.box[1].to(D))

    def with_variance(self, z, sigma):
        """D of eq. (3) and the place of the variance, by the conditional model."""
        D, h = self.denoiser.with_variance(z, sigma, self.context)
        if self.context is None or self.scale == 1.0:
            return self.clipped(D), h
        return self(z, sigma), h

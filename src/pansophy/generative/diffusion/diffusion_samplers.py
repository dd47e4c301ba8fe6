"""Samplers of diffusion models: steps between noise levels, run by one driver.

A sampler knows a denoiser D(z, sigma) = E[x_0 | z] and moves rows z from one level s to
a lower one r, until r = 0 (`noise_schedule`). The direction along which a row loses its
noise without drawing any is dz/ds = (z - D) / s, the probability-flow equation. Steps:

    ancestral   z <- D + (r/s)^2 (z - D) + sqrt(v) noise                         (1)
    ddim        z <- D + sqrt(r^2 - tau^2) (z - D) / s + tau noise,
                tau = eta r sqrt(1 - r^2 / s^2)                                  (2)
    heun        x = cos(phi) z, s = tan(phi), dx/dphi = v = (cos(phi) x - D) / sin(phi),
                by Heun's method from phi = atan(s) to atan(r)                   (3)
    dpmpp_2m    z <- (r/s) z + (1 - r/s) E,  E = D + (D - D_before) h / (2 h_before),
                h = ln(s / r)                                                    (4)

(2) with eta = 0 is Euler's method and deterministic, with eta = 1 it is (1) with the
least variance. (3) is the probability flow in the coordinates in which standardised
normal rows do not move at all, so that only what is not normal in the data is left to
follow. It costs two evaluations a step, but for the last, which takes D; (4) is of
second order with one. The last step of (1) adds no noise.

Variances v of (1), for x_0 known or not:

    posterior   r^2 (s^2 - r^2) / s^2                 as if x_0 were D
    beta        (s^2 - r^2) (1 + r^2) / (1 + s^2)     as if x_0 were N(0, I)
    learned     between the two, chosen by the model for each column
    optimal     posterior + (1 - r^2/s^2)^2 s^2 dD/dz, a matrix                  (5)

(5) adds what is not known of x_0, Cov[x_0 | z] = s^2 dD/dz (Tweedie's second formula).
For Gaussian data it is exact in any number of steps, one included, where the others
return the mean. It costs d gradients a step.

Known columns of a row (inpainting): with the variance "optimal" of (1) a step draws x_0
from N(D, C), C = Cov[x_0 | z], conditioned on the known columns k,

    x_0 = x + C_:k C_kk^-1 (x_k - x), x ~ N(D, C),
    z <- x_0 + (r/s)^2 (z - x_0) + r sqrt(1 - r^2/s^2) noise                      (6)

which is exact for Gaussian data in any number of steps. Otherwise known columns are put
back after every step with noise of the level, which leaves the others too narrow. Each
step is repeated `n_repeats` times, with the noise it removed added again, so that known
and unknown columns come to agree. The state is float64: D of a
net is float32, but sums of steps are not rounded.

Cost      n_steps evaluations of D, 2 n_steps - 1 for heun
Refs      [Ho2020] (1); [Song2021DDIM] (2); [Karras2022] (3); [Lu2022] (4);
          [Bao2022] (5); [Lugmayr2022] inpainting
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from ...params import check_count
from .denoiser import interpolated_variance, reverse_variance_bounds

SamplerName = Literal["heun", "ancestral", "ddim", "dpmpp_2m"]
VarianceName = Literal["posterior", "beta", "learned", "optimal"]
CONDITIONING_RIDGE = 1e-6  # variance of a known column in eq. (6), in units of s^2
OPTIMAL_LIMIT = 256  # columns for which the matrix of eq. (5) is made


class SamplerOptions(NamedTuple):
    """Choices of a sampler: see the module text."""

    eta: float = 0.0  # of "ddim"
    variance: VarianceName = "posterior"  # of "ancestral"


class SamplerState(NamedTuple):
    """Rows on their way, and what a step of eq. (4) remembers of the one before it."""

    z: Tensor
    denoised: Tensor | None = None
    log_ratio: float = 0.0


def ddim_step(denoise, state, s, r, options, noise) -> SamplerState:
    """Eq. (2)."""
    z = state.z
    D = denoise(z, s)
    tau = options.eta * r * math.sqrt(1 - (r / s) ** 2)
    z = D + math.sqrt(r * r - tau * tau) / s * (z - D)
    return SamplerState(z + tau * noise(z) if tau else z)


def _ancestral_step(denoise, state, s, r, options, noise) -> SamplerState:
    """Eq. (1)."""
    z = state.z
    share = (r / s) ** 2
    lower_bound, largest = reverse_variance_bounds(s, r)
    if options.variance == "optimal":
        D, root = _denoised_with_root_covariance(denoise, z, s)
        mean = D + share * (z - D)
        doubt = torch.einsum("nij,nj->ni", root, noise(D.flatten(1))).view_as(z)
        return SamplerState(
            mean + math.sqrt(lower_bound) * noise(z) + (1 - share) * doubt
        )
    if options.variance == "learned":
        D, h = denoise.with_variance(z, s)
    else:
        D = denoise(z, s)
        h = None
    mean = D + share * (z - D)
    if r == 0:
        return SamplerState(mean)
    if h is not None:
        bounds = (torch.as_tensor(v).to(z) for v in (lower_bound, largest))
        width = interpolated_variance(h, *bounds).sqrt()
    else:
        width = math.sqrt(lower_bound if options.variance == "posterior" else largest)
    return SamplerState(mean + width * noise(z))


def _conditioned_step(denoise, state, s, r, inpainting, noise) -> SamplerState:
    """Eq. (6): a step whose x_0 has the known columns."""
    z = state.z
    D, root = _denoised_with_root_covariance(denoise, z, s)
    C = root @ root.transpose(1, 2)
    known = inpainting.known.flatten(1)
    m = known.to(z)
    drawn = D.flatten(1) + torch.einsum("nij,nj->ni", root, noise(D.flatten(1)))
    # rows and columns of what is not known are those of the identity
    ridge = torch.where(known, CONDITIONING_RIDGE * s * s, 1.0).to(z)
    C_kk = C * m[:, :, None] * m[:, None, :] + torch.diag_embed(ridge)
    gap = m * (inpainting.values.flatten(1) - drawn)
    shift = torch.einsum("nij,nj->ni", C, m * torch.linalg.solve(C_kk, gap))
    x = (drawn + shift).view_as(z)
    x = torch.where(inpainting.known, inpainting.values, x)
    lower_bound, _ = reverse_variance_bounds(s, r)
    return SamplerState(x + (r / s) ** 2 * (z - x) + math.sqrt(lower_bound) * noise(z))


def _denoised_with_root_covariance(denoise, z, s):
    """D and a root of Cov[x_0 | z] = s^2 dD/dz for each row, (n, d, d)."""
    D, J = _denoised_with_jacobian(denoise, z, s)
    C = s * s * (J + J.transpose(1, 2)) / 2
    values, vectors = torch.linalg.eigh(C)
    return D, vectors * values.clamp(min=0).sqrt()[:, None, :]


def _denoised_with_jacobian(denoise, z, s):
    """D(z, s) and its derivatives in z, (n, d, d)."""
    d = z[0].numel()
    if d > OPTIMAL_LIMIT:
        raise ValueError(
            f'variance "optimal" takes {d} gradients a step for rows of {d} numbers; '
            f'it is meant for up to {OPTIMAL_LIMIT}: take "posterior" or "beta".'
        )
    with torch.enable_grad():
        leaf = z.detach().requires_grad_()
        D = denoise(leaf, s)
        flat = D.flatten(1)
        rows = [
            torch.autograd.grad(flat[:, j].sum(), leaf, retain_graph=j + 1 < d)[0]
            for j in range(d)
        ]
    return D.detach(), torch.stack([g.flatten(1) for g in rows], dim=1)


def _heun_step(denoise, state, s, r, options, noise) -> SamplerState:
    """Eq. (3)."""
    z = state.z
    D = denoise(z, s)
    if r == 0:
        return SamplerState(D)
    phi, end = math.atan(s), math.atan(r)
    x = math.cos(phi) * z
    v = (math.cos(phi) * x - D) / math.sin(phi)
    predicted = x + (end - phi) * v
    D = denoise(predicted / math.cos(end), r)
    slope_after = (math.cos(end) * predicted - D) / math.sin(end)
    x = x + (end - phi) * (v + slope_after) / 2
    return SamplerState(x / math.cos(end))


def _dpmpp_2m_step(denoise, state, s, r, options, noise) -> SamplerState:
    """Eq. (4)."""
    z = state.z
    D = denoise(z, s)
    if r == 0:
        return SamplerState(D)
    h = math.log(s / r)
    E = D
    if state.denoised is not None:
        E = D + (D - state.denoised) * (h / (2 * state.log_ratio))
    return SamplerState(r / s * z + (1 - r / s) * E, D, h)


SAMPLERS: dict[str, Callable] = {
    "heun": _heun_step,
    "ancestral": _ancestral_step,
    "ddim": ddim_step,
    "dpmpp_2m": _dpmpp_2m_step,
}


class KnownColumns(NamedTuple):
    """Known columns of the rows to be sampled."""

    values: Tensor  # like z; anything where it is not known
    known: Tensor  # of bool, like z

    def put_back(self, z, sigma, noise) -> Tensor:
        """z with its known columns as they are at this level of noise."""
        noisy = self.values if sigma == 0 else self.values + sigma * noise(z)
        return torch.where(self.known, noisy, z)


def denoise_rows(
    denoise: Callable,
    z: Tensor,
    levels,
    sampler: SamplerName = "heun",
    options: SamplerOptions | None = None,
    *,
    generator: torch.Generator | None = None,
    inpainting: KnownColumns | None = None,
    n_repeats: int = 1,
    report: Callable[[Tensor, float], Any] | None = None,
) -> Tensor:
    """The driver: rows z (n, ...) at levels[0], moved through the levels down to 0.

    Parameters
    ----------
    denoise : function of (z, sigma)
        With a method `with_variance` for the variance "learned".
    z : tensor
        x_0 plus noise of the first level.
    levels : falling sequence of float that ends at 0
    sampler : {"heun", "ancestral", "ddim", "dpmpp_2m"}
    options : SamplerOptions or None
    generator : torch.Generator or None
        Draws the noise of the steps.
    inpainting : KnownColumns or None
        What must be found again in the result; "ancestral" with the variance "optimal"
        conditions each step on it, eq. (6).
    n_repeats : int
        Passes through each step, for inpainting.
    report : function of (z, sigma) or None
        Called with the first state and after every step.
    """
    options = options or SamplerOptions()
    for name, value, known in (
        ("sampler", sampler, SAMPLERS),
        ("variance", options.variance, get_args(VarianceName)),
    ):
        if value not in known:
            raise ValueError(
                f"{name} must be one of {', '.join(known)}, got {value!r}."
            )
    step = SAMPLERS[sampler]
    levels = _check_levels(levels)
    n_repeats = check_count("n_repeats", n_repeats)

    def noise(like):
        return torch.randn(
            like.shape, dtype=like.dtype, device=like.device, generator=generator
        )

    if inpainting is not None:
        z = inpainting.put_back(z, levels[0], noise)
    conditioned = (
        inpainting is not None
        and sampler == "ancestral"
        and options.variance == "optimal"
    )
    state = SamplerState(z)
    if report is not None:
        report(z, levels[0])
    for s, r in pairwise(levels):
        for repeat in range(n_repeats):
            if repeat:  # back up to s, with fresh noise
                renoised = state.z + math.sqrt(s * s - r * r) * noise(state.z)
                state = SamplerState(renoised)
            if conditioned:
                state = _conditioned_step(denoise, state, s, r, inpainting, noise)
                continue
            state = step(denoise, state, s, r, options, noise)
            if inpainting is not None:
                state = state._replace(z=inpainting.put_back(state.z, r, noise))
        if report is not None:
            report(state.z, r)
    return state.z


def _check_levels(levels) -> list[float]:
    """Levels as numbers that fall to exactly 0."""
    levels = np.asarray(levels, dtype=float)
    if levels.ndim != 1 or len(levels) < 2:
        raise ValueError(f"levels must hold two numbers or more, got {levels.shape}.")
    if levels[-1] != 0 or not (np.diff(levels) < 0).all():
        raise ValueError("levels must fall from one to the next and end at exactly 0.")
    if not np.isfinite(levels[0]):
        raise ValueError("the first level must be finite.")
    return levels.tolist()

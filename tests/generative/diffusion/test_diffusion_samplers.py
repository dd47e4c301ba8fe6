"""Samplers with a known denoiser: Gaussian data come out as they are."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from pansophy.generative.diffusion.denoiser import reverse_variance_bounds
from pansophy.generative.diffusion.diffusion_process import posterior_weights
from pansophy.generative.diffusion.diffusion_samplers import (
    SAMPLERS,
    KnownColumns,
    SamplerOptions,
    SamplerState,
    ddim_step,
    denoise_rows,
)
from pansophy.generative.diffusion.noise_schedule import (
    noise_levels,
    noise_schedule,
    schedule_levels,
)

MEAN = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
COV = torch.tensor(
    [[1.0, 0.6, 0.0], [0.6, 0.8, -0.2], [0.0, -0.2, 0.5]], dtype=torch.float64
)


def gaussian_denoiser(z, sigma):
    """E[x_0 | z] of N(MEAN, COV)."""
    gain = COV @ torch.linalg.inv(COV + sigma**2 * torch.eye(3, dtype=torch.float64))
    return MEAN + (z - MEAN) @ gain.T


def start(n, level, seed=0):
    generator = torch.Generator().manual_seed(seed)
    root = torch.linalg.cholesky(COV + level**2 * torch.eye(3, dtype=torch.float64))
    noise = torch.randn(n, 3, dtype=torch.float64, generator=generator)
    noise = (noise - noise.mean(0)) @ torch.linalg.inv(
        torch.linalg.cholesky(noise.T.cov())
    ).T
    return MEAN + noise @ root.T, generator  # exact moments: no Monte Carlo error


@pytest.mark.parametrize("n_steps", [1, 2, 18])
def test_optimal_variance_is_exact_in_any_number_of_steps(n_steps):
    """Trap 2: mean and covariance to 1 % of the largest variance, which is 1."""
    levels = noise_levels(n_steps, sigma_max=20.0)
    z, generator = start(200_000, 20.0)  # a Monte Carlo error of 0.3 %
    options = SamplerOptions(variance="optimal")
    x = denoise_rows(
        gaussian_denoiser, z, levels, "ancestral", options, generator=generator
    )
    assert (x.mean(0) - MEAN).abs().max() < 0.01
    assert (x.T.cov() - COV).abs().max() < 0.01


@pytest.mark.parametrize(("name", "tolerance"), [("heun", 0.01), ("dpmpp_2m", 0.05)])
def test_second_order_samplers_in_eighteen_steps(name, tolerance):
    levels = noise_levels(18, sigma_min=0.01, sigma_max=20.0)
    z, _ = start(5000, 20.0)
    x = denoise_rows(gaussian_denoiser, z, levels, name)
    assert (x.mean(0) - MEAN).abs().max() < tolerance
    assert (x.T.cov() - COV).abs().max() < tolerance


@pytest.mark.parametrize("name", sorted(SAMPLERS))
def test_one_step_gives_the_denoised_row(name):
    z, _ = start(5, 20.0)
    x = denoise_rows(gaussian_denoiser, z, noise_levels(1, sigma_max=20.0), name)
    torch.testing.assert_close(x, gaussian_denoiser(z, 20.0))


def test_many_ancestral_steps_reach_the_law():
    levels = schedule_levels(noise_schedule("linear", 200))
    for variance in ("posterior", "beta"):
        z, generator = start(10_000, float(levels[0]))
        x = denoise_rows(
            gaussian_denoiser, z, levels, "ancestral",
            SamplerOptions(variance=variance), generator=generator,
        )  # fmt: skip
        assert (x.mean(0) - MEAN).abs().max() < 0.03
        assert (x.T.cov() - COV).abs().max() < 0.05


def test_ddim_between_deterministic_and_ancestral():
    """Trap 3."""
    levels = noise_levels(6, sigma_max=20.0)
    z, _ = start(50, 20.0)
    runs = [
        denoise_rows(
            gaussian_denoiser,
            z,
            levels,
            "ddim",
            generator=torch.Generator().manual_seed(seed),
        )
        for seed in (0, 1)
    ]
    torch.testing.assert_close(runs[0], runs[1])
    same = [
        denoise_rows(
            gaussian_denoiser,
            z,
            levels,
            name,
            options,
            generator=torch.Generator().manual_seed(3),
        )
        for name, options in (
            ("ddim", SamplerOptions(eta=1.0)),
            ("ancestral", SamplerOptions(variance="posterior")),
        )
    ]
    torch.testing.assert_close(*same)


def test_ddim_can_be_inverted():
    """Small deterministic steps upwards undo those downwards."""
    levels = noise_levels(2000, "log", sigma_min=0.01, sigma_max=5.0)[:-1]
    z, _ = start(20, 5.0)
    state = SamplerState(z)
    for s, r in pairwise(levels):
        state = ddim_step(gaussian_denoiser, state, s, r, SamplerOptions(), None)
    assert (state.z - z).abs().max() > 1
    up = state.z
    for s, r in pairwise(levels[::-1]):
        D = gaussian_denoiser(up, s)
        up = D + r / s * (up - D)
    torch.testing.assert_close(up, z, rtol=0.01, atol=0.01)


def test_variances_are_those_of_the_discrete_chain():
    """The bounds in z are v_t and beta_t in units of x_{t-1}."""
    schedule = noise_schedule("cosine", 10)
    levels = schedule.sigma
    for t in (2, 5, 10):
        least, largest = reverse_variance_bounds(levels[t - 1], levels[t - 2])
        kept = schedule.alpha_bar[t - 2]
        v = float(posterior_weights(schedule, t, np.ones((1, 1)))[2])
        assert least * kept == pytest.approx(v, rel=1e-9)
        assert largest * kept == pytest.approx(schedule.beta[t - 1], rel=1e-9)


class WithVariance:
    """A denoiser that chooses one place between the bounds."""

    def __init__(self, h):
        self.h = h

    def __call__(self, z, sigma):
        return 0.5 * z

    def with_variance(self, z, sigma):
        return 0.5 * z, torch.full_like(z, self.h)


def test_learnt_variance_lies_between_the_fixed_ones():
    levels = [2.0, 1.0, 0.0]
    z = torch.zeros(20_000, 1, dtype=torch.float64)

    def spread(h=None, variance="learned"):
        frames = []
        denoise_rows(
            WithVariance(h), z, levels, "ancestral", SamplerOptions(variance=variance),
            generator=torch.Generator().manual_seed(0),
            report=lambda x, s: frames.append(x.var().item()),
        )  # fmt: skip
        return frames[1]

    low, high = reverse_variance_bounds(2.0, 1.0)
    assert spread(0.0) == pytest.approx(spread(variance="posterior"))
    assert spread(1.0) == pytest.approx(spread(variance="beta"))
    assert spread(0.5) == pytest.approx(math.sqrt(low * high), rel=0.05)


def test_known_columns_are_kept_and_the_others_follow():
    """Given columns 0 and 2, column 1 has its conditional mean and variance."""
    known = torch.tensor([[True, False, True]])
    values = torch.tensor([[2.0, 0.0, 0.0]], dtype=torch.float64)
    n = 1500
    z, generator = start(n, 20.0)
    x = denoise_rows(
        gaussian_denoiser, z, noise_levels(15, sigma_min=0.01, sigma_max=20.0),
        "ancestral", SamplerOptions(variance="optimal"), generator=generator,
        inpainting=KnownColumns(values.expand(n, 3), known.expand(n, 3)), n_repeats=8,
    )  # fmt: skip
    assert (x[:, [0, 2]] == values[:, [0, 2]]).all()
    B = COV[[0, 2]][:, [0, 2]]
    gain = COV[1, [0, 2]] @ torch.linalg.inv(B)
    mean = MEAN[1] + gain @ (values[0, [0, 2]] - MEAN[[0, 2]])
    var = COV[1, 1] - gain @ COV[[0, 2], 1]
    assert abs(x[:, 1].mean() - mean) < 0.08
    assert abs(x[:, 1].var() - var) < 0.1


@pytest.mark.parametrize(("n_levels", "n_repeats"), [(3, 1), (18, 1), (18, 3)])
def test_conditioned_steps_draw_from_the_conditional_normal(n_levels, n_repeats):
    """Rows with other columns known: means and variances, 5 standard errors wide."""
    n = 8000
    known = torch.tensor([[True, False, True], [False, True, False]]).repeat(n, 1)
    x = torch.tensor([[2.0, 9.0, 0.0], [9.0, -1.0, 9.0]], dtype=torch.float64)
    z, generator = start(2 * n, 40.0)
    made = denoise_rows(
        gaussian_denoiser, z, noise_levels(n_levels, sigma_min=0.01, sigma_max=40.0),
        "ancestral", SamplerOptions(variance="optimal"), generator=generator,
        inpainting=KnownColumns(x.repeat(n, 1), known), n_repeats=n_repeats,
    )  # fmt: skip
    for row in range(2):
        k, u = known[row].nonzero()[:, 0], (~known[row]).nonzero()[:, 0]
        gain = COV[u][:, k] @ torch.linalg.inv(COV[k][:, k])
        mean = MEAN[u] + gain @ (x[row, k] - MEAN[k])
        cov = COV[u][:, u] - gain @ COV[k][:, u]
        drawn = made[row::2]
        assert (drawn[:, k] == x[row, k]).all()
        spread = cov.diagonal().sqrt()
        gap = (drawn[:, u].mean(0) - mean).abs() / spread
        assert (gap < 5 / math.sqrt(n) + 0.01).all()  # 0.01: noise of the first level
        found = torch.atleast_2d(torch.cov(drawn[:, u].T))
        scale = spread[:, None] * spread
        assert ((found - cov).abs() / scale < 5 * math.sqrt(2 / n) + 0.01).all()


def test_bad_levels_are_refused():
    z = torch.zeros(1, 3, dtype=torch.float64)
    for levels, text in (
        ([1.0, 0.5], "end at exactly 0"),
        ([0.5, 1.0, 0.0], "must fall"),
        ([1.0], "two numbers"),
        ([np.inf, 0.0], "finite"),
    ):
        with pytest.raises(ValueError, match=text):
            denoise_rows(gaussian_denoiser, z, levels)
    wide = torch.zeros(1, 300, dtype=torch.float64)
    with pytest.raises(ValueError, match="300 gradients"):
        denoise_rows(
            lambda z, s: z,
            wide,
            [1.0, 0.0],
            "ancestral",
            SamplerOptions(variance="optimal"),
        )

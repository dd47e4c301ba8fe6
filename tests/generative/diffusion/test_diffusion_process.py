"""The diffusion in closed form: moments, posterior, conversions, evidence bound."""

import numpy as np
import pytest
import torch

from pansophy.generative import (
    denoising_posterior,
    diffuse,
    diffusion_elbo,
    noise_schedule,
)
from pansophy.generative.diffusion.diffusion_process import (
    convert_prediction,
    diffusion_trajectory,
    gaussian_kl_rows,
    negative_log_normal,
    noise_loss_weight,
    posterior_weights,
    reverse_variances,
)

ONE = np.ones((1, 1))


@pytest.mark.parametrize("kind", ["linear", "cosine"])
def test_one_shot_and_single_steps_have_the_same_moments(kind):
    """Trap 1, with Monte Carlo errors of five standard errors."""
    schedule = noise_schedule(kind, 20)
    n = 20_000
    x0 = np.full((n, 1), 2.0)
    path = diffusion_trajectory(x0, schedule, random_state=0)
    for t in (1, 7, 20):
        x, noise = diffuse(x0, t, schedule, random_state=t)
        mean, var = (
            2 * np.sqrt(schedule.alpha_bar[t - 1]),
            1 - schedule.alpha_bar[t - 1],
        )
        for rows in (x, path[t]):
            assert abs(rows.mean() - mean) < 5 * np.sqrt(var / n)
            assert abs(rows.var() - var) < 5 * var * np.sqrt(2 / n)
        kept = schedule.alpha_bar[t - 1]
        back = (x - np.sqrt(1 - kept) * noise) / np.sqrt(kept)
        np.testing.assert_allclose(back, x0, rtol=1e-6)


def test_unit_variance_stays_and_the_end_is_noise():
    schedule = noise_schedule("linear", 1000)
    x0 = np.random.default_rng(0).choice([-1.0, 1.0], size=(20_000, 1))
    for t in (100, 1000):
        x, _ = diffuse(x0, t, schedule, random_state=1)
        assert abs(x.var() - 1) < 0.05
    assert abs(np.corrcoef(x.ravel(), x0.ravel())[0, 1]) < 0.05


def test_steps_for_each_row_and_tensors():
    schedule = noise_schedule("linear", 10)
    x0 = np.arange(6.0).reshape(3, 2)
    noise = np.ones((3, 2))
    x, _ = diffuse(x0, np.array([0, 3, 10]), schedule, noise=noise)
    np.testing.assert_array_equal(x[0], x0[0])
    for i, t in ((1, 3), (2, 10)):
        alone, _ = diffuse(x0[i : i + 1], t, schedule, noise=noise[:1])
        np.testing.assert_allclose(x[i], alone[0])
    y, _ = diffuse(torch.tensor(x0), np.array([0, 3, 10]), schedule, noise=noise)
    assert isinstance(y, torch.Tensor)
    np.testing.assert_allclose(y.numpy(), x)
    with pytest.raises(ValueError, match="t must hold"):
        diffuse(x0, 11, schedule)
    with pytest.raises(ValueError, match="t must be a number"):
        diffuse(x0, np.array([1, 2]), schedule)


def test_posterior_of_the_worked_example():
    """X12: weights .003070 and .994107 and variance .010031 at t = 500."""
    schedule = noise_schedule("linear", 1000)
    u, w, v = posterior_weights(schedule, 500, ONE)
    assert u.item() == pytest.approx(0.003070, abs=5e-7)
    assert float(w) == pytest.approx(0.994107, abs=5e-7)
    assert float(v) == pytest.approx(0.010031, abs=5e-7)
    assert float(v) < schedule.beta[499]


def test_posterior_is_gaussian_bayes():
    """q(x_{t-1} | x_t, x_0) is q(x_t | x_{t-1}) q(x_{t-1} | x_0), normalised."""
    schedule = noise_schedule("cosine", 12)
    grid = np.linspace(-6, 6, 20_001)
    for t in (2, 6, 12):
        x0, x_t = 0.7, -0.4
        kept, beta = schedule.alpha_bar[t - 2], schedule.beta[t - 1]
        log_q = -0.5 * (x_t - np.sqrt(1 - beta) * grid) ** 2 / beta
        log_q += -0.5 * (grid - np.sqrt(kept) * x0) ** 2 / (1 - kept)
        q = np.exp(log_q - log_q.max())
        q /= q.sum()
        mean = q @ grid
        step = denoising_posterior(x_t * ONE, x0 * ONE, t, schedule)
        assert step.mean.item() == pytest.approx(mean, abs=1e-7)
        assert float(step.variance) == pytest.approx(q @ (grid - mean) ** 2, abs=1e-7)


def test_the_last_step_returns_the_row_itself():
    """Trap 2: at t = 1 the posterior is x_0 without noise."""
    step = denoising_posterior(3 * ONE, 0.25 * ONE, 1, noise_schedule())
    assert step.mean.item() == pytest.approx(0.25, abs=1e-12)
    assert float(step.variance) == 0.0


def test_all_forms_of_the_mean_agree_for_the_true_noise():
    schedule = noise_schedule("linear", 100)
    rng = np.random.default_rng(0)
    x0, noise = rng.normal(size=(2, 5, 3))
    for t in (1, 30, 100):
        x_t, _ = diffuse(x0, t, schedule, noise=noise)
        kept = schedule.alpha_bar[t - 1]
        v = np.sqrt(kept) * noise - np.sqrt(1 - kept) * x0
        truth = denoising_posterior(x_t, x0, t, schedule).mean
        for kind, value in (("noise", noise), ("v", v)):
            mean = denoising_posterior(x_t, value, t, schedule, kind=kind).mean
            np.testing.assert_allclose(mean, truth, rtol=1e-9, atol=1e-11)
        a, beta = schedule.alpha[t - 1], schedule.beta[t - 1]
        direct = (x_t - beta / np.sqrt(1 - kept) * noise) / np.sqrt(a)
        np.testing.assert_allclose(direct, truth, rtol=1e-9, atol=1e-11)
    with pytest.raises(ValueError, match="at least 1"):
        denoising_posterior(x0, x0, 0, schedule)


@pytest.mark.parametrize("sigma", [0.0, 1e-9, 1e-3, 1.0, 1e3, 1e9, np.inf])
def test_predictions_are_converted_at_every_level(sigma):
    """Trap 4: v gives x_0 and noise exactly, at 0 and infinity too."""
    rng = np.random.default_rng(1)
    x0, noise = rng.normal(size=(2, 4, 2))
    phi = np.arctan(sigma)
    a, b = np.cos(phi), np.sin(phi)
    if np.isinf(sigma):
        a, b = 0.0, 1.0
    x_t, v = a * x0 + b * noise, a * noise - b * x0
    near = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(convert_prediction(v, x_t, sigma, "v", "x0"), x0, **near)
    np.testing.assert_allclose(
        convert_prediction(v, x_t, sigma, "v", "noise"), noise, **near
    )
    if 1e-3 <= sigma <= 1e3:
        for given, value in (("x0", x0), ("noise", noise)):
            other = "noise" if given == "x0" else "x0"
            there = convert_prediction(value, x_t, sigma, given, other)
            back = convert_prediction(there, x_t, sigma, other, given)
            np.testing.assert_allclose(back, value, **near)
            by_v = convert_prediction(value, x_t, sigma, given, "v")
            np.testing.assert_allclose(by_v, v, atol=1e-9)


def test_impossible_conversions_say_so():
    with pytest.raises(ValueError, match="cannot be told"):
        convert_prediction(ONE, ONE, np.inf, "noise", "x0")
    with pytest.raises(ValueError, match="cannot be told"):
        convert_prediction(ONE, ONE, 0.0, "x0", "noise")
    with pytest.raises(ValueError, match="given and wanted"):
        convert_prediction(ONE, ONE, 1.0, "eps", "x0")


def test_weighted_noise_loss_is_the_gaussian_divergence():
    """C177: the weight times |eps - eps(x)|^2 is the KL of the two reverse steps."""
    schedule = noise_schedule("linear", 50)
    rng = np.random.default_rng(2)
    x0, noise, guess = rng.normal(size=(3, 4, 3))
    s2 = reverse_variances(schedule, "posterior")
    for t in (2, 25, 50):
        x_t, _ = diffuse(x0, t, schedule, noise=noise)
        q = denoising_posterior(x_t, x0, t, schedule)
        p = denoising_posterior(x_t, guess, t, schedule, kind="noise")
        kl = gaussian_kl_rows(q.mean, float(q.variance), p.mean, s2[t - 1])
        weight = noise_loss_weight(schedule)[t - 2]
        np.testing.assert_allclose(kl, weight * ((noise - guess) ** 2).sum(1))


def test_both_forms_of_the_bound_agree_and_the_second_varies_less():
    schedule = noise_schedule("linear", 40)
    x0 = 0.5 * np.random.default_rng(3).normal(size=(8000, 1))

    def best(x_t, t):  # E[x_0 | x_t] of N(0, 1/4)
        kept = schedule.alpha_bar[t - 1]
        return np.sqrt(kept) / 4 / (kept / 4 + 1 - kept) * x_t

    options = {"kind": "x0", "variance": "beta", "random_state": 0}
    two = diffusion_elbo(best, x0, schedule, **options)
    one = diffusion_elbo(best, x0, schedule, form="consistency", **options)
    error = np.hypot(*(b.total.std() / len(x0) ** 0.5 for b in (one, two)))
    assert abs(one.total.mean() - two.total.mean()) < 4 * error
    assert two.total.std() < 0.5 * one.total.std()
    assert two.total.mean() < -negative_log_normal(x0, 0 * x0, 0.25).mean() + 3 * error
    assert 0 < two.prior.mean() < 0.01  # no parameters, nearly 0
    with pytest.raises(ValueError, match="form must be"):
        diffusion_elbo(best, x0, schedule, kind="x0", form="third")
    with pytest.raises(ValueError, match="variance must be"):
        diffusion_elbo(best, x0, schedule, kind="x0", variance="optimal")


def test_the_bound_of_many_steps_is_the_likelihood():
    """With the best denoiser and many steps nothing is lost."""
    schedule = noise_schedule("linear", 1000)
    x0 = np.random.default_rng(4).normal(size=(400, 1))
    best = lambda x_t, t: np.sqrt(schedule.alpha_bar[t - 1]) * x_t
    bound = diffusion_elbo(
        best, x0, schedule, kind="x0", variance="beta", random_state=1
    )
    gap = -negative_log_normal(x0, 0 * x0, 1.0) - bound.total
    assert abs(gap.mean()) < 4 * gap.std() / len(x0) ** 0.5 + 0.02

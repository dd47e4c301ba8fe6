"""Reparameterised draws and the Monte-Carlo bound."""

import numpy as np
import pytest
import torch

from pansophy.generative import mc_elbo, reparameterize


def test_slopes_are_one_and_the_noise():
    m = torch.tensor([0.3, -1.0], dtype=torch.float64, requires_grad=True)
    s = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    eps = torch.tensor([0.7, -0.2], dtype=torch.float64)
    z = reparameterize(m, s, eps)
    dm, ds = torch.autograd.grad(z.sum(), (m, s))
    assert dm.tolist() == [1, 1]
    torch.testing.assert_close(ds, eps)
    np.testing.assert_allclose(
        reparameterize([0.0, 1.0], [1.0, 2.0], [1.0, 1.0]), [1.0, 3.0]
    )
    same = [reparameterize(np.zeros(3), 1.0, random_state=5) for _ in range(2)]
    np.testing.assert_array_equal(*same)


def test_gradient_of_a_quadratic_beats_the_score_estimator():
    """f(z) = (z - 3)^2: d/dm E f = 2 (m - 3), d/ds E f = 2 s."""
    m0, s0, n = 1.0, 0.5, 20_000
    eps = np.random.default_rng(0).standard_normal(n)
    z = reparameterize(np.full(n, m0), s0, eps)
    slope = 2 * (z - 3)
    score = (z - 3) ** 2 * (z - m0) / s0**2
    for values, wanted in ((slope, 2 * (m0 - 3)), (slope * eps, 2 * s0)):
        assert abs(values.mean() - wanted) < 5 * values.std() / n**0.5
    assert abs(score.mean() - 2 * (m0 - 3)) < 5 * score.std() / n**0.5
    assert slope.var() < score.var() / 10


def log_likelihood(z):
    """log N(1; z, 1)."""
    return -0.5 * ((1 - z[..., 0]) ** 2 + np.log(2 * np.pi))


def test_estimate_is_unbiased_and_its_variance_falls_as_one_over_n():
    m, s = [0.2], [0.6]
    expected = -0.5 * ((1 - 0.2) ** 2 + 0.36 + np.log(2 * np.pi))
    exact = expected - 0.5 * (0.36 + 0.04 - 1 - np.log(0.36))
    spread = {}
    for n in (1, 4, 16):
        draws = [mc_elbo(log_likelihood, m, s, n, random_state=i) for i in range(800)]
        spread[n] = np.var(draws)
        assert abs(np.mean(draws) - exact) < 5 * (spread[n] / 800) ** 0.5
    # a ratio of variances of 800 draws is off by 0.08, the draws having heavy tails;
    # one that fell as 1 / sqrt(n) or not at all would be 2 or 1
    assert spread[1] / spread[4] == pytest.approx(4, rel=0.3)
    assert spread[4] / spread[16] == pytest.approx(4, rel=0.3)


def test_bound_is_tight_at_the_posterior_and_below_elsewhere():
    truth = -0.25 - 0.5 * np.log(4 * np.pi)  # x = 1, p(x) = N(0, 2)
    best, error = mc_elbo(
        log_likelihood, [0.5], [0.5**0.5], 50_000, return_std_error=True, random_state=0
    )
    assert abs(best - truth) < 5 * error
    assert mc_elbo(log_likelihood, [0.0], [1.0], 50_000, random_state=0) < truth - 0.05
    with pytest.raises(
        ValueError, match="n_samples must be a whole number of at least 2"
    ):
        mc_elbo(log_likelihood, [0.5], [1.0], 1, return_std_error=True)


def test_negative_scales_are_refused():
    with pytest.raises(ValueError, match="scale must be at least 0"):
        reparameterize(np.zeros(2), np.array([1.0, -1.0]))


def test_a_scale_that_is_a_number_leaves_a_tensor_a_tensor():
    mean = torch.ones(3, requires_grad=True)
    z = reparameterize(mean, 2.0, torch.ones(3))
    z.sum().backward()
    assert z.tolist() == [3.0] * 3 and mean.grad.tolist() == [1.0] * 3

"""Maximum likelihood by optimiser against closed forms, and by simulation."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.stats

from pansophy.distributions import (
    fit_mle,
    negative_log_likelihood,
    simulate_mle,
)

torch = pytest.importorskip("torch")


def coin(p, x):
    return np.where(x == 1, np.log(p), np.log1p(-p))


def normal(t, x):
    return -0.5 * ((x - t[0]) / t[1]) ** 2 - np.log(t[1]) - 0.5 * math.log(2 * math.pi)


def line(t, X, y):
    """y ~ N(X w, s^2), with t = (w, log s)."""
    r = (y - X @ t[:-1]) / np.exp(t[-1])
    return -0.5 * r**2 - t[-1] - 0.5 * math.log(2 * math.pi)


def test_bernoulli(rng):
    x = (rng.random(400) < 0.3).astype(int)
    found = fit_mle(coin, [0.5], x, bounds=[(1e-9, 1 - 1e-9)])
    p = x.mean()
    assert found.converged
    assert found.theta[0] == pytest.approx(p, abs=1e-8)
    assert found.standard_errors[0] == pytest.approx(
        math.sqrt(p * (1 - p) / 400), rel=1e-4
    )
    assert found.log_likelihood == pytest.approx(coin(p, x).sum())


def test_normal(rng):
    x = rng.normal(3, 2, 300)
    found = fit_mle(normal, [0.0, 1.0], x, bounds=[(None, None), (1e-6, None)])
    np.testing.assert_allclose(found.theta, [x.mean(), x.std()], atol=1e-8)
    errors = [x.std() / math.sqrt(300), x.std() / math.sqrt(600)]
    np.testing.assert_allclose(found.standard_errors, errors, rtol=1e-4)


def test_linear_gaussian(rng):
    X = np.column_stack([np.ones(200), rng.standard_normal((200, 2))])
    y = X @ [1.0, -2.0, 0.5] + 0.3 * rng.standard_normal(200)
    found = fit_mle(line, np.zeros(4), X, y)
    w = np.linalg.lstsq(X, y)[0]
    s = math.sqrt(np.mean((y - X @ w) ** 2))
    np.testing.assert_allclose(found.theta, [*w, math.log(s)], atol=1e-8)
    cov = s**2 * np.linalg.inv(X.T @ X)
    np.testing.assert_allclose(found.covariance[:3, :3], cov, rtol=1e-3, atol=1e-8)


def test_weights_are_copies(rng):
    x, w = rng.normal(1, 1, 50), rng.integers(0, 4, 50)
    bounds = [(None, None), (1e-6, None)]
    a = fit_mle(normal, [0.0, 1.0], x, weights=w, bounds=bounds)
    b = fit_mle(normal, [0.0, 1.0], np.repeat(x, w), bounds=bounds)
    np.testing.assert_allclose(a.theta, b.theta, atol=1e-8)
    assert a.n == b.n and a.log_likelihood == pytest.approx(b.log_likelihood)
    sure = negative_log_likelihood(coin, 0.5, np.array([1, 0]), weights=[1.0, 0.0])
    assert sure == pytest.approx(math.log(2))


def test_autograd():
    x = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    gauss = lambda t, x: torch.distributions.Normal(t[0], t[1].exp()).log_prob(x)
    found = fit_mle(gauss, torch.zeros(2, dtype=torch.float64), x)
    assert isinstance(found.theta, torch.Tensor)
    expected = [x.mean(), x.std(correction=0).log()]
    np.testing.assert_allclose(found.theta, expected, atol=1e-9)


def test_bounds_and_refusals():
    on_bound = fit_mle(coin, [0.4], np.array([0, 0]), bounds=[(0.1, 0.9)])
    assert on_bound.theta[0] == pytest.approx(0.1)
    assert np.isnan(on_bound.covariance).all()
    with (
        pytest.raises(ValueError, match="at the start"),
        np.errstate(all="ignore"),
    ):
        fit_mle(coin, [0.0], np.array([1, 0]))
    with pytest.raises(ValueError, match="1 parameters have 2 bounds"):
        fit_mle(coin, [0.5], np.array([1]), bounds=[(0, 1), (0, 1)])


def test_simulation_shows_rate_and_normality():
    draw = lambda n, rng: (rng.random(n) < 0.4).astype(float)
    found = simulate_mle(draw, np.mean, 0.4, [100, 400, 1600], repeats=400, seed=1)
    assert found.rate == pytest.approx(-0.5, abs=0.06)
    theory = np.sqrt(0.24 / np.array([100, 400, 1600]))
    np.testing.assert_allclose(found.error, theory, rtol=0.1)
    assert found.p_normal[-1, 0] > 0.01
    z = (found.estimates[-1, :, 0] - 0.4) / theory[-1]
    assert scipy.stats.kstest(z, "norm").pvalue > 0.01
    again = simulate_mle(draw, np.mean, 0.4, [100, 400, 1600], repeats=400, seed=1)
    np.testing.assert_array_equal(found.estimates, again.estimates)
    assert len(found.plot()) == 2
    plt.close("all")
    with pytest.raises(ValueError, match="at least 2 sizes"):
        simulate_mle(draw, np.mean, 0.4, [100])


def test_simulated_regression_is_unbiased():
    X = np.random.default_rng(0).standard_normal((800, 2))
    draw = lambda n, rng: (X[:n], X[:n] @ [1.0, -1.0] + rng.standard_normal(n))
    found = simulate_mle(
        draw, lambda d: np.linalg.lstsq(*d)[0], [1.0, -1.0], [50, 200, 800], seed=0
    )
    assert found.rate == pytest.approx(-0.5, abs=0.1)
    assert (abs(found.bias) < 4 * found.deviation / math.sqrt(200)).all()

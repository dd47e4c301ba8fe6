"""Maximum likelihood by optimiser against closed forms; named fits; projections."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.stats
from scipy import integrate

from pansophy.distributions import (
    Dirichlet,
    Histogram,
    Normal,
    fit,
    fit_forward_kl,
    fit_mle,
    fit_reverse_kl,
    kl_gaussian,
    negative_log_likelihood,
    simulate_mle,
)
from pansophy.typing import Distribution

torch = pytest.importorskip("torch")
EVERYWHERE = (-math.inf, math.inf)


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


# --- named fits and histograms -----------------------------------------------------


def test_normal_fit_has_sample_moments(rng):
    X = rng.standard_normal((100, 3)) @ rng.standard_normal((3, 3))
    p = fit(X)
    np.testing.assert_allclose(p.mean, X.mean(axis=0))
    np.testing.assert_allclose(p.cov, np.cov(X.T, bias=True), rtol=1e-9)
    assert fit(X, shape="diag").shape == "diag"
    tensor = fit(torch.tensor(X))
    assert isinstance(tensor.mean, torch.Tensor)
    np.testing.assert_allclose(tensor.cov, p.cov)


NAMED = {
    "bernoulli": np.array([1.0, 0, 1, 1]),
    "poisson": np.array([1.0, 0, 4, 2]),
    "categorical": np.array([0, 2, 1, 2]),
    "multinomial": np.array([[1.0, 2], [0, 3], [2, 2]]),
    "dirichlet": np.array([[0.2, 0.8], [0.4, 0.6], [0.3, 0.7]]),
    "beta": np.array([0.2, 0.4, 0.35, 0.7]),
    "gamma": np.array([0.5, 1.5, 3.0, 0.7]),
    "normal": np.array([1.0, 2.0, 4.0]),
    "histogram": np.array([1.0, 2.0, 4.0]),
}


@pytest.mark.parametrize("name", NAMED)
def test_every_named_fit_is_a_local_maximum(name, rng):
    X = NAMED[name]
    p = fit(X, name)
    assert isinstance(p, Distribution)
    assert len(p.sample(5, rng)) == 5
    best = float(np.sum(p.log_prob(X)))
    w = fit(X, name, np.full(len(X), 3.0))
    assert float(np.sum(w.log_prob(X))) == pytest.approx(best)
    other = p if name == "histogram" else fit(X[:-1] * 1, name)
    if name not in ("histogram", "categorical"):
        assert float(np.sum(other.log_prob(X))) <= best + 1e-9


@pytest.mark.parametrize("name", ["normal", "gamma", "histogram"])
def test_densities_integrate_to_one(name, rng):
    p = fit(rng.gamma(2.0, 1.5, 200), name)
    low, high = {"normal": EVERYWHERE, "gamma": (1e-12, 60)}.get(
        name, (None, None) if name != "histogram" else (p.edges[0], p.edges[-1])
    )
    f = lambda t: math.exp(float(p.log_prob(np.array([t]))[0]))
    points = p.edges[1:-1] if name == "histogram" else None
    total = integrate.quad(f, low, high, limit=400, points=points)[0]
    assert total == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("library", [np, torch], ids=["numpy", "torch"])
def test_histogram(library, rng):
    x = rng.normal(size=3000)
    h = Histogram.fit(library.asarray(x), bins=30)
    assert float(h.mass.sum()) == pytest.approx(1)
    peer, edges = np.histogram(x, bins=30, density=True)
    middle = (edges[1:] + edges[:-1]) / 2
    np.testing.assert_allclose(h.density(library.asarray(middle)), peer)
    assert float(h.mean) == pytest.approx(x.mean(), abs=0.02)
    assert float(h.variance) == pytest.approx(x.var(), rel=0.03)
    assert float(h.entropy) == pytest.approx(
        0.5 * math.log(2 * math.pi * math.e), abs=0.05
    )
    again = Histogram.fit(h.sample(200_000, rng), bins=np.asarray(h.edges))
    assert float(abs(again.mass - h.mass).max()) < 0.005
    outside = h.log_prob(library.asarray([-99.0, 99.0]))
    assert np.isneginf(np.asarray(outside)).all()


def test_histogram_edges_weights_and_refusals():
    h = Histogram.fit([0.0, 1.0, 2.0], bins=[0, 1, 2])
    np.testing.assert_allclose(h.mass, [1 / 3, 2 / 3])  # the last edge is inside
    w = Histogram.fit([0.5, 1.5], bins=[0, 1, 2], weights=[3.0, 1.0])
    np.testing.assert_allclose(w.mass, [0.75, 0.25])
    s = w.from_stats(w.stats([0.5, 0.6, 1.5]), Dirichlet([2.0, 2.0]))
    np.testing.assert_allclose(s.mass, [0.6, 0.4])
    with pytest.raises(ValueError, match="outside of the edges"):
        Histogram.fit([0.5, 9.0], bins=[0, 1])
    with pytest.raises(ValueError, match="sum to 1"):
        Histogram([0, 1, 2], [0.5, 0.2])
    with pytest.raises(ValueError, match="rise"):
        Histogram([0, 0, 2], [0.5, 0.5])
    with pytest.raises(ValueError, match=r"b \+ 1 edges"):
        Histogram([0, 1], [0.5, 0.5])
    with pytest.raises(ValueError, match="finite"):
        Histogram.fit([0.0, np.nan])
    with pytest.raises(ValueError, match="family must be one of"):
        fit([1.0], "cauchy-ish")
    with pytest.raises(ValueError, match="shape must be"):
        fit([1.0, 2.0], shape="round")


# --- projections ---------------------------------------------------------------------


def bimodal(x):
    a = -0.5 * (x[:, 0] - 4) ** 2 + math.log(0.6)
    b = -0.5 * (x[:, 0] + 4) ** 2 + math.log(0.4)
    return np.logaddexp(a, b) + 3.0  # not normalised


def test_forward_covers_and_reverse_seeks_a_mode(rng):
    x = np.where(rng.random(20_000) < 0.6, 4.0, -4.0) + rng.standard_normal(20_000)
    forward = fit_forward_kl(x)
    assert forward.distribution.mean[0] == pytest.approx(x.mean())
    assert forward.distribution.cov[0, 0] == pytest.approx(x.var())
    assert forward.objective == pytest.approx(
        -np.mean(forward.distribution.log_prob(x)), rel=1e-9
    )
    reverse = fit_reverse_kl(bimodal, [[-2.0], [0.0], [2.0]])
    q = reverse.distribution
    assert reverse.converged
    assert q.mean[0] == pytest.approx(4, abs=0.01)
    assert q.cov[0, 0] == pytest.approx(1, abs=0.02)
    assert q.cov[0, 0] < forward.distribution.cov[0, 0] / 5
    # KL(q || p) = -log 0.6 for a mode of its own; the constant is log p's
    log_z = 3.0 + 0.5 * math.log(2 * math.pi)
    assert reverse.objective + log_z == pytest.approx(-math.log(0.6), abs=0.01)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("slope", [False, True])
def test_both_directions_recover_a_normal(d, slope, rng):
    A = rng.standard_normal((d, d))
    p = Normal(rng.standard_normal(d), A @ A.T + 0.5 * np.eye(d))
    gradient = lambda x: -(x - p.mean) @ np.linalg.inv(p.dense)
    found = fit_reverse_kl(
        p.log_prob, np.zeros(d), gradient=gradient if slope else None
    )
    q = found.distribution
    assert kl_gaussian(q.mean, q.dense, p.mean, p.dense) < 1e-3
    assert found.objective == pytest.approx(0, abs=2e-3)
    weighted = fit_forward_kl(p.sample(50_000, rng), weights=np.ones(50_000))
    assert np.allclose(weighted.distribution.mean, p.mean, atol=0.1)


def test_reverse_shapes_and_refusals():
    S = np.array([[2.0, 1.2], [1.2, 1.0]])
    p = Normal([1.0, 2.0], S)
    q = fit_reverse_kl(p.log_prob, [0.0, 0.0], shape="diag").distribution
    # mean field: the precisions are those of the coordinates
    np.testing.assert_allclose(q.cov, 1 / np.diag(np.linalg.inv(S)), rtol=1e-4)
    with pytest.raises(ValueError, match="full"):
        fit_reverse_kl(p.log_prob, [0.0, 0.0], shape="tied")
    with pytest.raises(ValueError, match="not finite"):
        fit_reverse_kl(lambda x: np.full(len(x), -np.inf), [0.0])

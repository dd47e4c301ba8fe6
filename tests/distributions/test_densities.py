"""Fits of named families, and the histogram."""

import math

import numpy as np
import pytest
from scipy import integrate

from pansophy.distributions import Beta, Binomial, Dirichlet, Histogram, fit
from pansophy.typing import Distribution


def test_binomial_and_unbiased_covariance_by_fit(rng):
    x = rng.binomial(5, 0.3, 4000)
    p = fit(x, "binomial", trials=5)
    assert isinstance(p, Binomial) and p.trials == 5
    assert p.prob[0] == pytest.approx(x.mean() / 5)
    assert fit(x, "binomial").trials == x.max()
    assert fit([0, 0], "binomial").prob[0] == 0
    mapped = fit([2], "binomial", trials=3, prior=Beta(2, 2))
    assert mapped.prob[0] == pytest.approx(3 / 5)
    with pytest.raises(ValueError, match="trials"):
        fit([6], "binomial", trials=5)
    X = rng.normal(size=(9, 3))
    np.testing.assert_allclose(fit(X, ddof=1).cov, np.cov(X.T))
    np.testing.assert_allclose(fit(X, shape="diag", ddof=1).cov, X.var(axis=0, ddof=1))
    spherical = fit(X, shape="spherical", ddof=1).cov
    assert spherical == pytest.approx(X.var(axis=0, ddof=1).mean())
    w = np.array([1, 2, 0, 3, 1, 1, 1, 1, 1])
    repeated = np.repeat(X, w, axis=0)
    np.testing.assert_allclose(fit(X, weights=w, ddof=1).cov, np.cov(repeated.T))
    for bad in ({"ddof": 2}, {"family": "poisson", "ddof": 1}):
        with pytest.raises(ValueError, match="ddof"):
            fit(np.abs(X), **bad)
    with pytest.raises(ValueError, match="more than one row"):
        fit(X[:1], ddof=1)


torch = pytest.importorskip("torch")
EVERYWHERE = (-math.inf, math.inf)


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

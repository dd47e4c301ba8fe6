"""Every distribution: normalised, sampled, summed up, recovered, on every backend."""

import math
from itertools import product

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from pansophy.distributions import (
    DISTRIBUTIONS,
    PRIORS,
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Gamma,
    Moments,
    Multinomial,
    Normal,
    NormalInverseWishart,
    Poisson,
)
from pansophy.typing import Distribution

torch = pytest.importorskip("torch")

COV = np.array([[2.0, 0.6], [0.6, 1.0]])
ONE = {
    Normal: Normal([1.0, 2.0], COV),
    Categorical: Categorical([0.5, 0.2, 0.3]),
    Multinomial: Multinomial([0.5, 0.2, 0.3], trials=4),
    Bernoulli: Bernoulli([0.3, 0.8]),
    Binomial: Binomial(5, [0.3, 0.6]),
    Poisson: Poisson([2.0, 0.7]),
    Dirichlet: Dirichlet([2.0, 3.0, 1.5]),
    Beta: Beta([2.0, 0.8], [3.0, 1.5]),
    Gamma: Gamma([2.0, 0.9], [1.5, 3.0]),
}
BATCH = {
    Normal: Normal(
        [[1.0, 2.0], [0.0, -1.0], [3.0, 0.0]], np.stack([COV, 2 * COV, COV])
    ),
    Categorical: Categorical([[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]]),
    Multinomial: Multinomial([[0.5, 0.2, 0.3], [0.1, 0.1, 0.8]], trials=4),
    Bernoulli: Bernoulli([[0.3, 0.8], [0.5, 0.1]]),
    Binomial: Binomial(5, [[0.3, 0.6], [0.9, 0.2]]),
    Poisson: Poisson([[2.0, 0.7], [1.0, 5.0]]),
    Dirichlet: Dirichlet([[2.0, 3.0, 1.5], [1.0, 1.0, 4.0]]),
    Beta: Beta([[2.0, 0.8], [1.0, 1.0]], [[3.0, 1.5], [2.0, 1.0]]),
    Gamma: Gamma([[2.0, 0.9], [1.0, 1.0]], [[1.5, 3.0], [1.0, 2.0]]),
}
PARAMETERS = {
    Normal: ("mean", "cov"),
    Categorical: ("prob",),
    Multinomial: ("prob",),
    Bernoulli: ("prob",),
    Binomial: ("prob",),
    Poisson: ("rate",),
    Dirichlet: ("concentration",),
    Beta: ("a", "b"),
    Gamma: ("shape", "rate"),
}
each = pytest.mark.parametrize("family", DISTRIBUTIONS, ids=lambda c: c.__name__)
EXTRA = {Binomial: {"trials": 5}, Multinomial: {"trials": 4}}


def remade(family, p, convert):
    """The same distribution with parameters of another library."""
    values = [convert(getattr(p, name)) for name in PARAMETERS[family]]
    if family is Binomial:
        return Binomial(p.trials, *values)
    return family(*values)


def leaves(s):
    if isinstance(s, Moments):
        return [s.weight, s.mean, s.scatter]
    return [s.weight, *s.total]


def plus(a, b):
    if isinstance(a, Moments):
        return a + b
    total = tuple(x + y for x, y in zip(a.total, b.total, strict=True))
    return type(a)(a.weight + b.weight, total)


def test_every_member_is_tested_and_keeps_the_contract():
    assert set(ONE) == set(BATCH) == set(DISTRIBUTIONS)
    assert all(isinstance(p, Distribution) for p in [*ONE.values(), *BATCH.values()])


@pytest.mark.parametrize("p", [Normal(0.5, 2.0), Beta(2.0, 3.0), Gamma(2.0, 1.5)])
def test_densities_integrate_to_one(p):
    low, high = {Normal: (-20, 20), Beta: (0, 1), Gamma: (0, 60)}[type(p)]
    area, _ = integrate.quad(lambda x: math.exp(p.log_prob([x])[0]), low, high)
    assert area == pytest.approx(1, abs=1e-7)


def test_the_plane_integrates_to_one():
    g = np.linspace(-12, 14, 401)
    X = np.array(list(product(g, g)))
    area = np.exp(ONE[Normal].log_prob(X)).sum() * (g[1] - g[0]) ** 2
    assert area == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    ("p", "support"),
    [
        (ONE[Categorical], np.arange(3)),
        (ONE[Bernoulli], np.array(list(product([0, 1], repeat=2)))),
        (ONE[Binomial], np.array(list(product(range(6), repeat=2)))),
        (ONE[Poisson], np.array(list(product(range(60), repeat=2)))),
        (
            ONE[Multinomial],
            np.array([c for c in product(range(5), repeat=3) if sum(c) == 4]),
        ),
    ],
    ids=lambda v: type(v).__name__,
)
def test_masses_sum_to_one(p, support):
    assert np.exp(p.log_prob(support)).sum() == pytest.approx(1, abs=1e-12)


@each
def test_sample_moments(family, rng):
    """False alarms: five standard errors, about one run in a million per number."""
    p, n = ONE[family], 40_000
    X = p.sample(n, rng)
    assert X.shape == (n,) if family is Categorical else X.shape[0] == n
    error = X.std(axis=0) / math.sqrt(n)
    assert np.all(np.abs(X.mean(axis=0) - p.mean) <= 5 * error + 1e-12)
    if family is not Categorical:
        assert np.allclose(X.var(axis=0), p.variance, rtol=0.1)
    if hasattr(p, "entropy"):
        assert float(p.entropy) == pytest.approx(-p.log_prob(X).mean(), abs=0.05)


@each
def test_batch_is_its_components(family, rng):
    p = BATCH[family]
    first = getattr(p, PARAMETERS[family][0])
    X = ONE[family].sample(50, rng)
    L = p.log_prob(X)
    k = first.shape[0]
    assert L.shape == (50, k)
    draws = p.sample(7, rng)
    assert draws.shape[:2] == (7, k)
    for j in range(k):
        one = remade(family, p, lambda a, j=j: a[j])
        assert np.allclose(one.log_prob(X), L[:, j], rtol=1e-12, atol=1e-12)


@each
def test_stats_add_up(family, rng):
    p, q = ONE[family], BATCH[family]
    X, R = p.sample(61, rng), rng.random((61, 3))
    for w in (None, R[:, 0], R):
        cut = lambda s, w=w: None if w is None else w[s]
        whole = leaves(q.stats(X, w))
        parts = plus(
            q.stats(X[:20], cut(slice(20))), q.stats(X[20:], cut(slice(20, 61)))
        )
        for a, b in zip(whole, leaves(parts), strict=True):
            assert np.allclose(a, b, rtol=1e-12, atol=1e-12)
    batch = leaves(q.stats(X, R))
    for j in range(3):
        for a, b in zip(batch, leaves(q.stats(X, R[:, j])), strict=True):
            assert np.allclose(a[j], b, rtol=1e-12, atol=1e-12)


@each
def test_weights_are_repetitions(family, rng):
    p = ONE[family]
    X, w = p.sample(30, rng), rng.integers(0, 4, 30)
    a, b = p.stats(X, w.astype(float)), p.stats(np.repeat(X, w, axis=0))
    for x, y in zip(leaves(a), leaves(b), strict=True):
        assert np.allclose(x, y, rtol=1e-12, atol=1e-12)


@each
def test_from_stats_recovers_and_is_likeliest(family, rng):
    p = ONE[family]
    X = p.sample(60_000, rng)
    q = family.from_stats(p.stats(X), **EXTRA.get(family, {}))
    for name in PARAMETERS[family]:
        assert np.allclose(getattr(q, name), getattr(p, name), rtol=0.06, atol=0.02)
    best = q.log_prob(X).mean()
    assert best >= p.log_prob(X).mean()
    for name in PARAMETERS[family]:  # no step in any parameter does better
        for step in (0.97, 1.03):
            values = {n: getattr(q, n) for n in PARAMETERS[family]}
            values[name] = values[name] * step
            if name == "prob" and family in (Categorical, Multinomial):
                tilt = np.array([step, 1, 1]) * q.prob
                values[name] = tilt / tilt.sum()
            other = family(**values, **EXTRA.get(family, {}))
            assert other.log_prob(X).mean() < best


@pytest.mark.parametrize("library", ["torch", "strict"])
@each
def test_backends_agree(family, library, rng):
    convert = torch.asarray if library == "torch" else strict.asarray
    back = lambda a: np.asarray(a) if library == "torch" else np.from_dlpack(a)
    p, R = BATCH[family], rng.random((20, 2 + (family is Normal)))
    X = ONE[family].sample(20, rng)
    q = remade(family, p, convert)
    Y = convert(X)
    L = q.log_prob(Y)
    assert type(L) is type(Y)
    assert np.allclose(back(L), p.log_prob(X), rtol=1e-12)
    a, b = q.stats(Y, convert(R)), p.stats(X, R)
    for x, y in zip(leaves(a), leaves(b), strict=True):
        assert np.allclose(back(x), y, rtol=1e-12)
    fitted = family.from_stats(a, **EXTRA.get(family, {}))
    again = family.from_stats(b, **EXTRA.get(family, {}))
    for name in PARAMETERS[family]:
        assert np.allclose(back(getattr(fitted, name)), getattr(again, name), rtol=1e-9)
    assert type(q.sample(3, rng)) is type(Y)


@each
def test_agrees_with_scipy(family, rng):
    p, X = ONE[family], ONE[family].sample(40, rng)
    peer = {
        Normal: lambda: stats.multivariate_normal(p.mean, p.cov).logpdf(X),
        Categorical: lambda: np.log(p.prob[X]),
        Multinomial: lambda: stats.multinomial(4, p.prob).logpmf(X),
        Bernoulli: lambda: stats.bernoulli(p.prob).logpmf(X).sum(1),
        Binomial: lambda: stats.binom(5, p.prob).logpmf(X).sum(1),
        Poisson: lambda: stats.poisson(p.rate).logpmf(X).sum(1),
        Dirichlet: lambda: np.array(
            [stats.dirichlet(p.concentration).logpdf(x) for x in X]
        ),
        Beta: lambda: stats.beta(p.a, p.b).logpdf(X).sum(1),
        Gamma: lambda: stats.gamma(p.shape, scale=1 / p.rate).logpdf(X).sum(1),
    }[family]()
    assert np.allclose(p.log_prob(X), peer, rtol=1e-10)


@given(order=st.permutations(range(6)))
def test_conjugate_updates_come_in_any_order(order):
    """Batch equals single updates in any order, for every conjugate pair."""
    rng = np.random.default_rng(3)
    start = {
        Categorical: Dirichlet([1.0, 2.0, 0.5]),
        Multinomial: Dirichlet([1.0, 2.0, 0.5]),
        Bernoulli: Beta([1.0, 2.0], [2.0, 1.0]),
        Poisson: Gamma([1.0, 2.0], [2.0, 1.0]),
        Normal: NormalInverseWishart(np.zeros(2), 0.5, np.eye(2), 3.0),
    }
    assert set(start) == set(PRIORS)
    for family, prior in start.items():
        assert type(prior) is PRIORS[family]
        p = ONE[family]
        X = p.sample(6, rng)
        batch, single = prior.posterior(p.stats(X)), prior
        for i in order:
            single = single.posterior(p.stats(X[i : i + 1]))
        for name in vars(prior):
            assert np.allclose(getattr(batch, name), getattr(single, name))


def test_bad_values_are_named():
    with pytest.raises(ValueError, match="sum to 1"):
        Categorical([0.5, 0.4])
    with pytest.raises(ValueError, match="from 0 to 2"):
        Categorical([0.5, 0.25, 0.25]).log_prob([3])
    with pytest.raises(ValueError, match="rows of 2 values"):
        ONE[Normal].log_prob(np.zeros((3, 4)))
    with pytest.raises(ValueError, match=r"has shape \(2, 3, 3\)"):
        Normal(np.zeros((2, 3)), np.eye(3))
    with pytest.raises(ValueError, match="component 1 is not positive definite"):
        Normal(np.zeros((2, 2)), np.stack([COV, 0 * COV])).log_prob(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="no conjugate prior"):
        Gamma.from_stats(ONE[Gamma].stats(np.ones((2, 2))), prior=Beta(1.0, 1.0))

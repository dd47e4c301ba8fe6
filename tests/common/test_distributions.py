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
    SHAPES,
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Gamma,
    GridPosterior,
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


@pytest.mark.parametrize("shape", SHAPES)
def test_covariance_shapes_are_normals(shape, rng):
    """Every shape agrees with the dense Normal and keeps its constraint."""
    X, R = rng.normal(size=(80, 3)) @ rng.normal(size=(3, 3)), rng.random((80, 4))
    some = Normal(np.zeros((4, 3)), np.ones((4, 3)), "diag")
    m = Normal(np.zeros((4, 3)), default_cov(shape), shape).stats(X, R)
    q = Normal.from_stats(m)
    dense = Normal(q.mean, q.dense)
    assert np.allclose(q.log_prob(X), dense.log_prob(X), rtol=1e-11)
    assert np.allclose(q.entropy, dense.entropy)
    assert np.allclose(q.mean, some.stats(X, R).mean)
    assert (
        q.part.free(3, 4) == {"full": 30, "tied": 10, "diag": 12, "spherical": 3}[shape]
    )
    if shape == "tied":
        N, full = R.sum(0), Normal.from_stats(dense.stats(X, R))
        assert np.allclose(q.cov, np.einsum("k,kij->ij", N / N.sum(), full.cov))
    assert np.allclose(q[1].log_prob(X), q.log_prob(X)[:, 1])
    z = rng.integers(4, size=4000)
    draws = q.draw(z, rng)
    assert np.allclose(draws[z == 2].mean(0), q.mean[2], atol=0.3)


def default_cov(shape):
    table = {"full": np.stack([np.eye(3)] * 4), "tied": np.eye(3)}
    return {**table, "diag": np.ones((4, 3)), "spherical": np.ones(4)}[shape]


def test_nested_shapes_fit_no_better(rng):
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3))
    fit = lambda s: Normal.from_stats(
        Normal(np.zeros(3), np.ones(3) if s == "diag" else 1.0, s).stats(X)
    )
    full = Normal.from_stats(Normal(np.zeros(3), np.eye(3)).stats(X))
    values = [p.log_prob(X).sum() for p in (fit("spherical"), fit("diag"), full)]
    assert values == sorted(values)


def test_moments_keep_their_digits(rng):
    """Eq. (2) of normal.py at a mean of 1e8, where sums of squares have no digit."""
    X = rng.normal(size=(1000, 2))
    p = Normal([0.0, 0.0], np.eye(2))
    far = p.stats(X[:400] + 2.0**27) + p.stats(X[400:] + 2.0**27)
    near = p.stats((X + 2.0**27) - 2.0**27)
    assert np.allclose(far.scatter, near.scatter, rtol=1e-6)


def test_gaussian_numbers():
    """W15 of 000, W31 of 001, X6 of 002."""
    X = np.array([[1.0, 2.0], [3.0, 0.0], [2.0, 4.0]])
    full = Normal.from_stats(Normal([0.0, 0.0], np.eye(2)).stats(X))
    assert np.allclose(full.mean, [2, 2])
    assert np.allclose(full.cov, [[2 / 3, -2 / 3], [-2 / 3, 8 / 3]])
    ball = Normal.from_stats(Normal([0.0, 0.0], 1.0, "spherical").stats(X))
    assert float(ball.cov) == pytest.approx(5 / 3)
    assert -ball.log_prob(X).mean() == pytest.approx(3.3487027, abs=1e-7)
    p = Normal([2.0, 0.0], [[2.0, 1.0], [1.0, 2.0]])
    assert math.exp(p.log_prob([[1.0, 1.0]])[0]) == pytest.approx(0.0338038, abs=1e-7)
    q = Normal([1.0, 2.0], COV).condition([1], [3.0])
    assert np.allclose([q.mean[0], q.cov[0, 0]], [1.6, 1.64])
    assert q.cov[0, 0] == pytest.approx(1 / np.linalg.inv(COV)[0, 0])


@given(seed=st.integers(0, 10_000))
def test_conditional_times_marginal_is_the_joint(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(4, 4))
    p, x = Normal(rng.normal(size=4), A @ A.T + np.eye(4)), rng.normal(size=4)
    given_, rest = [1, 3], [0, 2]
    both = p.condition(given_, x[given_]).log_prob(x[None, rest]) + p.marginal(
        given_
    ).log_prob(x[None, given_])
    assert np.allclose(both, p.log_prob(x[None]), rtol=1e-9)
    assert np.all(p.condition(given_, x[given_]).variance <= p.marginal(rest).variance)


def test_binomial_and_bernoulli_numbers():
    """W21 of 004; one trial is Bernoulli."""
    assert math.exp(Binomial(5, 0.3).log_prob([2])[0]) == pytest.approx(0.3087)
    x = [0, 1, 1]
    assert np.allclose(Binomial(1, 0.3).log_prob(x), Bernoulli(0.3).log_prob(x))


def test_beta_numbers():
    """W32 of 001 and E13 of 002: the mode of Beta(1, 1) is ML, the mean is not."""
    see = lambda *x: Bernoulli(0.5).stats(np.array(x))
    assert Beta(2.0, 2.0).posterior(see(1, 1, 1, 0)).mode[0] == pytest.approx(2 / 3)
    assert Beta(2.0, 2.0).posterior(see(1, 1, 1, 0)).mean[0] == pytest.approx(0.625)
    assert Beta(5.0, 5.0).posterior(see(1)).mode[0] == pytest.approx(5 / 9)
    assert Beta(2.0, 2.0).posterior(see(1)).mean[0] == pytest.approx(0.6)
    assert Bernoulli.from_stats(see(1), prior=Beta(1.0, 1.0)).prob[0] == 1.0
    assert Bernoulli.from_stats(see(1)).prob[0] == 1.0


def test_dirichlet_numbers(rng):
    """Two symbols are a Beta; posterior, MAP and mean of counts (K032)."""
    x = rng.random(9)
    D, B = Dirichlet([2.0, 3.5]), Beta(2.0, 3.5)
    assert np.allclose(D.log_prob(np.c_[x, 1 - x]), B.log_prob(x))
    a, seen = np.array([2.0, 1.5, 3.0]), np.array([0, 0, 2, 1, 0])
    s = Categorical(np.full(3, 1 / 3)).stats(seen)
    n = np.array([3, 1, 1])
    post = Dirichlet(a).posterior(s)
    assert np.allclose(post.concentration, a + n)
    assert np.allclose(post.mean, (n + a) / (5 + a.sum()))
    assert np.allclose(post.mode, (n + a - 1) / (5 + (a - 1).sum()))
    assert np.allclose(Categorical.from_stats(s, prior=Dirichlet(a)).prob, post.mode)
    assert np.allclose(Dirichlet(np.ones(3)).log_prob([[0.0, 0.5, 0.5]]), math.log(2))


@given(order=st.permutations(range(6)))
def test_conjugate_updates_come_in_any_order(order):
    """K034: batch equals single updates in any order, for every conjugate pair."""
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


def test_niw_map_is_positive_definite_and_flat_prior_is_ml(rng):
    X = rng.normal(size=(3, 5)) + 4
    p = Normal(np.zeros(5), np.eye(5))
    prior = NormalInverseWishart(np.zeros(5), 1.0, np.eye(5), 7.0)
    q = Normal.from_stats(p.stats(X), prior=prior)
    assert np.linalg.eigvalsh(q.cov).min() > 0
    assert np.linalg.matrix_rank(Normal.from_stats(p.stats(X)).cov) < 5
    more = rng.normal(size=(50, 5))
    flat = NormalInverseWishart(np.zeros(5), 0.0, np.zeros((5, 5)), -7.0)
    ml, mp = (Normal.from_stats(p.stats(more), prior=f) for f in (None, flat))
    assert np.allclose(ml.mean, mp.mean)
    assert np.allclose(ml.cov, mp.cov)
    R = rng.random((50, 2))
    two = Normal.from_stats(p.stats(more, R), prior=prior)
    one = Normal.from_stats(p.stats(more, R[:, 1]), prior=prior)
    assert np.allclose(two.cov[1], one.cov)
    assert np.allclose(two.mean[1], one.mean)


def test_niw_density_and_draws(rng):
    prior = NormalInverseWishart(np.array([1.0, -1.0]), 2.0, COV, 6.0)
    pair = prior.sample(4000, rng)
    assert np.allclose(pair.mean.mean(0), prior.mean, atol=0.05)
    assert np.allclose(pair.cov.mean(0), prior.expected().cov, atol=0.1)
    peer = stats.invwishart(6, COV).logpdf(np.moveaxis(pair.cov[:5], 0, -1)) + [
        stats.multivariate_normal(prior.mean, S / 2).logpdf(m)
        for m, S in zip(pair.mean[:5], pair.cov[:5], strict=True)
    ]
    assert np.allclose(prior.log_prob((pair.mean[:5], pair.cov[:5])), peer)
    best = prior.log_prob(prior.mode)[0]
    assert np.all(prior.log_prob(pair) <= best)


def test_grid_posterior_is_the_beta(rng):
    """K034: any prior and likelihood by quadrature, here ones with a closed form."""
    theta = np.linspace(0, 1, 4001)
    prior = GridPosterior(theta, Beta(2.0, 3.0).log_prob(theta))
    x = np.array([1, 1, 1, 0, 1])
    with np.errstate(divide="ignore"):
        post = prior.update(lambda p: Bernoulli(p).log_prob(x).sum())
    exact = Beta(2.0, 3.0).posterior(Bernoulli(0.5).stats(x))
    assert np.trapezoid(post.density, theta) == pytest.approx(1)
    assert np.allclose(post.density, np.exp(exact.log_prob(theta)), atol=1e-5)
    assert post.mean == pytest.approx(float(exact.mean[0]), abs=1e-6)
    assert post.variance == pytest.approx(float(exact.variance[0]), abs=1e-6)
    assert post.mode == pytest.approx(float(exact.mode[0]), abs=3e-4)
    assert post.log_prob([0.5, 2.0])[1] == -np.inf
    assert post.sample(9000, rng).mean() == pytest.approx(post.mean, abs=0.01)
    with pytest.raises(ValueError, match="must rise"):
        GridPosterior([1.0, 0.0], [0.0, 0.0])


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

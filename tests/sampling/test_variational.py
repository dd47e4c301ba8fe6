"""The evidence lower bound and what maximises it: mean field, ADVI, Laplace."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln

from pansophy.distributions import Normal
from pansophy.sampling import (
    ADVI,
    MeanField,
    MeanFieldModel,
    elbo,
    laplace_approximate,
    likelihood_gain,
    logistic_density,
)
from pansophy.sampling.conjugate_models import (
    DiscreteField,
    GaussianTarget,
    LinearARD,
    NormalSample,
)


def tables(seed, n=3, k=4):
    """log p(z), log p(x, z) of n rows, and any q."""
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(k))
    joint = prior * rng.random((n, k))
    return np.log(prior), np.log(joint), rng.dirichlet(np.ones(k), size=n)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_three_forms_agree_and_bound_the_evidence(seed):
    log_prior, log_joint, q = tables(seed)
    b = elbo(log_joint, q, log_prior=log_prior)
    np.testing.assert_allclose(b.forms, b.value, rtol=1e-10, atol=1e-10)
    exact = np.log(np.exp(log_joint).sum(axis=1)).sum()
    assert b.log_evidence == pytest.approx(exact) and b.gap > 0 < b.kl_prior
    assert b.gap == pytest.approx(b.kl_posterior)
    post = np.exp(log_joint) / np.exp(log_joint).sum(axis=1, keepdims=True)
    assert elbo(log_joint, post).gap == pytest.approx(0, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_gain_is_q_gain_plus_divergence(seed):
    old, new = tables(seed)[1], tables(seed + 1)[1]
    gain = likelihood_gain(old, new)
    assert gain.total == pytest.approx(gain.expected + gain.kl) and gain.kl >= 0
    assert likelihood_gain(old, old) == pytest.approx((0, 0, 0), abs=1e-12)


def test_elbo_by_draws():
    """z ~ N(0, 1), x | z ~ N(z, 1): p(x) = N(0, 2), posterior N(x/2, 1/2)."""
    x, prior = 1.4, Normal(0.0, 1.0)
    joint = lambda z: prior.log_prob(z) + stats.norm.logpdf(x, z[:, 0], 1)
    evidence, post = stats.norm.logpdf(x, 0, np.sqrt(2)), Normal(x / 2, 0.5)
    parts = {"log_prior": prior.log_prob, "log_posterior": post.log_prob}
    best = elbo(joint, post, log_evidence=evidence, random_state=0, **parts)
    np.testing.assert_allclose(best.forms, evidence, rtol=1e-12)
    assert best.se < 1e-12
    q = Normal(0.0, 1.0)
    b = elbo(joint, q, log_evidence=evidence, n=20_000, random_state=0, **parts)
    assert b.forms[1] == pytest.approx(b.value)
    assert abs(b.forms[2] - b.value) < 1e-9  # the same draws in each form
    kl = 0.5 * (2 + 2 * 0.49 - 1 - np.log(2))
    assert abs(b.kl_posterior - kl) < 4.5 * b.se and b.value < evidence


def test_elbo_refuses():
    with pytest.raises(ValueError, match="same shape"):
        elbo(np.zeros(3), np.ones(2) / 2)
    with pytest.raises(ValueError, match="sum to 1"):
        elbo(np.zeros(2), np.ones(2))


def rises(run):
    steps = np.diff(run.history.ravel())
    return steps.min() >= -1e-9 * (1 + np.abs(run.history).max())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_gaussian_factors_are_too_narrow(seed, d):
    """Means right, variances 1 / Lambda_ii, at most those of the marginals."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    S = A @ A.T + 0.5 * np.eye(d)
    L, mu = np.linalg.inv(S), rng.normal(size=d)
    run = MeanField(GaussianTarget(mu, L), max_iter=2000, tol=1e-12).run()
    q = [run[f"z{j}"] for j in range(d)]
    np.testing.assert_allclose([f.mean[0] for f in q], mu, atol=1e-3)
    v = np.array([f.cov[0, 0] for f in q])
    np.testing.assert_allclose(v, 1 / np.diag(L))
    assert (v <= np.diag(S) * (1 + 1e-12)).all() and rises(run) and run.bound <= 1e-9


def test_exact_when_the_posterior_factorises():
    L = np.diag([1.0, 4.0, 0.5])
    run = MeanField(GaussianTarget([1, 2, 3], L)).run()
    assert run.bound == pytest.approx(0, abs=1e-12)  # the evidence of a density is 1
    block = np.kron(np.eye(2), [[2.0, 0.9], [0.9, 2.0]])
    run = MeanField(GaussianTarget(np.zeros(4), block, [[0, 1], [2, 3]])).run()
    assert run.bound == pytest.approx(0, abs=1e-12)
    p, r = np.array([0.2, 0.8]), np.array([0.5, 0.3, 0.2])
    field = DiscreteField((2, 3), [((0,), 3 * p), ((1,), r)])
    run = MeanField(field).run()
    np.testing.assert_allclose(run["z0"], p)
    assert run.bound == pytest.approx(np.log(3))


def test_normal_sample():
    """The bound lies just below the evidence of the conjugate model."""
    x = np.random.default_rng(0).normal(3, 2, size=40)
    k0, a0, b0, n = 0.1, 2.0, 3.0, 40
    run = MeanField(NormalSample(x, 0.0, k0, a0, b0)).run()
    kn, an = k0 + n, a0 + n / 2
    bn = b0 + 0.5 * n * x.var() + 0.5 * k0 * n * x.mean() ** 2 / kn
    evidence = gammaln(an) - gammaln(a0) + a0 * np.log(b0) - an * np.log(bn)
    evidence += 0.5 * np.log(k0 / kn) - n / 2 * np.log(2 * np.pi)
    assert 0 < evidence - run.bound < 0.02 and rises(run) and run.converged
    assert run["mean"].mean[0] == pytest.approx(n * x.mean() / kn)
    assert float(run["precision"].mean) == pytest.approx(an / bn, rel=0.02)


def test_relevance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 8))
    y = 2 * X[:, 0] - X[:, 3] + 0.3 * rng.normal(size=150)
    run = MeanField(LinearARD(X, y)).run()
    w = run["w"].mean
    np.testing.assert_allclose(w[[0, 3]], [2, -1], atol=0.08)
    assert np.abs(np.delete(w, [0, 3])).max() < 0.08 and rises(run)
    assert 1 / np.sqrt(float(run["noise"].mean)) == pytest.approx(0.3, rel=0.15)
    alpha = run["alpha"].mean
    assert np.delete(alpha, [0, 3]).min() > 20 * alpha[[0, 3]].max()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_discrete_fields(seed):
    """The bound never falls and stays below log Z, by enumeration."""
    rng = np.random.default_rng(seed)
    sizes = (2, 3, 2)
    parts = [(0, 1), (1, 2), (0, 2), (1,)]
    factors = [(v, rng.gamma(1, size=[sizes[i] for i in v]) + 0.05) for v in parts]
    run = MeanField(DiscreteField(sizes, factors)).run()
    (_, ab), (_, bc), (_, ac), (_, b) = factors
    log_z = np.log(np.einsum("ab,bc,ac,b->", ab, bc, ac, b))
    assert rises(run) and run.bound <= log_z + 1e-9
    q = np.einsum("a,b,c->abc", *(run[f"z{i}"] for i in range(3)))
    joint = np.log(np.einsum("ab,bc,ac,b->abc", ab, bc, ac, b))
    assert run.bound == pytest.approx(elbo(joint.ravel(), q.ravel()).value)


def test_wrong_updates_are_noticed():
    factors = {"a": 2.0}
    wrong = MeanFieldModel(
        factors, {"a": lambda q: q["a"] + 1}, lambda q: -(q["a"] ** 2)
    )
    with pytest.warns(RuntimeWarning, match="the bound fell"):
        MeanField(wrong, max_iter=3).run()
    with pytest.raises(ValueError, match="not positive"):
        MeanField(DiscreteField((2,), [((0,), [0.0, 1.0])])).run()


A = np.random.default_rng(3).normal(size=(4, 4))
COV = A @ A.T / 4 + 0.2 * np.eye(4)
PRECISION = np.linalg.inv(COV)
MU = np.array([1.0, -2.0, 0.5, 0.0])
normal = lambda x: -0.5 * np.sum(((x - MU) @ PRECISION) * (x - MU), axis=-1)
slope = lambda x: -(x - MU) @ PRECISION
LOG_Z = 0.5 * np.linalg.slogdet(2 * np.pi * COV)[1]


@pytest.mark.parametrize("solver", ["adam", "fixed"])
def test_advi_is_exact_on_a_gaussian(solver):
    how = {"grad": slope, "solver": solver}
    run = ADVI(normal, family="full_rank", **how).run(np.zeros(4), 0)
    np.testing.assert_allclose(run.mean, MU, atol=1e-4)
    np.testing.assert_allclose(run.normal.cov, COV, atol=1e-3)
    assert run.elbo == pytest.approx(LOG_Z, abs=1e-4) and run.se < 1e-4
    assert run.history[-1] > run.history[0]
    run = ADVI(normal, **how).run(np.zeros(4), 0)
    np.testing.assert_allclose(run.mean, MU, atol=1e-3)
    np.testing.assert_allclose(run.normal.variance, 1 / np.diag(PRECISION), rtol=0.06)
    assert run.elbo < LOG_Z
    assert run.sample(5, random_state=0).shape == (5, 4)


def test_advi_and_laplace_on_logistic_regression():
    """Near each other and near a long chain of NUTS."""
    from pansophy.sampling import NUTS, sample

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (rng.random(400) < 1 / (1 + np.exp(-X @ [1.0, -0.5, 0.3]))).astype(float)
    density = logistic_density(X, y)
    flat = sample(NUTS(density), 1000, init=np.zeros(3), random_state=0).flat
    sd = flat.std(axis=0)
    near = laplace_approximate(density, np.zeros(3))
    assert near.converged
    np.testing.assert_allclose(near.mode, flat.mean(axis=0), atol=0.25 * sd.max())
    for solver in ("adam", "fixed"):
        run = ADVI(density, family="full_rank", solver=solver).run(np.zeros(3), 0)
        np.testing.assert_allclose(run.mean, flat.mean(axis=0), atol=0.12 * sd.max())
        np.testing.assert_allclose(np.sqrt(run.normal.variance), sd, rtol=0.1)
        assert run.elbo == pytest.approx(near.log_evidence, abs=0.2)


def test_advi_by_torch():
    torch = pytest.importorskip("torch")
    L = torch.as_tensor(PRECISION)
    mu = torch.as_tensor(MU)
    f = lambda x: -0.5 * (((x - mu) @ L) * (x - mu)).sum(-1)
    run = ADVI(f, family="full_rank", solver="fixed").run(np.zeros(4), 0)
    np.testing.assert_allclose(run.normal.cov, COV, atol=1e-3)
    with pytest.raises(TypeError, match="needs the gradient"):
        ADVI(lambda x: -np.square(x.item()), batched=False).run([0.0])


def test_laplace():
    near = laplace_approximate(normal, np.zeros(4))  # by differences of values
    np.testing.assert_allclose(near.mode, MU, atol=1e-5)
    np.testing.assert_allclose(near.normal.cov, COV, rtol=1e-3, atol=1e-4)
    near = laplace_approximate(normal, np.zeros(4), grad=slope)
    np.testing.assert_allclose(near.normal.cov, COV, rtol=1e-7)
    assert near.log_evidence == pytest.approx(LOG_Z, abs=1e-8)
    with pytest.raises(ValueError, match="no peak"):
        laplace_approximate(lambda x: x[0] ** 2, [0.0])

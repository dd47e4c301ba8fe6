"""Mean fields of conjugate models: exact where they factorise, known samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln

from pansophy.sampling import MeanField, elbo
from pansophy.sampling.densities.conjugate_models import (
    DiscreteField,
    GaussianTarget,
    LinearARD,
    NormalSample,
)


def rises(run):
    steps = np.diff(run.history.ravel())
    return steps.min() >= -1e-9 * (1 + np.abs(run.history).max())


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


def test_the_bound_of_a_regression_is_the_mean_of_log_p_less_log_q():
    """Against draws from q, with SciPy's densities.

    The mean of 40,000 draws is off by more than six standard errors in 2e-9 of all
    samples, as far as it is Gaussian.
    """
    rng = np.random.default_rng(2)
    X = rng.normal(size=(25, 2))
    y = X @ [1.0, -0.5] + 0.4 * rng.normal(size=25)
    shape, rate = 2.0, 1.5
    run = MeanField(LinearARD(X, y, shape, rate)).run()
    w, alpha, noise = (run[name] for name in ("w", "alpha", "noise"))
    q_w = stats.multivariate_normal(w.mean, w.cov)
    gamma = lambda g: stats.gamma(np.asarray(g.shape), scale=1 / np.asarray(g.rate))
    q_alpha, q_noise, prior = (
        gamma(alpha),
        gamma(noise),
        stats.gamma(shape, scale=1 / rate),
    )
    n = 40_000
    W = q_w.rvs(n, random_state=rng)
    A = q_alpha.rvs((n, 2), random_state=rng)
    t = np.ravel(q_noise.rvs(n, random_state=rng))
    log_p = stats.norm(W @ X.T, 1 / np.sqrt(t)[:, None]).logpdf(y).sum(axis=1)
    log_p += stats.norm(0, 1 / np.sqrt(A)).logpdf(W).sum(axis=1)
    log_p += prior.logpdf(A).sum(axis=1) + prior.logpdf(t)
    log_q = q_w.logpdf(W) + q_alpha.logpdf(A).sum(axis=1) + np.ravel(q_noise.logpdf(t))
    gap = log_p - log_q
    assert abs(gap.mean() - run.bound) < 6 * gap.std() / np.sqrt(n)
    assert gap.std() / np.sqrt(n) < 0.02

"""EM: the likelihood never falls, for each model on the driver."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.core.em import EMState, em
from pansophy.core.numerics import logsumexp
from pansophy.core.rows import as_rows
from pansophy.distributions import Bernoulli, Categorical, Normal, Poisson
from pansophy.mixture import gaussian_em as gmm
from pansophy.state_space import hmm

# -- the driver on a mixture of any family, in ten lines


def mixture(X, family):
    def expect(p):
        w, parts = p
        L = parts.log_prob(X) + np.log(w)
        norm = logsumexp(L, axis=1)
        R = np.exp(L - norm[:, None])
        return (R.sum(0), parts.stats(X, R)), norm.sum()

    def maximise(s):
        return s[0] / s[0].sum(), family.from_stats(s[1])

    return expect, maximise


def check_rising(result, slack=1e-9):
    trace = -result.history["objective"]
    assert np.all(np.diff(trace) >= -slack * np.abs(trace[1:]))


def test_trace_of_the_worked_example():
    """EM of two Normals on six numbers: responsibilities, log-likelihoods and limit."""
    X = np.array([-2.0, -1, 0, 4, 5, 6])[:, None]
    first = (np.array([0.5, 0.5]), Normal([[0.0], [1.0]], [[1.0], [1.0]], "diag"))
    expect, maximise = mixture(X, Normal)
    R = np.exp(first[1].log_prob(X))
    gamma = (R / R.sum(1, keepdims=True))[:, 0]
    numbers = [0.924142, 0.817574, 0.622459, 0.029312, 0.010987, 0.004070]
    assert np.allclose(gamma, numbers, atol=1e-6)
    run = em(expect, maximise, first, max_iter=3, tol=0)
    trace = [expect(first)[1], *-run.history["objective"]]
    assert np.allclose(
        trace, [-36.373258, -13.517678, -12.601565, -11.569570], atol=1e-6
    )
    run = em(expect, maximise, run.state, max_iter=100, tol=1e-13)
    assert isinstance(run.state, EMState)
    w, parts = run.state.params
    assert -run.objective == pytest.approx(-11.456119, abs=1e-6)
    assert np.allclose(w, 0.5, atol=1e-4)
    assert np.allclose(parts.mean[:, 0], [-1, 5], atol=1e-3)
    assert np.allclose(parts.cov, 2 / 3, atol=1e-3)


FAMILIES = {
    "normal": lambda rng: (
        rng.normal(size=(60, 2)) * 3,
        Normal(rng.normal(size=(3, 2)), np.ones((3, 2)), "diag"),
    ),
    "bernoulli": lambda rng: (
        rng.integers(2, size=(60, 4)),
        Bernoulli(rng.uniform(0.2, 0.8, size=(3, 4))),
    ),
    "poisson": lambda rng: (
        rng.poisson(3, size=(60, 2)),
        Poisson(rng.uniform(1, 5, size=(3, 2))),
    ),
    "categorical": lambda rng: (
        rng.integers(5, size=60),
        Categorical(rng.dirichlet(np.ones(5), size=3)),
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
@given(seed=st.integers(0, 10_000))
def test_mixtures_of_any_family_rise(name, seed):
    X, parts = FAMILIES[name](np.random.default_rng(seed))
    expect, maximise = mixture(X, type(parts))
    check_rising(em(expect, maximise, (np.full(3, 1 / 3), parts), max_iter=12, tol=0))


GAUSSIAN = ["full", "tied", "diag", "spherical", "low_rank"]


@given(
    seed=st.integers(0, 10_000),
    shape=st.sampled_from(GAUSSIAN),
    weighted=st.booleans(),
    missing=st.booleans(),
    hard=st.booleans(),
    labelled=st.booleans(),
    prior=st.booleans(),
)
def test_gaussian_mixtures_rise(seed, shape, weighted, missing, hard, labelled, prior):
    """Without a floor no iteration lowers what EM maximises.

    That is the likelihood, plus the log-prior for a MAP; for hard memberships, the
    likelihood of rows and components together.
    """
    rng = np.random.default_rng(seed)
    n, d, k = 80, 3, 3
    z = rng.integers(3, size=n)
    X = rng.normal(size=(n, d)) + 3 * z[:, None]
    if missing:
        X[rng.random((n, d)) < 0.15] = np.nan
    w = rng.uniform(0.5, 2, n) if weighted else None
    y = np.where(rng.random(n) < 0.2, z, -1) if labelled else None
    total = n if w is None else w.sum()
    data = gmm.em_data_from_rows(as_rows(X, w, y), shape, total)
    assert (data.frame is None) == bool(np.isnan(X).any())
    wide = {"full": np.stack([np.eye(d)] * k), "tied": np.eye(d),
            "diag": np.ones((k, d)), "spherical": np.ones(k),
            "low_rank": rng.uniform(0.5, 1, (k, d, 2))}[shape]  # fmt: skip
    start = np.array([[0.0] * d, [3.0] * d, [6.0] * d])
    first = gmm.GaussianMixtureParams(np.full(k, 1 / k), Normal(start, 4 * wide, shape))
    psi = {"diag": np.ones(d), "spherical": 1.0}.get(shape, np.eye(d))
    prior = (
        gmm.GaussianMixturePrior(1.5, np.zeros(d), 0.7, psi, d + 1.0)
        if prior
        else gmm.FLAT_PRIOR
    )
    run = gmm.run_gaussian_em(
        data,
        first,
        floor=0.0,
        prior=prior,
        component_class=np.arange(k),
        hard=hard,
        max_iter=10,
        tol=0,
    )
    check_rising(run)
    assert run.state.stats[0].weight.sum() == pytest.approx(total)


@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 4),
    prior=st.sampled_from([1.0, 1.5]),
    missing=st.booleans(),
)
def test_hidden_markov_models_rise(seed, k, prior, missing):
    """With a prior it is likelihood plus log-prior that never falls."""
    rng = np.random.default_rng(seed)
    X = rng.integers(4, size=(60, 1)).astype(float)
    if missing:
        X[rng.random(60) < 0.2] = np.nan
    ends = np.array([20, 21, 60])
    first = hmm.HMMParams(
        rng.dirichlet(np.ones(k)),
        rng.dirichlet(np.ones(k), size=k),
        Categorical(rng.dirichlet(np.ones(4), size=k)),
    )
    priors = hmm.HMMPriors(prior, prior, None)

    def expect(p):
        stats, loglik = hmm.baum_welch_e_step(p, X, ends)
        return (stats, p), loglik

    run = em(
        expect,
        lambda s: hmm.baum_welch_m_step(*s, priors, "ste"),
        first,
        log_prior=lambda p: hmm.hmm_log_prior(p, priors, "ste"),
        max_iter=10,
        tol=0,
    )
    check_rising(run)


@given(seed=st.integers(0, 10_000))
def test_hidden_markov_models_with_normal_emissions_rise(seed):
    """The same functions, another emission."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 2)) + 3 * (np.arange(50) % 20 < 10)[:, None]
    first = hmm.HMMParams(
        np.array([0.5, 0.5]),
        np.array([[0.7, 0.3], [0.4, 0.6]]),
        Normal(X[:2], np.ones((2, 2)), "diag"),
    )

    def expect(p):
        stats, loglik = hmm.baum_welch_e_step(p, X, np.array([30, 50]))
        return (stats, p), loglik

    maximise = lambda s: hmm.baum_welch_m_step(*s, hmm.HMMPriors(), "ste")
    run = em(expect, maximise, first, max_iter=8, tol=0)
    check_rising(run)
    assert np.allclose(run.state.params.trans.sum(1), 1)


def test_driver_keeps_likelihood_and_parameters_together():
    """The reported objective is that of the reported parameters, per row."""
    expect = lambda p: (p, -float(p))
    run = em(expect, lambda s: s / 2, 8.0, n=4.0, max_iter=3, tol=0)
    assert run.state.params == 1.0
    assert run.objective == 0.25
    assert run.n_iter == 3
    assert math.isclose(run.history["objective"][0], 1.0)
    stopped = em(expect, lambda s: s / 2, 8.0, n=4.0, max_iter=99, tol=0.3)
    assert stopped.converged
    assert stopped.state.params == 1.0

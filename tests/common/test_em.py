"""EM: the likelihood never falls, for each model on the driver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.core.arrays.rows import as_rows
from pansophy.core.drivers.em import em
from pansophy.distributions import Bernoulli, Categorical, Normal, Poisson
from pansophy.mixture import gaussian_em as gmm
from pansophy.state_space.hidden_markov import hmm
from tests.oracles.mixture import mixture_em_steps


def check_rising(result, slack=1e-9):
    trace = -result.history["objective"]
    assert np.all(np.diff(trace) >= -slack * np.abs(trace[1:]))


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
    expect, maximise = mixture_em_steps(X, type(parts))
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

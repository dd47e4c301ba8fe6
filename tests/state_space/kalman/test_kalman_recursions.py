"""The compiled filter and smoother against one large Normal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.core.chains import hidden_chain
from pansophy.core.chains.filtering import Filter, bayes_filter, bayes_smoother
from pansophy.core.loops import threads
from pansophy.state_space import KalmanFilter
from pansophy.state_space.kalman.kalman_learning import (
    transition_moments,
)
from pansophy.state_space.kalman.kalman_recursions import run_filter, run_smoother
from pansophy.state_space.kalman.linear_gaussian import (
    GaussianBelief,
    LinearGaussianFilter,
    simulate_linear_gaussian,
)
from tests.oracles import linear_gaussian as slow
from tests.state_space.random_systems import random_parameters


def with_gaps(rng, n, p, gaps):
    X = rng.normal(size=(n, p))
    X[rng.random((n, p)) < gaps] = np.nan
    return X


@given(
    seed=st.integers(0, 10_000),
    k=st.integers(1, 4),
    p=st.integers(1, 3),
    n=st.integers(1, 7),
    moves=st.booleans(),
    gaps=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_loops_equal_one_large_normal_and_the_driver(seed, k, p, n, moves, gaps):
    """Means, covariances and likelihood are those of the joint Gaussian."""
    model = random_parameters(seed, k, p, n if moves else None).model(n)
    X = with_gaps(np.random.default_rng(seed), n, p, gaps)
    run = run_filter(model, X, np.array([n]))
    back = run_smoother(run, keep=not moves)
    mean, V, loglik = slow.condition(model, X)
    now, lag = slow.blocks(V, k)
    assert np.allclose(run.logliks.sum(), loglik)
    assert np.allclose(back.mean, mean)
    assert np.allclose(back.covs, now)
    t = n // 2
    mean, V, _ = slow.condition(model, X, upto=t)
    assert np.allclose(run.mean[t], mean[t])
    assert np.allclose(run.covs[t], slow.blocks(V, k)[0][t])
    if not moves:
        M = transition_moments(back, None)
        z = back.mean
        expected = lag.sum(axis=0) + z[1:].T @ z[:-1] if n > 1 else 0.0
        assert np.allclose(M.yw[:, :k], expected)
    assert isinstance(LinearGaussianFilter(model), Filter)
    plain = bayes_filter(
        LinearGaussianFilter(model), GaussianBelief(model.m, model.P), list(X)
    )
    assert np.allclose(plain.logliks, run.logliks)
    assert np.allclose([b.cov for b in plain.filtered], run.covs)
    smoothed = bayes_smoother(LinearGaussianFilter(model), plain)
    assert np.allclose([b.mean for b in smoothed], back.mean)
    assert np.allclose([b.cov for b in smoothed], back.covs)


@pytest.mark.parametrize("gaps", [0.0, 0.002])
def test_settled_covariances_change_nothing(rng, gaps):
    """The steady state is that of the Riccati equation; sharing rows is exact."""
    model = random_parameters(3, 3, 2).model(2000)
    X = simulate_linear_gaussian(model, 2000, rng)[1]
    X[rng.random(X.shape) < gaps] = np.nan
    runs = [run_filter(model, X, np.array([2000]), steady=on) for on in (True, False)]
    assert runs[0].n_computed < 1000 < runs[1].n_computed
    backs = [run_smoother(run) for run in runs]
    for a, b in (runs, backs):
        assert np.allclose(a.mean, b.mean, rtol=1e-10, atol=1e-10)
        assert np.allclose(a.covs, b.covs, rtol=1e-10, atol=1e-12)
    assert np.allclose(runs[0].logliks, runs[1].logliks, rtol=1e-10, atol=1e-10)
    est = KalmanFilter(*(getattr(model, x) for x in "FHQR"))
    if not gaps:
        assert np.allclose(est.steady_state().filtered, runs[0].covs[-1], atol=1e-10)


def test_sequences_share_nothing_but_the_matrices(rng, monkeypatch):
    """Many sequences, whole and with gaps, on any number of threads, as one by one."""
    lengths = [5, 40, 40, 1, 60, 40, 7] * 6
    n, ends = sum(lengths), np.cumsum(lengths)
    params = random_parameters(4, 2, 2)
    X = rng.normal(size=(n, 2))
    X[rng.integers(n, size=20), 0] = np.nan
    monkeypatch.setattr(hidden_chain, "GROUP_STEPS", 300)
    for start in ("known", "diffuse"):
        model = params._replace(start=start).model(n)
        got = []
        for count in (1, 3):
            monkeypatch.setattr(threads, "available_threads", lambda count=count: count)
            run = run_filter(model, X, ends)
            got.append((run, run_smoother(run, keep=True)))
        (run, back), (other, other_back) = got
        assert np.array_equal(run.mean, other.mean)
        assert np.array_equal(back.covs, other_back.covs)
        begins = ends - lengths
        for a, b in zip(begins[:14], ends[:14], strict=True):
            alone = run_filter(model, X[a:b], np.array([b - a]), steady=False)
            alone_back = run_smoother(alone, keep=True)
            assert np.allclose(run.covs[a:b], alone.covs)
            assert np.allclose(run.logliks[a:b], alone.logliks)
            assert np.allclose(back.mean[a:b], alone_back.mean)
            assert np.allclose(back.covs[a:b], alone_back.covs)
            assert np.allclose(back.N[back.slot[a:b]], alone_back.N[alone_back.slot])
            assert np.allclose(back.D[a:b], alone_back.D)


def test_a_very_wide_start_loses_no_digits(rng):
    """Variances of 10^9 beside noise of 1: smoothed moments as from the exact start."""
    p = random_parameters(5, 3, 1)._replace(c=np.zeros(3), d=np.zeros(1), m=np.zeros(3))
    X, ends = rng.normal(size=(60, 1)), np.array([30, 60])
    wide = p._replace(P=1e9 * np.eye(3)).model(60)
    exact = p._replace(start="diffuse").model(60)
    a, b = (run_smoother(run_filter(m, X, ends), keep=True) for m in (wide, exact))
    assert len(a.lags) > 2
    assert np.linalg.eigvalsh(a.covs).min() > 0
    assert np.allclose(a.mean, b.mean, rtol=1e-5, atol=1e-5)
    assert np.allclose(a.covs, b.covs, rtol=1e-5, atol=1e-5)
    moments = [transition_moments(back, None).yw for back in (a, b)]
    assert np.allclose(*moments, rtol=1e-5, atol=1e-4)

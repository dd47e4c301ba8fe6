"""Kernel density estimation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import kstest
from sklearn.neighbors import KernelDensity as Peer

from pansophy.neighbors import KernelDensity
from pansophy.neighbors.kernel_density import (
    KERNEL_SHAPES,
    density_fits_columns,
    log_kernel_mass,
)
from pansophy.params import ParameterError
from tests.oracles import neighbors as oracle


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("shape", KERNEL_SHAPES)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "minkowski"])
def test_kernel_sums(shape, metric):
    for d in (1, 2, 5):
        X, Q, w = rows(150, d), rows(20, d, 1), np.random.default_rng(2).random(150)
        how = {"metric_params": {"p": 3}} if metric == "minkowski" else {}
        model = KernelDensity(bandwidth=0.9, kernel=shape, metric=metric, **how)
        got = np.exp(model.fit(X, sample_weight=w).score_samples(Q))
        D = oracle.distances(Q, X, metric, 3)
        want = oracle.kernel_sums(D, 0.9, shape, w)
        want /= w.sum() * np.exp(log_kernel_mass(shape, d)) * 0.9**d
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("shape", KERNEL_SHAPES)
def test_mass_is_one(shape):
    X = rows(20, 1)
    model = KernelDensity(bandwidth=0.5, kernel=shape).fit(X)
    x = np.linspace(-25, 25, 40001)
    assert np.trapezoid(np.exp(model.score_samples(x[:, None])), x) == pytest.approx(
        1, abs=1e-3
    )
    # in the plane, by one bump
    model = KernelDensity(kernel=shape).fit([[0.0, 0.0]])
    r = np.linspace(0, 40, 80001)
    p = np.exp(model.score_samples(np.column_stack([r, 0 * r])))
    assert np.trapezoid(2 * np.pi * r * p, r) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("shape", [s for s in KERNEL_SHAPES if s != "cosine"])
def test_scikit_learn(shape):
    X, Q = rows(300, 3), rows(30, 3, 1)
    for h in (0.8, "scott", "silverman"):
        a = KernelDensity(bandwidth=h, kernel=shape).fit(X)
        b = Peer(bandwidth=h, kernel=shape).fit(X)
        assert a.bandwidth_ == pytest.approx(b.bandwidth_)
        p, q = np.exp(a.score_samples(Q)), np.exp(b.score_samples(Q))
        np.testing.assert_allclose(p, q, rtol=1e-6, atol=1e-12)


def test_far_rows_keep_their_logarithm():
    X, Q = rows(200, 3), 200 + rows(5, 3, 1)
    D = oracle.distances(Q, X)
    got = KernelDensity(bandwidth=0.5).fit(X).score_samples(Q)
    want = logsumexp(-((D / 0.5) ** 2) / 2, axis=1) - np.log(200)
    want -= log_kernel_mass("gaussian", 3) + 3 * np.log(0.5)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    got = KernelDensity(kernel="exponential").fit(X).score_samples(Q)
    want = logsumexp(-D, axis=1) - np.log(200) - log_kernel_mass("exponential", 3)
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("shape", KERNEL_SHAPES)
def test_tolerances(shape):
    X, Q = rows(2000, 2), rows(100, 2, 1)
    exact = np.exp(KernelDensity(bandwidth=0.3, kernel=shape).fit(X).score_samples(Q))
    for atol, rtol in ((0, 1e-2), (1e-3, 0), (1e-3, 1e-2)):
        model = KernelDensity(bandwidth=0.3, kernel=shape, atol=atol, rtol=rtol)
        got = np.exp(model.fit(X).score_samples(Q))
        assert (np.abs(got - exact) <= atol + rtol * exact + 1e-14).all()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 99), st.sampled_from(KERNEL_SHAPES))
def test_weights_are_copies(seed, shape):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(40, 2)), rng.integers(0, 4, 40)
    w[0] = 1
    Q = rng.normal(size=(6, 2))
    model = KernelDensity(bandwidth="scott", kernel=shape)
    a = model.fit(X, sample_weight=w).score_samples(Q)
    b = model.fit(np.repeat(X, w, axis=0)).score_samples(Q)
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", KERNEL_SHAPES)
def test_draws(shape):
    model = KernelDensity(bandwidth=0.5, kernel=shape).fit([[0.0], [3.0]])
    draws = model.sample(4000, random_state=0)
    assert draws.shape == (4000, 1)
    x = np.linspace(-12, 15, 27001)
    cdf = np.cumsum(np.exp(model.score_samples(x[:, None]))) * (x[1] - x[0])
    assert kstest(draws[:, 0], lambda t: np.interp(t, x, cdf)).pvalue > 1e-3
    # lengths of bumps in three dimensions
    solid = KernelDensity(kernel=shape).fit([[0.0, 0.0, 0.0]])
    far = np.linalg.norm(solid.sample(4000, random_state=1), axis=1)
    r = np.linspace(0, 30, 30001)
    p = np.exp(solid.score_samples(np.column_stack([r, 0 * r, 0 * r])))
    cdf = np.cumsum(4 * np.pi * r * r * p) * (r[1] - r[0])
    assert kstest(far, lambda t: np.interp(t, r, cdf)).pvalue > 1e-3


def test_words_for_mistakes():
    with pytest.raises(ParameterError, match="metric_params"):
        KernelDensity(metric_params={"w": 1}).fit([[0.0]])
    with pytest.raises(ParameterError, match="bandwidth"):
        KernelDensity(bandwidth=0).fit([[0.0]])
    with pytest.raises(ValueError, match="no rows can be drawn"):
        KernelDensity(metric="canberra").fit([[1.0]]).sample()
    with pytest.raises(ParameterError, match="invalid metric"):
        KernelDensity(metric="haversine", algorithm="kd_tree").fit([[0.0, 0.0]])
    with pytest.raises(ParameterError, match="bandwidth of KernelDensity must lie"):
        KernelDensity(bandwidth=1e-200).fit([[0.0]])


@pytest.mark.parametrize("shape", KERNEL_SHAPES)
@pytest.mark.parametrize("h", [1e-90, 0.01, 0.3, 10.0])
def test_tolerances_hold_in_log_space(shape, h):
    """Wherever log p is finite it stays close, however small p is against atol."""
    X, Q = rows(100, 3), rows(40, 3, 1)
    exact = KernelDensity(bandwidth=h, kernel=shape).fit(X).score_samples(Q)
    finite = np.isfinite(exact)
    assert not (exact == np.inf).any()
    for atol in (1e-12, 1e-6, 1e-2, 1e300):
        for rtol in (0.0, 1e-5):
            model = KernelDensity(bandwidth=h, kernel=shape, atol=atol, rtol=rtol)
            got = model.fit(X).score_samples(Q)
            np.testing.assert_array_equal(np.isfinite(got), finite)
            assert (got[~finite] == -np.inf).all()
            gap = np.abs(got[finite] - exact[finite])
            assert gap.max(initial=0.0) <= 0.011
            p = np.exp(np.minimum(exact, 600.0))
            off = np.abs(np.exp(np.minimum(got, 600.0)) - p)
            assert (off <= atol + (rtol + 1e-9) * p).all()


def test_log_density_far_from_all_rows():
    """Small bandwidths: log p is right where p itself is 0."""
    X, Q = rows(100, 3), rows(100, 3, 1)
    D = np.linalg.norm(Q[:, None] - X[None], axis=2)
    for h in (1e-2, 1e-5):
        want = logsumexp(-0.5 * (D / h) ** 2, axis=1)
        want += -np.log(100) - 3 * np.log(h) - 1.5 * np.log(2 * np.pi)
        got = KernelDensity(bandwidth=h).fit(X).score_samples(Q)
        np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("metric", ["haversine", "canberra", "hamming"])
def test_metrics_without_a_tree(metric):
    X, Q = np.abs(rows(60, 2)), np.abs(rows(9, 2, 1))
    w = np.random.default_rng(2).random(60)
    for shape in ("gaussian", "tophat", "epanechnikov", "exponential", "linear"):
        how = {"bandwidth": 0.7, "kernel": shape, "metric": metric}
        a = KernelDensity(**how).fit(X, sample_weight=w).score_samples(Q)
        b = Peer(**how).fit(X, sample_weight=w).score_samples(Q)
        np.testing.assert_allclose(np.exp(a), np.exp(b), rtol=1e-9, atol=1e-12)


def test_a_file_with_other_columns_or_weights_is_refused(rng):
    X, w = rng.normal(size=(12, 2)), rng.random(12)
    model = KernelDensity().fit(X, sample_weight=w)
    assert density_fits_columns(model)
    model._weights = w[:-1]
    assert not density_fits_columns(model)
    model._weights, model.n_features_in_ = w, 3
    assert not density_fits_columns(model)


def test_draws_by_weights_are_those_by_copies():
    X, w = rows(30, 2), np.arange(30) % 4
    for metric in ("euclidean", "manhattan", "chebyshev"):
        model = KernelDensity(metric=metric)
        a = model.fit(X, sample_weight=w).sample(50, random_state=3)
        b = model.fit(np.repeat(X, w, axis=0)).sample(50, random_state=3)
        np.testing.assert_allclose(a, b)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "minkowski"])
def test_lengths_of_draws_follow_the_kernel_in_any_norm(metric):
    how = {"metric_params": {"p": 3}} if metric == "minkowski" else {}
    model = KernelDensity(kernel="tophat", metric=metric, **how).fit([[0.0, 0.0]])
    Z = model.sample(4000, random_state=0)
    r = oracle.distances(Z, [[0.0, 0.0]], metric, 3)[:, 0]
    assert kstest(r, lambda x: x**2).pvalue > 1e-3  # uniform in the unit ball

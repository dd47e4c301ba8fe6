"""Normals of rows with missing values: marginals, conditional means, EM."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from pansophy.distributions import Normal
from pansophy.distributions.gaussian.missing import (
    incomplete_moments,
    missing_patterns,
    observed_log_prob,
)
from pansophy.distributions.gaussian.normal import moments

COV = np.array([[2.0, 0.6, 0.2], [0.6, 1.0, -0.3], [0.2, -0.3, 1.5]])


@pytest.mark.parametrize("shape", ["full", "tied", "diag", "spherical"])
def test_observed_density_is_the_marginal(shape, rng):
    mean = rng.standard_normal((2, 3))
    cov = {
        "full": np.stack([COV, 2 * COV]),
        "tied": COV,
        "diag": np.array([[1.0, 2.0, 3.0], [0.5, 1.0, 2.0]]),
        "spherical": np.array([1.0, 2.0]),
    }[shape]
    p = Normal(mean, cov, shape)
    X = rng.standard_normal((6, 3))
    X[1, 0] = X[2, 1] = X[2, 2] = np.nan
    X[3] = np.nan
    got = observed_log_prob(p, X)
    np.testing.assert_allclose(got[0], p.log_prob(X[:1])[0])
    np.testing.assert_allclose(got[3], 0)
    dense = p.dense
    for i, seen in [(1, [1, 2]), (2, [0])]:
        for c in range(2):
            q = scipy_stats.multivariate_normal(
                mean[c][seen], dense[c][np.ix_(seen, seen)]
            )
            np.testing.assert_allclose(got[i, c], q.logpdf(X[i, seen]))


def test_impute_is_the_conditional_mean():
    p = Normal(np.array([1.0, 2.0, 3.0]), COV)
    X = np.array(
        [[0.5, np.nan, 2.0], [np.nan] * 3, [1.0, 1.0, 1.0], [np.nan, 0.0, 1.0]]
    )
    filled = p.impute(X)
    np.testing.assert_allclose(filled[0, 1], p.condition([0, 2], [0.5, 2.0]).mean[0])
    np.testing.assert_allclose(filled[1], p.mean)
    np.testing.assert_array_equal(filled[2], X[2])
    np.testing.assert_allclose(filled[3, 0], p.condition([1, 2], [0.0, 1.0]).mean[0])
    with pytest.raises(TypeError, match="one Normal"):
        Normal(np.zeros((2, 1)), np.ones((2, 1, 1))).impute([[np.nan]])


def test_incomplete_rows_by_em(rng):
    """EM climbs to where no nearby Normal explains the seen values better."""
    X = rng.multivariate_normal([0, 1, 2], COV, size=300)
    X[rng.random(X.shape) < 0.3] = np.nan
    w = rng.integers(1, 3, 300).astype(float)
    m = incomplete_moments(X, w, tol=1e-12, max_iter=2000)
    again = incomplete_moments(np.repeat(X, w.astype(int), 0), tol=1e-12, max_iter=2000)
    np.testing.assert_allclose(m.scatter, again.scatter, rtol=1e-6)
    p = Normal.from_stats(m)
    loglik = lambda q: float(w @ observed_log_prob(q, X)[:, 0])
    best = loglik(p)
    for _ in range(10):
        shake = rng.standard_normal((3, 3)) * 0.05
        moved = Normal(p.mean + shake[0], p.cov + shake @ shake.T)
        assert loglik(moved) < best
    whole = np.nan_to_num(X)
    np.testing.assert_allclose(
        incomplete_moments(whole).scatter, moments(whole).scatter
    )


def test_rows_are_grouped_by_what_they_have():
    nan = np.nan
    X = np.array([[1.0, nan], [nan, nan], [2.0, nan], [3.0, 4.0]])
    found = {tuple(b): rows.tolist() for b, rows in missing_patterns(X)}
    assert found == {(): [1], (0,): [0, 2], (0, 1): [3]}


def test_a_column_that_nobody_has():
    """Nothing is known of it: mean 0, no scatter, and the others are as alone."""
    X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]])
    found = incomplete_moments(X)
    assert found.mean[0] == pytest.approx(2, abs=1e-6)
    assert np.isfinite(found.mean).all() and np.isfinite(found.scatter).all()

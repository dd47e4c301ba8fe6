"""ARDRegression against scikit-learn; it drops columns of noise."""

import numpy as np
import pytest
import scipy.stats
from sklearn import linear_model as peer

from pansophy.linear_model import ARDRegression


def problem(rng, n=60, d=6, noise=0.5):
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    w = rng.normal(size=d) * (np.arange(d) < 4)
    return X, X @ w + 2 + noise * rng.normal(size=n)


def log_evidence(model, X, y, prior=1e-6):
    """Log density of y, alpha and lambda from the dense covariance of y."""
    kept = model.lambda_ < model.threshold_lambda
    A = (X - X.mean(axis=0))[:, kept]
    precision = model.lambda_[kept]
    covariance = np.eye(len(y)) / model.alpha_ + (A / precision) @ A.T
    law = scipy.stats.multivariate_normal(np.zeros(len(y)), covariance)
    hyper = np.append(precision, model.alpha_)
    return law.logpdf(y - y.mean()) + prior * np.sum(np.log(hyper) - hyper)


class TestEvidence:
    @pytest.mark.parametrize("shape", [(80, 6), (30, 40)])
    def test_relevance_agrees_with_scikit_learn(self, rng, shape):
        X, y = problem(rng, *shape)
        how = {"compute_score": True, "tol": 1e-6}
        ours, theirs = ARDRegression(**how).fit(X, y), peer.ARDRegression(**how)
        theirs.fit(X, y)
        assert theirs.n_iter_ < theirs.max_iter  # no oracle before it has converged
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-6)
        assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=2e-2)
        assert ours.sigma_.shape == theirs.sigma_.shape
        np.testing.assert_allclose(
            ours.predict(X, return_std=True)[1],
            theirs.predict(X, return_std=True)[1],
            rtol=2e-2,
        )

    @pytest.mark.parametrize("seed", range(3))
    def test_rows_that_columns_can_interpolate(self, seed):
        """Hardly any noise is left, and scikit-learn does not converge: no oracle.

        What is maximised is compared instead. The covariance of y has a condition of
        about 1e7, which leaves eight of its digits.
        """
        X, y = problem(np.random.default_rng(seed), 15, 40)
        how = {"compute_score": True, "tol": 1e-6}
        ours, theirs = ARDRegression(**how).fit(X, y), peer.ARDRegression(**how)
        theirs.fit(X, y)
        assert ours.converged_
        value = log_evidence(ours, X, y)
        assert value == pytest.approx(ours.scores_[-1], abs=1e-6)
        assert value >= log_evidence(theirs, X, y) - 1e-6

    def test_relevance_drops_noise(self, rng):
        X = rng.normal(size=(200, 10))
        y = 3 * X[:, 2] - 2 * X[:, 7] + 0.1 * rng.normal(size=200)
        coef = ARDRegression(threshold_lambda=1e3).fit(X, y).coef_
        assert set(np.flatnonzero(np.abs(coef) > 0.05)) == {2, 7}
        assert np.sum(coef == 0) >= 4

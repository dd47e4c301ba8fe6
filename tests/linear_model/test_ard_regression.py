"""ARDRegression against scikit-learn; it drops columns of noise."""

import numpy as np
import pytest
from sklearn import linear_model as peer

from pansophy.linear_model import (
    ARDRegression,
)


def problem(rng, n=60, d=6, noise=0.5):
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    w = rng.normal(size=d) * (np.arange(d) < 4)
    return X, X @ w + 2 + noise * rng.normal(size=n)


class TestEvidence:
    @pytest.mark.parametrize("shape", [(80, 6), (15, 40)])
    def test_relevance_agrees_with_scikit_learn(self, rng, shape):
        X, y = problem(rng, *shape)
        how = {"compute_score": True, "tol": 1e-6}
        ours, theirs = ARDRegression(**how).fit(X, y), peer.ARDRegression(**how)
        theirs.fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-6)
        assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=2e-2)
        assert ours.sigma_.shape == theirs.sigma_.shape
        np.testing.assert_allclose(
            ours.predict(X, return_std=True)[1],
            theirs.predict(X, return_std=True)[1],
            rtol=2e-2,
        )

    def test_relevance_drops_noise(self, rng):
        X = rng.normal(size=(200, 10))
        y = 3 * X[:, 2] - 2 * X[:, 7] + 0.1 * rng.normal(size=200)
        coef = ARDRegression(threshold_lambda=1e3).fit(X, y).coef_
        assert set(np.flatnonzero(np.abs(coef) > 0.05)) == {2, 7}
        assert np.sum(coef == 0) >= 4

"""BayesianRidge (and what it shares with ARDRegression) against scikit-learn."""

import numpy as np
import pytest
import scipy.stats
from sklearn import linear_model as peer

from pansophy.linear_model import (
    ARDRegression,
    BayesianLinearRegression,
    BayesianRidge,
    NormalInverseGammaRegression,
)


def problem(rng, n=60, d=6, noise=0.5):
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    w = rng.normal(size=d) * (np.arange(d) < 4)
    return X, X @ w + 2 + noise * rng.normal(size=n)


def integrate(X, y, s2, S0, m0):
    """log N(y; X m0, s2 I + X S0 X^T), the slow way to the evidence."""
    cov = s2 * np.eye(len(y)) + X @ S0 @ X.T
    return scipy.stats.multivariate_normal(X @ m0, cov).logpdf(y)


class TestEvidence:
    @pytest.mark.parametrize("shape", [(80, 6), (15, 40)])
    @pytest.mark.parametrize("intercept", [True, False])
    def test_ridge_agrees_with_scikit_learn(self, rng, shape, intercept):
        X, y = problem(rng, *shape)
        how = {"fit_intercept": intercept, "compute_score": True, "tol": 1e-8}
        ours, theirs = BayesianRidge(**how).fit(X, y), peer.BayesianRidge(**how)
        theirs.fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(ours.sigma_, theirs.sigma_, rtol=1e-5, atol=1e-9)
        assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-5)
        assert ours.lambda_ == pytest.approx(theirs.lambda_, rel=1e-5)
        m = min(len(ours.scores_), len(theirs.scores_))
        np.testing.assert_allclose(ours.scores_[:m], theirs.scores_[:m], rtol=1e-8)
        for a, b in zip(
            ours.predict(X, return_std=True),
            theirs.predict(X, return_std=True),
            strict=True,
        ):
            np.testing.assert_allclose(a, b, rtol=1e-4)

    @pytest.mark.parametrize("shape", [(50, 5), (6, 10)])
    @pytest.mark.parametrize("intercept", [True, False])
    @pytest.mark.parametrize("scale", [1.0, 1e4])
    def test_perfect_fit_keeps_its_digits(self, rng, shape, intercept, scale):
        """The residual is 0, and nothing of |y|^2 may be taken for it."""
        X = rng.standard_normal(shape)
        y = scale * (X @ rng.standard_normal(shape[1]) + 1.0 * intercept)
        ours = BayesianRidge(fit_intercept=intercept).fit(X, y)
        theirs = peer.BayesianRidge(fit_intercept=intercept).fit(X, y)
        assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-8)
        top = np.abs(theirs.sigma_).max()
        np.testing.assert_allclose(ours.sigma_ / top, theirs.sigma_ / top, atol=1e-9)

    @pytest.mark.parametrize("make", [BayesianRidge, ARDRegression])
    def test_evidence_climbs(self, make, rng):
        X, y = problem(rng)
        scores = make(compute_score=True, tol=1e-8, max_iter=1000).fit(X, y).scores_
        assert scores[-1] > scores[0]
        assert np.diff(scores).min() > -1e-3

    def test_score_is_the_density_of_y(self, rng):
        """Given the variances, y is Normal; the intercept is fitted before."""
        X, y = problem(rng, n=20, d=4)
        flat = {"alpha_1": 0, "alpha_2": 0, "lambda_1": 0, "lambda_2": 0}
        how = {**flat, "fit_intercept": False, "compute_score": True}
        ridge = BayesianRidge(**how).fit(X, y)
        S0 = np.eye(4) / ridge.lambda_
        want = integrate(X, y, 1 / ridge.alpha_, S0, np.zeros(4))
        assert ridge.scores_[-1] == pytest.approx(want, abs=1e-8)
        ard = ARDRegression(**how).fit(X, y)
        want = integrate(X, y, np.var(y), np.eye(4), np.zeros(4))
        assert ard.scores_[0] == pytest.approx(want, abs=1e-8)

    @pytest.mark.parametrize("make", [BayesianRidge, ARDRegression])
    def test_weight_is_repetition(self, make, rng):
        X, y = problem(rng, n=25)
        w = rng.integers(0, 4, size=25)
        a = make(tol=1e-10).fit(X, y, sample_weight=w)
        b = make(tol=1e-10).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8)
        np.testing.assert_allclose(a.sigma_, b.sigma_, rtol=1e-7)

    @pytest.mark.parametrize("make", [BayesianRidge, ARDRegression])
    def test_large_means_lose_nothing(self, make, rng):
        X, y = problem(rng)
        near, far = make().fit(X, y), make().fit(X + 1e6, y)
        np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "make",
    [
        BayesianLinearRegression,
        NormalInverseGammaRegression,
        BayesianRidge,
        ARDRegression,
    ],
)
class TestWhereTheRowsAre:
    def test_sparse_is_dense(self, make, rng):
        import scipy.sparse as sp

        X, y = problem(rng)
        X *= rng.random(X.shape) < 0.4
        a, b = make().fit(X, y), make().fit(sp.csr_array(X), y)
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-10, atol=1e-12)

    def test_table_on_disk(self, make, rng, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        X, y = problem(rng, n=500)
        path = tmp_path / "rows.parquet"
        pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(6)}), path)
        a, b = make().fit(X, y), make().fit(path, y)
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9)
        np.testing.assert_allclose(
            a.predict(X, return_std=True)[1],
            b.predict(path, return_std=True)[1],
            rtol=1e-8,
        )

    def test_tensor_stays_one(self, make, rng):
        torch = pytest.importorskip("torch")
        X, y = problem(rng)
        a = make().fit(X, y)
        b = make().fit(torch.as_tensor(X), torch.as_tensor(y))
        assert torch.is_tensor(b.coef_)
        np.testing.assert_allclose(a.coef_, b.coef_.numpy(), rtol=1e-9, atol=1e-12)
        assert torch.is_tensor(b.predict(torch.as_tensor(X)))

    def test_float32(self, make, rng):
        X, y = problem(rng)
        a, b = make().fit(X, y), make().fit(X.astype(np.float32), y)
        assert b.coef_.dtype == np.float32
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=2e-3, atol=1e-4)
        if hasattr(b, "sigma_"):
            assert b.sigma_.dtype == np.float32
            mean, std = b.predict(X.astype(np.float32), return_std=True)
            assert mean.dtype == std.dtype == np.float32


def test_covariance_of_a_fit_without_noise(rng):
    """The entries that a difference to 1 / lambda would lose."""
    X = rng.normal(size=(20, 10))
    model = BayesianRidge(fit_intercept=False).fit(X, X @ rng.normal(size=10))
    precision = model.lambda_ * np.eye(10) + model.alpha_ * X.T @ X
    np.testing.assert_allclose(model.sigma_, np.linalg.inv(precision), rtol=1e-9)

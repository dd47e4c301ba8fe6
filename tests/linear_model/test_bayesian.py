"""Bayesian linear models against scikit-learn, closed forms and worked numbers."""

import numpy as np
import pytest
import scipy.stats
from sklearn import linear_model as peer

from pansophy.linear_model import (
    ARDRegression,
    BayesianLinearRegression,
    BayesianRidge,
    NormalInverseGammaRegression,
    Ridge,
)


def problem(rng, n=60, d=6, noise=0.5):
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    w = rng.normal(size=d) * (np.arange(d) < 4)
    return X, X @ w + 2 + noise * rng.normal(size=n)


def integrate(X, y, s2, S0, m0):
    """log N(y; X m0, s2 I + X S0 X^T), the slow way to the evidence."""
    cov = s2 * np.eye(len(y)) + X @ S0 @ X.T
    return scipy.stats.multivariate_normal(X @ m0, cov).logpdf(y)


class TestKnownNoise:
    def test_line_through_the_origin(self):
        model = BayesianLinearRegression(0.5, fit_intercept=False)
        model.fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])
        latent, seen = (
            model.predict_dist([[4.0]], latent=True),
            model.predict_dist([[4.0]]),
        )
        assert model.coef_[0] == pytest.approx(0.965517, abs=1e-6)
        assert latent.mean[0] == pytest.approx(3.862069, abs=1e-6)
        assert latent.scale[0] ** 2 == pytest.approx(0.551724, abs=1e-6)
        assert seen.scale[0] ** 2 == pytest.approx(1.051724, abs=1e-6)

    @pytest.mark.parametrize("intercept", [True, False])
    def test_mean_is_ridge(self, rng, intercept):
        X, y = problem(rng)
        model = BayesianLinearRegression(
            0.25, prior_variance=0.5, fit_intercept=intercept
        ).fit(X, y)
        ridge = Ridge(alpha=0.5, fit_intercept=intercept).fit(X, y)
        np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-11)
        np.testing.assert_allclose(model.intercept_, ridge.intercept_, rtol=1e-10)

    def test_evidence_is_the_density_of_y(self, rng):
        X, y = problem(rng, n=12, d=3)
        S0 = np.diag([1.0, 2.0, 0.5]) + 0.2
        m0 = np.array([0.5, -1.0, 0.0])
        model = BayesianLinearRegression(
            0.7, prior_variance=S0, prior_mean=m0, fit_intercept=False
        ).fit(X, y)
        assert model.log_evidence_ == pytest.approx(
            integrate(X, y, 0.7, S0, m0), abs=1e-9
        )

    def test_evidence_with_a_flat_intercept(self, rng):
        """The flat prior is the limit of a wide one, times its width."""
        X, y = problem(rng, n=12, d=2)
        model = BayesianLinearRegression(0.7).fit(X, y)
        wide = 1e8
        A = np.column_stack([np.ones(12), X])
        limit = integrate(A, y, 0.7, np.diag([wide, 1.0, 1.0]), np.zeros(3))
        limit += np.log(2 * np.pi * wide) / 2
        assert model.log_evidence_ == pytest.approx(limit, abs=1e-5)

    def test_covariance_and_draws(self, rng):
        X, y = problem(rng, n=40, d=3)
        model = BayesianLinearRegression(0.3, prior_variance=2.0).fit(X, y)
        coef, b = model.sample(200_000, random_state=0)
        np.testing.assert_allclose(np.cov(coef.T), model.covariance_, atol=2e-4)
        np.testing.assert_allclose(coef.mean(axis=0), model.coef_, atol=1e-3)
        lines = coef @ X[:5].T + b[:, None]
        said = model.predict_dist(X[:5], latent=True)
        np.testing.assert_allclose(lines.std(axis=0), said.scale, rtol=1e-2)

    def test_flat_prior_needs_enough_rows(self, rng):
        X, y = problem(rng, n=4, d=6)
        with pytest.raises(ValueError, match="do not determine"):
            BayesianLinearRegression(prior_variance=np.inf).fit(X, y)
        for mean in (np.zeros(2), np.full(6, np.nan)):
            with pytest.raises(
                ValueError, match=r"prior_mean of BayesianLin.* must hold 6"
            ):
                BayesianLinearRegression(prior_mean=mean).fit(X, y)
        with pytest.raises(ValueError, match="symmetric, with positive eigenvalues"):
            BayesianLinearRegression(prior_variance=-np.eye(6)).fit(X, y)


class TestLearntNoise:
    def test_worked_numbers(self):
        X, y = [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], [1.0, 3.0, 5.0]
        model = NormalInverseGammaRegression(fit_intercept=False).fit(X, y)
        np.testing.assert_allclose(model.coef_, [5 / 3, 1.0], rtol=1e-12)
        assert (model.a_, model.b_) == pytest.approx((2.5, 3.166667), abs=1e-6)
        assert model.noise_variance_ == pytest.approx(2.111111, abs=1e-6)
        want = [[0.266667, -0.2], [-0.2, 0.4]]
        np.testing.assert_allclose(model.covariance_, want, atol=1e-6)
        # modes of s^2: of the joint posterior, and of its margin
        a, b, d = model.a_, model.b_, 2
        assert b / (a + 1 + d / 2) == pytest.approx(0.703704, abs=1e-6)
        assert b / (a + 1) == pytest.approx(0.904762, abs=1e-6)

    def test_evidence_by_quadrature(self, rng):
        X, y = problem(rng, n=8, d=2)
        model = NormalInverseGammaRegression(a0=2.0, b0=1.5).fit(X, y)
        grid = np.linspace(-9, 9, 401)  # smooth and flat at both ends
        flat = []
        for s2 in np.exp(grid):
            known = BayesianLinearRegression(s2, prior_variance=s2).fit(X, y)
            prior = scipy.stats.invgamma(2.0, scale=1.5).logpdf(s2)
            flat.append(known.log_evidence_ + prior + np.log(s2))
        total = scipy.special.logsumexp(flat) + np.log(grid[1] - grid[0])
        assert model.log_evidence_ == pytest.approx(total, abs=1e-6)

    def test_predictions_are_students(self, rng):
        X, y = problem(rng, n=30, d=3)
        model = NormalInverseGammaRegression().fit(X, y)
        coef, b = model.sample(100_000, random_state=1)
        said = model.predict_dist(X[:3], latent=True)
        assert said.df == 2 * model.a_
        lines = coef @ X[:3].T + b[:, None]
        np.testing.assert_allclose(lines.std(axis=0), said.std, rtol=2e-2)
        low, high = said.interval(0.9)
        inside = np.mean((lines > low) & (lines < high), axis=0)
        np.testing.assert_allclose(inside, 0.9, atol=5e-3)


@pytest.mark.parametrize(
    "make", [BayesianLinearRegression, NormalInverseGammaRegression]
)
class TestConjugate:
    def test_sequential_is_batch(self, make, rng):
        X, y = problem(rng)
        whole, stream = make().fit(X, y), make()
        for i in range(0, 60, 7):
            stream.partial_fit(X[i : i + 7], y[i : i + 7])
        np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-11)
        np.testing.assert_allclose(stream.covariance_, whole.covariance_, rtol=1e-9)
        assert stream.log_evidence_ == pytest.approx(whole.log_evidence_, rel=1e-11)

    def test_weight_is_repetition(self, make, rng):
        X, y = problem(rng, n=20)
        w = rng.integers(0, 4, size=20)
        a = make().fit(X, y, sample_weight=w)
        b = make().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-10)
        assert a.log_evidence_ == pytest.approx(b.log_evidence_, rel=1e-10)

    def test_grows_away_from_the_data(self, make, rng):
        X, y = problem(rng, d=1)
        std = make().fit(X, y).predict([[0.0], [50.0]], return_std=True)[1]
        assert std[1] > 2 * std[0]

    def test_band(self, make, rng):
        import matplotlib

        matplotlib.use("agg")
        X, y = problem(rng, d=1)
        ax = make().fit(X, y).plot(X, y)
        assert len(ax.lines) == 2
        matplotlib.pyplot.close("all")


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

    def test_relevance_drops_noise(self, rng):
        X = rng.normal(size=(200, 10))
        y = 3 * X[:, 2] - 2 * X[:, 7] + 0.1 * rng.normal(size=200)
        coef = ARDRegression(threshold_lambda=1e3).fit(X, y).coef_
        assert set(np.flatnonzero(np.abs(coef) > 0.05)) == {2, 7}
        assert np.sum(coef == 0) >= 4

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

"""Conjugate Bayesian regression: worked numbers, evidence, sequential updates."""

import numpy as np
import pytest
import scipy.stats

from pansophy.linear_model import (
    BayesianLinearRegression,
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

"""StabilitySelection: planted columns, classes, seeds and the plot."""

import numpy as np

from pansophy.feature_selection import (
    StabilitySelection,
)


def problem(rng, n=80, d=8, rho=0.6):
    X = rng.normal(size=(n, d)) + rho * rng.normal(size=(n, 1))
    w = np.where(np.arange(d) % 3 == 0, rng.normal(size=d) * 2, 0.0)
    return X, X @ w + 1 + rng.normal(size=n)


class TestStability:
    def test_finds_the_planted_columns(self, rng):
        X = rng.normal(size=(150, 60))
        y = 2 * X[:, 3] - 2 * X[:, 30] + rng.normal(size=150)
        found = StabilitySelection(0.9, eps=0.3, random_state=0).fit(X, y)
        # the planted ones are ten deviations strong; noise gets in by chance
        support = set(found.get_support(indices=True))
        assert support >= {3, 30} and len(support) <= 5
        assert found.stability_.shape == (10, 60)
        assert 0 < found.false_bound_ < 5

    def test_classes(self, rng):
        X = rng.normal(size=(200, 20))
        y = np.array(["a", "b", "c"])[
            np.digitize(X[:, 4] + 0.3 * rng.normal(size=200), [-0.5, 0.5])
        ]
        found = StabilitySelection(0.9, eps=0.4, random_state=0).fit(X, y)
        support = found.get_support(indices=True)
        assert 4 in support and len(support) <= 3

    def test_same_seed_same_answer_on_any_threads(self, rng):
        X, y = problem(rng)
        runs = [
            StabilitySelection(random_state=3, n_pairs=5, n_jobs=n).fit(X, y)
            for n in (1, 2)
        ]
        np.testing.assert_array_equal(runs[0].stability_, runs[1].stability_)

    def test_orthonormal_design_keeps_what_passes_the_threshold(self, rng):
        """L1-embedded selection: |x_j y| above the penalty, and nothing else."""
        from pansophy.linear_model import Lasso

        Q = np.linalg.qr(rng.normal(size=(50, 6)))[0]
        y = Q @ np.array([3.0, -2.0, 0.5, 0.1, 0.0, 1.0]) + 0.01 * rng.normal(size=50)
        alpha = 0.7 / 50
        model = Lasso(alpha, fit_intercept=False, tol=1e-10).fit(Q, y)
        np.testing.assert_array_equal(model.coef_ != 0, np.abs(Q.T @ y) > 0.7)

    def test_plot(self, rng):
        import matplotlib

        matplotlib.use("agg")
        X, y = problem(rng)
        ax = StabilitySelection(random_state=0, n_pairs=3).fit(X, y).plot()
        assert len(ax.lines) == X.shape[1] + 1
        matplotlib.pyplot.close("all")

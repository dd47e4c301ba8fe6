"""SequentialFeatureSelector against scikit-learn and against plain fits."""

import numpy as np
import pytest
from sklearn.feature_selection import SequentialFeatureSelector as Peer
from sklearn.linear_model import LinearRegression as TheirLinear
from sklearn.tree import DecisionTreeClassifier

from pansophy.feature_selection import (
    ExhaustiveSelector,
    SequentialFeatureSelector,
)
from pansophy.linear_model import LinearRegression


def problem(rng, n=80, d=8, rho=0.6):
    X = rng.normal(size=(n, d)) + rho * rng.normal(size=(n, 1))
    w = np.where(np.arange(d) % 3 == 0, rng.normal(size=d) * 2, 0.0)
    return X, X @ w + 1 + rng.normal(size=n)


class TestSequential:
    @pytest.mark.parametrize("direction", ["forward", "backward"])
    @pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error"])
    def test_agrees_with_scikit_learn(self, direction, scoring, rng):
        X, y = problem(rng)
        how = {"n_features_to_select": 3, "direction": direction, "scoring": scoring}
        ours = SequentialFeatureSelector(LinearRegression(), **how).fit(X, y)
        theirs = Peer(TheirLinear(), **how).fit(X, y)
        np.testing.assert_array_equal(ours.support_, theirs.support_)

    @pytest.mark.parametrize("direction", ["forward", "backward"])
    def test_auto_with_tol(self, direction, rng):
        X, y = problem(rng)
        how = {"tol": 0.01 if direction == "forward" else -0.01, "direction": direction}
        ours = SequentialFeatureSelector(LinearRegression(), **how).fit(X, y)
        theirs = Peer(TheirLinear(), **how).fit(X, y)
        np.testing.assert_array_equal(ours.support_, theirs.support_)
        plain = SequentialFeatureSelector(LinearRegression(), direction=direction)
        same = Peer(TheirLinear(), direction=direction)
        X = X[:, :7]
        np.testing.assert_array_equal(plain.fit(X, y).support_, same.fit(X, y).support_)

    def test_short_way_scores_as_fits_do(self, rng):
        X, y = problem(rng, n=50, d=5)

        class Slow(TheirLinear):
            """Not the exact class, so the general way is taken."""

        how = {"n_features_to_select": 3}
        a = SequentialFeatureSelector(LinearRegression(), **how).fit(X, y)
        b = SequentialFeatureSelector(Slow(), **how).fit(X, y)
        np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-9)

    def test_forward_stops_where_backward_keeps_the_pair(self, rng):
        """x1 = t, x2 = t + y: useless alone, exact together."""
        y = np.tile([-1.0, 1.0], 50)
        t = 30 * rng.normal(size=100)
        X = np.column_stack([t, t + y, rng.normal(size=100)])
        back = SequentialFeatureSelector(
            LinearRegression(), direction="backward", tol=-1e-3
        ).fit(X, y)
        assert set(back.get_support(indices=True)) >= {0, 1}
        assert back.scores_[-1] == pytest.approx(1.0)
        one = ExhaustiveSelector(LinearRegression(), max_features=1).fit(X, y)
        assert one.score_ < 0.1
        step = SequentialFeatureSelector(
            LinearRegression(), direction="stepwise", tol=0.2
        ).fit(X, y)
        assert step.support_.sum() <= 1

    def test_any_estimator(self, rng):
        X = rng.normal(size=(120, 4))
        y = (X[:, 1] * X[:, 3] > 0).astype(int)
        tree = DecisionTreeClassifier(max_depth=4, random_state=0)
        back = SequentialFeatureSelector(
            tree, direction="backward", n_features_to_select=2
        )
        assert set(back.fit(X, y).get_support(indices=True)) == {1, 3}

    def test_evaluations_are_at_most_quadratic(self, rng):
        X, y = problem(rng, d=6)
        pick = SequentialFeatureSelector(LinearRegression(), n_features_to_select=5)
        score = pick._scores(X, y)
        pick._scores = lambda X, y: score
        pick.fit(X, y)
        assert len(score.known) <= 6 * 7 // 2

"""SequentialFeatureSelector against scikit-learn and against plain fits."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_selection import SequentialFeatureSelector as Peer
from sklearn.linear_model import LinearRegression as TheirLinear
from sklearn.model_selection import GroupKFold
from sklearn.tree import DecisionTreeClassifier

from pansophy.feature_selection import (
    ExhaustiveSelector,
    SequentialFeatureSelector,
)
from pansophy.linear_model import LinearRegression, LogisticRegression


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

    def test_a_tolerance_of_zero_is_one(self, rng):
        X = rng.normal(size=(60, 4))
        y = X[:, 0] + 0.5 * rng.normal(size=60)
        how = {"n_features_to_select": "auto", "tol": 0.0, "cv": 3}
        ours = SequentialFeatureSelector(LinearRegression(), **how).fit(X, y)
        theirs = Peer(TheirLinear(), **how).fit(X, y)
        np.testing.assert_array_equal(ours.support_, theirs.support_)
        with pytest.raises(ValueError, match="strictly positive"):
            SequentialFeatureSelector(LinearRegression(), **how | {"tol": -0.1}).fit(
                X, y
            )

    def test_short_way_scores_as_fits_do(self, rng):
        X, y = problem(rng, n=50, d=5)

        class Slow(TheirLinear):
            """Not the exact class, so the general way is taken."""

        how = {"n_features_to_select": 3}
        a = SequentialFeatureSelector(LinearRegression(), **how).fit(X, y)
        b = SequentialFeatureSelector(Slow(), **how).fit(X, y)
        np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-9)

    def test_forward_stops_where_backward_keeps_the_pair(self, rng):
        """x1 = t, x2 = t + y: useless alone, exact together; x3 explains half of y."""
        y = np.tile([-1.0, 1.0], 50)
        t = 30 * rng.normal(size=100)
        X = np.column_stack([t, t + y, y + rng.normal(size=100)])
        back = SequentialFeatureSelector(
            LinearRegression(), direction="backward", tol=-1e-3
        ).fit(X, y)
        assert set(back.get_support(indices=True)) >= {0, 1}
        assert back.scores_[-1] == pytest.approx(1.0)
        # R2 of noise with 100 rows: above 0.3 with a chance of 5e-9
        one = ExhaustiveSelector(LinearRegression(), max_features=1).fit(X[:, :2], y)
        assert one.score_ < 0.3
        step = SequentialFeatureSelector(
            LinearRegression(), direction="stepwise", tol=0.2
        ).fit(X, y)
        assert step.get_support(indices=True).tolist() == [2]

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
        score = pick._scores(X, y, {})
        pick._scores = lambda X, y, params: score
        pick.fit(X, y)
        assert len(score.known) <= 6 * 7 // 2


def useless_alone(n=80, seed=0):
    """x0 = t, x1 = t + y: either column says nothing of y, both together all."""
    rng = np.random.default_rng(seed)
    t = 100 * rng.normal(size=n)
    y = rng.choice([-1.0, 1.0], size=n)
    return np.column_stack([t, t + y]), y


@pytest.mark.parametrize("estimator", [None, LinearRegression(), TheirLinear()])
def test_backward_keeps_columns_that_help_only_together(estimator):
    X, y = useless_alone()
    for tol in (0.0, -0.01):
        back = SequentialFeatureSelector(estimator, direction="backward", tol=tol)
        assert back.fit(X, y).get_support().tolist() == [True, True]
    noise = np.column_stack([X, np.random.default_rng(1).normal(size=(80, 2))])
    back = SequentialFeatureSelector(estimator, direction="backward", tol=-1e-9)
    assert back.fit(noise, y).get_support().tolist() == [True, True, False, False]
    both = LinearRegression().fit(X, y)
    np.testing.assert_allclose(both.predict(X), y, atol=1e-9)


def test_backward_of_classes_keeps_both():
    X, y = useless_alone(200)
    model = LogisticRegression(C=1e4, max_iter=5000)
    back = SequentialFeatureSelector(model, direction="backward", tol=0.0, cv=3)
    assert back.fit(X, y).get_support().all()
    alone = model.fit(X[:, :1], y).score(X[:, :1], y)
    assert alone < 0.7 and model.fit(X, y).score(X, y) == 1


class TestMetadataRouting:
    def test_is_refused_when_it_is_off(self):
        X, y = useless_alone()
        with pytest.raises(ValueError, match="only supported if"):
            SequentialFeatureSelector().fit(X, y, sample_weight=np.ones(80))

    def test_goes_to_who_asks_for_it(self):
        X, y = useless_alone()
        X = np.column_stack([X, np.random.default_rng(1).normal(size=(80, 1))])
        w = np.random.default_rng(2).integers(1, 5, 80).astype(float)
        groups = np.arange(80) % 4
        how = {"n_features_to_select": 2, "direction": "backward"}
        with config_context(enable_metadata_routing=True):
            asks = TheirLinear().set_fit_request(sample_weight=True)
            asks = asks.set_score_request(sample_weight=True)
            cv = GroupKFold(4).set_split_request(groups=True)
            pair = [m(asks, cv=cv, **how) for m in (SequentialFeatureSelector, Peer)]
            for model in pair:
                model.fit(X, y, sample_weight=w, groups=groups)
            np.testing.assert_array_equal(*(m.get_support() for m in pair))
            silent = SequentialFeatureSelector(TheirLinear(), **how)
            with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
                silent.fit(X, y, sample_weight=w)
            with pytest.raises(TypeError, match="other"):
                silent.fit(X, y, other=w)
            silent.fit(X, y)

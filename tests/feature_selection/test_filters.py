"""Correlation and mutual-information filters, and their warnings."""

import numpy as np
import pytest

from pansophy.ensemble import RandomForestRegressor
from pansophy.feature_selection import (
    CorrelationFilter,
    FilterWarning,
    MutualInformationFilter,
    SelectFromModel,
)
from pansophy.feature_selection.filters import mutual_information_of_codes
from pansophy.linear_model import Lasso


def problem(rng, n=80, d=8, rho=0.6):
    X = rng.normal(size=(n, d)) + rho * rng.normal(size=(n, 1))
    w = np.where(np.arange(d) % 3 == 0, rng.normal(size=d) * 2, 0.0)
    return X, X @ w + 1 + rng.normal(size=n)


class TestFilters:
    def test_unchanged_by_shift_and_scale(self, rng):
        X, y = problem(rng)
        a = CorrelationFilter(3).fit(X, y)
        b = CorrelationFilter(3).fit(5 - 3 * X, 2 * y + 1)
        np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-10)
        want = [abs(np.corrcoef(x, y)[0, 1]) for x in X.T]
        np.testing.assert_allclose(a.scores_, want, rtol=1e-10)

    def test_warns_of_copies(self, rng):
        X, y = problem(rng, d=3)
        X = np.column_stack([X[:, 0], 2 * X[:, 0] + 1, X[:, 2]])
        with pytest.warns(FilterWarning, match="kept x0 and x1"):
            CorrelationFilter(threshold=0.0).fit(X, y)

    @pytest.mark.parametrize("make", [CorrelationFilter, MutualInformationFilter])
    def test_misses_exclusive_or_and_says_so(self, make, rng):
        X = rng.choice([-1.0, 1.0], size=(400, 3))
        X[:, 2] += 0.1 * rng.normal(size=400)
        y = (X[:, 0] * X[:, 1] > 0).astype(int)
        with pytest.warns(FilterWarning, match="dropped x0 and x1, which say little"):
            found = make(threshold=0.2).fit(X, y)
        assert not found.support_[:2].any()

    def test_information_sees_what_correlation_cannot(self, rng):
        x = rng.uniform(-1, 1, size=2000)
        X = np.column_stack([x, rng.normal(size=2000)])
        y = x**2 + 0.01 * rng.normal(size=2000)
        assert CorrelationFilter(1).fit(X, y).scores_[0] < 0.1
        found = MutualInformationFilter(1).fit(X, y)
        assert found.support_[0]
        assert found.scores_[1] < 0.02 < found.scores_[0]

    def test_information_of_known_tables(self):
        a = np.repeat([0, 0, 1, 1], [10, 20, 30, 40])
        b = np.repeat([0, 1, 0, 1], [10, 20, 30, 40])
        p = np.array([[0.1, 0.2], [0.3, 0.4]])
        free = np.outer(p.sum(1), p.sum(0))
        assert mutual_information_of_codes(a, b) == pytest.approx(
            np.sum(p * np.log(p / free))
        )
        assert mutual_information_of_codes(a, a) == pytest.approx(
            -(0.3 * np.log(0.3) + 0.7 * np.log(0.7))
        )

    def test_names_in_warnings(self, rng):
        import pandas as pd

        x = rng.normal(size=50)
        table = pd.DataFrame({"height": x, "metres": x / 100})
        with pytest.warns(FilterWarning, match="kept 'height' and 'metres'"):
            CorrelationFilter(threshold=0.0).fit(table, x + rng.normal(size=50))


class TestExclusiveOrIsWarnedOf:
    """Two columns that tell all together and nothing alone."""

    @pytest.mark.parametrize("make", [CorrelationFilter, MutualInformationFilter])
    @pytest.mark.parametrize("copies", [1, 3, 100])
    def test_the_truth_table(self, make, copies):
        X = np.tile([[0.0, 0], [0, 1], [1, 0], [1, 1]], (copies, 1))
        y = (X[:, 0] != X[:, 1]).astype(int)
        # half of two columns is one: the other one is dropped
        with pytest.warns(FilterWarning, match="x1 and x0|x0 and x1"):
            make().fit(X, y)

    def test_numbers_and_a_kept_partner(self, rng):
        X = rng.normal(size=(200, 4)) + 5
        y = (X[:, 0] - 5) * (X[:, 3] - 5) + 0.1 * rng.normal(size=200)
        with pytest.warns(FilterWarning, match="say little alone but much together"):
            CorrelationFilter(threshold=0.9).fit(X, y)
        weighted = CorrelationFilter(threshold=0.9)
        with pytest.warns(FilterWarning, match="x0 and x3"):
            weighted.fit(X, y, sample_weight=rng.integers(1, 4, 200))

    @pytest.mark.parametrize("n", [6, 20, 60, 300])
    def test_no_false_alarm_on_noise(self, n):
        for seed in range(15):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(n, 12))
            y = X[:, 0] + 0.5 * rng.normal(size=n)
            CorrelationFilter(3).fit(X, y)  # warnings are errors
            CorrelationFilter(3).fit(X, (y > 0).astype(int))


def test_columns_of_any_scale_have_the_same_scores(rng):
    X, y = problem(rng)
    for make in (CorrelationFilter, MutualInformationFilter):
        near = make(4).fit(X, y).scores_
        for scale in (1e-160, 1e160, 10.0 ** np.arange(-80, 80, 20)):
            np.testing.assert_allclose(make(4).fit(scale * X, y).scores_, near)


def test_select_from_model_keeps_what_a_lasso_keeps(rng):
    # orthonormal columns: |x_j . y| above the threshold of the penalty
    Q = np.linalg.qr(rng.normal(size=(60, 6)))[0]
    y = Q @ np.array([3.0, 0, -1.0, 0.2, 0, 2.0])
    alpha = 0.5
    select = SelectFromModel(Lasso(alpha=alpha / 60, fit_intercept=False)).fit(Q, y)
    np.testing.assert_array_equal(select.get_support(), np.abs(Q.T @ y) > alpha)
    noisy = np.column_stack([rng.normal(size=(300, 2)), rng.normal(size=300)])
    forest = RandomForestRegressor(20, random_state=0)
    chosen = SelectFromModel(forest).fit(noisy, noisy[:, 0] + noisy[:, 1])
    assert chosen.get_support().tolist() == [True, True, False]
    assert chosen.estimator_.feature_importances_[2] < 0.05


def test_pairs_are_judged_by_the_weights(rng):
    """An exclusive or in the rows that count, noise in nine times as many without."""
    X = rng.choice([-1.0, 1.0], (2000, 2))
    X = np.column_stack([X, rng.normal(size=2000)])
    w = (np.arange(2000) < 200).astype(float)
    noise = rng.integers(0, 2, 2000)
    y = np.where(w > 0, X[:, 0] * X[:, 1] > 0, noise).astype(int)
    X[:, 2] += 2 * y  # the column that is kept
    with pytest.warns(FilterWarning, match="much together"):
        CorrelationFilter(1).fit(X, y, sample_weight=w)

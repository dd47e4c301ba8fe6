"""Theil-Sen: median slopes, spatial medians, subsets, parity."""

import numpy as np
import pytest
from sklearn import linear_model as peer

from pansophy.linear_model import TheilSenRegressor
from pansophy.linear_model.robust.theil_sen import breakdown_point, spatial_median


def test_slope_through_the_origin_is_a_median(rng):
    x, y = rng.uniform(1, 2, size=(15, 1)), rng.normal(size=15)
    model = TheilSenRegressor(fit_intercept=False).fit(x, y)
    assert model.coef_[0] == pytest.approx(np.median(y / x[:, 0]))
    assert model.n_subpopulation_ == 15


def test_all_pairs_agree_with_scikit_learn(rng):
    x = rng.normal(size=(40, 1))
    y = 3 * x[:, 0] + 1 + 0.1 * rng.normal(size=40)
    y[:6] += 50
    ours = TheilSenRegressor(tol=1e-8).fit(x, y)
    theirs = peer.TheilSenRegressor(tol=1e-10, max_iter=3000).fit(x, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-4)
    assert ours.breakdown_ == pytest.approx(theirs.breakdown_)
    assert ours.n_subpopulation_ == theirs.n_subpopulation_


def test_spatial_median_is_the_lowest(rng):
    C = np.concatenate([rng.normal(size=(200, 3)), 100 + rng.normal(size=(40, 3))])
    c = spatial_median(C, tol=1e-10).state.position
    total = lambda c: np.sqrt(((C - c) ** 2).sum(axis=1)).sum()
    for _ in range(50):
        assert total(c) <= total(c + 0.01 * rng.normal(size=3))
    same = np.zeros((9, 2))
    same[:3] = rng.normal(size=(3, 2))
    np.testing.assert_array_equal(spatial_median(same).state.position, 0)


def test_outliers_up_to_the_breakdown_point(rng):
    X = rng.normal(size=(300, 3))
    y = X @ [1.0, -2.0, 0.5] + 1 + 0.05 * rng.normal(size=300)
    y[:30] += 1e3
    model = TheilSenRegressor(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1, -2, 0.5], atol=0.15)
    assert 0.1 < model.breakdown_ < 0.2
    again = TheilSenRegressor(random_state=0, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    more = TheilSenRegressor(random_state=0, n_subsamples=10).fit(X, y)
    assert more.breakdown_ < model.breakdown_


def test_bad_subset_sizes(rng):
    X, y = rng.normal(size=(10, 3)), rng.normal(size=10)
    with pytest.raises(ValueError, match=r"n_subsamples > n_samples \(11 > 10\)"):
        TheilSenRegressor(n_subsamples=11).fit(X, y)
    with pytest.raises(ValueError, match=r"n_features\+1 > n_subsamples \(4 > 2\)"):
        TheilSenRegressor(n_subsamples=2).fit(X, y)
    assert breakdown_point(1e12, 2) == pytest.approx(1 - 2**-0.5)

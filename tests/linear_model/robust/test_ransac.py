"""RANSAC: consensus, stopping, validity, other regressors, parity."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import linear_model as peer
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeRegressor

from pansophy.linear_model import LinearRegression, RANSACRegressor, Ridge
from pansophy.linear_model.robust.ransac import trials_needed


@pytest.fixture
def spoilt(rng):
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, -2.0, 0.5] + 1 + 0.05 * rng.normal(size=200)
    y[:60] += rng.uniform(5, 50, size=60)
    return X, y


def test_finds_the_clean_rows(spoilt):
    X, y = spoilt
    model = RANSACRegressor(residual_threshold=0.3, random_state=0).fit(X, y)
    assert not model.inlier_mask_[:60].any()
    assert model.inlier_mask_[60:].mean() > 0.95
    clean = LinearRegression().fit(X[model.inlier_mask_], y[model.inlier_mask_])
    np.testing.assert_allclose(model.estimator_.coef_, clean.coef_)
    np.testing.assert_allclose(model.predict(X), clean.predict(X))
    theirs = peer.RANSACRegressor(residual_threshold=0.3, random_state=0).fit(X, y)
    # other draws: rows at the threshold may differ, as the best of 100 fits does
    assert np.mean(model.inlier_mask_ != theirs.inlier_mask_) < 0.05
    assert model.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-2)


def test_an_outlier_has_no_pull(rng):
    x = np.arange(30.0)[:, None]
    y = 2 * x[:, 0] + 1 + 0.01 * rng.normal(size=30)
    slopes = []
    for far in (1e2, 1e6, 1e12):
        z = y.copy()
        z[-1] += far
        model = RANSACRegressor(residual_threshold=0.1, random_state=0).fit(x, z)
        slopes.append(model.estimator_.coef_[0])
    np.testing.assert_allclose(slopes, slopes[0], rtol=1e-9)


def test_number_of_trials():
    assert trials_needed(50, 100, 2, 0.99) == math.ceil(math.log(0.01) / math.log(0.75))
    assert trials_needed(100, 100, 3, 0.99) == 1
    assert trials_needed(0, 100, 3, 0.99) == math.inf
    assert trials_needed(50, 100, 3, 0.0) == 0
    assert trials_needed(50, 100, 3, 1.0) == math.inf


def test_batched_equals_one_by_one(spoilt):
    X, y = spoilt
    how = {"residual_threshold": 0.3, "random_state": 3}
    fast = RANSACRegressor(**how).fit(X, y)
    slow = RANSACRegressor(**how, is_model_valid=lambda m, X, y: True).fit(X, y)
    assert fast.n_trials_ == slow.n_trials_
    np.testing.assert_array_equal(fast.inlier_mask_, slow.inlier_mask_)
    sparse = RANSACRegressor(**how).fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(fast.inlier_mask_, sparse.inlier_mask_)
    np.testing.assert_allclose(sparse.estimator_.coef_, fast.estimator_.coef_)


def test_stopping_and_skips(spoilt):
    X, y = spoilt
    how = {"residual_threshold": 0.3, "random_state": 0}
    early = RANSACRegressor(**how, stop_n_inliers=5).fit(X, y)
    assert early.n_trials_ < 20
    assert RANSACRegressor(**how, stop_score=-math.inf).fit(X, y).n_trials_ <= 20
    picky = RANSACRegressor(
        **how, is_data_valid=lambda X, y: np.all(y < 10), stop_probability=1.0
    ).fit(X, y)
    assert picky.n_skips_invalid_data_ > 0
    assert picky.n_trials_ == 100
    with pytest.raises(ValueError, match="valid consensus set"):
        RANSACRegressor(**how, is_data_valid=lambda X, y: False).fit(X, y)
    with pytest.raises(ValueError, match="max_skips"):
        RANSACRegressor(**how, is_model_valid=lambda m, X, y: False, max_skips=3).fit(
            X, y
        )
    with pytest.warns(ConvergenceWarning, match="exited early"):
        RANSACRegressor(**how, max_skips=2, stop_probability=1.0).fit(X, y)


def test_other_regressors_losses_and_targets(spoilt, rng):
    X, y = spoilt
    with pytest.raises(ValueError, match="explicitly set"):
        RANSACRegressor(DecisionTreeRegressor()).fit(X, y)
    model = RANSACRegressor(
        Ridge(alpha=1e-6),
        min_samples=0.05,
        residual_threshold=0.3,
        loss=lambda y, f: np.abs(y - f),
        random_state=0,
    ).fit(X, y)
    assert isinstance(model.estimator_, Ridge)
    assert not model.inlier_mask_[:60].any()
    both = RANSACRegressor(
        residual_threshold=0.3, loss="squared_error", random_state=0
    ).fit(X, np.column_stack([y, -y]))
    assert both.predict(X).shape == (200, 2)
    w = rng.uniform(0.5, 2, size=200)
    weighted = RANSACRegressor(residual_threshold=0.3, random_state=0)
    weighted.fit(X, y, sample_weight=w)
    some = weighted.inlier_mask_
    clean = LinearRegression().fit(X[some], y[some], sample_weight=w[some])
    np.testing.assert_allclose(weighted.estimator_.coef_, clean.coef_)
    with pytest.raises(ValueError, match="may not be larger"):
        RANSACRegressor(min_samples=300).fit(X, y)

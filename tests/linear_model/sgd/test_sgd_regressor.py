"""SGDRegressor: the delta rule, ridge, partial_fit, log links."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer

from pansophy.linear_model import (
    Ridge,
    SGDClassifier,
    SGDRegressor,
)
from tests.linear_model.small_problems import linear_rows


@pytest.fixture(scope="module")
def data():
    return linear_rows()


def test_least_squares_by_the_delta_rule():
    """Steps below 2 / lambda_max come to least squares, others do not."""
    X, y = np.array([[0.0, 1], [1, 1], [2, 1]]), np.array([1.0, 3, 5])
    limit = 2 / np.linalg.eigvalsh(X.T @ X / 3)[-1]
    how = {
        "penalty": None,
        "learning_rate": "constant",
        "fit_intercept": False,
        "batch_size": 3,
        "tol": None,
    }
    model = SGDRegressor(eta0=0.99 * limit, max_iter=3000, **how).fit(X, y)
    np.testing.assert_allclose(model.coef_, [2, 1], atol=1e-6)
    model = SGDRegressor(eta0=1.01 * limit, max_iter=3000, **how).fit(X, y)
    assert np.abs(model.coef_).max() > 1e9
    X, y = np.column_stack([np.ones(4), np.arange(4)]), np.array([1.0, 2, 2, 4])
    model = SGDRegressor(eta0=0.1, max_iter=3000, **{**how, "batch_size": 4}).fit(X, y)
    np.testing.assert_allclose(model.coef_, [0.9, 0.9], atol=1e-6)


@pytest.mark.parametrize("step", ["constant", "invscaling", "adaptive"])
def test_regression_comes_to_ridge(data, step):
    X, y = data
    how = {"learning_rate": step, "random_state": 0, "eta0": 0.01, "alpha": 0.1}
    how |= {"max_iter": 50, "tol": None, "average": 3000}
    model = SGDRegressor(**how).fit(X, y)
    exact = Ridge(alpha=0.1 * len(y)).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=0.02)
    theirs = peer.SGDRegressor(**how).fit(X, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=0.02)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet"])
def test_average_is_the_mean_of_the_coefficients_after_each_row(data, penalty, sparse):
    X = data[0][:60] * (np.abs(data[0][:60]) > 0.7)
    X[:, 4] = 0.0
    y = data[1][:60]
    rows = sp.csr_matrix(X) if sparse else X
    how = {"penalty": penalty, "alpha": 0.05, "eta0": 0.05, "tol": None}
    how |= {"learning_rate": "constant", "shuffle": False}
    steps = SGDRegressor(**how)
    seen = []
    for i in range(60):
        steps.partial_fit(rows[i : i + 1], y[i : i + 1])
        seen.append(np.append(steps.coef_, steps.intercept_))
    model = SGDRegressor(average=True, max_iter=1, **how).fit(rows, y)
    found = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(found, np.mean(seen, axis=0), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("average", [False, True])
def test_sparse_rows_without_intercept_give_the_numbers_of_scikit_learn(data, average):
    """With an intercept they differ: scikit-learn slows it for sparse rows."""
    rows = sp.csr_matrix(data[0] * (np.abs(data[0]) > 0.7))
    how = {"fit_intercept": False, "average": average, "max_iter": 3, "tol": None}
    how |= {"shuffle": False}
    ours = SGDRegressor(**how).fit(rows, data[1])
    theirs = peer.SGDRegressor(**how).fit(rows, data[1])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)


def test_partial_fit_of_the_regressor_and_its_errors(data):
    X, y = data
    whole = SGDRegressor(shuffle=False, max_iter=1, tol=None).fit(X, y)
    parts = SGDRegressor(shuffle=False)
    for rows in np.array_split(np.arange(len(X)), 5):
        parts.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-12)
    model = SGDClassifier()
    with pytest.raises(ValueError, match="classes must be passed"):
        model.partial_fit(X, y > 0)
    model.partial_fit(X, y > 0, classes=[False, True])
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, y > 0, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="labels"):
        SGDClassifier().partial_fit(X, np.arange(len(X)) % 3, classes=[0, 1])
    with pytest.raises(ValueError, match="balanced"):
        SGDClassifier(class_weight="balanced").partial_fit(X, y > 0, classes=[0, 1])


def test_log_links_predict_means_and_quantiles_are_quantiles(data):
    X, rng = data[0], np.random.default_rng(1)
    y = rng.poisson(np.exp(0.3 * X[:, 0] + 1)).astype(float)
    model = SGDRegressor("poisson", random_state=0, average=True).fit(X, y)
    np.testing.assert_allclose(model.predict(X).mean(), y.mean(), rtol=0.05)
    high = SGDRegressor("quantile", quantile=0.9, random_state=0, average=300)
    high.set_params(max_iter=100, tol=None, learning_rate="constant").fit(X, data[1])
    assert abs(np.mean(data[1] < high.predict(X)) - 0.9) < 0.03

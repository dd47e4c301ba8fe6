"""Multi-task lasso and elastic net: scikit-learn, optimality, gaps, edges."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from sklearn.exceptions import ConvergenceWarning

from pansophy.linear_model import (
    Lasso,
    MultiTaskElasticNet,
    MultiTaskLasso,
    Ridge,
    enet_path,
    lasso_path,
)
from pansophy.optim.nonsmooth import group_working_set
from tests.oracles import coordinate as oracle


def problem(n, d, t=3, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + shift
    W = np.zeros((d, t))
    W[:4] = rng.normal(size=(4, t))
    return X, X @ W + rng.normal(size=(n, t)) + 2


@pytest.mark.parametrize("shape", [(60, 10), (40, 300)])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
def test_as_scikit_learn(shape, fit_intercept, ratio):
    X, Y = problem(*shape)
    how = {"alpha": 0.3, "l1_ratio": ratio, "fit_intercept": fit_intercept}
    theirs = peer.MultiTaskElasticNet(**how, tol=1e-12, max_iter=100_000).fit(X, Y)
    for rows in (X, np.asfortranarray(X), sp.csc_matrix(X)):
        model = MultiTaskElasticNet(**how, tol=1e-11).fit(rows, Y)
        np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-6)
        np.testing.assert_allclose(model.intercept_, theirs.intercept_, atol=1e-5)
        used = model.coef_.any(axis=0)
        assert np.all(model.coef_[:, ~used] == 0)
        assert model.eps_ == pytest.approx(theirs.eps_ * 10)


def test_optimality_conditions():
    X, Y = problem(50, 400)
    model = MultiTaskLasso(alpha=0.5, tol=1e-12).fit(X, Y)
    R = Y - model.predict(X)
    C = R.T @ (X - X.mean(axis=0)) / 50
    size = np.linalg.norm(model.coef_, axis=0)
    used = size > 0
    assert 0 < used.sum() < 50
    np.testing.assert_allclose(
        C[:, used], 0.5 * model.coef_[:, used] / size[used], atol=1e-5
    )
    assert np.all(np.linalg.norm(C[:, ~used], axis=0) <= 0.5 + 1e-5)


def test_matches_the_oracle():
    X, Y = problem(30, 8, shift=0.0)
    C, Z = X - X.mean(axis=0), Y - Y.mean(axis=0)
    slow = oracle.group_lasso(C, Z, np.arange(8), 30 * 0.2, 30 * 0.1)
    model = MultiTaskElasticNet(alpha=0.3, l1_ratio=2 / 3, tol=1e-12).fit(X, Y)
    np.testing.assert_allclose(model.coef_, slow, atol=1e-8)


def test_one_target_is_the_lasso():
    X, Y = problem(40, 30)
    one = MultiTaskLasso(alpha=0.2, tol=1e-12).fit(X, Y[:, :1])
    same = Lasso(alpha=0.2, tol=1e-12).fit(X, Y[:, 0])
    assert one.coef_.shape == (1, 30)
    np.testing.assert_allclose(one.coef_[0], same.coef_, atol=1e-8)
    with pytest.raises(ValueError, match="one column per target"):
        MultiTaskLasso().fit(X, Y[:, 0])


def test_paths_and_gaps():
    X, Y = problem(40, 300)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    alphas, coefs, gaps = lasso_path(X, Y, alphas=10, eps=0.05, tol=1e-8)
    assert coefs.shape == (3, 300, 10) and np.all(coefs[:, :, 0] == 0)
    assert np.all(gaps <= 1e-8 * np.sum(Y**2) / 40)
    theirs = peer.lasso_path(X, Y, alphas=alphas, tol=1e-10, max_iter=50_000)[1]
    np.testing.assert_allclose(coefs, theirs, atol=1e-4)
    with pytest.raises(ValueError, match="positive=True takes one column"):
        enet_path(X, Y, positive=True)


def test_blocks_of_columns_where_the_gram_matrix_would_be_large(monkeypatch):
    X, Y = problem(60, 300)
    exact = MultiTaskLasso(alpha=0.1, tol=1e-10).fit(X, Y).coef_
    monkeypatch.setattr(group_working_set, "LIMIT", 20)
    monkeypatch.setattr(group_working_set, "BLOCK_COLUMNS", 100)
    for rows in (X, sp.csc_matrix(X)):
        model = MultiTaskLasso(alpha=0.1, tol=1e-5).fit(rows, Y)
        np.testing.assert_allclose(model.coef_, exact, atol=1e-2)


def test_warm_start_weights_precision_and_warning():
    X, Y = problem(50, 300)
    model = MultiTaskLasso(alpha=0.3, warm_start=True, tol=1e-6).fit(X, Y)
    assert model.fit(X, Y).n_iter_ == 1
    w = np.random.default_rng(0).integers(0, 3, size=50)
    once = MultiTaskLasso(alpha=0.3, tol=1e-12).fit(X, Y, sample_weight=w)
    again = MultiTaskLasso(alpha=0.3, tol=1e-12)
    again.fit(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0))
    np.testing.assert_allclose(once.coef_, again.coef_, atol=1e-6)
    single = MultiTaskLasso(alpha=0.3).fit(X.astype("f4"), Y.astype("f4"))
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, model.coef_, atol=2e-2)
    with pytest.warns(ConvergenceWarning, match="number of iterations, max_iter=1"):
        MultiTaskLasso(alpha=0.01, max_iter=1, tol=1e-14).fit(X, Y)
    random = MultiTaskLasso(alpha=0.3, selection="random", random_state=0, tol=1e-8)
    np.testing.assert_allclose(random.fit(X, Y).coef_, model.coef_, atol=1e-2)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_no_l1_part_is_ridge_regression(weighted, container, rng):
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 8))
    X += 1e-3 * rng.normal(size=X.shape)
    Y = rng.normal(size=(40, 2))
    w = rng.uniform(0.5, 2, 40) if weighted else np.ones(40)
    model = MultiTaskElasticNet(alpha=1e-6 / w.sum(), l1_ratio=0.0)
    model.fit(container(X), Y, sample_weight=w)
    ridge = Ridge(1e-6, solver="svd").fit(X, Y, sample_weight=w)
    np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-7)
    assert model.n_iter_ == 1


def duality_gap(model, X, Y):
    """P - D of a multi-task lasso from its definition, for centred rows."""
    n = len(X)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    R = Y - X @ model.coef_.T
    lengths = np.linalg.norm(model.coef_, axis=0)
    correlations = np.linalg.norm(X.T @ R, axis=1) / n
    s = min(1.0, model.alpha / correlations.max())
    primal = (R**2).sum() / (2 * n) + model.alpha * lengths.sum()
    return primal - s * (Y * R).sum() / n + s**2 * (R**2).sum() / (2 * n)


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("t", [1, 2])
def test_more_columns_than_rank(t, repeated):
    """Newton's matrix is singular up to rounding on supports larger than the rank."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(15, 30))
        X = np.column_stack([X[:, :12], X[:, :12]]) if repeated else X
        Y = rng.integers(0, 3, size=(15, t)).astype(float)
        for alpha in np.geomspace(0.5, 1e-4, 20):
            model = MultiTaskLasso(alpha).fit(X, Y)
            goal = model.tol * Y.var(axis=0).sum()
            assert duality_gap(model, X, Y) <= 1.01 * goal

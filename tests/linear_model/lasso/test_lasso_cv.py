"""Cross-validated lasso family: scikit-learn, weights, mixes, refusals."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, LeaveOneGroupOut

import pansophy.linear_model as ours
from pansophy.params import ParameterError

NAMES = ["LassoCV", "ElasticNetCV", "MultiTaskLassoCV", "MultiTaskElasticNetCV"]


def problem(n, d, t=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1
    W = np.zeros((d, t))
    W[:4] = rng.normal(size=(4, t))
    return X, X @ W + rng.normal(size=(n, t))


@pytest.mark.parametrize("shape", [(40, 12), (40, 300)])
@pytest.mark.parametrize("name", NAMES)
def test_as_scikit_learn(name, shape):
    X, Y = problem(*shape)
    y = Y if "Multi" in name else Y[:, 0]
    how = {"alphas": 8, "eps": 0.05, "cv": KFold(3, shuffle=True, random_state=0)}
    if "Elastic" in name:
        how["l1_ratio"] = [0.3, 0.9]
    theirs = getattr(peer, name)(**how, tol=1e-10, max_iter=50_000).fit(X, y)
    for rows in (X, np.asfortranarray(X), sp.csr_matrix(X)):
        model = getattr(ours, name)(**how, tol=1e-10).fit(rows, y)
        np.testing.assert_allclose(model.alphas_, theirs.alphas_, rtol=1e-10)
        np.testing.assert_allclose(model.mse_path_, theirs.mse_path_, rtol=1e-4)
        assert model.alpha_ == pytest.approx(theirs.alpha_)
        assert model.l1_ratio_ == pytest.approx(getattr(theirs, "l1_ratio_", 1.0))
        np.testing.assert_allclose(model.coef_, theirs.coef_, atol=1e-6)
        np.testing.assert_allclose(model.predict(rows), theirs.predict(X), atol=1e-5)
        assert model.dual_gap_ <= 1e-9 * np.var(Y, axis=0).sum()


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_repetitions(name):
    X, Y = problem(30, 8)
    y = Y if "Multi" in name else Y[:, 0]
    w = np.random.default_rng(1).integers(0, 3, size=30)
    part = np.arange(30) % 3
    split = LeaveOneGroupOut().split
    once = getattr(ours, name)(alphas=10, cv=list(split(X, groups=part)))
    again = getattr(ours, name)(
        alphas=10, cv=list(split(np.repeat(X, w, 0), groups=np.repeat(part, w)))
    )
    once.fit(X, y, sample_weight=w)
    again.fit(np.repeat(X, w, axis=0), np.repeat(y, w, axis=0))
    assert once.alpha_ == pytest.approx(again.alpha_, rel=1e-12)
    # both are within the tolerance of the same optimum, by ways that rounding parts
    np.testing.assert_allclose(once.coef_, again.coef_, rtol=1e-6, atol=1e-7)


def test_threads_do_not_matter():
    X, Y = problem(50, 40)
    fits = [ours.LassoCV(alphas=12, n_jobs=n).fit(X, Y[:, 0]) for n in (1, 2, None)]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.mse_path_, fits[0].mse_path_)
        np.testing.assert_array_equal(fit.coef_, fits[0].coef_)


def test_given_alphas_and_options():
    X, Y = problem(50, 10)
    model = ours.LassoCV(alphas=[0.01, 1.0, 0.1], positive=True, precompute=True)
    model.fit(X, Y[:, 0])
    assert model.alphas_.tolist() == [1.0, 0.1, 0.01] and np.all(model.coef_ >= 0)
    assert model.mse_path_.shape == (3, 5)
    random = ours.ElasticNetCV(alphas=5, selection="random", random_state=0, tol=1e-10)
    plain = ours.ElasticNetCV(alphas=5, tol=1e-10).fit(X, Y[:, 0])
    np.testing.assert_allclose(random.fit(X, Y[:, 0]).coef_, plain.coef_, atol=1e-7)
    ridge = ours.ElasticNetCV(l1_ratio=0.0, alphas=[1.0, 0.1]).fit(X, Y[:, 0])
    assert np.all(ridge.coef_ != 0)
    single = ours.LassoCV().fit(X.astype("f4"), Y[:, 0].astype("f4"))
    assert single.coef_.dtype == np.float32
    flat = ours.LassoCV().fit(X, np.full(50, 2.0))
    assert np.all(flat.coef_ == 0) and flat.intercept_ == pytest.approx(2)


@pytest.mark.parametrize("make", [ours.LassoCV, ours.ElasticNetCV])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_gram_matrix_of_all_rows_is_taken(make, weighted):
    X, Y = problem(60, 8)
    w = np.arange(60.0) if weighted else np.ones(60)
    p = w / w.mean()
    C = X - np.average(X, axis=0, weights=w)
    gram = C.T @ (p[:, None] * C)
    options = {"alphas": 20, "tol": 1e-10}
    plain = make(**options).fit(X, Y[:, 0], sample_weight=w)
    given = make(precompute=gram, **options)
    copy = gram.copy()
    given.fit(X, Y[:, 0], sample_weight=w)
    np.testing.assert_array_equal(gram, copy)
    np.testing.assert_allclose(given.alphas_, plain.alphas_)
    np.testing.assert_allclose(given.mse_path_, plain.mse_path_)
    np.testing.assert_allclose(given.coef_, plain.coef_, atol=1e-8)
    assert given.alpha_ == pytest.approx(plain.alpha_)
    with pytest.warns(UserWarning, match="recomputing Gram matrix"):
        given.set_params(precompute=X.T @ X).fit(X, Y[:, 0], sample_weight=w)
    np.testing.assert_allclose(given.coef_, plain.coef_, atol=1e-8)


def test_refusals():
    X, Y = problem(30, 5)
    with pytest.raises(ParameterError, match="l1_ratio of ElasticNetCV"):
        ours.ElasticNetCV(l1_ratio=[0.5, 2.0]).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="not supported for l1_ratio=0"):
        ours.ElasticNetCV(l1_ratio=0.0).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match=r"alphas\[0\] == -1.0, must be >= 0.0"):
        ours.LassoCV(alphas=[-1.0]).fit(X, Y[:, 0])
    with pytest.raises(ParameterError, match="precompute of LassoCV"):
        ours.LassoCV(precompute="gram").fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="did not pass validation"):
        ours.LassoCV(precompute=np.eye(5)).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="one column per target"):
        ours.MultiTaskLassoCV().fit(X, Y[:, 0])
    X, Y = problem(30, 300)
    with pytest.warns(ConvergenceWarning) as said:
        ours.LassoCV(alphas=5, max_iter=1, tol=1e-14).fit(X, Y[:, 0])
    assert any("of the 25 fits on folds" in str(one.message) for one in said)

"""Logistic regression: worked numbers, every solver, scikit-learn, weights, devices."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pansophy.base import InterruptedFitWarning
from pansophy.linear_model import LogisticRegression, _logistic, likelihood, logistic_l1
from pansophy.linear_model.logistic_l1 import recentre
from pansophy.optim import check_gradient, newton
from pansophy.params import ParameterError
from tests.oracles import coordinate as oracle

SMOOTH = ["auto", "lbfgs", "newton-cholesky", "newton-cg"]


def problem(n=120, d=6, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    y = np.argmax(X[:, :k] + rng.gumbel(size=(n, k)), axis=1)
    return X, np.array(["a", "b", "c"])[y]


def objective(model, X, y, C, ratio=0.0):
    p = model.predict_log_proba(X)[
        np.arange(len(y)), np.searchsorted(model.classes_, y)
    ]
    W = model.coef_
    return -p.sum() + (ratio * np.abs(W).sum() + (1 - ratio) / 2 * (W**2).sum()) / C


def test_worked_numbers():
    X, y = np.array([[-1.0], [1], [2]]), np.array([0, 1, 0])
    for solver in SMOOTH:
        model = LogisticRegression(C=np.inf, tol=1e-9, solver=solver).fit(X, y)
        found = [model.intercept_[0], model.coef_[0, 0]]
        np.testing.assert_allclose(found, [-0.950033, 0.338548], atol=1e-6)
        p = model.predict_proba(X)[:, 1]
        np.testing.assert_allclose(p, [0.216093, 0.351721, 0.432186], atol=1e-6)
    assert 3 * model.history_["objective"][-1] == pytest.approx(1.854345, abs=1e-6)


def test_newton_iterates():
    X, t = np.arange(6.0)[:, None], np.array([0.0, 0, 1, 0, 1, 1])
    J = likelihood.Likelihood(X, t, np.ones(6), 1, 0.0)  # E is the sum over rows
    seen = []
    for steps in (1, 2, 50):
        run = newton(J, J.hessian, np.zeros(2), max_iter=steps, tol=1e-9, keep=0.0)
        seen.append([*run.state.position[::-1], run.objective])
    expected = [
        [-2, 0.8, 2.606451],
        [-2.774439, 1.109776, 2.484874],
        [-3.035069, 1.214028, 2.477987],
    ]
    np.testing.assert_allclose(seen, expected, atol=1e-6)


def test_strength_of_the_penalty():
    X, y = problem(k=2)
    norms = [
        np.linalg.norm(LogisticRegression(C=C, tol=1e-8).fit(X, y).coef_)
        for C in (10.0, 1.0, 0.1, 0.01)
    ]
    assert np.all(np.diff(norms) < 0)
    signs = np.where(y == "b", 1.0, -1.0)
    top = np.abs(signs @ X).max() / 2
    for factor, zero in ((1.001, True), (0.95, False)):
        model = LogisticRegression(
            C=1 / (factor * top), l1_ratio=1.0, fit_intercept=False, tol=1e-9
        ).fit(X, y)
        assert np.all(model.coef_ == 0) == zero


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("solver", SMOOTH)
@pytest.mark.parametrize("shape", [(150, 5), (40, 60)])
def test_as_scikit_learn(k, solver, shape):
    X, y = problem(*shape, k=k)
    w = np.random.default_rng(1).integers(0, 3, size=len(y))
    for weights, balance, intercept in [
        (None, None, True),
        (w, "balanced", True),
        (w, {"a": 3.0}, False),
    ]:
        how = {"C": 0.5, "class_weight": balance, "fit_intercept": intercept}
        theirs = peer.LogisticRegression(**how, tol=1e-10, max_iter=10_000)
        theirs.fit(X, y, sample_weight=weights)
        for rows in (X, sp.csr_matrix(X)):
            ours = LogisticRegression(**how, tol=1e-8, solver=solver, max_iter=1000)
            ours.fit(rows, y, sample_weight=weights)
            np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-5)
            np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-5)
            proba = ours.predict_proba(rows)
            np.testing.assert_allclose(proba, theirs.predict_proba(X), atol=1e-5)
            assert ours.n_iter_.shape == (1,)
            assert (ours.predict(rows) == theirs.predict(X)).all()


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_l1_as_scikit_learn(k, ratio):
    X, y = problem(100, 12, k=k)
    how = {"C": 0.3, "l1_ratio": ratio}
    theirs = peer.LogisticRegression(**how, solver="saga", tol=1e-7, max_iter=20_000)
    theirs.fit(X, y)
    for rows in (X, sp.csr_matrix(X)):
        ours = LogisticRegression(**how, tol=1e-8).fit(rows, y)
        assert ours.solver_ == "coordinate"
        np.testing.assert_allclose(
            ours.predict_proba(rows), theirs.predict_proba(X), atol=2e-4
        )
        better = objective(theirs, X, y, 0.3, ratio) + 1e-9
        assert objective(ours, X, y, 0.3, ratio) <= better
    assert np.any(ours.coef_ == 0)


def test_recentre_lowers_the_penalty(rng):
    W = rng.normal(size=(4, 7))
    for a, b2 in [(1.0, 0.0), (0.5, 0.3), (0.0, 1.0)]:
        size = lambda V, a=a, b2=b2: (a * np.abs(V) + b2 / 2 * V * V).sum(axis=0)
        best = size(recentre(W, a, b2))
        for _ in range(50):
            assert np.all(best <= size(W - rng.normal(size=7)) + 1e-12)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, "torch"])
def test_likelihood_derivatives(k, make, rng):
    n, d = 30, 4
    X, v = rng.normal(size=(n, d)), rng.uniform(size=n)
    t = rng.integers(0, max(k, 2), size=n)
    rows = X
    if make == "torch":
        torch = pytest.importorskip("torch")
        rows, t, v = (torch.as_tensor(a) for a in (X, t, v))
    else:
        rows, t = make(X), t.astype(float) if k == 1 else t
    J = likelihood.Likelihood(rows, t, v, k, 0.3)
    x = rng.normal(size=k * (d + 1))
    assert check_gradient(J, x) < 1e-7
    H = J.hessian(x)
    u = rng.normal(size=(k, d + 1))
    u[:, d] -= u[:, d].mean() if k > 1 else 0  # where H has more than J
    u = u.ravel()
    up, down = J(x + 1e-5 * u)[1], J(x - 1e-5 * u)[1]
    np.testing.assert_allclose(H @ u, (up - down) / 2e-5, atol=1e-7)
    if make != "torch":
        np.testing.assert_allclose(J.product(x)(u), H @ u, atol=1e-10)


def test_loops_match_the_oracle(rng):
    X, v, w = rng.normal(size=(20, 3)), rng.uniform(size=20), rng.normal(size=3)
    t = rng.integers(0, 2, size=20).astype(float)
    loss, gradient = oracle.binary_pass(X, t, v, w, 0.3)
    g = np.zeros(4)
    assert _logistic.binary(X, t, v, w, 0.3, g) == pytest.approx(loss)
    np.testing.assert_allclose(g, gradient, rtol=1e-12)
    S, g = sp.csr_matrix(X), np.zeros(4)
    rows = (S.data, S.indices, S.indptr)
    assert _logistic.binary_sparse(*rows, t, v, w, 0.3, g) == pytest.approx(loss)
    np.testing.assert_allclose(g, gradient, rtol=1e-12)
    F, labels = rng.normal(size=(20, 4)), rng.integers(0, 4, size=20)
    loss, R = oracle.softmax_pass(F, labels, v)
    assert _logistic.softmax_rows(F, labels, v) == pytest.approx(loss)
    np.testing.assert_allclose(F, R, atol=1e-14)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("block", [0, 3, 8])
def test_newton_passes_match_the_oracle(intercept, block, rng, monkeypatch):
    monkeypatch.setattr(logistic_l1, "BLOCK", block)
    X = rng.normal(size=(30, 8)) * (rng.uniform(size=(30, 8)) < 0.6)
    h, r, w = rng.uniform(size=30), rng.normal(size=30), rng.normal(size=8)
    best, move = oracle.newton_move(X, h, r, w, 1.5, 0.2, intercept, 500)
    columns = logistic_l1.prepare(sp.csc_matrix(X))
    mass = h.sum() if intercept else 0.0
    mean, curve = np.empty((2, 8))
    _logistic.curvatures(*columns.arrays, h, mass, mean, curve)
    G = np.zeros((block, block))
    _logistic.weighted_gram(*columns.inside, h, G)
    B = X[:, columns.block]
    np.testing.assert_allclose(G, np.tril(B.T @ (h[:, None] * B)), atol=1e-12)
    means = mean[columns.block]
    G = G + np.tril(G, -1).T - mass * np.outer(means, means)
    shift = _logistic.newton_epochs(
        *columns.arrays,
        *(h, r.copy(), mass, mean, curve, w, columns.block, G, columns.others),
        *(1.5, 0.2, 0.0, 1e-10, 1000),
    )
    np.testing.assert_allclose(w, best, atol=1e-8)
    assert shift == pytest.approx(move, abs=1e-8)
    out = np.zeros(30)
    _logistic.add_columns(*columns.arrays, w, out)
    np.testing.assert_allclose(out, X @ w, atol=1e-12)


@given(st.integers(0, 2**31 - 1), st.sampled_from([2, 3]), st.sampled_from([0.0, 0.7]))
@settings(max_examples=12, deadline=None)
def test_weights_are_repetitions(seed, k, ratio):
    X, y = problem(40, 4, k, seed)
    w = np.random.default_rng(seed).integers(0, 3, size=40)
    if len(np.unique(y[w > 0])) < len(np.unique(y)):
        w = w + 1
    how = {"l1_ratio": ratio, "class_weight": "balanced"}
    once = LogisticRegression(**how).fit(X, y, sample_weight=w)
    again = LogisticRegression(**how).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(once.coef_, again.coef_, rtol=1e-6, atol=1e-8)


def test_rough_hessian_reaches_the_same_optimum(monkeypatch):
    X, y = problem(4000, 8, k=2)
    exact = LogisticRegression(tol=1e-10).fit(X, y)
    monkeypatch.setattr(likelihood, "ROUGH_ROWS", 200)
    rough = LogisticRegression(tol=1e-10).fit(X, y)
    np.testing.assert_allclose(rough.coef_, exact.coef_, atol=1e-8)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("k", [2, 3])
def test_tensors_stay(library, k):
    xp = pytest.importorskip(library)
    X, names = problem(k=k)
    y = np.unique(names, return_inverse=True)[1]
    plain = LogisticRegression(tol=1e-8).fit(X, y)
    for solver in ("auto", "lbfgs"):
        model = LogisticRegression(tol=1e-8, solver=solver)
        model.fit(xp.asarray(X), xp.asarray(y))
        assert type(model.coef_) is type(xp.asarray(X))
        np.testing.assert_allclose(np.asarray(model.coef_), plain.coef_, atol=1e-5)
        found = model.predict(xp.asarray(X))
        assert (np.asarray(found) == plain.predict(X)).all()
        proba = np.asarray(model.predict_proba(xp.asarray(X)))
        np.testing.assert_allclose(proba, plain.predict_proba(X), atol=1e-6)


def test_penalty_words_and_bad_choices():
    X, y = problem(k=2)
    for old, new in [
        ({"penalty": "l1"}, {"l1_ratio": 1.0}),
        ({"penalty": None}, {"C": np.inf}),
        ({"penalty": "l2", "l1_ratio": 0.5}, {"l1_ratio": 0.0}),
    ]:
        a, b = LogisticRegression(**old).fit(X, y), LogisticRegression(**new).fit(X, y)
        np.testing.assert_array_equal(a.coef_, b.coef_)
    with pytest.raises(ValueError, match="takes l1_ratio=0 only"):
        LogisticRegression(solver="lbfgs", l1_ratio=1.0).fit(X, y)
    for bad in ({"solver": "saga"}, {"C": 0}, {"dual": True}, {"n_jobs": 0}):
        with pytest.raises(ParameterError, match="of LogisticRegression must be"):
            LogisticRegression(**bad).fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        LogisticRegression().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="are not in"):
        LogisticRegression(class_weight={"z": 2.0}).fit(X, y)


def test_separable_data_warn_or_settle():
    X, y = np.array([[-2.0], [-1], [1], [2]]), np.array([0, 0, 1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=np.inf).fit(X, y)
    assert np.isfinite(model.coef_).all() and model.score(X, y) == 1


def test_warm_start_jobs_float32_and_far_scores():
    X, y = problem(k=2)
    model = LogisticRegression(warm_start=True, solver="lbfgs").fit(X, y)
    assert model.n_iter_[0] > 2 and model.fit(X, y).n_iter_[0] <= 2
    one = LogisticRegression(n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(one.coef_, LogisticRegression().fit(X, y).coef_)
    single = LogisticRegression().fit(X.astype("f4"), y)
    assert single.coef_.dtype == np.float32
    np.testing.assert_allclose(single.coef_, one.coef_, atol=1e-3)
    far = model.predict_log_proba(1e4 * X)
    assert np.isfinite(far).all()


def test_interruption_leaves_a_model(monkeypatch):
    X, y = problem(k=3)
    calls, real = [], likelihood.Likelihood.__call__

    def stop(self, x):
        calls.append(1)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return real(self, x)

    monkeypatch.setattr(likelihood.Likelihood, "__call__", stop)
    for solver in ("lbfgs", "newton-cholesky"):
        calls.clear()
        with pytest.warns(InterruptedFitWarning):
            model = LogisticRegression(solver=solver, tol=0, max_iter=500).fit(X, y)
        assert model.interrupted_ and model.score(X, y) > 0.4

"""Logistic regression: worked numbers, every solver, scikit-learn, weights, devices."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from pansophy import losses
from pansophy.base import InterruptedFitWarning
from pansophy.linear_model import LogisticRegression, LogisticRegressionCV, risk
from pansophy.optim import newton
from pansophy.params import ParameterError

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
    J = risk.Risk(X, t, np.ones(6), losses.logistic)  # E is the sum over rows
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
    monkeypatch.setattr(risk, "ROUGH_ROWS", 200)
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
        ({"penalty": "l2"}, {"l1_ratio": None}),
    ]:
        a, b = LogisticRegression(**old).fit(X, y), LogisticRegression(**new).fit(X, y)
        np.testing.assert_array_equal(a.coef_, b.coef_)
    for bad, says in [
        ({"solver": "lbfgs", "l1_ratio": 1.0}, "supports only 'l2' or None"),
        ({"solver": "sag", "l1_ratio": 0.5}, "supports only 'l2' or None"),
        ({"dual": True}, "supports only dual=False"),
        ({"solver": "liblinear", "l1_ratio": 0.5}, "takes l1_ratio=0, or"),
        ({"solver": "liblinear", "l1_ratio": 1, "dual": True}, "takes l1_ratio=0, or"),
        ({"class_weight": {"z": 2.0}}, "are not in"),
    ]:
        with pytest.raises(ValueError, match=says):
            LogisticRegression(**bad).fit(X, y)
    for bad in ({"solver": "sgd"}, {"C": 0}, {"dual": 1}, {"n_jobs": 0}):
        with pytest.raises(ParameterError, match="of LogisticRegression must be"):
            LogisticRegression(**bad).fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        LogisticRegression().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="OneVsRest"):
        LogisticRegression(solver="liblinear").fit(*problem(k=3))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("ratio", [0.0, 0.6, 1.0])
def test_every_able_solver_reaches_the_same_optimum(k, ratio):
    X, y = problem(150, 5, k=k)
    how = {"C": 0.4, "l1_ratio": ratio, "max_iter": 1000, "random_state": 0}
    best = LogisticRegression(**how, tol=1e-9).fit(X, y)
    able = ["coordinate", "saga"] if ratio else [*SMOOTH, "coordinate", "saga", "sag"]
    for solver in able:
        for rows in (X, np.asfortranarray(X), sp.csr_matrix(X)):
            model = LogisticRegression(**how, tol=1e-7, solver=solver).fit(rows, y)
            np.testing.assert_allclose(model.coef_, best.coef_, atol=1e-5)
            np.testing.assert_allclose(model.intercept_, best.intercept_, atol=1e-5)
            assert model.solver_ == solver or solver == "auto"


@pytest.mark.parametrize("dual", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_liblinear_penalises_the_intercept(dual, intercept):
    X, y = problem(k=2)
    for ratio in (0.0,) if dual else (0.0, 1.0):
        how = {"solver": "liblinear", "dual": dual, "l1_ratio": ratio, "C": 0.3}
        how |= {"intercept_scaling": 2.5, "fit_intercept": intercept}
        theirs = peer.LogisticRegression(**how, tol=1e-9, max_iter=100_000).fit(X, y)
        for rows in (X, sp.csr_matrix(X)):
            ours = LogisticRegression(**how, tol=1e-9).fit(rows, y)
            np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
            np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
        again = ours.set_params(warm_start=True).fit(X, y)
        assert again.n_iter_[0] <= 2


@pytest.mark.parametrize("solver", ["auto", "lbfgs", "newton-cg"])
def test_separable_data_warn(solver):
    X, y = np.array([[-2.0], [-1], [1], [2]]), np.array([0, 0, 1, 1])
    with pytest.warns(ConvergenceWarning, match="the classes are separable"):
        model = LogisticRegression(C=np.inf, solver=solver).fit(X, y)
    assert np.isfinite(model.coef_).all() and model.score(X, y) == 1
    assert abs(LogisticRegression().fit(X, y).coef_[0, 0]) < 2  # a penalty: no warning
    X3, y3 = np.array([[0.0, 0], [4, 0], [0, 4]]), np.array([0, 1, 2])
    with pytest.warns(ConvergenceWarning, match="the classes are separable"):
        LogisticRegression(C=np.inf, solver=solver).fit(X3, y3)
    X[0, 0] = 3.0  # one row on the wrong side
    assert LogisticRegression(C=np.inf, solver=solver).fit(X, y).score(X, y) < 1


def test_probabilities_sum_to_the_counts_and_shifts_change_nothing():
    X, names = problem(k=3)
    model = LogisticRegression(C=np.inf, tol=1e-9).fit(X, names)
    counts = np.unique(names, return_counts=True)[1]
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=0), counts, atol=1e-5)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-8)
    before = model.predict_proba(X)
    model.intercept_ = model.intercept_ + 7.0
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-12)
    model.coef_, model.intercept_ = np.zeros((3, 6)), np.array([1.0, 2, 3]) - 50
    expected = [0.0900306, 0.2447285, 0.6652410]
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], expected, atol=1e-7)


def test_two_classes_are_the_difference_of_two_softmax_rows():
    X, y = problem(k=2)
    one = LogisticRegression(C=np.inf, tol=1e-9).fit(X, y)
    J = risk.Risk(
        X, (y == "b").astype(int), np.full(len(y), 1 / len(y)), losses.softmax, k=2
    )
    both = newton(J, J.hessian, np.zeros(2 * 7), tol=1e-9).state.position.reshape(2, 7)
    np.testing.assert_allclose(both[1, :6] - both[0, :6], one.coef_[0], atol=1e-6)
    np.testing.assert_allclose(both[1, 6] - both[0, 6], one.intercept_[0], atol=1e-6)


@pytest.mark.parametrize("k", [2, 3])
def test_a_table_on_disk_gives_the_same_coefficients(k, tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, y = problem(3000, 6, k=k)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(6)}), path)
    for solver in ("auto", "lbfgs", "newton-cg"):
        memory = LogisticRegression(solver=solver, tol=1e-7).fit(X, y)
        disk = LogisticRegression(solver=solver, tol=1e-7).fit(path, y)
        np.testing.assert_allclose(disk.coef_, memory.coef_, rtol=1e-9, atol=1e-12)
        assert (disk.predict(path) == memory.predict(X)).all()
        assert list(disk.feature_names_in_) == [f"x{j}" for j in range(6)]
    with pytest.raises(TypeError, match="rows in memory"):
        LogisticRegression(l1_ratio=1.0).fit(path, y)
    with pytest.raises(ValueError, match="X has 3000 rows"):
        LogisticRegression().fit(path, y[:-1])


def test_sparsify_and_back():
    X, y = problem(k=3)
    model = LogisticRegression(C=0.05, l1_ratio=1.0).fit(X, y)
    before, dense = model.decision_function(X), model.coef_
    assert sp.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), before)
    np.testing.assert_allclose(model.decision_function(sp.csr_matrix(X)), before)
    assert (model.densify().coef_ == dense).all()


def test_summary_against_a_generalised_linear_model():
    X, y = problem(k=2)
    w = np.random.default_rng(0).integers(1, 4, size=len(y))
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y, sample_weight=w)
    table = model.summary(X, y, w)
    Z = np.column_stack([np.ones(len(X)), X])
    p = model.predict_proba(X)[:, 1]
    V = np.linalg.inv(Z.T @ ((w * p * (1 - p))[:, None] * Z))
    np.testing.assert_allclose(table["std error"], np.sqrt(np.diagonal(V)), rtol=1e-8)
    np.testing.assert_allclose(table["coef"], [*model.intercept_, *model.coef_[0]])
    again = model.summary(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(again["p"], table["p"], rtol=1e-9)
    assert "x5" in str(table) and table["rows"] == w.sum()
    with pytest.raises(ValueError, match="penalised"):
        LogisticRegression().fit(X, y).summary(X, y)


def test_summary_of_several_classes():
    X, y = problem(k=3)
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    table = model.summary(X, y)
    assert table["coef"].shape == table["std error"].shape == (7, 3)
    sm = pytest.importorskip("statsmodels.api")
    codes = np.unique(y, return_inverse=True)[1]
    theirs = sm.MNLogit(codes, sm.add_constant(X)).fit(disp=0)
    J = risk.Risk(X, codes, np.ones(len(y)), losses.softmax, k=3)
    assert table["log-likelihood"] == pytest.approx(theirs.llf)
    from pansophy.linear_model.classifiers.logistic import logistic_covariance

    V = logistic_covariance(J, np.column_stack([model.coef_, model.intercept_]).ravel())
    gap = np.diagonal(V[1, :, 1] + V[0, :, 0] - V[1, :, 0] - V[0, :, 1])
    np.testing.assert_allclose(np.sqrt(gap)[:6], theirs.bse[1:, 0], rtol=1e-5)


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
    calls, real = [], risk.Risk.__call__

    def stop(self, x):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return real(self, x)

    monkeypatch.setattr(risk.Risk, "__call__", stop)
    for solver in ("lbfgs", "newton-cholesky"):
        calls.clear()
        with pytest.warns(InterruptedFitWarning):
            model = LogisticRegression(solver=solver, tol=0, max_iter=500).fit(X, y)
        assert model.interrupted_ and model.score(X, y) > 0.4


def test_newton_cholesky_makes_the_steps_of_newton():
    x = np.arange(6.0)[:, None]
    t = [0, 0, 1, 0, 1, 1]
    expected = [(-2, 0.8, 2.606451), (-2.774439, 1.109776, 2.484874)]
    for k, (b, w, E) in enumerate(expected, start=1):
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", max_iter=k)
        with pytest.warns(ConvergenceWarning):
            model.fit(x, t)
        found = (model.intercept_[0], model.coef_[0, 0])
        np.testing.assert_allclose(found, (b, w), atol=1e-6)
        assert 6 * model.history_["objective"][-1] == pytest.approx(E, abs=1e-6)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(x, t)
    found = (model.intercept_[0], model.coef_[0, 0])
    np.testing.assert_allclose(found, (-3.035069, 1.214028), atol=1e-6)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_liblinear_is_near_its_optimum(l1_ratio, fit_intercept):
    X, y = make_classification(150, 8, random_state=3)
    options = {"solver": "liblinear", "fit_intercept": fit_intercept}
    best = LogisticRegression(l1_ratio=l1_ratio, tol=1e-10, **options).fit(X, y)
    single = LogisticRegression(l1_ratio=l1_ratio, **options).fit(X, y)
    several = LogisticRegressionCV(Cs=[1.0], l1_ratios=[l1_ratio], **options).fit(X, y)
    for model in (single, several):
        np.testing.assert_allclose(model.coef_, best.coef_, atol=1e-5)


def test_options_without_an_effect_are_named():
    X, y = problem(k=2)
    plain = LogisticRegression().fit(X, y)
    with pytest.warns(UserWarning, match="intercept_scaling"):
        scaled = LogisticRegression(intercept_scaling=10.0).fit(X, y)
    np.testing.assert_array_equal(scaled.coef_, plain.coef_)
    with pytest.warns(UserWarning, match="will ignore the C"):
        LogisticRegression(penalty=None, C=4.0).fit(X, y)
    with pytest.warns(UserWarning, match="only used when penalty is 'elasticnet'"):
        LogisticRegression("l2", l1_ratio=0.5).fit(X, y)
    with pytest.warns(UserWarning, match="penalty=l2 with l1_ratio=1.0"):
        LogisticRegression("l2", l1_ratio=1.0).fit(X, y)
    with pytest.raises(ParameterError, match="l1_ratio must be given"):
        LogisticRegression("elasticnet", l1_ratio=None).fit(X, y)
    for solver in (*SMOOTH, "coordinate", "saga", "sag", "liblinear"):
        with pytest.warns(ConvergenceWarning, match="converge"):
            start = LogisticRegression(solver=solver, max_iter=0).fit(X, y)
        assert not start.coef_.any() and start.n_iter_ == 0


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("correlated", [False, True])
def test_auto_takes_the_solver_of_fewer_operations(k, correlated):
    """Large dense rows: quasi-Newton steps from a factor, as exact as Newton's."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 24))
    if correlated:
        X = X @ (np.eye(24) + rng.standard_normal((24, 24)) / 2)
    F = X[:, :k] * [2.0, 1.0, 0.5, 0.25][:k]
    y = np.argmax(F + 2 * F.std() * rng.gumbel(size=F.shape), axis=1)
    auto = LogisticRegression().fit(X, y)
    exact = LogisticRegression(solver="newton-cholesky", tol=1e-9).fit(X, y)
    assert auto.solver_ == "lbfgs"
    assert auto.n_iter_[0] <= 20
    least = objective(exact, X, y, 1.0)
    assert objective(auto, X, y, 1.0) - least < 1e-5 * least
    for rows in (X[:500], sp.csr_array(X)):
        fitted = LogisticRegression().fit(rows, y[: rows.shape[0]])
        assert fitted.solver_ == "newton-cholesky"

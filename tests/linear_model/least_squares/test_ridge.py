import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge as Theirs
from sklearn.utils.estimator_checks import check_estimator

from pansophy.linear_model import LinearRegression, Ridge
from pansophy.params import ParameterError
from pansophy.testing import expected_failures
from tests.oracles.least_squares import digits, exact_least_squares

SOLVERS = ["auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"]
NAMED = ["svd", "lsqr", "sparse_cg"]  # the others are solved as by "cholesky"
TIGHT = {"tol": 1e-12}


def problem(rng, n=120, d=6, t=None):
    X = rng.standard_normal((n, d)) + 3
    Y = X @ rng.standard_normal((d, t or 1)) + 1 + rng.standard_normal((n, t or 1))
    return X, (Y if t else Y[:, 0])


# --- worked numbers ---------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
def test_worked_example(solver):
    x, y = np.array([[0.0], [1], [2], [3]]), np.array([1.0, 2, 2, 4])
    n = 4  # the example averages the squares, so its 0.5 is 0.5 n here
    free = Ridge(0.5 * n, solver=solver, **TIGHT).fit(x, y)
    np.testing.assert_allclose(
        [free.intercept_, *free.coef_], [1.28571429, 0.64285714], atol=1e-8
    )
    ones = np.hstack([x**0, x])
    for lam, right in {
        0.25: [0.69230769, 0.92307692],
        0.5: [0.6, 0.9],
        1.0: [0.5, 0.83333333],
    }.items():
        held = Ridge(lam * n, fit_intercept=False, solver=solver, **TIGHT).fit(ones, y)
        np.testing.assert_allclose(held.coef_, right, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_second_worked_example(solver):
    X = np.array([[1.0, 1], [2, 1], [3, 1], [4, 1]])
    model = Ridge(0.5, fit_intercept=False, solver=solver, **TIGHT)
    model.fit(X, [2.0, 3, 5, 4])
    np.testing.assert_allclose(model.coef_, [0.953020, 0.993289], atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_third_worked_example_in_sum_and_mean_form(solver):
    X, y = np.array([[1.0, 1], [2, 1], [3, 1]]), np.array([1.0, 2, 2])
    fit = lambda a: Ridge(a, fit_intercept=False, solver=solver, **TIGHT).fit(X, y)
    np.testing.assert_allclose(fit(1.0).coef_, [0.5833333, 0.375], atol=1e-7)
    np.testing.assert_allclose(fit(3.0).coef_, [0.5454545, 0.2878788], atol=1e-7)


def test_penalty_0_is_least_squares_and_a_huge_one_is_the_mean(rng):
    X, y = problem(rng)
    none = Ridge(0.0).fit(X, y)
    np.testing.assert_allclose(none.coef_, LinearRegression().fit(X, y).coef_)
    huge = Ridge(1e15).fit(X, y)
    np.testing.assert_allclose(huge.predict(X), y.mean(), rtol=1e-9)
    sizes = [np.linalg.norm(Ridge(a).fit(X, y).coef_) for a in np.logspace(-2, 4, 12)]
    assert (np.diff(sizes) < 0).all()


# --- parity -----------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("n", "d"), [(100, 6), (15, 60), (20_000, 10)])
@pytest.mark.parametrize("t", [None, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_same_as_scikit_learn(solver, n, d, t, intercept, weighted, rng):
    X, y = problem(rng, n, d, t)
    w = rng.uniform(0.1, 2, n) if weighted else None
    ours = Ridge(0.7, fit_intercept=intercept, solver=solver, **TIGHT).fit(X, y, w)
    theirs = Theirs(0.7, fit_intercept=intercept, solver="svd").fit(X, y, w)
    assert ours.coef_.shape == theirs.coef_.shape
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-7)
    assert ours.solver_ == (solver if solver in NAMED else "cholesky")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("n", "d"), [(100, 6), (10, 30), (20_000, 10)])
def test_one_penalty_for_each_target(solver, n, d, rng):
    X, Y = problem(rng, n, d, 3)
    alpha = [0.1, 10.0, 0.1]
    both = Ridge(alpha, solver=solver, **TIGHT).fit(X, Y)
    for j, a in enumerate(alpha):
        one = Ridge(a, solver="svd").fit(X, Y[:, j])
        np.testing.assert_allclose(both.coef_[j], one.coef_, rtol=1e-7, atol=1e-9)
    with pytest.raises(ParameterError, match="one number, or one for each target"):
        Ridge([1.0, 2.0]).fit(X, Y)
    with pytest.raises(ParameterError, match="at least 0"):
        Ridge([1.0, -2.0, 1.0]).fit(X, Y)


@pytest.mark.parametrize("solver", ["auto", "cholesky", "lsqr", "sparse_cg"])
@pytest.mark.parametrize(("n", "d"), [(300, 40), (30, 90)])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("limit", [1000, 10])
def test_sparse(solver, n, d, weighted, limit, rng, monkeypatch):
    monkeypatch.setattr("pansophy.linear_model.least_squares.ridge.DENSE_WIDTH", limit)
    X = sp.random_array((n, d), density=0.2, rng=rng, format="csr")
    y = X @ rng.standard_normal(d) + 2 + 0.1 * rng.standard_normal(n)
    w = rng.uniform(0.5, 2, n) if weighted else None
    ours = Ridge(0.3, solver=solver, **TIGHT).fit(X, y, w)
    dense = Ridge(0.3, solver="svd").fit(X.toarray(), y, w)
    np.testing.assert_allclose(ours.coef_, dense.coef_, atol=1e-8)
    np.testing.assert_allclose(ours.predict(X), dense.predict(X.toarray()), atol=1e-7)
    if solver == "auto":
        assert ours.solver_ == ("lsqr" if limit == 10 and n > d else "cholesky")


@pytest.mark.parametrize(("n", "d"), [(100, 6), (20, 40)])
def test_positive(n, d, rng):
    X, y = problem(rng, n, d)
    ours = Ridge(2.0, positive=True).fit(X, y)
    theirs = Theirs(2.0, positive=True, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert (ours.coef_ >= 0).all() and (ours.coef_ == 0).any()
    same = Ridge(2.0, positive=True, solver="lbfgs").fit(X, y)
    np.testing.assert_array_equal(ours.coef_, same.coef_)
    objective = lambda m: np.sum((y - m.predict(X)) ** 2) + 2 * m.coef_ @ m.coef_
    assert objective(ours) <= objective(theirs) + 1e-9


def test_digits_where_columns_nearly_agree(rng):
    X, y = problem(rng, 400, 4)
    X[:, 3] = X[:, 2] + 1e-6 * X[:, 3]
    for alpha in (1e-9, 1e-3, 1.0):
        exact, _ = exact_least_squares(X, y, alpha=alpha)
        for solver in ("svd", "cholesky"):
            assert digits(Ridge(alpha, solver=solver).fit(X, y).coef_, exact) > 6


# --- contracts --------------------------------------------------------------------


@pytest.mark.parametrize("solver", NAMED)  # the common battery has the default
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(solver):
    model = Ridge(solver=solver)
    check_estimator(
        model, on_fail="raise", expected_failed_checks=expected_failures(model)
    )


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_positive():
    model = Ridge(positive=True)
    check_estimator(
        model, on_fail="raise", expected_failed_checks=expected_failures(model)
    )


@given(seed=st.integers(0, 10**6), wide=st.booleans())
def test_weight_is_repetition(seed, wide):
    rng = np.random.default_rng(seed)
    X, y = problem(rng, 30, 100 if wide else 4)
    k = rng.integers(0, 4, 30)
    a = Ridge(0.5).fit(X, y, sample_weight=k)
    b = Ridge(0.5).fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-9)


def test_iterative_solvers_warn_and_record(rng):
    X, y = problem(rng, 200, 50)
    X *= np.logspace(0, 4, 50)
    for solver in ("lsqr", "sparse_cg"):
        with pytest.warns(ConvergenceWarning, match="did not converge in 3 iterations"):
            model = Ridge(1e-3, solver=solver, max_iter=3, tol=1e-12).fit(X, y)
        np.testing.assert_array_equal(model.n_iter_, [3])
    assert len(model.history_["objective"]) == 3


def test_table_on_disk(rng, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = problem(rng, 20_000, 6)
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(6)}), path)
    for solver in ("auto", "svd"):
        model = Ridge(3.0, solver=solver).fit(path, y)
        np.testing.assert_allclose(model.coef_, Ridge(3.0).fit(X, y).coef_, rtol=1e-10)
    with pytest.raises(ValueError, match="'cholesky' or 'svd'"):
        Ridge(solver="lsqr").fit(path, y)


def test_what_is_not_supported_is_said(rng):
    X, y = problem(rng)
    with pytest.raises(ParameterError, match="solver of Ridge must be one of"):
        Ridge(solver="gradient").fit(X, y)
    with pytest.raises(ParameterError, match="is for positive=True only"):
        Ridge(solver="lbfgs").fit(X, y)
    with pytest.raises(ParameterError, match="needs solver='auto'"):
        Ridge(positive=True, solver="svd").fit(X, y)
    with pytest.raises(TypeError, match="does not support sparse"):
        Ridge(solver="svd").fit(sp.csr_array(X), y)
    wide = sp.csr_array((5, 1001))
    with pytest.raises(ValueError, match="at most 1000 columns"):
        Ridge(positive=True).fit(wide, np.arange(5.0))


def test_float32_stays(rng):
    X, y = problem(rng, 200, 5)
    for shape in (X, X[:3]):
        model = Ridge().fit(shape.astype(np.float32), y[: len(shape)])
        assert model.coef_.dtype == model.predict(X.astype(np.float32)).dtype == "f4"


def test_iterations_and_strengths_as_in_scikit_learn(rng):
    X, y = problem(rng, t=2)
    assert Ridge().fit(X, y).n_iter_ is None
    assert Ridge(solver="lsqr").fit(X, y).n_iter_.shape == (2,)
    torch = pytest.importorskip("torch")
    a = Ridge([0.1, 1.0]).fit(X, y)
    b = Ridge(torch.asarray([0.1, 1.0], dtype=torch.float64)).fit(X, y)
    np.testing.assert_array_equal(a.coef_, b.coef_)
    with pytest.raises(ValueError, match="solver='svd' does not support sparse"):
        Ridge(solver="svd").fit(sp.csr_array(X), y)

"""Known noise covariance, a matrix in the penalty, coupled tasks, polynomials."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.linear_model import (
    GeneralizedLeastSquares,
    LinearRegression,
    MultiTaskRidge,
    PolynomialRegression,
    Ridge,
    Tikhonov,
)
from pansophy.params import ParameterError


def problem(rng, n=50, d=3):
    X = rng.standard_normal((n, d)) + 2
    return X, X @ rng.standard_normal(d) + 1 + rng.standard_normal(n)


def covariance(rng, n):
    A = rng.standard_normal((n, n))
    return A @ A.T / n + 0.1 * np.eye(n)


# --- generalised least squares ----------------------------------------------------


def test_worked_example_of_unequal_variances():
    X, y = np.array([[1.0, 1], [2, 1], [3, 1], [4, 1]]), np.array([2.0, 3, 5, 4])
    R = np.array([1, 1, 4, 0.25])
    model = GeneralizedLeastSquares(fit_intercept=False)
    for given_as in (R, np.diag(R)):
        model.fit(X, y, covariance=given_as)
        np.testing.assert_allclose(model.coef_, [0.615385, 1.615385], atol=1e-6)
    weighted = LinearRegression(fit_intercept=False).fit(X, y, sample_weight=1 / R)
    np.testing.assert_allclose(model.coef_, weighted.coef_)
    np.testing.assert_allclose(model.fit(X, y).coef_, [0.8, 1.5])
    np.testing.assert_allclose(model.fit(X, y, np.full(4, 7.0)).coef_, [0.8, 1.5])


@pytest.mark.parametrize("kind", ["matrix", "diagonal", "none"])
@pytest.mark.parametrize("intercept", [True, False])
def test_same_as_statsmodels(kind, intercept, rng):
    sm = pytest.importorskip("statsmodels.api")
    X, y = problem(rng)
    R = {"matrix": covariance(rng, 50), "diagonal": rng.uniform(0.2, 4, 50)}.get(kind)
    ours = GeneralizedLeastSquares(fit_intercept=intercept).fit(X, y, R)
    A = sm.add_constant(X) if intercept else X
    theirs = sm.GLS(y, A, sigma=R).fit()
    s = ours.summary()
    np.testing.assert_allclose(s["coef"], theirs.params, rtol=1e-9)
    np.testing.assert_allclose(s["std error"], theirs.bse, rtol=1e-9)
    assert s["log-likelihood"] == pytest.approx(theirs.llf, rel=1e-9)
    assert s["AIC"] == pytest.approx(theirs.aic, rel=1e-9)
    assert s["R2"] == pytest.approx(theirs.rsquared, rel=1e-9)
    assert s["F"] == pytest.approx(float(theirs.fvalue), rel=1e-8)


def test_it_is_least_squares_on_whitened_rows(rng):
    X, y = problem(rng)
    R = covariance(rng, 50)
    W = np.linalg.inv(np.linalg.cholesky(R))
    A = W @ np.column_stack([np.ones(50), X])
    right = LinearRegression(fit_intercept=False).fit(A, W @ y)
    both = GeneralizedLeastSquares().fit(X, np.column_stack([y, -y]), R)
    np.testing.assert_allclose(both.intercept_, [right.coef_[0], -right.coef_[0]])
    np.testing.assert_allclose(both.coef_[0], right.coef_[1:], rtol=1e-9)
    assert both.summary()["t"].shape == (4, 2)


def test_bad_covariances_are_refused(rng):
    X, y = problem(rng)
    fit = lambda R: GeneralizedLeastSquares().fit(X, y, R)
    with pytest.raises(ValueError, match=r"shape \(50, 50\) or \(50,\)"):
        fit(np.eye(3))
    with pytest.raises(ValueError, match="not positive definite"):
        fit(np.ones((50, 50)))
    with pytest.raises(ValueError, match="symmetric"):
        fit(np.triu(np.ones((50, 50))))
    with pytest.raises(ValueError, match="above 0"):
        fit(np.zeros(50))
    with pytest.raises(ValueError, match="NaN"):
        fit(np.full(50, np.nan))
    with pytest.warns(np.exceptions.RankWarning, match="x3"):
        model = GeneralizedLeastSquares().fit(np.column_stack([X, np.ones(50)]), y)
    with pytest.raises(ValueError, match="rank 3 with 4 columns"):
        model.summary()


# --- a matrix in the penalty ------------------------------------------------------


def test_a_multiple_of_the_identity_is_ridge_with_its_square(rng):
    X, y = problem(rng)
    w = rng.uniform(0.5, 2, 50)
    for gamma in (0.7, np.full(3, 0.7), 0.7 * np.eye(3)):
        ours = Tikhonov(gamma).fit(X, y, w)
        np.testing.assert_allclose(ours.coef_, Ridge(0.49).fit(X, y, w).coef_)
        np.testing.assert_allclose(ours.intercept_, Ridge(0.49).fit(X, y, w).intercept_)
    A, b = np.array([[1.0, 1], [2, 1], [3, 1]]), [1.0, 2, 2]
    unit = Tikhonov(1.0, fit_intercept=False).fit(A, b)
    np.testing.assert_allclose(unit.coef_, [0.5833333, 0.375], atol=1e-7)


def test_any_matrix_and_prior_is_the_normal_equations(rng):
    X, y = problem(rng)
    Y = np.column_stack([y, y**2])
    G, B0 = rng.standard_normal((5, 3)), rng.standard_normal((2, 3))
    model = Tikhonov(G, prior=B0, fit_intercept=False).fit(X, Y)
    right = np.linalg.solve(X.T @ X + G.T @ G, X.T @ Y + G.T @ G @ B0.T)
    np.testing.assert_allclose(model.coef_, right.T, rtol=1e-9)
    far = Tikhonov(1e6, prior=B0).fit(X, Y)
    np.testing.assert_allclose(far.coef_, B0, rtol=1e-6)
    sparse = Tikhonov(G, prior=B0, fit_intercept=False).fit(sp.csr_array(X), Y)
    np.testing.assert_allclose(sparse.coef_, model.coef_, rtol=1e-9)
    with pytest.raises(ParameterError, match="a finite matrix of 3 columns"):
        Tikhonov(np.ones((2, 2))).fit(X, Y)
    with pytest.raises(ParameterError, match="prior of Tikhonov"):
        Tikhonov(prior=np.ones(5)).fit(X, Y)


def test_tikhonov_of_tensors_tables_and_repetition(rng, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    torch = pytest.importorskip("torch")
    X, y = problem(rng)
    G = np.diff(np.eye(3), axis=0)
    right = Tikhonov(G).fit(X, y)
    tensor = Tikhonov(G).fit(torch.tensor(X), torch.tensor(y))
    assert isinstance(tensor.coef_, torch.Tensor)
    np.testing.assert_allclose(tensor.coef_, right.coef_, rtol=1e-9)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(3)}), path)
    np.testing.assert_allclose(Tikhonov(G).fit(path, y).coef_, right.coef_, rtol=1e-9)
    k = rng.integers(0, 3, 50)
    again = Tikhonov(G).fit(np.repeat(X, k, axis=0), np.repeat(y, k))
    np.testing.assert_allclose(Tikhonov(G).fit(X, y, k).coef_, again.coef_, rtol=1e-9)


# --- coupled tasks ----------------------------------------------------------------


def tasks_of(rng, n=90, d=4, k=3):
    X, t = rng.standard_normal((n, d)) + 1, rng.integers(0, k, n)
    B = rng.standard_normal(d) + 0.3 * rng.standard_normal((k, d))
    return X, np.sum(X * B[t], axis=1) + t + rng.standard_normal(n), t


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_no_coupling_is_separate_and_infinite_is_pooled(intercept, alpha, rng):
    X, y, t = tasks_of(rng)
    make = lambda c: MultiTaskRidge(
        alpha, coupling=c, fit_intercept=intercept
    ).fit(X, y, tasks=t)  # fmt: skip
    for c in (0.0, 1e-12):
        for j in range(3):
            at = t == j
            one = Ridge(alpha, fit_intercept=intercept).fit(X[at], y[at])
            np.testing.assert_allclose(make(c).coef_[j], one.coef_, rtol=1e-6)
            if intercept:
                assert make(c).intercept_[j] == pytest.approx(one.intercept_, rel=1e-6)
    pooled = Ridge(3 * alpha, fit_intercept=intercept).fit(X, y)
    for c in (1e10, float("inf")):
        for j in range(3):
            np.testing.assert_allclose(make(c).coef_[j], pooled.coef_, rtol=1e-6)
    np.testing.assert_allclose(
        make(np.inf).predict(X, tasks=t), pooled.predict(X), rtol=1e-6
    )


def test_coupled_objective_is_least_where_its_gradient_is_0(rng):
    X, y, t = tasks_of(rng)
    a, c, m = 0.3, 2.0, X.mean(axis=0)
    model = MultiTaskRidge(a, coupling=c).fit(X, y, tasks=t)
    B, b = model.coef_, model.intercept_ + model.coef_ @ m

    def J(B, b):
        r = y - b[t] - np.sum((X - m) * B[t], axis=1)
        apart = np.sum((B - B.mean(axis=0)) ** 2) + np.sum((b - b.mean()) ** 2)
        return r @ r + a * np.sum(B**2) + c * apart

    for _ in range(20):
        step = 1e-3 * rng.standard_normal(B.shape), 1e-3 * rng.standard_normal(b.shape)
        assert J(B + step[0], b + step[1]) > J(B, b)


def test_columns_of_y_as_tasks_and_repetition(rng):
    X, _, _ = tasks_of(rng)
    Y = X @ rng.standard_normal((4, 2)) + rng.standard_normal((90, 2))
    by_column = MultiTaskRidge(0.5, coupling=3.0).fit(X, Y)
    rows = MultiTaskRidge(0.5, coupling=3.0).fit(
        np.vstack([X, X]), Y.T.ravel(), tasks=np.repeat(["a", "b"], 90)
    )
    np.testing.assert_allclose(by_column.coef_, rows.coef_, rtol=1e-9)
    np.testing.assert_allclose(by_column.predict(X), rows.predict(X), rtol=1e-9)
    k = rng.integers(0, 3, 90)
    a = MultiTaskRidge(0.5).fit(X, Y, sample_weight=k)
    b = MultiTaskRidge(0.5).fit(np.repeat(X, k, axis=0), np.repeat(Y, k, axis=0))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="name a known task"):
        rows.predict(X, tasks=["c"] * 90)
    with pytest.raises(ValueError, match=r"tasks must have shape \(90,\)"):
        MultiTaskRidge().fit(X, Y[:, 0], tasks=[1, 2])
    with pytest.raises(ValueError, match="one column"):
        MultiTaskRidge().fit(X, Y, tasks=np.zeros(90))


def test_sharing_helps_a_task_of_few_rows():
    gain = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        B = rng.standard_normal(8) + 0.1 * rng.standard_normal((2, 8))
        X, t = rng.standard_normal((110, 8)), np.repeat([0, 1], [100, 10])
        y = np.sum(X * B[t], axis=1) + rng.standard_normal(110)
        error = [
            np.sum((MultiTaskRidge(0.1, coupling=c).fit(X, y, tasks=t).coef_ - B) ** 2)
            for c in (0.0, 20.0)
        ]
        gain.append(error[0] - error[1])
    assert np.mean(np.array(gain) > 0) > 0.9


# --- polynomials ------------------------------------------------------------------


def test_worked_example_of_a_sine():
    x = np.linspace(0, 1, 10)
    y = np.sin(2 * np.pi * x)
    for degree, right in {0: 2.25, 1: 1.323577, 3: 0.032647, 9: 0.0}.items():
        model = PolynomialRegression(degree=degree).fit(x[:, None], y)
        half = np.sum((y - model.predict(x[:, None])) ** 2) / 2
        assert half == pytest.approx(right, abs=5e-7)


@pytest.mark.parametrize("cv", [None, 20])
def test_the_degree_is_chosen_on_held_out_rows(cv):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 3, 40)
    y = 1 - 2 * x + 0.5 * x**3 + 0.3 * rng.standard_normal(40)
    model = PolynomialRegression(cv=cv).fit(x[:, None], y)
    assert model.degree_ == 3
    error = model.validation_error_
    assert len(error) == 11 and np.argmin(error) == 3
    fitted = [PolynomialRegression(k).fit(x[:, None], y) for k in range(11)]
    training = [np.mean((y - f.predict(x[:, None])) ** 2) for f in fitted]
    assert np.argmin(training) == 10  # which would have been the choice
    powers = model.polynomial().convert().coef
    np.testing.assert_allclose(powers, [1, -2, 0, 0.5], atol=0.5)


@pytest.mark.parametrize("interactions", [True, False])
def test_leave_one_out_is_refitting(interactions, rng):
    X = rng.uniform(-1, 1, (30, 2))
    y = X[:, 0] * X[:, 1] + X[:, 0] ** 2 + 0.1 * rng.standard_normal(30)
    w = rng.integers(1, 3, 30).astype(float)
    model = PolynomialRegression(max_degree=3, interactions=interactions).fit(X, y, w)
    assert model.degree_ == 2 or not interactions
    for degree in (1, 2):
        total = 0.0
        for i in range(30):
            rest = np.arange(30) != i
            out = PolynomialRegression(degree, interactions=interactions)
            out.fit(X[rest], y[rest], w[rest])
            total += w[i] * (y[i] - out.predict(X[i : i + 1])[0]) ** 2
        assert model.validation_error_[degree] == pytest.approx(total / w.sum())
    with pytest.raises(ValueError, match="one column of X"):
        model.polynomial()


@given(seed=st.integers(0, 10**6), scale=st.floats(1e-3, 1e3), move=st.floats(-50, 50))
@settings(max_examples=15, deadline=None)
def test_moving_and_scaling_x_changes_nothing(seed, scale, move):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (25, 1))
    y = np.sin(3 * x[:, 0]) + 0.1 * rng.standard_normal(25)
    a = PolynomialRegression().fit(x, y)
    b = PolynomialRegression().fit(x * scale + move, y)
    assert a.degree_ == b.degree_
    np.testing.assert_allclose(
        a.predict(x), b.predict(x * scale + move), rtol=1e-5, atol=1e-6
    )

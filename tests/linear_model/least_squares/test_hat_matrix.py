"""Leverages, smoother weights, leaving one out; lstsq and the column of ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.linear_model import (
    LinearRegression,
    Ridge,
    add_intercept,
    hat_values,
    loo_residuals,
    lstsq,
    smoother_weights,
)


def problem(rng, n=40, d=4):
    X = rng.standard_normal((n, d)) + 2
    return X, X @ rng.standard_normal(d) + 1 + rng.standard_normal(n)


def test_worked_example():
    X, y = np.array([[0.0], [1], [2]]), np.array([1.0, 3, 5])
    s = smoother_weights(X, np.array([[3.0]]))
    np.testing.assert_allclose(s, [[-2 / 3, 1 / 3, 4 / 3]])
    assert s.sum() == pytest.approx(1)
    assert (s @ y)[0] == pytest.approx(7)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_weights_leverages_and_leaving_out(alpha, intercept, weighted, rng):
    X, y = problem(rng)
    w = rng.uniform(0.5, 2, 40) if weighted else None
    options = {"alpha": alpha, "fit_intercept": intercept, "sample_weight": w}
    model = Ridge(alpha, fit_intercept=intercept)
    S = smoother_weights(X, X, **options)
    np.testing.assert_allclose(S @ y, model.fit(X, y, w).predict(X), rtol=1e-9)
    if intercept:
        np.testing.assert_allclose(S.sum(axis=1), 1)
    h = hat_values(X, **options)
    np.testing.assert_allclose(h, np.diagonal(S), rtol=1e-9)
    assert (h > 0).all() and (h < 1).all()
    if alpha == 0:
        assert h.sum() == pytest.approx(4 + intercept)
    loo = loo_residuals(X, y, **options)
    for i in range(40):
        rest = np.arange(40) != i
        out = model.fit(X[rest], y[rest], None if w is None else w[rest])
        assert loo[i] == pytest.approx(y[i] - out.predict(X[i : i + 1])[0], rel=1e-8)


def test_a_row_without_weight_is_left_out_already(rng):
    X, y = problem(rng)
    w = np.ones(40)
    w[3] = 0
    loo = loo_residuals(X, y, sample_weight=w)
    rest = np.arange(40) != 3
    out = LinearRegression().fit(X[rest], y[rest])
    assert loo[3] == pytest.approx(y[3] - out.predict(X[3:4])[0])
    np.testing.assert_allclose(loo[rest], loo_residuals(X[rest], y[rest]), rtol=1e-9)


@pytest.mark.parametrize("how", ["sparse", "torch", "parquet"])
def test_every_kind_of_rows(how, rng, tmp_path):
    X, y = problem(rng)
    A, b = X, y
    if how == "sparse":
        A = sp.csr_array(X)
    elif how == "torch":
        torch = pytest.importorskip("torch")
        A, b = torch.tensor(X), torch.tensor(y)
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        A = tmp_path / "x.parquet"
        pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(4)}), A)
    np.testing.assert_allclose(np.asarray(hat_values(A)), hat_values(X), rtol=1e-9)
    np.testing.assert_allclose(loo_residuals(A, b), loo_residuals(X, y), rtol=1e-9)
    if how != "parquet":
        right = smoother_weights(X, X[:3])
        got = smoother_weights(A, A[:3])
        np.testing.assert_allclose(np.asarray(got), right, rtol=1e-8, atol=1e-12)


def test_two_targets(rng):
    X, y = problem(rng)
    both = loo_residuals(X, np.column_stack([y, 2 * y]))
    np.testing.assert_allclose(both[:, 1], 2 * loo_residuals(X, y))


# --- lstsq, add_intercept ---------------------------------------------------------


def test_lstsq_is_the_pseudo_inverse_and_the_limit_of_ridge(rng):
    X = np.array([[1.0, 2, 3], [0, 1, 1]])
    found = lstsq(X, np.array([6.0, 2]))
    np.testing.assert_allclose(found.coef, [2 / 3, 2 / 3, 4 / 3])
    close = Ridge(1e-10, fit_intercept=False).fit(X, [6.0, 2]).coef_
    np.testing.assert_allclose(found.coef, close, rtol=1e-8)
    for shape in ((30, 4), (4, 30)):
        A, Y = rng.standard_normal(shape), rng.standard_normal((shape[0], 2))
        found = lstsq(A, Y)
        np.testing.assert_allclose(found.coef, np.linalg.pinv(A) @ Y, atol=1e-12)
        s = np.linalg.svd(A, compute_uv=False)
        np.testing.assert_allclose(found.singular, s, rtol=1e-10)
        assert found.rank == 4
    np.testing.assert_allclose(found.residual, 0, atol=1e-20)
    tall, y = problem(rng)
    normal = np.linalg.solve(tall.T @ tall, tall.T @ y)
    np.testing.assert_allclose(lstsq(tall, y).coef, normal, rtol=1e-10)
    w = rng.integers(0, 3, 40)
    again = lstsq(np.repeat(tall, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(lstsq(tall, y, sample_weight=w).coef, again.coef)


def test_lstsq_drops_a_repeated_column(rng):
    X, y = problem(rng)
    found = lstsq(np.column_stack([X, X[:, 1]]), y)
    assert found.rank == 4 and set(found.dropped) <= {1, 4}
    assert found.coef[1] == pytest.approx(found.coef[4])


@pytest.mark.parametrize("kind", ["array", "sparse", "torch", "list"])
def test_a_column_of_ones_is_an_intercept(kind, rng):
    x, y = np.array([[0.0], [1], [2], [3]]), np.array([1.0, 2, 2, 4])
    X = {"sparse": sp.csr_array(x), "list": x.tolist()}.get(kind, x)
    if kind == "torch":
        X = pytest.importorskip("torch").tensor(x)
    A = add_intercept(X)
    A = A.toarray() if kind == "sparse" else np.asarray(A)
    np.testing.assert_array_equal(A, [[1, 0], [1, 1], [1, 2], [1, 3]])
    ones = LinearRegression(fit_intercept=False).fit(A, y)
    np.testing.assert_allclose(ones.predict(A), LinearRegression().fit(x, y).predict(x))
    held = Ridge(2.0, fit_intercept=False).fit(A, y)  # the penalty holds b as well
    np.testing.assert_allclose(held.coef_, [0.6, 0.9])
    free = Ridge(2.0).fit(x, y)
    np.testing.assert_allclose(
        [free.intercept_, *free.coef_], [1.28571429, 0.64285714], atol=1e-8
    )

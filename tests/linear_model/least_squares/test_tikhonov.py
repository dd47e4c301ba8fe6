"""Tikhonov: ridge as a special case, the normal equations, kinds of rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.linear_model import (
    Ridge,
    Tikhonov,
)
from pansophy.params import ParameterError


def problem(rng, n=50, d=3):
    X = rng.standard_normal((n, d)) + 2
    return X, X @ rng.standard_normal(d) + 1 + rng.standard_normal(n)


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

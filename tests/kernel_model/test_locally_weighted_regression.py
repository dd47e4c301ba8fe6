"""Local lines: worked numbers, exactness on lines, kernels, degenerate rows."""

import numpy as np
import pytest

from pansophy import kernel_model
from pansophy.kernels import RBF, Linear
from pansophy.linear_model import LinearRegression
from pansophy.neighbors import KNeighborsRegressor

LWR = kernel_model.LocallyWeightedRegression
X = np.arange(6.0)[:, None]
Y = X[:, 0] ** 2


@pytest.mark.parametrize(("k", "right"), [(3, 6.266667), (5, 7.6), (6, 8.666667)])
def test_worked_numbers(k, right):
    assert LWR(k).fit(X, Y).predict([[2.4]])[0] == pytest.approx(right, abs=5e-7, rel=0)


def test_limits(rng):
    A, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    q = rng.standard_normal((5, 3))
    line = LinearRegression().fit(A, y).predict(q)
    np.testing.assert_allclose(LWR().fit(A, y).predict(q), line)
    near = KNeighborsRegressor(1).fit(A, y).predict(q)
    np.testing.assert_allclose(LWR(1).fit(A, y).predict(q), near)
    mean = KNeighborsRegressor(4).fit(A, y).predict(q)
    np.testing.assert_allclose(LWR(4, degree=0).fit(A, y).predict(q), mean)


def test_exact_on_lines_whatever_the_kernel(rng):
    A = rng.standard_normal((40, 2))
    y = A @ [2.0, -1.0] + 3
    q = rng.standard_normal((6, 2))
    for model in (LWR(8), LWR(kernel=RBF(0.5)), LWR(10, kernel=RBF(0.3))):
        np.testing.assert_allclose(model.fit(A, y).predict(q), q @ [2.0, -1.0] + 3)


def test_weights_by_a_kernel_are_weighted_least_squares(rng):
    A, y = rng.standard_normal((30, 2)), rng.standard_normal((30, 2))
    w = rng.integers(0, 3, 30).astype(float)
    q = np.array([[0.3, -0.2]])
    v = w * RBF(0.7)(A, q)[:, 0]
    D = np.column_stack([np.ones(30), A])
    B = np.linalg.solve(D.T @ (v[:, None] * D), D.T @ (v[:, None] * y))
    found = LWR(kernel=RBF(0.7)).fit(A, y, sample_weight=w).predict(q)
    np.testing.assert_allclose(found, np.column_stack([[1.0], q]) @ B)
    far = LWR(kernel=RBF(0.05)).fit(A, y).predict([[3.0, 3.0]])
    assert np.isfinite(far).all()


def test_singular_neighbourhoods_and_refusals(rng):
    A = np.ones((5, 2))  # constant columns: the mean
    assert LWR().fit(A, np.arange(5.0)).predict(A[:1])[0] == pytest.approx(2)
    B = rng.standard_normal((4, 6))  # fewer rows than columns
    assert np.isfinite(LWR(3).fit(B, np.arange(4.0)).predict(B)).all()
    with pytest.raises(ValueError, match="n_neighbors=None"):
        LWR(2).fit(X, Y, sample_weight=[1, 2, 1, 1, 1, 1]).predict(X)
    with pytest.raises(ValueError, match="positive weight"):
        LWR(kernel=Linear()).fit(X, Y).predict([[-1.0]])

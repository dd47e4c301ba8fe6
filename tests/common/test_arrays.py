"""Estimators that take tensors give what they give for NumPy arrays.

An estimator joins by a line in `TENSOR_ESTIMATORS`: what to build, and the methods
whose answers must agree with those for NumPy arrays.
"""

import numpy as np
import pytest
from sklearn.base import clone

from pansophy.core.arrays import arrays
from pansophy.linear_model import LinearRegression, Ridge

LIBRARIES = ["torch", "array_api_strict"]

TENSOR_ESTIMATORS = [
    (LinearRegression(), ["predict"]),
    (LinearRegression(fit_intercept=False), ["predict"]),
    (LinearRegression(positive=True), ["predict"]),
    (LinearRegression(tol=1e-6), ["predict"]),
    (Ridge(), ["predict"]),
    (Ridge(solver="svd"), ["predict"]),
    (Ridge(positive=True), ["predict"]),
]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("shape", [(80, 4), (30_000, 5)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("model", "methods"), TENSOR_ESTIMATORS, ids=[str(m) for m, _ in TENSOR_ESTIMATORS]
)
def test_tensors_give_what_numpy_gives(model, methods, library, shape, weighted, rng):
    xp = pytest.importorskip(library)
    X = rng.standard_normal(shape) + 2
    y = X @ rng.standard_normal(shape[1]) + 1 + 0.1 * rng.standard_normal(shape[0])
    w = rng.uniform(0.5, 2, shape[0]) if weighted else None
    T = xp.asarray(X)
    options = {} if w is None else {"sample_weight": w}
    known = clone(model).fit(X, y, **options)
    if w is not None:
        options = {"sample_weight": xp.asarray(w)}
    found = clone(model).fit(T, xp.asarray(y), **options)
    for method in methods:
        answer = getattr(found, method)(T)
        assert type(answer) is type(T) and arrays.device(answer) == arrays.device(T)
        right = getattr(known, method)(X)
        np.testing.assert_allclose(arrays.to_numpy(answer), right, rtol=1e-8)
        crossed = getattr(found, method)(X)  # fitted on tensors, asked with NumPy
        np.testing.assert_allclose(crossed, right, rtol=1e-8)
        back = getattr(known, method)(T)
        np.testing.assert_allclose(arrays.to_numpy(back), right, rtol=1e-8)


@pytest.mark.parametrize("model", [m for m, _ in TENSOR_ESTIMATORS], ids=str)
def test_bad_tensors_are_refused(model, rng):
    torch = pytest.importorskip("torch")
    X, y = torch.ones((5, 2)), torch.arange(5.0)
    with pytest.raises(ValueError, match="2D array"):
        clone(model).fit(X[0], y)
    with pytest.raises(ValueError, match="5 rows, but y has 4"):
        clone(model).fit(X, y[:4])
    with pytest.raises(ValueError, match="NaN or infinity"):
        clone(model).fit(X * torch.nan, y)
    fitted = clone(model).fit(torch.randn((20, 2)), torch.arange(20.0))
    with pytest.raises(ValueError, match="expecting 2 features"):
        fitted.predict(torch.ones((5, 3)))


@pytest.mark.parametrize("model", [LinearRegression(), Ridge()], ids=str)
def test_float32_tensors_and_several_targets(model, rng):
    torch = pytest.importorskip("torch")
    X, Y = rng.standard_normal((60, 3)), rng.standard_normal((60, 2))
    tensors = [torch.asarray(a, dtype=torch.float32) for a in (X, Y)]
    found = clone(model).fit(*tensors)
    assert found.coef_.shape == (2, 3) and found.coef_.dtype == torch.float32
    assert found.predict(tensors[0]).dtype == torch.float32
    np.testing.assert_allclose(
        found.coef_.numpy(), clone(model).fit(X, Y).coef_, atol=1e-5
    )


def test_wide_tensors_by_the_dual(rng):
    torch = pytest.importorskip("torch")
    X, y = rng.standard_normal((10, 40)), rng.standard_normal(10)
    found = Ridge().fit(torch.asarray(X), torch.asarray(y))
    np.testing.assert_allclose(found.coef_.numpy(), Ridge().fit(X, y).coef_, rtol=1e-8)
    with pytest.raises(ValueError, match="needs a NumPy array"):
        Ridge(solver="lsqr").fit(torch.asarray(X), torch.asarray(y))


@pytest.mark.gpu
def test_tensors_stay_on_the_gpu(rng):
    torch = pytest.importorskip("torch")
    X = torch.randn((20_000, 6), device="cuda", dtype=torch.float64)
    y = X.sum(dim=1) + 2
    for model in (LinearRegression(), Ridge(1e-9)):
        model.fit(X, y)
        assert model.coef_.device == X.device == model.predict(X).device
        assert torch.allclose(model.predict(X), y)

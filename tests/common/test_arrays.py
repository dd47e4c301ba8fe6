"""The same mathematics on every array library, and the estimators that take tensors.

An estimator joins by a line in `TENSOR_ESTIMATORS`: what to build, and the methods
whose answers must agree with those for NumPy arrays.
"""

import numpy as np
import pytest
import scipy.special
from sklearn.base import clone

from pansophy.core import arrays, numerics
from pansophy.linear_model import LinearRegression, Ridge

LIBRARIES = ["numpy", "torch", "array_api_strict"]

TENSOR_ESTIMATORS = [
    (LinearRegression(), ["predict"]),
    (LinearRegression(fit_intercept=False), ["predict"]),
    (LinearRegression(positive=True), ["predict"]),
    (LinearRegression(tol=1e-6), ["predict"]),
    (Ridge(), ["predict"]),
    (Ridge(solver="svd"), ["predict"]),
    (Ridge(positive=True), ["predict"]),
]


@pytest.fixture(params=LIBRARIES)
def xp(request):
    return pytest.importorskip(request.param)


# --- core.arrays ------------------------------------------------------------------


def test_what_is_what(xp):
    x = xp.asarray([1.0, 2.0])
    assert arrays.is_numpy(x) is (xp is np)
    assert arrays.is_foreign(x) is (xp is not np)
    assert arrays.is_torch(x) is (xp.__name__ == "torch")
    assert (arrays.device(x) is None) is (xp is np)
    for other in ([1.0], 3, None, "text"):
        assert not arrays.is_foreign(other)


def test_namespace_has_the_standard_functions(xp):
    x = xp.asarray([[3.0, 1.0]])
    ns = arrays.namespace(x)
    for name in ("concat", "matrix_transpose", "astype", "isdtype", "take"):
        assert callable(getattr(ns, name))
    assert arrays.namespace([1, 2], 3) is arrays.namespace(np.ones(1))
    assert float(ns.max(x)) == 3


def test_round_trip(xp):
    x = np.array([[1.0, 2.5], [3.0, -4.0]], dtype=np.float32)
    there = arrays.asarray(x, like=xp.asarray(x))
    assert type(there) is type(xp.asarray(x)) and arrays.is_float(there)
    back = arrays.to_numpy(there)
    assert isinstance(back, np.ndarray) and back.dtype == np.float32
    np.testing.assert_array_equal(back, x)
    double = arrays.asarray([1.0], like=xp.asarray(x, dtype=xp.float64))
    assert double.dtype == xp.float64


def test_as_float_keeps_floats_and_turns_the_rest(xp):
    single = xp.asarray([1.0], dtype=xp.float32)
    assert arrays.as_float(single) is single
    whole = xp.asarray([1, 2])
    assert not arrays.is_float(whole)
    assert arrays.as_float(whole).dtype == xp.float64


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_finite(xp, bad):
    x = xp.ones((4, 3), dtype=xp.float64)
    assert arrays.all_finite(x)
    assert arrays.all_finite(xp.asarray([1, 2]))
    assert arrays.all_finite(
        xp.asarray([1e308, 1e308], dtype=xp.float64)
    )  # sum overflows
    x[2, 1] = bad
    assert not arrays.all_finite(x)


def test_finite_sees_infinities_that_cancel_in_a_sum(xp):
    x = xp.asarray([np.inf, -np.inf, 1.0], dtype=xp.float64)
    assert not arrays.all_finite(x)


# --- core.numerics ----------------------------------------------------------------

VALUES = np.array([[-800.0, -3.0, 0.0, 2.0], [700.0, 1e-9, -1e-9, 710.0]])
PAIRS = [
    ("logsumexp", lambda a: scipy.special.logsumexp(a, axis=-1)),
    ("softmax", lambda a: scipy.special.softmax(a, axis=-1)),
    ("log_softmax", lambda a: scipy.special.log_softmax(a, axis=-1)),
    ("log1pexp", lambda a: np.logaddexp(0, a)),
    ("sigmoid", scipy.special.expit),
]


@pytest.mark.parametrize("name, right", PAIRS, ids=[name for name, _ in PAIRS])
def test_numerics_against_scipy(xp, name, right):
    found = getattr(numerics, name)(xp.asarray(VALUES))
    assert type(found) is type(xp.asarray(VALUES))
    np.testing.assert_allclose(arrays.to_numpy(found), right(VALUES), rtol=1e-13)


def test_logsumexp_axes_and_nothing(xp):
    a = xp.asarray(VALUES)
    for axis in (0, 1):
        for keep in (True, False):
            np.testing.assert_allclose(
                arrays.to_numpy(numerics.logsumexp(a, axis=axis, keepdims=keep)),
                scipy.special.logsumexp(VALUES, axis=axis, keepdims=keep),
            )
    empty = xp.asarray([[-np.inf, -np.inf]], dtype=xp.float64)
    assert float(numerics.logsumexp(empty)[0]) == -np.inf


def test_logarithms_and_quotients_of_zero(xp):
    p = xp.asarray([0.0, 1.0, 0.5], dtype=xp.float64)
    np.testing.assert_allclose(
        arrays.to_numpy(numerics.safe_log(p)), [-np.inf, 0, np.log(0.5)]
    )
    zeros = xp.zeros_like(p)
    np.testing.assert_array_equal(arrays.to_numpy(numerics.xlogy(zeros, p)), 0)
    np.testing.assert_allclose(
        arrays.to_numpy(numerics.xlogy(p, p)),
        scipy.special.xlogy([0, 1, 0.5], [1, 1, 0.5]),
    )
    np.testing.assert_allclose(
        arrays.to_numpy(numerics.safe_divide(p + 1, p, otherwise=7.0)), [7, 2, 3]
    )


# --- estimators that take tensors -------------------------------------------------


@pytest.mark.parametrize("library", LIBRARIES[1:])
@pytest.mark.parametrize("shape", [(80, 4), (30_000, 5)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "model, methods", TENSOR_ESTIMATORS, ids=[str(m) for m, _ in TENSOR_ESTIMATORS]
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

"""What every kernel inherits: empty input, refusals, threads, changed inputs."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from pansophy import kernels as K
from pansophy.kernel_ridge import KernelRidge
from pansophy.kernels import RBF, Constant, White, check_psd
from pansophy.params import ParameterError


def test_empty_and_narrow_input():
    k = 2.0 * RBF() + K.White()
    assert k(np.empty((0, 2)), np.ones((3, 2))).shape == (0, 3)
    assert k.matmul(np.ones((3, 2)), np.empty((0, 2)), np.empty(0)).tolist() == [0] * 3
    none = np.empty((2, 0))
    for member in (RBF(), K.Matern(), K.Laplacian(), K.RationalQuadratic()):
        np.testing.assert_array_equal(member(none, none), np.ones((2, 2)))
    with pytest.raises(ValueError, match="V of matmul must have 3 rows"):
        RBF().matmul(np.ones((2, 1)), np.ones((3, 1)), np.ones(2))
    with pytest.raises(ValueError, match="W of contract must be of shape"):
        RBF().contract(np.ones((2, 1)), None, np.ones(2))
    with pytest.raises(ValueError, match="kernel on column 5"):
        RBF().on(5)(np.ones((2, 3)))


def test_threads_do_not_change_products(rng, monkeypatch):
    from pansophy.core.loops import threads
    from pansophy.kernels import base

    monkeypatch.setattr(base, "WIDE", 16)
    X, V = rng.standard_normal((100, 3)), rng.standard_normal((100, 2))
    many = RBF().matmul(X, None, V), RBF().contract(X, None, (V, V))
    with threads.limit_threads(1):
        one = RBF().matmul(X, None, V), RBF().contract(X, None, (V, V))
    for a, b in zip(many, one, strict=True):
        np.testing.assert_array_equal(a, b)


def test_on_a_function_of_the_rows(points):
    X, Z = points
    k = RBF(0.8).on(np.sin)
    np.testing.assert_allclose(k(X, Z), RBF(0.8)(np.sin(X), np.sin(Z)))
    np.testing.assert_allclose(k.diag(X), np.ones(30))
    assert check_psd(k, X).psd
    np.testing.assert_allclose(k.with_theta([0.0])(X), RBF(1.0)(np.sin(X)))
    np.testing.assert_allclose(
        k.gradient(X, Z), RBF(0.8).gradient(np.sin(X), np.sin(Z))
    )


def test_adding_something_else_is_a_type_error():
    with pytest.raises(TypeError):
        RBF() + "rbf"


def test_constants_are_added_and_multiplied():
    """Worked values of a constant alone, in a sum and in a product."""
    x, z = np.array([[0.0], [1.0]]), np.array([[1.0]])
    np.testing.assert_array_equal(K.Constant(2.5)(x, z), [[2.5], [2.5]])
    np.testing.assert_array_equal(K.Constant(2.5).diag(x), [2.5, 2.5])
    np.testing.assert_array_equal((K.Constant(2.5) + K.Linear())(x, z), [[2.5], [3.5]])
    np.testing.assert_array_equal((K.Constant(2.5) * K.Linear())(x, z), [[0.0], [2.5]])
    assert K.Constant(0.0)(x, z).tolist() == [[0.0], [0.0]]
    with pytest.raises(ValueError, match="value"):
        K.Constant(-1.0)


def test_kernels_print_as_expressions_that_give_them_again():
    """Six digits, constants as numbers, brackets where they are needed."""
    fitted = 0.67 * RBF() + White(0.67)
    assert repr(fitted) == "0.67 * RBF(length_scale=1) + White(noise=0.67)"
    names = {name: getattr(K, name) for name in K.__all__}
    for kernel in (
        fitted,
        RBF() + (White() + 2) + 3,
        RBF() * (White() * 2.5),
        (RBF() + 1) * RBF([1, 2]) ** 2,
        ((RBF(0.25) + White()) ** 3).on([0, 1]).fixed("left.length_scale"),
        (2 * RBF() + Constant(3)).exp().fixed(),
        Constant(2) * Constant(3) + (Constant(1) + Constant(2)),
        (RBF() * White()).without_noise(),
    ):
        assert eval(repr(kernel), names) == kernel
    long = repr(K.Precomputed(np.eye(200)))
    assert long == "Precomputed(matrix=<array of shape (200, 200)>)"
    assert len(repr(RBF(np.arange(1, 500)))) < 80


def test_parameters_by_name():
    kernel = 2 * RBF([1, 2]) + White()
    params = kernel.get_params()
    assert params["left__left__value"] == 2 and params["right__noise"] == 1
    assert set(kernel.get_params(deep=False)) == {"left", "right"}
    other = kernel.with_params(left__right__length_scale=3, right__noise=0.5)
    assert other == 2 * RBF(3.0) + White(0.5) and kernel == 2 * RBF([1, 2]) + White()
    swapped = kernel.with_params(left=RBF(), left__length_scale=7)
    assert swapped == RBF(7.0) + White()
    assert RBF().with_params(gamma=0.5) == RBF(1.0)
    assert clone(kernel, safe=False) is kernel
    with pytest.raises(ValueError, match="no parameter 'nu'; it has length_scale"):
        RBF().with_params(nu=1)


def test_searches_reach_the_parameters_of_a_kernel(rng):
    """The best of a grid is the best of models made by hand, and clones share none."""
    X = rng.normal(size=(60, 2))
    y = np.sin(2 * X[:, 0])
    scales = [0.05, 0.7, 40.0]
    model = KernelRidge(0.01, kernel=1.0 * RBF())
    grid = {"kernel__right__length_scale": scales}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    by_hand = [
        cross_val_score(KernelRidge(0.01, kernel=1.0 * RBF(s)), X, y, cv=3).mean()
        for s in scales
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], by_hand)
    assert model.kernel == 1.0 * RBF()
    with pytest.raises(ParameterError, match="'rbf' of KernelRidge is a name"):
        KernelRidge(kernel="rbf").set_params(kernel__length_scale=2)

"""Kernels by name and from scikit-learn's objects."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from pansophy import kernels as K
from pansophy.active.query_strategies import information_density
from pansophy.kernel_model import hsic_test, mmd_test
from pansophy.kernel_ridge import KernelRidge
from pansophy.kernels import RBF, get_kernel
from pansophy.params import ParameterError
from pansophy.teaching import representer, rkhs_norm


@pytest.mark.parametrize(
    "name", ["linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"]
)
def test_names_are_scikit_learns(name, rows):
    X, Z = rows
    options = {"gamma": 0.4, "degree": 2, "coef0": 0.3}
    theirs = pairwise.pairwise_kernels(X, Z, metric=name, filter_params=True, **options)
    np.testing.assert_allclose(get_kernel(name, **options)(X, Z), theirs, rtol=1e-9)
    if name not in ("linear", "cosine"):
        theirs = pairwise.pairwise_kernels(
            X, Z, metric=name, filter_params=True, coef0=1
        )
        ours = get_kernel(name, n_features=3, coef0=1)
        np.testing.assert_allclose(ours(X, Z), theirs, rtol=1e-9)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "sigmoid", "cosine"])
def test_sparse_rows(name, rows, rng):
    X, Z = (np.where(np.abs(A) < 0.5, 0, A) for A in rows)
    k = get_kernel(name, gamma=0.3, degree=2, coef0=0.5)
    A, B = sparse.csr_array(X), sparse.csc_array(Z)
    V = rng.standard_normal(9)
    np.testing.assert_allclose(k(A, B), k(X, Z), atol=1e-12)
    np.testing.assert_allclose(k(A, Z), k(X, Z), atol=1e-12)
    np.testing.assert_allclose(k.diag(A), k.diag(X), atol=1e-12)
    np.testing.assert_allclose(k.matmul(A, B, V), k(X, Z) @ V, atol=1e-12)
    W = rng.standard_normal((12, 9))
    np.testing.assert_allclose(k.contract(A, B, W), k.contract(X, Z, W), atol=1e-9)
    with pytest.raises(TypeError, match="sparse"):
        K.Laplacian()(A)


THEIRS = [
    gp.ConstantKernel(2.0) * gp.RBF([0.5, 1.0, 2.0]) + gp.WhiteKernel(0.3),
    gp.Matern(0.7, nu=0.5) + gp.Matern(0.7, nu=1.5) * gp.Matern(0.9, nu=2.5),
    gp.Matern([0.5, 1.0, 2.0], nu=0.8) + gp.Matern(0.4, nu=np.inf),
    gp.RationalQuadratic(0.6, 1.3) ** 2,
    gp.DotProduct(1.5) + gp.PairwiseKernel(gamma=0.2, metric="laplacian"),
]


@pytest.mark.parametrize("theirs", THEIRS, ids=str)
def test_kernel_objects_of_scikit_learn(theirs, rows):
    X, Z = rows
    ours = K.from_sklearn(theirs)
    np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours(X, Z), theirs(X, Z), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.diag(X), theirs.diag(X))
    assert get_kernel(theirs) == ours


def test_gradients_are_scikit_learns(rows):
    X = rows[0]
    for theirs in THEIRS[:2]:
        ours = K.from_sklearn(theirs)
        np.testing.assert_allclose(ours.theta, theirs.theta)
        grad = np.moveaxis(theirs(X, eval_gradient=True)[1], 2, 0)
        np.testing.assert_allclose(ours.gradient(X), grad, atol=1e-9)
        W = np.random.default_rng(1).standard_normal((12, 12))
        right = (W * grad).sum(axis=(1, 2))
        np.testing.assert_allclose(ours.contract(X, None, W), right, rtol=1e-9)


def test_fixed_bounds_and_refusals(rows):
    held = gp.RationalQuadratic(0.6, 1.3, alpha_bounds="fixed")
    assert K.from_sklearn(held).theta_names == ("length_scale",)
    assert len(K.from_sklearn(gp.RBF(0.5, "fixed")).theta) == 0
    sine = gp.ExpSineSquared(0.7, 1.9)
    ours = get_kernel(sine, n_features=1)
    x = rows[0][:, :1]
    np.testing.assert_allclose(ours(x), sine(x))
    np.testing.assert_allclose(
        ours.gradient(x), np.moveaxis(sine(x, eval_gradient=True)[1], 2, 0), atol=1e-9
    )

    class Own(gp.RBF):
        pass

    for bad, words in (
        (sine, "one column"),
        (gp.RBF() ** 0.5, "whole"),
        (gp.CompoundKernel([gp.RBF()]), "CompoundKernel has no counterpart"),
        (Own(), "Own has no counterpart"),
    ):
        with pytest.raises(ValueError, match=words):
            get_kernel(bad)
    with pytest.raises(ValueError, match="no parameter 'width' to fix"):
        RBF().fixed("width")


@pytest.mark.filterwarnings("ignore::pansophy.kernels.IndefiniteKernelWarning")
@pytest.mark.parametrize("name", K.KERNEL_NAMES)
def test_a_name_is_one_kernel_for_these_rows_everywhere(name, rng):
    X, Z = rng.random((14, 3)) + 0.1, rng.random((5, 3)) + 0.1
    y = rng.standard_normal(14)
    metric = "poly" if name == "polynomial" else name
    theirs = pairwise.pairwise_kernels(X, metric=metric)
    across = pairwise.pairwise_kernels(X, Z, metric=metric)
    np.testing.assert_allclose(K.gram(name, X), theirs, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(K.gram(name, X, Z), across, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        K.gram(name, pd.DataFrame(X)), theirs, rtol=1e-9, atol=1e-12
    )
    model = KernelRidge(50.0, kernel=name).fit(X, y)
    f = representer(name, X, model.dual_coef_)
    np.testing.assert_allclose(f(Z), model.predict(Z), rtol=1e-9)
    a = rng.standard_normal(14)
    squared = max(a @ theirs @ a, 0.0)
    assert rkhs_norm(name, X, a) == pytest.approx(np.sqrt(squared), abs=1e-7)
    smallest = np.linalg.eigvalsh(0.5 * (theirs + theirs.T))[0]
    assert K.check_psd(name, X).smallest == pytest.approx(smallest, abs=1e-10)
    both = pairwise.pairwise_kernels(np.vstack([X, Z]), metric=metric)
    contrast = np.r_[np.full(14, 1 / 14), np.full(5, -1 / 5)]
    found = mmd_test(X, Z, kernel=name, permutations=1).statistic
    other = hsic_test(X, y, kernel=name, kernel_y="linear", permutations=1)
    assert found == pytest.approx(max(contrast @ both @ contrast, 0.0), abs=1e-10)
    J = np.eye(14) - 1 / 14
    expected = np.trace(theirs @ J @ np.outer(y, y) @ J) / 14**2
    assert other.statistic == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_a_name_without_its_gamma_is_refused():
    for name in ("rbf", "poly", "laplacian", "sigmoid"):
        with pytest.raises(ParameterError, match="give gamma or n_features"):
            get_kernel(name)
    theirs = gp.PairwiseKernel(gamma=0.3, metric="poly")
    X = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(K.from_sklearn(theirs)(X), theirs(X))


def test_names_in_query_strategies_and_asymmetric_kernels(rng):
    X = rng.standard_normal((8, 2))
    density = information_density(X, "rbf")
    np.testing.assert_allclose(density, pairwise.rbf_kernel(X).mean(axis=1))
    np.testing.assert_allclose(K.Asymmetric("rbf")(X), pairwise.rbf_kernel(X))

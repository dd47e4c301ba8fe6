"""Kernel PCA: equations, PCA as a special case, every solver, inverse transform."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition as peer
from sklearn.datasets import make_circles
from sklearn.exceptions import NotFittedError

from pansophy.decomposition import PCA, KernelPCA
from pansophy.kernels import RBF, Linear


def same_up_to_sign(A, B, atol=1e-6):
    sign = np.sign(np.sum(A * B, axis=0))
    np.testing.assert_allclose(A * sign, B, atol=atol)


def gram(model, X):
    K = model._kernel(X, None)
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def test_the_equations(rng):
    X = rng.standard_normal((40, 3))
    model = KernelPCA(4, kernel="rbf", gamma=0.3).fit(X)
    K, a, v = gram(model, X), model._duals(), model.eigenvectors_
    np.testing.assert_allclose(a.T @ K @ a, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(K @ v, v * model.eigenvalues_, atol=1e-10)
    Z = model.fit_transform(X)
    np.testing.assert_allclose(Z, np.sqrt(model.eigenvalues_) * v)
    np.testing.assert_allclose(Z, model.transform(X), atol=1e-9)


def test_linear_kernel_is_pca(rng):
    X = rng.standard_normal((50, 4)) * [4, 3, 2, 1] + 7
    model, pca = KernelPCA(4).fit(X), PCA(4).fit(X)
    same_up_to_sign(model.fit_transform(X), pca.transform(X))
    new = rng.standard_normal((9, 4))
    same_up_to_sign(
        np.vstack([model.transform(X), model.transform(new)]),
        np.vstack([pca.transform(X), pca.transform(new)]),
    )
    np.testing.assert_allclose(model.eigenvalues_, pca.singular_values_**2)
    assert KernelPCA().fit(X).eigenvalues_.shape == (4,)  # no more than the rank


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "cosine"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_kernels_match_scikit_learn(kernel, make, rng):
    X, new = rng.random((40, 5)), rng.random((7, 5))
    options = {"kernel": kernel, "eigen_solver": "dense"}
    ours = KernelPCA(3, **options).fit(make(X))
    right = peer.KernelPCA(3, **options).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, right.eigenvalues_, rtol=1e-6)
    same_up_to_sign(ours.transform(make(new)), right.transform(new))


@pytest.mark.parametrize("solver", ["auto", "dense", "arpack", "randomized"])
@pytest.mark.parametrize("gamma", [0.05, 20.0])  # a steep and a flat spectrum
def test_solvers(solver, gamma, rng):
    X = rng.standard_normal((400, 3))
    options = {"kernel": "rbf", "gamma": gamma, "random_state": 0}
    ours = KernelPCA(5, eigen_solver=solver, iterated_power=20, **options).fit(X)
    right = peer.KernelPCA(5, eigen_solver="dense", **options).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, right.eigenvalues_, rtol=1e-6)
    if gamma < 1:
        same_up_to_sign(ours.transform(X), right.transform(X), atol=1e-4)


def test_precomputed_functions_and_our_kernels(rng):
    X, new = rng.standard_normal((30, 3)), rng.standard_normal((6, 3))
    member = RBF(gamma=0.2)
    known = KernelPCA(3, kernel="rbf", gamma=0.2).fit(X)
    K = member(X)
    before = K.copy()
    given = KernelPCA(3, kernel="precomputed").fit(K)
    np.testing.assert_array_equal(K, before)
    same_up_to_sign(given.transform(member(new, X)), known.transform(new))
    ours = KernelPCA(3, kernel=member).fit(X)
    same_up_to_sign(ours.transform(new), known.transform(new))
    plain = lambda a, b, power: (1 + a @ b) ** power
    function = KernelPCA(3, kernel=plain, kernel_params={"power": 2}).fit(X)
    poly = KernelPCA(3, kernel="poly", degree=2, gamma=1.0).fit(X)
    np.testing.assert_allclose(function.eigenvalues_, poly.eigenvalues_)
    assert KernelPCA(3, kernel=Linear() + 1.0).fit(X).eigenvalues_[0] > 0


def test_circles_come_apart_and_back():
    X, y = make_circles(200, factor=0.3, noise=0.03, random_state=0)
    model = KernelPCA(2, kernel="rbf", gamma=3, fit_inverse_transform=True, alpha=1e-3)
    z = model.fit_transform(X)[:, 0]
    assert z[y == 0].min() > z[y == 1].max() or z[y == 0].max() < z[y == 1].min()
    right = peer.KernelPCA(
        2, kernel="rbf", gamma=3, fit_inverse_transform=True, alpha=1e-3
    ).fit(X)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(X)),
        right.inverse_transform(right.transform(X)),
        atol=1e-5,
    )
    with pytest.raises(NotFittedError, match="was not set to True"):
        KernelPCA(2).fit(X).inverse_transform(X[:, :2])


def test_duplicate_rows_and_zero_eigenvalues(rng):
    X = np.repeat(rng.standard_normal((3, 2)), 5, axis=0)
    model = KernelPCA(10, kernel="rbf").fit(X)
    assert (model.eigenvalues_ > 0).sum() == 2
    assert np.isfinite(model.transform(X)).all()
    lean = KernelPCA(10, kernel="rbf", remove_zero_eig=True).fit(X)
    assert lean.eigenvalues_.shape == (2,)


def test_bad_requests(rng):
    X = rng.standard_normal((20, 3))
    with pytest.raises(ValueError, match="square"):
        KernelPCA(kernel="precomputed").fit(X)
    with pytest.raises(ValueError, match="Cannot fit_inverse_transform"):
        KernelPCA(kernel="precomputed", fit_inverse_transform=True).fit(X)
    with pytest.raises(ValueError, match="negative eigenvalues"):
        KernelPCA(kernel="precomputed").fit(-np.eye(4))
    with pytest.raises(ValueError, match="fewer"):
        KernelPCA(20, eigen_solver="arpack").fit(X)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("n", [40, 300])
def test_tensors(library, n, rng):
    xp = pytest.importorskip(library)
    X = rng.standard_normal((n, 3))
    T = xp.asarray(X)
    options = {"kernel": "rbf", "gamma": 0.1, "random_state": 0}
    found, known = KernelPCA(3, **options).fit(T), KernelPCA(3, **options).fit(X)
    assert type(found.transform(T)) is type(T)
    same_up_to_sign(np.asarray(found.transform(T)), known.transform(X))
    same_up_to_sign(np.asarray(found.fit_transform(T)), known.fit_transform(X))
    same_up_to_sign(found.transform(X), known.transform(X))


def test_an_asymmetric_function_is_refused(rng):
    X, Q = rng.standard_normal((12, 2)), np.array([[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="not symmetric"):
        KernelPCA(2, kernel=lambda a, b: a @ Q @ b).fit(X)
    assert KernelPCA(2, kernel=lambda a, b: a @ b).fit(X).eigenvalues_.shape == (2,)

"""What all kernel machines share: weights, forms of data, kernels that are given."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import pansophy
from pansophy import kernels
from pansophy.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from tests.svm.samples import blobs, wave


@pytest.mark.parametrize("cls", [SVR, NuSVR, OneClassSVM])
def test_weights_and_other_forms_of_data(cls):
    X, y = wave(100, seed=2)
    w = np.random.default_rng(0).integers(0, 3, 100).astype(float)
    index = np.repeat(np.arange(100), w.astype(int))
    f = lambda m, T: m.score_samples(T) if cls is OneClassSVM else m.predict(T)
    weighted = cls().fit(X, y, sample_weight=w)
    np.testing.assert_allclose(
        f(weighted, X), f(cls().fit(X[index], y[index]), X), rtol=1e-8, atol=1e-8
    )
    model = cls(gamma=0.3).fit(X, y)
    k = kernels.RBF(gamma=0.3)
    for other, train, test in (
        (cls(gamma=0.3), sp.csr_array(X), sp.csr_array(X)),
        (cls(kernel=k), X, X),
        (cls(kernel="precomputed"), k(X), k(X, X)),
    ):
        np.testing.assert_allclose(
            f(other.fit(train, y), test), f(model, X), rtol=1e-8, atol=1e-8
        )


def test_float32_rows_only_where_they_are_exact_to_tol():
    from pansophy.svm.kernel_machine import kernel_row_dtype
    from pansophy.svm.kernel_rows import KernelSpec

    X = np.random.default_rng(0).normal(size=(3000, 2))
    spec = KernelSpec("rbf", 0.2)
    assert kernel_row_dtype(spec, X, 1.0, 1e-3) == np.float32
    assert kernel_row_dtype(spec, X, 1e5, 1e-3) == np.float64
    assert kernel_row_dtype(spec, X, 1.0, 1e-7) == np.float64
    assert kernel_row_dtype(KernelSpec("rbf", 50.0), X, 1.0, 1e-3) == np.float64
    assert kernel_row_dtype(KernelSpec("linear"), 1e3 * X, 1.0, 1e-3) == np.float64


@pytest.mark.parametrize("model", [SVC(), NuSVC(nu=0.3), SVR(), OneClassSVM(nu=0.3)])
def test_strings_as_their_precomputed_kernel(model, tmp_path):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc"), 8)) for _ in range(40)]
    y = np.array([word.count("ab") > 1 for word in words]).astype(int)
    kernel = kernels.Spectrum(2)
    K = kernel(words)
    own = clone(model).set_params(kernel=kernel).fit(words, y)
    given = clone(model).set_params(kernel="precomputed").fit(K, y)
    name = "decision_function" if hasattr(own, "decision_function") else "predict"
    right = getattr(given, name)(K)
    np.testing.assert_allclose(getattr(own, name)(words), right, atol=1e-9)
    pansophy.save(own, tmp_path / "m.pansophy")
    again = pansophy.load(tmp_path / "m.pansophy")
    np.testing.assert_array_equal(
        getattr(again, name)(words), getattr(own, name)(words)
    )


@pytest.mark.parametrize("cls", [SVC, SVR])
def test_kernels_that_are_not_symmetric_are_refused(cls):
    X, y = blobs(40, seed=26)
    A = kernels.Asymmetric(kernels.RBF(), X)
    with pytest.raises(ValueError, match="not symmetric"):
        cls(kernel=A).fit(X, y)
    with pytest.raises(ValueError, match="not symmetric"):
        cls(kernel="precomputed").fit(A(X), y)
    with pytest.raises(ValueError, match="not symmetric"):
        cls(kernel=lambda a, b: a @ np.diag([1, 2, 3, 4.0]) @ b.T + a[:, :1]).fit(X, y)

"""Kernel rows: every way to give a kernel, sparse rows, matrices."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy import kernels
from pansophy.svm import SVC
from tests.svm.samples import blobs

XOR = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]])


def test_all_ways_to_give_a_kernel_agree():
    X, y = blobs(120, k=3, seed=13)
    T = blobs(40, seed=14)[0]
    model = SVC(gamma=0.4, decision_function_shape="ovo").fit(X, y)
    f = model.decision_function(T)
    k = kernels.RBF(gamma=0.4)
    options = {"decision_function_shape": "ovo"}
    ways = [
        (SVC(kernel=k, **options), X, T),
        (SVC(kernel=lambda a, b: k(a, b), **options), X, T),
        (SVC(kernel="precomputed", **options), k(X), k(T, X)),
        (SVC(gamma=0.4, **options), sp.csr_array(X), sp.csr_array(T)),
        (SVC(gamma=0.4, **options), sp.csr_array(X), T),
        (SVC(gamma=0.4, **options), X, sp.csr_array(T)),
    ]
    for other, train, test in ways:
        np.testing.assert_allclose(
            other.fit(train, y).decision_function(test), f, atol=1e-8
        )
    linear = SVC(kernel="linear").fit(sp.csr_array(X), y)
    assert sp.issparse(linear.coef_)
    dense = SVC(kernel="linear").fit(X, y)
    np.testing.assert_allclose(linear.coef_.toarray(), dense.coef_, atol=1e-10)


def test_rows_that_stay_sparse(monkeypatch):
    from pansophy.svm import kernel_rows

    X, y = blobs(100, seed=15)
    X[np.random.default_rng(0).random(X.shape) < 0.5] = 0.0
    dense = SVC().fit(X, y)
    monkeypatch.setattr(kernel_rows, "DENSE_BYTES", 0)
    sparse = SVC().fit(sp.csr_array(X), y)
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-8
    )
    poly = SVC(kernel="poly").fit(sp.csr_array(X), y)
    np.testing.assert_allclose(
        poly.decision_function(sp.csr_array(X)),
        SVC(kernel="poly").fit(X, y).decision_function(X),
        atol=1e-8,
    )


def test_a_kernel_matrix_must_be_square():
    with pytest.raises(ValueError, match="square"):
        SVC(kernel="precomputed").fit(XOR, [0, 0, 1, 1])
    with pytest.raises(TypeError, match="Sparse precomputed"):
        SVC(kernel="precomputed").fit(sp.eye_array(4).tocsr(), [0, 0, 1, 1])

"""Kernels of histograms and fingerprints: contract, parity, Jaccard's index."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise

from pansophy import kernels as K
from pansophy.kernels import check_psd


@pytest.mark.parametrize("k", K.HISTOGRAM_KERNELS, ids=str)
def test_histogram_kernels(k, rng):
    X, Z = rng.random((15, 4)), rng.random((8, 4))
    X[0] = 0
    Z[0] = 0
    gram = k(X)
    assert check_psd(gram).psd
    np.testing.assert_allclose(k.diag(X), np.diagonal(gram))
    np.testing.assert_allclose(k(X, X), gram, atol=1e-12)
    V = rng.standard_normal(8)
    np.testing.assert_allclose(k.matmul(X, Z, V), k(X, Z) @ V)
    for i in range(len(k.theta)):
        step = 1e-5 * np.eye(len(k.theta))[i]
        up, down = (k.with_theta(k.theta + s)(X, Z) for s in (step, -step))
        np.testing.assert_allclose(
            k.gradient(X, Z)[i], (up - down) / 2e-5, rtol=1e-6, atol=1e-9
        )
    with pytest.raises(ValueError, match="numbers of at least 0"):
        k(X - 1)


def test_chi_squared_is_scikit_learns(rng):
    X, Z = rng.random((10, 4)), rng.random((6, 4))
    Z[0] = X[0] = 0
    ours = K.ChiSquared(0.3)(X, Z)
    np.testing.assert_allclose(ours, pairwise.chi2_kernel(X, Z, gamma=0.3))
    np.testing.assert_allclose(
        K.AdditiveChiSquared()(X, Z), pairwise.additive_chi2_kernel(X, Z)
    )
    with pytest.warns(K.IndefiniteKernelWarning):
        K.AdditiveChiSquared()(X)


def test_tanimoto_is_jaccards_index(rng):
    X = rng.integers(0, 2, (10, 6))
    X[0] = 0
    same = 1 - pairwise.pairwise_distances(X.astype(bool), metric="jaccard")
    np.testing.assert_allclose(K.Tanimoto()(X), same)
    np.testing.assert_allclose(K.Tanimoto()(sparse.csr_array(X.astype(float))), same)

"""Metrics against SciPy, and metrics given as functions."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from pansophy.distances import METRICS, distance_matrix_function, hamming, pairwise
from pansophy.distances.pairwise_metrics import cosine, unit_length_rows


def test_hamming():
    rng = np.random.default_rng(0)
    X, Z = (rng.integers(0, 3, size=(n, 7)).astype(float) for n in (9, 5))
    np.testing.assert_allclose(hamming(X, Z), cdist(X, Z, "hamming"))
    np.testing.assert_allclose(pairwise(X, metric="hamming"), cdist(X, X, "hamming"))
    assert "hamming" in METRICS


@pytest.mark.parametrize("d", [1, 2, 5])
def test_functions_of_rows_and_of_matrices(d):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(6, d)), rng.normal(size=(4, d))
    want = cdist(X, Z, "cityblock")
    of_rows = lambda x, z, scale=1.0: scale * np.abs(x - z).sum()
    of_matrices = lambda A, B, scale=1.0: scale * cdist(A, B, "cityblock")
    for metric in (of_rows, of_matrices):
        np.testing.assert_allclose(pairwise(X, Z, metric), want)
        np.testing.assert_allclose(pairwise(X, Z, metric, scale=2.0), 2 * want)
        np.testing.assert_allclose(distance_matrix_function(metric)(X, Z), want)
    with pytest.raises(ValueError, match="NaN"):
        pairwise(X, Z, lambda x, z: np.nan)


@pytest.mark.parametrize("scale", [1.0, 1e200, 1e-200])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_rows_of_unit_length(kind, scale):
    """Squares of large and small rows neither overflow nor vanish."""
    X = np.array([[3.0, 4.0, 0.0], [0.0, -5.0, 12.0]])
    found = unit_length_rows(kind(scale * X))
    found = found.toarray() if sparse.issparse(found) else found
    np.testing.assert_allclose(found, X / [[5.0], [13.0]], rtol=1e-14)
    X[1] = 0.0
    with pytest.raises(ValueError, match="row 1 of X has length 0"):
        unit_length_rows(kind(X))


def test_rows_of_zeros_have_the_distance_that_is_asked_for():
    X = np.array([[3.0, 4.0], [0.0, 0.0]])
    Z = np.array([[4.0, -3.0], [0.0, 0.0], [-3.0, -4.0]])
    for zero in (1.0, 0.25, 0.0):
        expected = [[1, zero, 2], [zero, 0, zero]]
        np.testing.assert_allclose(cosine(X, Z, zero=zero), expected, atol=1e-15)
    np.testing.assert_allclose(cosine(X[:1], Z[::2], zero=None), [[1, 2]], atol=1e-15)
    for A, B in ((X, Z[:1]), (X[:1], Z)):
        with pytest.raises(ValueError, match="row of zeros"):
            cosine(A, B, zero=None)

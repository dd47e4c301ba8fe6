"""Metrics against SciPy, and metrics given as functions."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from pansophy.distances import METRICS, distance_matrix_function, hamming, pairwise


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

"""Covariance shrinkage: as scikit-learn's."""

import numpy as np
import pytest
import sklearn.covariance as reference

from pansophy.core.linalg.shrinkage import (
    ledoit_wolf_shrinkage,
    oas_shrinkage,
    shrunk_covariance,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4)) * [1, 2, 3, 4]
A = X - X.mean(axis=0)
S = A.T @ A / len(A)


def test_coefficients_as_scikit_learn():
    fourth = np.mean((A * A).sum(axis=1) ** 2)
    expected = reference.ledoit_wolf_shrinkage(X)
    assert ledoit_wolf_shrinkage(S, fourth, 30) == pytest.approx(expected)
    assert oas_shrinkage(S, 30) == pytest.approx(reference.oas(X)[1])


def test_shrunk_matrix_as_scikit_learn():
    np.testing.assert_allclose(
        shrunk_covariance(S, 0.3), reference.shrunk_covariance(S, 0.3)
    )


def test_matrices_with_nothing_to_shrink():
    assert ledoit_wolf_shrinkage(np.eye(1), 3.0, 5) == oas_shrinkage(np.eye(1), 5) == 0
    assert ledoit_wolf_shrinkage(np.eye(3), 0.0, 5) == 0
    assert ledoit_wolf_shrinkage(np.eye(3), 3.0, 5) == 0
    assert oas_shrinkage(np.eye(3), 5) == 1


def test_the_unit_of_measurement_does_not_matter():
    fourth = np.mean((A * A).sum(axis=1) ** 2)
    for c in (1e-6, 1e6):
        assert oas_shrinkage(c * S, 30) == pytest.approx(oas_shrinkage(S, 30))
        assert ledoit_wolf_shrinkage(c * S, c**2 * fourth, 30) == pytest.approx(
            ledoit_wolf_shrinkage(S, fourth, 30)
        )

"""The Laplace approximation of a Gaussian and its evidence."""

import numpy as np
import pytest

from pansophy.sampling import (
    laplace_approximate,
)

A = np.random.default_rng(3).normal(size=(4, 4))
COV = A @ A.T / 4 + 0.2 * np.eye(4)
PRECISION = np.linalg.inv(COV)
MU = np.array([1.0, -2.0, 0.5, 0.0])
normal = lambda x: -0.5 * np.sum(((x - MU) @ PRECISION) * (x - MU), axis=-1)
slope = lambda x: -(x - MU) @ PRECISION
LOG_Z = 0.5 * np.linalg.slogdet(2 * np.pi * COV)[1]


def test_laplace():
    near = laplace_approximate(normal, np.zeros(4))  # by differences of values
    np.testing.assert_allclose(near.mode, MU, atol=1e-5)
    np.testing.assert_allclose(near.normal.cov, COV, rtol=1e-3, atol=1e-4)
    near = laplace_approximate(normal, np.zeros(4), grad=slope)
    np.testing.assert_allclose(near.normal.cov, COV, rtol=1e-7)
    assert near.log_evidence == pytest.approx(LOG_Z, abs=1e-8)
    with pytest.raises(ValueError, match="no peak"):
        laplace_approximate(lambda x: x[0] ** 2, [0.0])

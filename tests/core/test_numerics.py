"""Formulas that keep their digits, against SciPy."""

import numpy as np
import pytest
from scipy import special

from pansophy.core import numerics

A = np.array([[-1e4, 0.0, 3.0], [-np.inf, 700.0, -800.0]])


def test_logsumexp_and_softmax():
    np.testing.assert_allclose(numerics.logsumexp(A), special.logsumexp(A, axis=1))
    np.testing.assert_allclose(numerics.softmax(A), special.softmax(A, axis=1))
    np.testing.assert_allclose(
        numerics.log_softmax(A), special.log_softmax(A, axis=1), rtol=1e-14
    )


def test_log_weights_are_normalised():
    L = np.array([-1000.0, -1001.0, -np.inf])
    weights, log_sum = numerics.normalize_log_weights(L)
    np.testing.assert_allclose(weights, special.softmax(L))
    assert log_sum == pytest.approx(special.logsumexp(L))
    weights, log_sum = numerics.normalize_log_weights([-np.inf, -np.inf])
    assert weights.tolist() == [0, 0]
    assert log_sum == -np.inf

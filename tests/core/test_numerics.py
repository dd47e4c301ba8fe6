"""Formulas that keep their digits, against SciPy."""

import numpy as np
import pytest
from scipy import special

from pansophy.core import numerics
from pansophy.core.arrays import arrays

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


VALUES = np.array([[-800.0, -3.0, 0.0, 2.0], [700.0, 1e-9, -1e-9, 710.0]])
PAIRS = [
    ("logsumexp", lambda a: special.logsumexp(a, axis=-1)),
    ("softmax", lambda a: special.softmax(a, axis=-1)),
    ("log_softmax", lambda a: special.log_softmax(a, axis=-1)),
    ("log1pexp", lambda a: np.logaddexp(0, a)),
    ("sigmoid", special.expit),
]


@pytest.mark.parametrize(("name", "right"), PAIRS, ids=[name for name, _ in PAIRS])
def test_numerics_against_scipy(xp, name, right):
    found = getattr(numerics, name)(xp.asarray(VALUES))
    assert type(found) is type(xp.asarray(VALUES))
    np.testing.assert_allclose(arrays.to_numpy(found), right(VALUES), rtol=1e-13)


def test_logsumexp_axes_and_nothing(xp):
    a = xp.asarray(VALUES)
    for axis in (0, 1):
        for keep in (True, False):
            np.testing.assert_allclose(
                arrays.to_numpy(numerics.logsumexp(a, axis=axis, keepdims=keep)),
                special.logsumexp(VALUES, axis=axis, keepdims=keep),
            )
    empty = xp.asarray([[-np.inf, -np.inf]], dtype=xp.float64)
    assert float(numerics.logsumexp(empty)[0]) == -np.inf


def test_logarithms_and_quotients_of_zero(xp):
    p = xp.asarray([0.0, 1.0, 0.5], dtype=xp.float64)
    np.testing.assert_allclose(
        arrays.to_numpy(numerics.safe_log(p)), [-np.inf, 0, np.log(0.5)]
    )
    zeros = xp.zeros_like(p)
    np.testing.assert_array_equal(arrays.to_numpy(numerics.xlogy(zeros, p)), 0)
    np.testing.assert_allclose(
        arrays.to_numpy(numerics.xlogy(p, p)),
        special.xlogy([0, 1, 0.5], [1, 1, 0.5]),
    )
    np.testing.assert_allclose(
        arrays.to_numpy(numerics.safe_divide(p + 1, p, otherwise=7.0)), [7, 2, 3]
    )

"""Array libraries told apart, and conversions between them."""

import numpy as np
import pytest

from pansophy.core.arrays import arrays


def test_what_is_what(xp):
    x = xp.asarray([1.0, 2.0])
    assert arrays.is_numpy(x) is (xp is np)
    assert arrays.is_foreign(x) is (xp is not np)
    assert arrays.is_torch(x) is (xp.__name__ == "torch")
    assert (arrays.device(x) is None) is (xp is np)
    for other in ([1.0], 3, None, "text"):
        assert not arrays.is_foreign(other)


def test_namespace_has_the_standard_functions(xp):
    x = xp.asarray([[3.0, 1.0]])
    ns = arrays.namespace(x)
    for name in ("concat", "matrix_transpose", "astype", "isdtype", "take"):
        assert callable(getattr(ns, name))
    assert arrays.namespace([1, 2], 3) is arrays.namespace(np.ones(1))
    assert float(ns.max(x)) == 3


def test_round_trip(xp):
    x = np.array([[1.0, 2.5], [3.0, -4.0]], dtype=np.float32)
    there = arrays.asarray(x, like=xp.asarray(x))
    assert type(there) is type(xp.asarray(x)) and arrays.is_float(there)
    back = arrays.to_numpy(there)
    assert isinstance(back, np.ndarray) and back.dtype == np.float32
    np.testing.assert_array_equal(back, x)
    double = arrays.asarray([1.0], like=xp.asarray(x, dtype=xp.float64))
    assert double.dtype == xp.float64


def test_as_float_keeps_floats_and_turns_the_rest(xp):
    single = xp.asarray([1.0], dtype=xp.float32)
    assert arrays.as_float(single) is single
    whole = xp.asarray([1, 2])
    assert not arrays.is_float(whole)
    assert arrays.as_float(whole).dtype == xp.float64


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_finite(xp, bad):
    x = xp.ones((4, 3), dtype=xp.float64)
    assert arrays.all_finite(x)
    assert arrays.all_finite(xp.asarray([1, 2]))
    assert arrays.all_finite(
        xp.asarray([1e308, 1e308], dtype=xp.float64)
    )  # sum overflows
    x[2, 1] = bad
    assert not arrays.all_finite(x)


def test_finite_sees_infinities_that_cancel_in_a_sum(xp):
    x = xp.asarray([np.inf, -np.inf, 1.0], dtype=xp.float64)
    assert not arrays.all_finite(x)

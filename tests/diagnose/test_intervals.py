"""Intervals of means: counts are the same as repeated values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.diagnose.intervals import (
    mean_gap,
    mean_interval,
    rate_interval,
    wilson_limits,
)

rows = st.lists(
    st.tuples(st.floats(-1e3, 1e3), st.integers(0, 6)), min_size=1, max_size=30
).filter(lambda rows: any(k for _, k in rows))


@given(rows, rows)
def test_means(a, b):
    (x, k), (z, m) = (map(np.array, zip(*part)) for part in (a, b))
    many, more = np.repeat(x, k), np.repeat(z, m)
    found, expected = mean_interval(x, 0.9, k), mean_interval(many, 0.9)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-6, nan_ok=True)
    found, expected = mean_gap(x, z, 0.9, (k, m)), mean_gap(many, more, 0.9)
    apart = min(np.ptp(many), np.ptp(more)) > 1e-3  # else rounding rules the errors
    if apart or min(len(many), len(more)) < 2:
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-6, nan_ok=True)


def test_wilson_limits_are_those_of_a_rate_and_take_arrays():
    low, high = wilson_limits([0, 3, 10], 10)
    for k, lower, upper in zip((0, 3, 10), low, high):
        interval = rate_interval(k, 10)
        assert (lower, upper) == pytest.approx((interval.low, interval.high), abs=1e-12)
    assert wilson_limits(0, 0) == (0.0, 1.0)

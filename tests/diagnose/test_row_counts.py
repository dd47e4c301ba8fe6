"""Row weights as counts: the same answers as for repeated rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.diagnose.column_parts import parts_of_column
from pansophy.diagnose.intervals import mean_gap, mean_interval
from pansophy.diagnose.row_counts import (
    are_whole,
    effective_counts,
    row_weight_array,
    weights_as_counts,
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


def test_weights_that_are_no_counts():
    w = np.array([0.1, 0.3, 0.0, 0.4])
    assert are_whole(np.arange(3.0)) and not are_whole(w)
    assert not are_whole(np.array([2.0**53, 1.0]))  # their sum would be rounded
    assert weights_as_counts(w) == pytest.approx([0.375, 1.125, 0, 1.5])
    by_part = weights_as_counts(w, np.array([0, 0, 1, 2]))
    assert by_part == pytest.approx([0.5, 1.5, 0, 1])
    assert effective_counts(w, False).sum() == pytest.approx(0.64 / 0.26)
    assert effective_counts(np.full(7, 0.2), False) == pytest.approx(np.ones(7))
    assert effective_counts(w, True) is w
    with pytest.raises(ValueError, match="weights must be 2 numbers"):
        row_weight_array([1.0, -1.0], 2)


def test_levels_of_rows_that_count(rng):
    k = rng.integers(1, 9, 200)
    for column in (rng.normal(size=200), rng.integers(0, 40, 200).astype(str)):
        labels, codes = parts_of_column(column, most=5, counts=k.astype(float))
        again, many = parts_of_column(np.repeat(column, k), most=5)
        assert labels == again and (np.repeat(codes, k) == many).all()

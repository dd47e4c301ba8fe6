"""Row weights as counts: the same answers as for repeated rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.core.arrays.weighted import (
    check_sample_weight,
    repeated_quantile,
    values_at_ranks,
)
from pansophy.diagnose.data.row_counts import (
    are_whole,
    effective_counts,
    weights_as_counts,
)

rows = st.lists(
    st.tuples(st.floats(-1e3, 1e3), st.integers(0, 6)), min_size=1, max_size=30
).filter(lambda rows: any(k for _, k in rows))


@given(rows)
def test_ranks_and_quantiles_are_those_of_repeated_rows(rows):
    x = np.array([v for v, _ in rows])
    k = np.array([c for _, c in rows], float)
    many = np.repeat(x, k.astype(int))
    ranks = np.arange(len(many)) + 1
    assert (values_at_ranks(x, k, ranks) == np.sort(many)).all()
    q = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    assert (repeated_quantile(x, k, q) == np.quantile(many, q)).all()


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
        check_sample_weight([1.0, -1.0], 2, "weights")

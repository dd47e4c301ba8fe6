"""Threshold sweep: against counting at every threshold one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pansophy.core.threshold_counts import (
    cumulative_at,
    score_order,
    threshold_counts,
)


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 4), st.integers(0, 3)),
        min_size=1,
        max_size=15,
    )
)
def test_counts_at_every_threshold(rows):
    y, score, w = (np.array(v, float) for v in zip(*rows, strict=True))
    c = threshold_counts(y, score, w)
    assert c.threshold[0] > score.max()
    assert c.threshold[1:].tolist() == sorted(set(score.tolist()), reverse=True)
    for t, tp, fp in zip(*c[:3], strict=True):
        called = score >= t
        assert tp == w[called & (y == 1)].sum()
        assert fp == w[called & (y == 0)].sum()
    assert (c.positives, c.negatives) == (w @ y, w @ (1 - y))


def test_without_weights_rows_are_counted():
    c = threshold_counts([1, 0, 1], [0.1, 0.2, 0.3])
    assert c.true_positives.tolist() == [0, 1, 1, 2]


def test_one_order_serves_many_weights():
    order = score_order(np.array([0.5, 0.9, 0.5]))
    assert cumulative_at(order, np.array([1, 2, 4])).tolist() == [2, 7]

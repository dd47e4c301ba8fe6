"""Threshold sweep: against counting at every threshold one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from pansophy.core.arrays.threshold_counts import (
    average_precision,
    cumulative_at,
    roc_auc,
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


@pytest.mark.parametrize("weighted", [False, True])
def test_areas_are_those_of_scikit_learn(weighted, rng):
    y = rng.integers(0, 2, 200)
    score = rng.integers(0, 20, 200) / 7  # with ties
    w = rng.integers(0, 4, 200) if weighted else None
    want = metrics.roc_auc_score(y, score, sample_weight=w)
    assert roc_auc(y, score, w) == pytest.approx(want, abs=1e-14)
    want = metrics.average_precision_score(y, score, sample_weight=w)
    assert average_precision(y, score, w) == pytest.approx(want, abs=1e-14)


def test_areas_do_not_depend_on_the_unit_of_weights(rng):
    y, score, w = rng.integers(0, 2, 30), rng.random(30), rng.random(30)
    for area in (roc_auc, average_precision):
        assert area(y, score, 1e-3 * w) == pytest.approx(area(y, score, w))


def test_areas_of_one_class():
    score = np.array([0.1, 0.2])
    assert np.isnan(roc_auc(np.ones(2), score))
    assert np.isnan(roc_auc(np.zeros(2), score))
    assert average_precision(np.zeros(2), score) == 0.0
    assert average_precision(np.ones(2), score) == 1.0

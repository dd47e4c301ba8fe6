"""Measures of rankings, splits in time, and the report made of both."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from pansophy.recommend import (
    average_precision_at_k,
    coverage_at_k,
    hit_rate_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank_at_k,
)


def test_worked_numbers():
    relevant, ranked = [{"a", "b", "c"}], [["a", "x", "b", "y"]]
    assert precision_at_k(relevant, ranked, 4) == 0.5
    assert precision_at_k(relevant, ranked, 10) == 0.2  # k is the k asked for
    assert recall_at_k(relevant, ranked, 4) == pytest.approx(2 / 3)
    assert average_precision_at_k(relevant, ranked, 4) == pytest.approx((1 + 2 / 3) / 3)
    assert average_precision_at_k(relevant, ranked, 2) == pytest.approx(1 / 2)
    best = 1 + 1 / np.log2(3) + 1 / 2
    assert ndcg_at_k(relevant, ranked, 4) == pytest.approx((1 + 1 / 2) / best)
    assert hit_rate_at_k([{"b"}, {"z"}], ranked * 2, 4) == 0.5
    assert reciprocal_rank_at_k([{"b"}, {"z"}], ranked * 2, 4) == pytest.approx(1 / 6)
    assert coverage_at_k([["a", "b"], ["a", None]], 4, k=2) == 0.5


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 8))
def test_ndcg_is_scikit_learns(seed, k):
    rng = np.random.default_rng(seed)
    gains, scores = rng.integers(0, 4, (5, 8)), rng.normal(size=(5, 8))
    gains[:, 0] = 1
    ranked = np.argsort(-scores, axis=1)
    relevant = [dict(enumerate(g.tolist())) for g in gains]
    right = ndcg_score(gains, scores, k=k)
    assert ndcg_at_k(relevant, ranked.tolist(), k) == pytest.approx(right)


def test_users_without_anything_relevant_do_not_count():
    each = precision_at_k([{"a"}, set()], [["a"], ["a"]], 1, average=False)
    assert each[0] == 1 and np.isnan(each[1])
    assert precision_at_k([{"a"}, set()], [["a"], ["a"]], 1) == 1.0
    assert np.isnan(precision_at_k([set()], [["a"]], 1))
    with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
        recall_at_k([{"a"}], [["a"]], 0)
    with pytest.raises(ValueError, match="cannot have"):
        recall_at_k([{"a"}], [], 1)


def test_measures_of_odd_rankings():
    twice = [["a", "a", "b"]]  # an item counts at its first place only
    assert recall_at_k([{"a"}], twice, 2) == ndcg_at_k([{"a"}], twice, 2) == 1
    assert precision_at_k([{"a"}], twice, 2) == 0.5
    assert np.isnan(ndcg_at_k([], [])) and np.isnan(ndcg_at_k([set()], [["a"]]))
    message = "n_items must be a whole number of at least 1"
    with pytest.raises(ValueError, match=message):
        coverage_at_k(twice, 0)
    with pytest.raises(TypeError, match="k must be a whole number"):
        recall_at_k([{"a"}], twice, 1.5)

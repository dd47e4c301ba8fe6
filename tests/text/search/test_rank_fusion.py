"""Reciprocal rank fusion: worked numbers and its rules."""

import numpy as np
import pytest

from pansophy.text import reciprocal_rank_fusion, score_fusion


def test_worked_example():
    # ranks (1, 3), (2, 1), (3, 2) of three documents
    fused = reciprocal_rank_fusion([["d1", "d2", "d3"], ["d2", "d3", "d1"]])
    assert fused.documents == ["d2", "d1", "d3"]
    np.testing.assert_allclose(fused.scores, [0.032522, 0.032266, 0.032002], atol=1e-6)


def test_rules():
    assert reciprocal_rank_fusion([[3, 1, 2]]).documents == [3, 1, 2]
    # a document of one list only, a repeated one, an empty place
    fused = reciprocal_rank_fusion([[7, 7, 8], [8, -1]], k=60)
    assert dict(zip(*fused)) == pytest.approx({8: 1 / 62 + 1 / 61, 7: 1 / 61})
    assert reciprocal_rank_fusion([[1, 2], [2, 1]]).documents == [1, 2]
    weighted = reciprocal_rank_fusion([[1, 2], [2, 1]], weights=[1, 2])
    assert weighted.documents == [2, 1]
    assert reciprocal_rank_fusion([]).documents == []
    with pytest.raises(ValueError, match="weights must hold 1"):
        reciprocal_rank_fusion([[1]], weights=[1, 2])
    with pytest.raises(ValueError, match="k must be"):
        reciprocal_rank_fusion([[1]], k=-1)


def test_score_fusion():
    # 8/8 + 0, 2/8 + 0.5/0.5, 0 + 0.4/0.5
    fused = score_fusion([(["a", "b"], [8.0, 2.0]), (["b", "c"], [0.5, 0.4])])
    assert fused.documents == ["b", "a", "c"]
    np.testing.assert_allclose(fused.scores, [1.25, 1.0, 0.8])
    weighted = score_fusion([([1, 2], [4, 1]), ([2, 1], [3, 0])], weights=[1, 0.5])
    assert dict(zip(*weighted)) == pytest.approx({1: 1.0, 2: 0.75})
    # empty places, scores of 0 and less, a repeated document has its first score
    fused = score_fusion([([5, -1, 6, 7, 5], [2.0, np.nan, 0.0, -1.0, 1.0])])
    assert fused.documents == [5]
    assert score_fusion([]).documents == []
    assert score_fusion([([], [])]).documents == []
    # scales do not matter
    one = score_fusion([([1, 2, 3], [3, 2, 1]), ([3, 2], [5, 1])])
    other = score_fusion([([1, 2, 3], [300, 200, 100]), ([3, 2], [0.5, 0.1])])
    np.testing.assert_allclose(one.scores, other.scores)
    with pytest.raises(ValueError, match="weights must hold 1"):
        score_fusion([([1], [1.0])], weights=[1, 2])


def test_a_ranking_needs_a_score_for_each_document():
    with pytest.raises(ValueError, match="2 documents, but 1 scores"):
        score_fusion([(["a", "b"], [1.0])])


def test_empty_places_of_a_search_are_skipped():
    """They are document -1 with the score NaN."""
    fused = score_fusion([(np.array([7, -1]), np.array([2.0, np.nan])), ([7], [1.0])])
    assert fused.documents == [7] and fused.scores == [2.0]

"""Reciprocal rank fusion: worked numbers and its rules."""

import numpy as np
import pytest

from pansophy.text import reciprocal_rank_fusion


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

"""Dendrograms: brackets of merges by hand, the height of a cut."""

import numpy as np
import pytest

from pansophy import plot
from pansophy.plot.clusters.dendrogram import cut_height, merge_brackets

Z = np.array([[0.0, 1.0, 1.0, 2.0], [2.0, 3.0, 4.0, 3.0]])  # rows 0, 1 then 2


def test_brackets_stand_at_their_heights():
    corners, below = merge_brackets(Z)
    assert corners.shape == (2, 4, 2)
    np.testing.assert_array_equal(corners[:, 1, 1], [1, 4])
    np.testing.assert_array_equal(corners[:, 2, 1], [1, 4])
    assert sorted(corners[1, [0, 3], 1]) == [0, 1]  # a row, and the merge before
    assert below[0] in (0, 1)


def test_a_cut_lies_between_two_merges():
    assert 1 < cut_height(Z, 2) < 4 and cut_height(Z, 1) > 4
    assert 0 <= cut_height(Z, 3) < 1
    ax = plot.dendrogram(Z, k=2, names=["a", "b", "c"])
    labels = {t.get_text() for t in ax.get_xticklabels()}
    assert labels == {"a", "b", "c"}
    with pytest.raises(ValueError, match="expected merges"):
        plot.dendrogram(np.ones((2, 3)))

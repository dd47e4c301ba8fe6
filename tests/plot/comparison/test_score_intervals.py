"""Intervals of scores: the first on top, the best filled, a second interval below."""

import numpy as np
import pytest

from pansophy import plot

ROWS = (["a", "b"], [0.8, 0.7], [0.7, 0.6], [0.9, 0.8])


def test_places_and_marks():
    ax = plot.score_intervals(*ROWS, best="a", reference=0.5, limits=(0, 1),
                              second=([0.6, np.nan], [1.0, np.nan]))  # fmt: skip
    assert ax.get_ylim()[0] > ax.get_ylim()[1] and ax.get_xlim() == (0, 1)
    interval, point, other = ax.lines[:3]
    np.testing.assert_array_equal(interval.get_xydata(), [[0.7, 0], [0.9, 0]])
    assert point.get_markerfacecolor() == point.get_color()
    np.testing.assert_array_equal(other.get_xdata(), [0.6, 1.0])
    hollow = ax.lines[4]
    assert hollow.get_markerfacecolor() == "white"
    assert ax.lines[-1].get_xdata()[0] == 0.5


def test_as_many_scores_as_names():
    with pytest.raises(ValueError, match="3 names but 2 scores"):
        plot.score_intervals(["a", "b", "c"], *ROWS[1:])

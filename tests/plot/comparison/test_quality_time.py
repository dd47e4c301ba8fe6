"""Score against time, and scores with intervals."""

import numpy as np
import pytest

from pansophy import plot


def words(axis_labels):
    return [t.get_text() for t in axis_labels]


def test_scores_and_times():
    names, mean = ["a", "b", "c"], np.array([0.9, 0.8, 0.5])
    ax = plot.score_intervals(names, mean, mean - 0.1, mean + 0.1, best="a", marked="b")
    assert words(ax.get_yticklabels()) == names and ax.get_ylim()[0] > ax.get_ylim()[1]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [0.8, 1.0])
    ax = plot.quality_time(names, [1, 0.1, 5], 1 - mean, greater=False, best="a")
    assert ax.yaxis_inverted() and set(words(ax.texts)) == set(names)
    assert ax.lines[0].get_xdata().tolist() == [0.1, 1]  # c is beaten in both
    ax.figure.canvas.draw()
    assert not any("$" in t for t in words(ax.get_xticklabels()))
    crowd = plot.quality_time([f"m{k}" for k in range(60)], np.ones(60), np.ones(60))
    assert len(crowd.texts) < 8  # names that do not fit stay away
    for draw in (plot.score_intervals, plot.quality_time):
        with pytest.raises(ValueError, match="names"):
            draw(["a"], *([[1, 2]] * (3 if draw is plot.score_intervals else 2)))

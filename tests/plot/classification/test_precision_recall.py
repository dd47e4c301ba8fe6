"""Precision-recall curves: points by hand, the share of positives, weights."""

import numpy as np
import pytest

from pansophy import plot
from pansophy.plot.classification.precision_recall import recall_and_precision


def test_points_by_hand():
    """Ranked yes, no, no, yes: of equal recalls the best precision stays."""
    recall, precision, called = recall_and_precision(
        np.array([1.0, 1, 1, 2]), np.array([0.0, 1, 2, 2])
    )
    np.testing.assert_array_equal(recall, [0.5, 1])
    np.testing.assert_array_equal(precision, [1, 0.5])
    np.testing.assert_array_equal(called, [1, 4])


def test_the_share_of_positives_is_drawn_and_weights_count():
    y, s = [0, 0, 0, 1], [0.1, 0.2, 0.9, 0.8]
    ax = plot.precision_recall(y, s, bands=False)
    assert ax.lines[-1].get_ydata()[0] == 0.25 and not ax.collections
    ax = plot.precision_recall(y, {"a": s, "b": s}, weights=[1, 1, 1, 3], bands=False)
    assert ax.lines[-1].get_ydata()[0] == pytest.approx(0.5)
    names = [t.get_text() for t in ax.get_legend().get_texts()]
    assert names[0] == "a: average precision 0.750"  # 3 of 4 above the threshold

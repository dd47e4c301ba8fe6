"""Confusion matrix."""

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    precision_score,
    recall_score,
)

from pansophy import plot

W1 = np.array([[5, 2, 0], [3, 7, 0], [1, 0, 6]])  # predicted by rows


def words(axis_labels):
    return [t.get_text() for t in axis_labels]


def test_confusion_orientation_and_numbers():
    names = ["cat", "dog", "elephant"]
    true = np.repeat(np.tile(names, 3), W1.ravel())
    guess = np.repeat(np.repeat(names, 3), W1.ravel())
    assert accuracy_score(true, guess) == 0.75
    np.testing.assert_array_equal(confusion_matrix(true, guess).T, W1)
    assert W1.sum(1).tolist() == [7, 10, 7] and W1.sum(0).tolist() == [9, 9, 6]
    assert precision_score(true, guess, average=None)[0] == pytest.approx(5 / 7)
    assert recall_score(true, guess, average=None)[0] == pytest.approx(5 / 9)
    for rows, other, C in (("predicted", "true", W1), ("true", "predicted", W1.T)):
        ax = plot.confusion_matrix(true, guess, rows=rows)
        assert (ax.get_ylabel(), ax.get_xlabel()) == (rows, other)
        assert [int(t) for t in words(ax.texts)] == C.ravel().tolist()
        assert words(ax.get_yticklabels()) == names
    given = plot.confusion_matrix(
        W1.T, labels=names, rows="predicted", normalize="rows"
    )
    assert words(given.texts)[:3] == ["71%", "29%", "0%"]
    empty = plot.confusion_matrix([0, 1], [0, 0], labels=[0, 1, 2], normalize="rows")
    assert words(empty.texts)[-1] == "0%"
    for how, match in (({"rows": "x"}, "rows"), ({"normalize": "x"}, "normalize")):
        with pytest.raises(ValueError, match=match):
            plot.confusion_matrix([0], [0], **how)
    with pytest.raises(ValueError, match="square"):
        plot.confusion_matrix(np.ones((2, 3)))

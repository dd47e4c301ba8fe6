"""Every figure is drawn on the axes that are given."""

import matplotlib.pyplot as plt

from pansophy import plot


def test_axes_given_are_used(rng):
    _, ax = plt.subplots()
    y, s = rng.integers(0, 2, 30), rng.random(30)
    for draw in (plot.roc, plot.precision_recall, plot.gain, plot.residuals):
        assert draw(y, s, ax=ax) is ax
    assert plot.importance(["a"], [1], ax=ax) is ax
    size = plt.rcParams["font.size"]
    plot.confusion_matrix(y, y)
    assert plt.rcParams["font.size"] == size  # the session's settings stay

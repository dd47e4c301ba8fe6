"""The scatter of an embedding draws the groups it is given."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt

from pansophy import plot


def points(n=60, m=2):
    return np.random.default_rng(0).normal(size=(n, m))


def test_groups_and_legend():
    Y, labels = points(), np.arange(60) % 3 - 1
    ax = plot.embedding(Y, labels)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["-1", "0", "1"]
    assert len(ax.collections) == 3
    drawn = np.concatenate([c.get_offsets() for c in ax.collections])
    np.testing.assert_allclose(np.sort(drawn[:, 0]), np.sort(Y[:, 0]))
    grey = ax.collections[0].get_facecolor()[0]
    assert np.ptp(grey[:3]) < 0.1  # noise has hardly any colour


def test_a_scale_of_colour_for_many_numbers():
    fig, ax = plt.subplots()
    assert plot.embedding(points(), np.linspace(0, 1, 60), ax=ax) is ax
    assert len(ax.collections) == 1
    assert len(fig.axes) == 2  # the bar


def test_without_labels_and_in_one_dimension():
    assert plot.embedding(points()).get_legend() is None
    ax = plot.embedding(points(m=1))
    assert ax.get_xlabel() == "row"
    with pytest.raises(ValueError, match="labels"):
        plot.embedding(points(), [1, 2])

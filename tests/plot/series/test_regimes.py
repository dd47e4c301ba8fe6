"""The figure of a series and its states draws what it should."""

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt

from pansophy import plot


def test_regimes_show_every_step_once():
    z = np.array([0, 0, 2, 1, 1])
    G = np.eye(3)[z] * 0.7 + 0.1
    x = np.arange(5.0)
    ax = plot.regimes(z, G, x, names=["calm", "windy", "stormy"])
    line, *dots = ax.get_lines()
    assert np.array_equal(line.get_ydata(), x)
    shown = np.array([d.get_ydata() for d in dots])
    assert np.array_equal(np.isfinite(shown).sum(axis=0), np.ones(5))
    assert np.array_equal(np.flatnonzero(np.isfinite(shown[1])), [3, 4])
    band = ax.child_axes[0]
    assert len(band.collections) == 3
    assert [t.get_text() for t in ax.get_legend().get_texts()][2] == "stormy"
    with pytest.raises(ValueError, match="5 entries"):
        plot.regimes(z[:4], G, x)
    plt.close("all")

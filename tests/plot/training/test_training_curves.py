"""Training curves: what was measured, and the best epoch."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from pansophy import plot
from pansophy.linear_model import LinearRegression


def test_curves_and_the_best_epoch():
    class Fitted:
        history_ = {"loss": np.array([3.0, 1.0]), "valid_loss": np.array([2.0, 2.5])}

    ax = plot.training_curves(Fitted(), log=True)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [3.0, 1.0])
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), [1, 2])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["loss", "valid_loss", "best epoch: 1"]
    assert ax.get_yscale() == "log"
    with pytest.raises(ValueError, match="nothing named score was measured"):
        plot.training_curves(Fitted(), ["score"])
    with pytest.raises(ValueError, match="no history"):
        plot.training_curves(LinearRegression())
    plt.close("all")


def test_curves_leave_out_speeds():
    history = {"loss": [2.0, 1.0], "valid_loss": [2.0, 1.5], "rows_per_second": [1, 1]}
    ax = plot.training_curves(history)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["loss", "valid_loss", "best epoch: 2"]
    plt.close("all")

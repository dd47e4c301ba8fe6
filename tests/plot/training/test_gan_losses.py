"""Losses of a GAN: curves, balance, alarms."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest

from pansophy import plot


def test_losses_accuracies_and_alarm():
    history = {
        "discriminator": np.r_[np.full(10, 1.4), np.full(5, 1e-4)],
        "generator": np.full(15, 0.7),
        "real_accuracy": np.full(15, 0.6),
        "fake_accuracy": np.full(15, 0.5),
    }
    axes = plot.gan_losses(history)
    assert len(axes) == 2
    labels = [text.get_text() for text in axes[0].get_legend().get_texts()]
    assert labels == ["discriminator", "generator", "discriminator won"]
    np.testing.assert_array_equal(axes[0].lines[0].get_xdata(), np.arange(1, 16))
    assert axes[0].lines[2].get_ydata()[0] == pytest.approx(math.log(4))
    assert axes[1].get_xlabel() == "epoch"
    with pytest.raises(ValueError, match="2 axes are needed"):
        plot.gan_losses(history, ax=plt.subplots()[1])
    plt.close("all")

"""Curves of loss functions."""

import numpy as np
import pytest

from pansophy import plot


def test_losses_bound_the_error():
    ax = plot.losses()
    zero_one = ax.lines[0].get_ydata()
    for line in ax.lines[1:]:
        scale = np.log(2) if line.get_label() == "logistic" else 1.0
        if line.get_label() != "perceptron":  # no bound: 0 at margin 0
            assert np.all(line.get_ydata() / scale >= zero_one - 1e-12)
    assert plot.losses(["huber", "absolute"]).get_xlabel() == "f - y"
    with pytest.raises(ValueError, match="different axes"):
        plot.losses(["huber", "hinge"])

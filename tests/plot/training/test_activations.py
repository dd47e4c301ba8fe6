"""Pictures of activations."""

import numpy as np
import pytest

pytest.importorskip("torch")
from pansophy import plot


def test_curves_and_slopes():
    ax = plot.activations(["tanh", "sign"], interval=(-2, 2))
    z, h = ax.lines[0].get_data()
    assert h == pytest.approx(np.tanh(z))
    assert set(ax.lines[1].get_ydata()) == {-1.0, 1.0}
    slopes = plot.activations(["tanh"], slopes=True).lines[0].get_ydata()
    assert slopes.max() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="'swish' is not one of"):
        plot.activations(["swish"])

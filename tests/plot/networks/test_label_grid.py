"""Grids of labels."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from pansophy import plot
from pansophy.graphical import (
    IsingGrid,
)


def test_grid():
    model = IsingGrid((6, 8), coupling=0.5)
    x = model.sample(2, random_state=0)
    one = plot.label_grid(x[0])
    np.testing.assert_array_equal(one.images[0].get_array(), x[0])
    two = plot.label_grid({"first": x[0], "second": x[1]}, model=model)
    assert [a.get_title() for a in two] == ["first", "second"]
    assert two[0].get_xlabel() == f"energy {model.energy(x[0]):.5g}"
    chances = plot.label_grid(np.full((2, 2), 0.5))
    assert chances.images[0].get_clim() == (0.0, 1.0)
    with pytest.raises(ValueError, match="as many axes"):
        plot.label_grid(x, ax=plt.subplots()[1])
    with pytest.raises(ValueError, match="height, width"):
        plot.label_grid(np.ones(3))

"""Distance concentration: shares of the mean, sorted by dimension."""

from types import SimpleNamespace

import numpy as np
import pytest

from pansophy import plot


def test_lines_are_shares_of_the_mean_in_order():
    made = lambda d, low, mean, high: SimpleNamespace(
        dimension=d, min=low, mean=mean, max=high
    )
    ax = plot.concentration([made(100, 8.0, 10.0, 12.0), made(2, 1.0, 4.0, 8.0)])
    largest, least = (line.get_xydata() for line in ax.lines[:2])
    np.testing.assert_allclose(largest, [[2, 2.0], [100, 1.2]])
    np.testing.assert_allclose(least, [[2, 0.25], [100, 0.8]])
    one = plot.concentration(made(3, 1.0, 2.0, 3.0))
    assert len(one.lines[0].get_xdata()) == 1
    with pytest.raises(ValueError, match="at least one result"):
        plot.concentration([])

"""Partial sums of a Fourier series: orders that it has, over two periods."""

import numpy as np

from pansophy import plot, signal


def test_orders_are_cut_at_that_of_the_series():
    series = signal.fourier_series(np.sign, 3, breaks=[0])
    ax = plot.partial_sums(series, orders=(1, 3, 10))
    names = [t.get_text() for t in ax.get_legend().get_texts()]
    assert names == ["up to 1", "up to 3"]
    x, y = ax.lines[0].get_data()
    assert np.ptp(x) == np.float64(2 * series.period)
    np.testing.assert_allclose(y, 4 / np.pi * np.sin(x * 2 * np.pi / series.period),
                               atol=1e-6)  # fmt: skip

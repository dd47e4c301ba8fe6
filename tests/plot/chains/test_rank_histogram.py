"""Rank histograms of Markov chains."""

import numpy as np
import pytest
from scipy import stats

from pansophy import plot


@pytest.fixture
def x(rng):
    return rng.normal(size=(4, 300, 2))


def test_rank(x):
    axes = plot.rank_histogram(x, bins=10)
    assert axes.shape == (2, 4)
    heights = [bar.get_height() for bar in axes[0, 1].patches if bar.get_width() > 50]
    ranks = stats.rankdata(x[:, :, 0]).reshape(4, 300)[1] - 0.5
    want = np.histogram(ranks, bins=10, range=(0, 1200))[0]
    assert [h for h in heights if h != 1][-10:] == list(want)
    x[3] += 3  # a chain apart fills the highest ranks only
    apart = plot.rank_histogram(x, bins=10, rows=1)[0, 3].patches[-10:]
    assert apart[0].get_height() == 0 and apart[-1].get_height() > 100

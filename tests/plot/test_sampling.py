"""Figures of chains and of envelopes."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

from pansophy import plot
from pansophy.sampling import Metropolis, sample


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture
def x(rng):
    return rng.normal(size=(4, 300, 2))


def test_trace(x):
    axes = plot.trace(x, ["a", "b"])
    assert axes.shape == (2, 2) and axes[1, 0].get_ylabel() == "b"
    np.testing.assert_array_equal(axes[0, 0].lines[2].get_ydata(), x[2, :, 0])
    assert len(axes[0, 1].patches) == 4 and "R-hat 1.0" in axes[0, 0].get_title("right")
    draws = sample(Metropolis(lambda x: -abs(x[0])), 50, init=[0.0], random_state=0)
    assert plot.trace(draws)[0, 0].get_ylabel() == draws.names[0]
    with pytest.raises(ValueError, match="names were given"):
        plot.trace(x, ["a"])


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


def test_autocorrelation(rng):
    """Of an AR(1) chain: phi^lag."""
    e, x = rng.normal(size=(4, 20_000)), np.zeros((4, 20_000))
    for t in range(1, x.shape[1]):
        x[:, t] = 0.8 * x[:, t - 1] + e[:, t]
    ax = plot.autocorrelation(x, lags=10)[0]
    mean = ax.lines[-1].get_ydata()
    np.testing.assert_allclose(mean, 0.8 ** np.arange(11), atol=0.05)
    assert len(ax.lines) == 6 and ax.get_xlabel() == "lag"


def test_envelope():
    hill = lambda x: np.log(6 * x * (1 - x))
    how = {"bounds": (0.001, 0.999), "n": 2000}
    ax = plot.rejection_envelope(hill, stats.uniform(), log_k=np.log(1.5), **how)
    top, target = (line.get_ydata() for line in ax.lines)
    np.testing.assert_allclose(top, 1.5)
    assert (target <= top).all()
    texts = [t.get_text() for t in ax.get_legend().get_texts()]
    assert abs(float(texts[2].split()[1]) - 2 / 3) < 0.05 and "above" not in texts
    bad = plot.rejection_envelope(hill, stats.uniform(), log_k=0.0, **how)
    assert "above" in [t.get_text() for t in bad.get_legend().get_texts()]

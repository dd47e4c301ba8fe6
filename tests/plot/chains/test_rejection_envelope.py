"""Rejection sampling under an envelope."""

import numpy as np
import pytest
from scipy import stats

from pansophy import plot


@pytest.fixture
def x(rng):
    return rng.normal(size=(4, 300, 2))


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

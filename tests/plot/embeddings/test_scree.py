"""Scree plot."""

import numpy as np
import pytest

from pansophy import plot
from pansophy.decomposition import PCA


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 5)) * [5, 3, 1, 1, 0.5]


def test_scree(X):
    model = PCA().fit(X)
    ax = plot.scree(model, target=0.9)
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, model.explained_variance_ratio_)
    total = np.cumsum(model.explained_variance_ratio_)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), total)
    star = ax.lines[-1]
    k = int(np.argmax(total >= 0.9))
    assert star.get_xdata()[0] == k + 1 == PCA(0.9).fit(X).n_components_
    assert star.get_ydata()[0] == pytest.approx(total[k])
    assert plot.scree([0.5, 0.3], ax=ax) is ax
    with pytest.raises(ValueError, match="target"):
        plot.scree(model, target=2)
    with pytest.raises(ValueError, match="no component"):
        plot.scree([])

"""Score fields: arrows along the gradient."""

import numpy as np
import pytest

from pansophy import plot


def test_arrows_point_along_the_score():
    ax = plot.score_field(lambda x: -2 * x, np.ones((5, 2)), bounds=(-1, 1), n_arrows=4)
    arrows = ax.collections[0]
    places = np.asarray(arrows.get_offsets())
    directions = np.c_[arrows.U, arrows.V]
    cosine = -(places * directions).sum(1)
    cosine /= np.linalg.norm(places, axis=1) * np.linalg.norm(directions, axis=1)
    np.testing.assert_allclose(cosine, 1.0)
    assert len(ax.collections[1].get_offsets()) == 5


def test_a_model_gives_its_score_function():
    class Model:
        def score_function(self, X):
            return np.zeros_like(X)

    ax = plot.score_field(Model(), bounds=((0, 1), (2, 3)), n_arrows=3)
    assert (ax.collections[0].U == 0).all()
    with pytest.raises(ValueError, match="rows X or bounds"):
        plot.score_field(Model())
    with pytest.raises(ValueError, match="two columns"):
        plot.score_field(Model(), np.zeros((3, 1)))

"""PolarFeatures and RadiusFeature: coordinates, inverse and overflow."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from pansophy.feature_extraction import (
    PolarFeatures,
    RadiusFeature,
)
from pansophy.linear_model import LogisticRegression


def rings(rng, n=400):
    r = np.where(np.arange(n) % 2, 1.0, 3.0) + 0.1 * rng.normal(size=n)
    t = rng.uniform(0, 2 * np.pi, size=n)
    return np.column_stack([r * np.cos(t), r * np.sin(t)]), np.arange(n) % 2


class TestPolar:
    def test_rings_become_separable(self, rng):
        X, y = rings(rng)
        assert LogisticRegression().fit(X, y).score(X, y) < 0.65
        with_radius = make_pipeline(RadiusFeature(), LogisticRegression())
        assert with_radius.fit(X, y).score(X, y) > 0.99
        polar = make_pipeline(PolarFeatures(center="mean"), LogisticRegression())
        assert polar.fit(X, y).score(X, y) > 0.99

    @pytest.mark.parametrize("d", [2, 3, 5])
    def test_there_and_back(self, d, rng):
        X = rng.normal(size=(50, d)) + 2
        polar = PolarFeatures(center=np.arange(float(d))).fit(X)
        Z = polar.transform(X)
        np.testing.assert_allclose(polar.inverse_transform(Z), X, atol=1e-12)
        want = np.linalg.norm(X - np.arange(d), axis=1)
        np.testing.assert_allclose(Z[:, 0], want)

    def test_no_overflow(self):
        Z = RadiusFeature(append=False).fit_transform([[3e200, 4e200], [0.0, 0.0]])
        np.testing.assert_allclose(Z[:, 0], [5e200, 0.0])

    def test_center_of_the_wrong_length(self):
        with pytest.raises(ValueError, match="center of PolarFeatures must hold 2"):
            PolarFeatures(center=np.array([1.0])).fit([[1.0, 2.0]])

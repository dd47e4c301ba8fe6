"""Newton steps on kernel features: the matrix in memory and made by tiles."""

import numpy as np

from pansophy.kernel_model import FalkonRegressor, feature_newton


def test_tiles_instead_of_the_matrix(rng, monkeypatch):
    X, y = rng.standard_normal((100, 2)), rng.standard_normal(100)
    options = {"n_components": 20, "random_state": 0, "tol": 1e-12}
    kept = FalkonRegressor(0.1, **options).fit(X, y).predict(X)
    monkeypatch.setattr(feature_newton, "CACHED", 0)
    np.testing.assert_allclose(
        FalkonRegressor(0.1, **options).fit(X, y).predict(X), kept, atol=1e-8
    )

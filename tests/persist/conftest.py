"""Rows that several tests of model files share."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def data():
    """Rows, a linear target of them, and labels in words."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    return X, X @ [1.0, -2.0, 0.5, 0.0], np.where(X[:, 0] > 0, "yes", "no")

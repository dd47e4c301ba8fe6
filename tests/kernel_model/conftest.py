"""A table that several tests of kernel models share."""

import pytest


@pytest.fixture
def table(rng):
    """Two columns and two classes that no line separates."""
    X = rng.standard_normal((80, 2))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)

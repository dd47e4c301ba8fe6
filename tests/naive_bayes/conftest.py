"""Data that tests of naive Bayes share."""

import pytest


@pytest.fixture
def tables(rng):
    """Numbers and counts of three classes, and weights."""
    y = rng.integers(0, 3, 240)
    X = rng.standard_normal((240, 5)) + y[:, None]
    C = rng.poisson(1 + y[:, None], (240, 5)).astype(float)
    return X, C, y, rng.integers(1, 4, 240).astype(float)

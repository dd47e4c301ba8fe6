"""Data that tests of training share."""

import numpy as np
import pytest


@pytest.fixture
def data(rng):
    """Forty rows, and a target that is linear in them."""
    X = rng.normal(size=(40, 3))
    return X, X @ np.array([[1.0], [-2.0], [0.5]]) + 0.3

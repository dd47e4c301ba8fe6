"""Rows that several tests of kernels share."""

import pytest


@pytest.fixture
def rows(rng):
    """Twelve rows and nine others, of three columns."""
    return rng.standard_normal((12, 3)), rng.standard_normal((9, 3))


@pytest.fixture
def points(rng):
    """Thirty rows and twenty others, of three columns."""
    return rng.standard_normal((30, 3)), rng.standard_normal((20, 3))

"""Shared set-up: quiet plots, fixed seeds, the array libraries to test with."""

import os

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("ci")


@pytest.fixture
def rng():
    return np.random.default_rng(0)

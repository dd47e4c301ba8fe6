"""Shared set-up: fixed seeds, the array libraries to test with."""

import importlib.util
import os

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest
import threadpoolctl
from hypothesis import HealthCheck, settings

# Examples that decide about a commit are the same on every machine and every day: no
# chance, no clock. `--hypothesis-profile explore` looks for new ones.
settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", settings.get_profile("ci"), derandomize=False)
settings.load_profile("ci")


@pytest.fixture(autouse=True, scope="session")
def one_thread_of_others():
    """Test processes share the cores; threads of torch, OpenMP, BLAS would only spin.

    Our own threads (`core.loops.threads`) are not meant: they run as they do for a
    user.
    """
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(1)
    with threadpoolctl.threadpool_limits(1):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(0)

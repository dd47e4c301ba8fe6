"""Set-up of tests and doctests alike: no chance, quiet plots, no figure left open."""

import gc
import importlib.util
import os
import random
import sys

import numpy as np
import pytest
from numpy.random import bit_generator

os.environ.setdefault("MPLBACKEND", "Agg")

# kernels of Triton, which is not on every machine
collect_ignore_glob = []
if importlib.util.find_spec("triton") is None:
    collect_ignore_glob.append("src/pansophy/nn/*_triton.py")

# A worker keeps millions of objects of the compiler; a full collection visits all.
gc.set_threshold(50_000, 20, 50)

# Generators without a seed ask NumPy for bits, and NumPy the operating system.
CHANCE = random.Random(0)
bit_generator.randbits = CHANCE.getrandbits


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Whatever has no seed draws the same numbers in each run, whatever ran before."""
    CHANCE.seed(0)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - the one that others draw from
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish():
    """Collect once; pytest's own five collections at the end then find nothing."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_figure_left_open():
    """A figure that a test leaves behind would be drawn on by the next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")

"""Set-up of tests and doctests alike: seeds, quiet plots, no figure left open."""

import gc
import importlib.util
import itertools
import os
import sys

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")

pytest_plugins = ["tests.seed_shift"]

# kernels of Triton, which is not on every machine
collect_ignore_glob = []
if importlib.util.find_spec("triton") is None:
    collect_ignore_glob.append("src/pansophy/*/*_triton.py")

# A worker keeps millions of objects of pytest and the compiler, and a full collection
# visits all of them. Here it comes after so many tests, and visits only what is newer
# than the one before.
TESTS_BETWEEN_COLLECTIONS = 2_000
gc.set_threshold(50_000, 20, 1_000_000)
finished_tests = itertools.count(1)


def pytest_collection_finish():
    """Modules and tests stay until the end."""
    collect_and_keep()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown():
    if next(finished_tests) % TESTS_BETWEEN_COLLECTIONS == 0:
        collect_and_keep()


def collect_and_keep():
    """Free what is not in use; what is, later collections leave alone."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish():
    """Collect once; pytest's own five collections at the end then find nothing."""
    collect_and_keep()


@pytest.fixture(autouse=True)
def no_figure_left_open():
    """A figure that a test leaves behind would be drawn on by the next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")

"""Set-up of tests and doctests alike: quiet plots, no figure left open."""

import os
import sys

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(autouse=True)
def no_figure_left_open():
    """A figure that a test leaves behind would be drawn on by the next."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")

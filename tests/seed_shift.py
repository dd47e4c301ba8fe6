"""Seeds of tests: `--seed-shift N`, and the numbers of code that has no seed.

What a test claims must hold for any seed, not only for the one that stands in it. The
option adds N to the integer seeds that files below tests/ hand out; with N = 0, the
default, they stay. Out of reach are `RandomState` and `torch.Generator`, classes that
others ask `isinstance` of, and `random_state` of estimators.

`np.random.default_rng()` without a seed draws from a stream that begins with N in each
test, so that a run can be repeated. Worker processes have no such stream.
"""

import functools
import importlib.util
import random
import sys
from numbers import Integral
from pathlib import Path

import numpy as np
import pytest

TESTS = str(Path(__file__).parent)
UNSEEDED = random.Random(0)


def pytest_addoption(parser):
    parser.addoption(
        "--seed-shift",
        type=int,
        default=0,
        metavar="N",
        help="add N to every integer seed of generators that tests make",
    )


def pytest_configure(config):
    np.random.default_rng = seeded(np.random.default_rng)
    shift = config.getoption("seed_shift")
    if shift:
        shift_seeds(shift)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Global generators start anew in each test, whatever ran before."""
    shift = item.config.getoption("seed_shift")
    UNSEEDED.seed(shift)
    random.seed(shift)
    np.random.seed(shift)
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.default_generator.manual_seed(shift)  # `torch.manual_seed` takes 0.2 ms
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(shift)


def seeded(default_rng):
    """`default_rng` that draws a missing seed from the stream of the test."""

    @functools.wraps(default_rng)
    def call(seed=None):
        return default_rng(UNSEEDED.getrandbits(128) if seed is None else seed)

    return call


def shift_seeds(shift):
    """Wrap what makes or seeds a generator in NumPy, Python and torch."""
    np.random.default_rng = shifted(np.random.default_rng, shift)
    np.random.seed = shifted(np.random.seed, shift)
    random.seed = shifted(random.seed, shift)
    if importlib.util.find_spec("torch"):
        import torch

        torch.manual_seed = shifted(torch.manual_seed, shift)


def shifted(function, shift):
    """`function`, whose only argument is a seed: plus `shift` if a test calls it."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        caller = sys._getframe(1).f_code.co_filename
        if caller.startswith(TESTS) and caller != __file__:
            args = [_shift(value, shift) for value in args]
            kwargs = {name: _shift(value, shift) for name, value in kwargs.items()}
        return function(*args, **kwargs)

    return call


def _shift(seed, shift):
    is_integer = isinstance(seed, Integral) and not isinstance(seed, bool)
    return seed + shift if is_integer else seed

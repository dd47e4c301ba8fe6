import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.seed_shift import shifted

HERE = Path(__file__)


@pytest.fixture
def shift(request):
    return request.config.getoption("seed_shift")


def plain_rng(seed):
    return np.random.Generator(np.random.PCG64(seed))


def test_generators_of_tests_follow_the_option(rng, shift):
    ours = [rng, np.random.default_rng(5), np.random.default_rng(seed=np.int64(5))]
    plain = [plain_rng(seed + shift) for seed in (0, 5, 5)]
    assert [g.random() for g in ours] == [g.random() for g in plain]
    random.seed(4)
    assert random.random() == random.Random(4 + shift).random()
    assert hasattr(random.seed, "__wrapped__") == (shift != 0)


def test_code_without_a_seed_draws_from_the_stream_of_the_test(shift):
    stream = random.Random(shift)
    for _ in range(3):
        draw = np.random.default_rng().random()
        assert draw == plain_rng(stream.getrandbits(128)).random()


def test_option_reaches_a_run():
    name = test_generators_of_tests_follow_the_option.__name__
    command = [sys.executable, "-m", "pytest", f"{HERE}::{name}", "--seed-shift=7"]
    answer = subprocess.run(
        command,
        cwd=HERE.parents[1],
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # a second less
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize("seed", [None, True, [1, 2]])
def test_only_integers_are_shifted(seed):
    assert shifted(lambda value: value, 3)(seed) is seed


def test_only_callers_below_tests_are_shifted():
    seeds = shifted(lambda value: value, 3)
    assert seeds(1) == 4
    assert eval(compile("seeds(1)", "elsewhere.py", "eval")) == 1

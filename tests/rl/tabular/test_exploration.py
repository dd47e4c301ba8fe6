"""Exploration strategies."""

import numpy as np
import pytest

from pansophy.rl import (
    Boltzmann,
    EpsilonGreedy,
)
from pansophy.rl.tabular.exploration import choose_action


def test_choices_by_hand():
    # softmax of 1, 2, 3 is .0900, .2447, .6652 at T = 1
    np.testing.assert_allclose(
        Boltzmann(1.0).probabilities([1, 2, 3]), [0.0900, 0.2447, 0.6652], atol=5e-5
    )
    assert Boltzmann(0.1).probabilities([1, 2, 3])[2] == pytest.approx(
        0.999955, abs=1e-6
    )
    assert [choose_action(1, 1.0, [1.0, 2, 3], 0, v) for v in (0.08, 0.1, 0.34)] == [
        0,
        1,
        2,
    ]
    np.testing.assert_allclose(
        EpsilonGreedy(0.4).probabilities([1, 3, 3, 0]), [0.1, 0.4, 0.4, 0.1]
    )
    np.testing.assert_allclose(EpsilonGreedy(1.0).probabilities([1, 2]), 0.5)
    assert choose_action(0, 0.5, [1.0, 3.0], 0.4, 0.2) == 0  # explores
    assert choose_action(0, 0.5, [1.0, 3.0], 0.6, 0.2) == 1  # takes the best
    assert [choose_action(0, 0.0, [3.0, 1, 3], 0.9, v) for v in (0.1, 0.6)] == [
        0,
        2,
    ]  # ties

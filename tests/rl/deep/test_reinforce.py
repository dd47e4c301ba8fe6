"""REINFORCE with and without its baseline."""

import pytest

from pansophy.rl import REINFORCE
from pansophy.rl.envs import Corridor


@pytest.mark.parametrize("baseline", [True, False])
def test_learns_with_and_without_baseline(baseline):
    agent = REINFORCE(
        6000, baseline=baseline, learning_rate=0.01, hidden_layer_sizes=(16,),
        random_state=0,
    ).fit(Corridor(3, max_steps=20))  # fmt: skip
    assert agent.predict([0, 1, 2]).tolist() == [1, 1, 1]

"""Agents compared over seeds on the same episodes."""

import gymnasium
import numpy as np
import pytest
from scipy import stats

from pansophy.rl import A2C, QLearning, compare_agents
from pansophy.rl.envs import Corridor
from pansophy.rl.experience.agent_comparison import RandomAgent, equal_agents_p_value


def test_every_run_is_counted_and_the_best_is_kept():
    env = Corridor(4, max_steps=12)
    told = []
    found = compare_agents(
        {
            "table": QLearning(2000),
            "short": A2C(64, n_envs=2, hidden_layer_sizes=(4,)),
        },
        env,
        n_seeds=3,
        n_episodes=2,
        report=told.append,
    )
    assert found.best == "table" and found.names[0] == "table"
    assert {k: len(v) for k, v in found.scores.items()} == {
        "table": 3, "short": 3, "random": 1,
    }  # fmt: skip
    assert len(told) == 6 and told[0] == "table: run 1 of 3"
    assert len(found.curves["table"]) == 3
    assert found.check.mean == 1.0
    p = found.improvement["table", "random"]
    assert 0.5 <= p.value <= 1.0
    assert "table" in repr(found)
    np.testing.assert_array_equal(found.agent.predict([0, 1, 2, 3]), 1)


def test_errors():
    with pytest.raises(ValueError, match="at least one agent"):
        compare_agents({}, Corridor(2))
    with pytest.raises(ValueError, match="n_seeds"):
        compare_agents({"a": QLearning()}, Corridor(2), n_seeds=0)


def test_few_runs_prove_little():
    """Of the 70 ways to divide 4 + 4 runs, two are as far apart: p = 2 / 70."""
    low, high = np.arange(4.0), 10.0 + np.arange(4)
    assert equal_agents_p_value(high, low) == pytest.approx(2 / 70)
    assert equal_agents_p_value(high[:3], low[:3]) == pytest.approx(2 / 20)
    assert equal_agents_p_value(high[:1], low[:1]) == 1.0
    assert equal_agents_p_value([500.0] * 3, [500.0] * 3) == 1.0
    exact = stats.mannwhitneyu([1.0, 4.0, 5.5, 7.0], [0.0, 2.0, 3.0, 6.0])
    found = equal_agents_p_value([1.0, 4.0, 5.5, 7.0], [0.0, 2.0, 3.0, 6.0])
    assert found == pytest.approx(exact.pvalue)


def test_a_random_agent_obeys_masks_and_offsets(rng):
    agent = RandomAgent(gymnasium.spaces.Discrete(4, start=3))
    drawn = {agent.act(None, rng, np.array([0, 1, 0, 1])) for _ in range(50)}
    assert drawn == {4, 6}
    assert {agent.act(None, rng) for _ in range(100)} == {3, 4, 5, 6}
    space = gymnasium.spaces.MultiDiscrete([2, 3], start=[0, 5])
    several = RandomAgent(space)
    mask = np.array([1, 0, 0, 1, 1])
    drawn = {tuple(several.act(None, rng, mask).tolist()) for _ in range(50)}
    assert drawn == {(0, 6), (0, 7)}
    assert space.contains(several.act(None, rng, mask))

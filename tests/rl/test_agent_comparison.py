"""Agents compared over seeds on the same episodes."""

import numpy as np
import pytest

from pansophy.rl import A2C, QLearning, compare_agents
from pansophy.rl.envs import Corridor


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

"""Transition tables of environments."""

import gymnasium
import pytest

from pansophy.rl import (
    as_transition_table,
)


def test_table_of_a_passenger_who_changes_his_mind_is_refused():
    with pytest.raises(ValueError, match="may change the destination"):
        as_transition_table(gymnasium.make("Taxi-v4", fickle_passenger=True))


@pytest.mark.parametrize("name", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"])
def test_tables_of_gymnasium(name):
    env = gymnasium.make(name)
    world = as_transition_table(env)
    assert world.n_states == env.observation_space.n
    assert world.n_actions == env.action_space.n
    assert world.max_steps == (env.spec.max_episode_steps or 0)
    P = env.unwrapped.P
    for s in (0, 5, world.n_states - 1):
        for a in range(world.n_actions):
            for mine, theirs in zip(world.outcomes()[s][a], P[s][a], strict=True):
                assert mine == pytest.approx(tuple(theirs))

"""Transition tables of environments."""

import gymnasium
import numpy as np
import pytest

from pansophy.rl import (
    QLearning,
    as_transition_table,
    evaluate_agent,
    value_iteration,
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


def test_names_of_environments():
    by_name = value_iteration("FrozenLake-v1", gamma=0.9).V
    np.testing.assert_array_equal(
        by_name, value_iteration(gymnasium.make("FrozenLake-v1"), gamma=0.9).V
    )
    table = QLearning(200, random_state=0).fit("FrozenLake-v1")
    again = QLearning(200, random_state=0).fit(gymnasium.make("FrozenLake-v1"))
    np.testing.assert_array_equal(table.Q_, again.Q_)
    with pytest.raises(ValueError, match="no table"):
        value_iteration("CartPole-v1")
    with pytest.raises(TypeError, match="needs one environment"):
        evaluate_agent(table, gymnasium.make_vec("FrozenLake-v1", num_envs=2), 2)


@pytest.mark.parametrize(
    ("P", "words"),
    [
        ({}, "keys of P"),
        ({"a": {0: [(1.0, 0, 0.0, False)]}}, "keys of P"),
        ({0: {1: [(1.0, 0, 0.0, False)]}}, "keys of P.0."),
        ({0: {0: []}}, "must be a list of"),
        ({0: {0: [(1.0, 0, 0.0)]}}, "must be a list of"),
        ({0: {0: [(1.0, 0.7, 0.0, False)]}}, "whole numbers"),
        ({0: {0: [(1.0, 0, float("nan"), False)]}}, "NaN or infinite"),
        ({0: {0: [(1.0, 0, float("-inf"), True)]}}, "NaN or infinite"),
    ],
)
def test_mistakes_in_a_dict_get_one_sentence(P, words):
    with pytest.raises(ValueError, match=words):
        as_transition_table(P)

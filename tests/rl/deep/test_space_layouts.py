"""Spaces as rows of numbers, and the errors that say which agent suits."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from pansophy.rl.deep.space_layouts import action_layout, observation_layout


def test_layouts_equal_gymnasiums_flattening(rng):
    for space in (
        spaces.Box(-1, 1, (2, 3), np.float32),
        spaces.Discrete(4, start=2),
        spaces.MultiDiscrete([2, 3]),
        spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Box(0, 1, (2,))}),
        spaces.Tuple((spaces.Discrete(3), spaces.Discrete(2))),
        spaces.Tuple((spaces.Discrete(3), spaces.Box(0, 1, (2,)))),
    ):
        space.seed(0)
        layout = observation_layout(space)
        values = [space.sample() for _ in range(5)]
        expected = np.stack([spaces.flatten(space, v) for v in values])
        assert layout.width == expected.shape[1]
        found = np.concatenate([layout.encode_one(v) for v in values])
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        if not isinstance(space, (spaces.Dict,)) and layout.kind != "parts":
            np.testing.assert_allclose(layout.encode(values), expected, rtol=1e-6)
    several = observation_layout(
        spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Box(0, 1, (2,))})
    )
    batch = {"a": np.array([0, 2]), "b": np.zeros((2, 2))}
    assert several.encode(batch).tolist() == [[1, 0, 0, 0, 0], [0, 0, 1, 0, 0]]


def test_bytes_are_divided():
    layout = observation_layout(spaces.Box(0, 255, (2,), np.uint8))
    np.testing.assert_allclose(layout.encode(np.array([[0, 255]])), [[0.0, 1.0]])


def test_actions():
    one = action_layout(spaces.Discrete(3, start=1), "PPO")
    assert one.to_environment(np.array([[2], [0]])).tolist() == [3, 1]
    assert one.to_environment(np.array([[2]])).dtype == np.int64
    box = action_layout(spaces.Box(-2, 2, (1, 2), np.float32), "PPO")
    assert box.to_environment(np.array([[3.0, -9.0]])).tolist() == [[[2.0, -2.0]]]


def test_errors():
    with pytest.raises(ValueError, match=r"DQN chooses among .* use SAC"):
        action_layout(spaces.Box(-1, 1), "DQN", box=False)
    with pytest.raises(ValueError, match=r"SAC chooses real numbers.* use DQN"):
        action_layout(spaces.Discrete(2), "SAC", discrete=False)
    with pytest.raises(ValueError, match="cannot choose actions"):
        action_layout(spaces.Dict(), "PPO")
    with pytest.raises(ValueError, match="no fixed number of numbers"):
        observation_layout(spaces.Text(5))
    layout = observation_layout(spaces.Discrete(2))
    with pytest.raises(ValueError, match="outside"):
        layout.encode([2])
    with pytest.raises(ValueError, match="must have the shape"):
        observation_layout(gymnasium.spaces.Box(0, 1, (3,))).encode(np.zeros((2, 4)))


def test_whole_numbers_in_a_box_are_refused():
    with pytest.raises(ValueError, match="Discrete or MultiDiscrete"):
        action_layout(spaces.Box(-3, 5, (1,), np.int64), "SAC")

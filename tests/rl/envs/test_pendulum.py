"""Pendulum, step by step against Gymnasium's."""

from pansophy.rl.envs import Pendulum
from tests.rl.envs.gymnasium_steps import assert_equal_steps


def test_equal_to_gymnasium_step_by_step():
    assert_equal_steps(Pendulum(), "Pendulum-v1")

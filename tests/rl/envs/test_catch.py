"""Catch is won by following the ball."""

import numpy as np
import pytest

from pansophy.rl import gather
from pansophy.rl.envs import Catch, VectorWorld


def follow(observations, rng):
    ball = observations[:, :-1].sum(axis=1).argmax(axis=1)
    return 1 + np.sign(ball - observations[:, -1].argmax(axis=1))


def test_following_the_ball_always_wins():
    agent = type("Follow", (), {"act_batch": staticmethod(follow)})()
    steps = gather(VectorWorld(Catch(), 20), agent, 45, random_state=0)
    assert (steps.lengths == 9).all() and (steps.returns == 1).all()
    assert set(steps.observation.sum(axis=(2, 3)).ravel()) == {2.0}
    left = type("Left", (), {"act_batch": lambda self, o, rng: np.zeros(len(o), int)})()
    lost = gather(VectorWorld(Catch(), 200), left, 9, random_state=0)
    assert -0.8 < lost.returns.mean() < -0.4  # one column of five is caught


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="2 rows, 1 column"):
        Catch(1, 3)


def test_pixels_show_the_board():
    board, pixels = Catch(4, 3), Catch(4, 3, pixels=5)
    one, _ = board.reset(seed=3)
    two, _ = pixels.reset(seed=3)
    for _ in range(3):
        assert pixels.observation_space.contains(two) and two.shape == (20, 15, 1)
        np.testing.assert_array_equal(two[2::5, 2::5, 0], 255 * one)
        np.testing.assert_array_equal(np.unique(two), [0, 255])
        one, two = (env.step(2)[0] for env in (board, pixels))
    many = VectorWorld(Catch(4, 3, pixels=5), 6)
    seen, _ = many.reset(seed=0)
    assert seen.shape == (6, 20, 15, 1) and seen.dtype == np.uint8
    assert (seen.reshape(6, -1).sum(1) == 2 * 25 * 255).all()

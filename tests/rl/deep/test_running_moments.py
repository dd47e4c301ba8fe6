"""Moments of batches add up; rewards are scaled by the deviation of returns."""

import numpy as np
import pytest

from pansophy.rl.deep.running_moments import ObservationMoments, ReturnScale


def test_batches_equal_all_rows_at_once(rng):
    X = rng.normal(3.0, 2.0, (300, 4)) + 1e4
    seen = ObservationMoments.empty(4)
    for part in np.split(X, [1, 2, 50, 280]):
        seen = seen.updated(part)
    np.testing.assert_allclose(seen.mean, X.mean(0), rtol=1e-12)
    np.testing.assert_allclose(seen.var, X.var(0), rtol=1e-8)
    assert seen.updated(X[:0]) is seen


def test_scaling_and_its_cut_off():
    empty = ObservationMoments.empty(1)
    X = np.array([[5.0]])
    assert empty.scaled(X) is X
    seen = empty.updated(np.array([[-1.0], [1.0]]))
    assert seen.scaled(X)[0, 0] == pytest.approx(5.0)
    assert seen.scaled(np.array([[1e9]]))[0, 0] == 10.0
    constant = empty.updated(np.full((5, 1), 3.0))
    assert np.isfinite(constant.scaled(X)).all()


def test_return_scale_is_the_deviation_of_running_returns(rng):
    reward = rng.normal(size=(200, 3))
    done = rng.random((200, 3)) < 0.1
    scale = ReturnScale.empty(3).updated(reward[:70], done[:70], 0.9)
    scale = scale.updated(reward[70:], done[70:], 0.9)
    seen = []
    for i in range(3):
        R = 0.0
        for t in range(200):
            R = 0.9 * R + reward[t, i]
            seen.append(R)
            R = 0.0 if done[t, i] else R
    assert scale.scale == pytest.approx(np.std(seen), rel=1e-6)
    assert ReturnScale.empty(1).scale == 1.0


def test_equal_returns_are_not_blown_up():
    reward = np.full((5, 2), 500.0)
    done = np.ones((5, 2), bool)
    assert ReturnScale.empty(2).updated(reward, done, 0.9).scale == 50.0
    assert ReturnScale.empty(2).updated(0 * reward, done, 0.9).scale > 0

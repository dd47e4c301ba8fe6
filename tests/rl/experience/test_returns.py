"""Advantages against the sums that define them, and their limits."""

import numpy as np
import pytest

from pansophy.rl import generalized_advantages, n_step_returns
from tests.oracles.advantages import advantage_sums, n_step_sums


@pytest.fixture
def steps(rng):
    T, N = 40, 5
    reward, value, after = rng.normal(size=(3, T, N))
    terminated = rng.random((T, N)) < 0.1
    truncated = (rng.random((T, N)) < 0.1) & ~terminated
    return reward, value, after, terminated, truncated


@pytest.mark.parametrize("lam", [0.0, 0.3, 0.95, 1.0])
def test_advantages_are_the_sums_of_each_episode(steps, lam):
    found = generalized_advantages(*steps, gamma=0.9, gae_lambda=lam)
    np.testing.assert_allclose(found, advantage_sums(*steps, 0.9, lam), rtol=1e-12)


def test_limits_of_lambda(steps):
    reward, value, after, terminated, truncated = steps
    one = generalized_advantages(*steps, gamma=0.9, gae_lambda=0.0)
    np.testing.assert_allclose(one, reward + 0.9 * after * ~terminated - value)
    full = generalized_advantages(*steps, gamma=0.9, gae_lambda=1.0) + value
    # consistent values telescope: within an episode after[t] = value[t + 1]
    going = ~(terminated | truncated)
    after = after.copy()
    after[:-1][going[:-1]] = value[1:][going[:-1]]
    A = generalized_advantages(
        reward, value, after, terminated, truncated, gamma=0.9, gae_lambda=1.0
    )
    G = n_step_returns(reward, after, terminated, truncated, gamma=0.9, n=len(reward))
    np.testing.assert_allclose(A + value, G, atol=1e-12)
    assert full.shape == value.shape


@pytest.mark.parametrize("n", [1, 3, 100])
def test_n_step_returns_are_the_sums(steps, n):
    reward, _, after, terminated, truncated = steps
    found = n_step_returns(reward, after, terminated, truncated, gamma=0.9, n=n)
    expected = n_step_sums(reward, after, terminated, truncated, 0.9, n)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_time_limit_is_no_end():
    ones, tens = np.ones(10), np.full(10, 10.0)
    never, last = np.zeros(10, bool), np.arange(10) == 9
    G = generalized_advantages(ones, tens, tens, never, last, gamma=0.9, gae_lambda=1.0)
    np.testing.assert_allclose(G + tens, 10.0)
    ended = generalized_advantages(
        ones, 0 * tens, 0 * tens, last, never, gamma=0.9, gae_lambda=1.0
    )
    assert ended[0] == pytest.approx(6.513, abs=1e-3)


def test_shapes_and_errors():
    with pytest.raises(ValueError, match="must all be"):
        generalized_advantages([1.0], [1.0, 2.0], [1.0], [False], [False])
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        n_step_returns([1.0], [0.0], [False], [False], n=0)

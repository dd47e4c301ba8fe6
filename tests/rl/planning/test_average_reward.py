"""Average reward: gains against stationary distributions and discounted limits."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.rl import average_reward, policy_gain, value_iteration
from pansophy.rl.envs import Corridor
from tests.oracles.value_iteration import random_mdp


def stationary_gain(T, r, policy):
    """sum_s pi(s) r(s) with pi T = pi."""
    S = len(policy)
    chain = T[policy, np.arange(S)]
    system = np.vstack([chain.T - np.eye(S), np.ones(S)])
    pi = np.linalg.lstsq(system, np.append(np.zeros(S), 1.0), rcond=None)[0]
    return pi @ r[np.arange(S), policy]


def test_gain_is_the_best_of_all_policies(rng):
    T, r = random_mdp(rng, 4, 2, 4)
    gains = [
        stationary_gain(T, r, np.array(p))
        for p in itertools.product(range(2), repeat=4)
    ]
    found = average_reward(T, r)
    assert found.gain == pytest.approx(max(gains), abs=1e-7)
    assert found.bound <= 1e-8 and found.converged
    gain, bias = policy_gain(T, found.policy, r)
    assert gain == pytest.approx(found.gain, abs=1e-7)
    np.testing.assert_allclose(bias, found.bias, atol=1e-5)
    # eq. (1)
    Q = r + (T @ found.bias).T
    np.testing.assert_allclose(Q.max(axis=1) - found.bias, found.gain, atol=1e-7)


def test_discounted_values_tend_to_the_gain(rng):
    T, r = random_mdp(rng, 6, 3, 6)
    found = average_reward(T, r)
    V = value_iteration(T, r, gamma=0.9999, tol=1e-6).V
    np.testing.assert_allclose(0.0001 * V, found.gain, atol=1e-3)
    np.testing.assert_allclose(V - V[0], found.bias, atol=1e-2)


def test_a_chain_that_alternates_settles():
    found = average_reward([[1], [0]], [[0.0], [4.0]])
    assert found.gain == pytest.approx(2.0) and found.converged
    np.testing.assert_allclose(found.bias, [0.0, 2.0], atol=1e-6)


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="without an end"):
        average_reward(Corridor(3))
    with pytest.warns(ConvergenceWarning, match="one recurrent class"):
        average_reward([[0], [1]], [[0.0], [1.0]], max_iter=50)  # two classes
    with pytest.raises(ValueError, match="tol must be"):
        average_reward([[0]], [[0.0]], tol=-1.0)


def test_gain_of_a_policy_needs_one_recurrent_class():
    stay = [[[1.0, 0.0], [0.0, 1.0]]]
    with pytest.raises(ValueError, match="2 recurrent classes"):
        policy_gain(stay, [0, 0], [0.0, 5.0])
    with pytest.raises(ValueError, match="without an end"):
        policy_gain({0: {0: [(1.0, 0, 1.0, True)]}}, [0])
    with pytest.raises(ValueError, match="actions must be from 0 to 0"):
        policy_gain(stay, [-1, 0], [0.0, 5.0])


def test_gain_of_a_random_policy():
    P, R = random_mdp(np.random.default_rng(2), 4, 2, 3)
    w = np.random.default_rng(0).dirichlet(np.ones(2), size=4)
    gain, bias = policy_gain(P, w, R)
    T = np.einsum("sa,ast->st", w, P)
    r = (w * R).sum(axis=1)
    np.testing.assert_allclose(gain + bias, r + T @ bias)

"""Markov decision processes: policies, rewards, forms of input."""

import numpy as np
import pytest
from scipy import sparse

from pansophy.rl import (
    as_mdp,
    discounted_return,
    evaluate_policy,
    value_iteration,
)
from tests.oracles import value_iteration as slow


def random_mdp(rng, S, A, K):
    """Each action of each state leads to K states."""
    T = np.zeros((A, S, S))
    for a in range(A):
        for s in range(S):
            T[a, s, rng.choice(S, K, replace=False)] = rng.dirichlet(np.ones(K))
    return T, rng.normal(size=(S, A))


def test_returns():
    assert discounted_return([1, 2, 3], 0.9) == pytest.approx(5.23)
    assert discounted_return([1] * 2000, 0.9) == pytest.approx(10)
    assert discounted_return([], 0.9) == 0


def test_three_ways_to_evaluate_a_policy(rng):
    T, r = random_mdp(rng, 6, 2, 3)
    policy = rng.integers(2, size=6)
    V = evaluate_policy(T, policy, r, gamma=0.8)
    one_hot = np.eye(2)[policy]
    np.testing.assert_allclose(evaluate_policy(T, one_hot, r, gamma=0.8), V)
    lists = [sparse.csr_array(M) for M in T]
    np.testing.assert_allclose(evaluate_policy(lists, policy, r, gamma=0.8), V)
    W = np.zeros(6)
    for _ in range(200):
        W = slow.backup(T, r, W, 0.8)[np.arange(6), policy]
    np.testing.assert_allclose(W, V, atol=1e-10)
    # 4000 walks of 60 steps: standard error below 0.02 for these rewards; 0.1 is 5
    model, s = T[policy, np.arange(6)].cumsum(axis=1), np.zeros(4000, int)
    total = np.zeros(4000)
    for t in range(60):
        total += 0.8**t * r[s, policy[s]]
        s = (rng.random(4000)[:, None] > model[s]).sum(axis=1)
    assert total.mean() == pytest.approx(V[0], abs=0.1)


def test_forms_of_rewards_and_transitions_agree(rng):
    T, _ = random_mdp(rng, 5, 2, 3)
    R = rng.normal(size=(2, 5, 5))
    r = (T * R).sum(axis=2).T
    lists = [sparse.csr_array(M) for M in T]
    np.testing.assert_allclose(as_mdp(T, R).r, r)
    np.testing.assert_allclose(as_mdp(lists, R).r, r)
    np.testing.assert_allclose(as_mdp(lists, [sparse.csr_array(M) for M in R]).r, r)
    np.testing.assert_allclose(as_mdp(T, r[:, 0]).r, r[:, [0, 0]])
    to = rng.integers(5, size=(5, 2))  # a world without chance is one-hot rows
    one_hot = np.eye(5)[to].swapaxes(0, 1)
    a = value_iteration(to, r, gamma=0.9, tol=1e-10)
    b = value_iteration(one_hot, r, gamma=0.9, tol=1e-10)
    np.testing.assert_allclose(a.V, b.V, atol=1e-9)

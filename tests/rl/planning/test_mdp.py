"""Markov decision processes: policies, rewards, forms of input."""

import numpy as np
import pytest
from scipy import sparse

from pansophy.params import ParameterError
from pansophy.rl import (
    Policy,
    QLearning,
    VisitDecay,
    as_mdp,
    discounted_return,
    evaluate_policy,
    greedy_path,
    mdp_from_function,
    rollout,
    value_iteration,
)
from pansophy.rl.envs import Corridor, TabularEnv
from pansophy.rl.planning import mdp
from tests.oracles import value_iteration as slow
from tests.oracles.value_iteration import random_mdp


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


def test_one_sparse_matrix_and_functions(rng):
    """A stacked CSR matrix and a function give the model of the dense table."""
    T = rng.dirichlet(np.ones(4), (3, 4))  # (A, S, S)
    r = rng.normal(size=(4, 3))
    stacked = sparse.csr_array(T.swapaxes(0, 1).reshape(12, 4))
    dense = value_iteration(T, r, gamma=0.9, tol=1e-10)
    other = value_iteration(stacked, r, gamma=0.9, tol=1e-10)
    np.testing.assert_allclose(other.V, dense.V, atol=1e-9)
    rows = lambda s, a: [(T[a, s, k], k, r[s, a]) for k in range(4)]
    model = mdp_from_function(rows, 4, 3)
    found = value_iteration(model, gamma=0.9, tol=1e-10)
    np.testing.assert_allclose(found.V, dense.V, atol=1e-9)
    with pytest.raises(ValueError, match=r"shape \(S A, S\), got \(7, 4\)"):
        as_mdp(sparse.csr_array((7, 4)), r)
    with pytest.raises(ValueError, match="n_states must be a whole number"):
        mdp_from_function(rows, 0, 3)


def test_three_ways_to_evaluate_agree(rng, monkeypatch):
    """Linear solve, sweeps and Monte Carlo (4.5 standard errors)."""
    env = Corridor(4, slip=0.3, reward=5.0)
    policy = np.full((4, 2), [0.25, 0.75])
    solved = evaluate_policy(env, policy, gamma=0.95)
    swept = evaluate_policy(env, policy, gamma=0.95, method="sweeps")
    np.testing.assert_allclose(swept, solved, atol=1e-9)
    run = rollout(env, Policy(policy), n_episodes=3000, random_state=0)
    returns = 5.0 * 0.95 ** (run.lengths - 1)
    error = returns.std() / np.sqrt(len(returns))
    assert abs(returns.mean() - solved[0]) < 4.5 * error
    T = rng.dirichlet(np.ones(3), (2, 3))
    w = rng.dirichlet(np.ones(2), 3)
    both = [
        evaluate_policy(T, w, [1.0, 2.0, 3.0], gamma=0.9, method=m)
        for m in ("solve", "sweeps")
    ]
    np.testing.assert_allclose(both[0], both[1], atol=1e-9)
    with pytest.raises(ValueError, match="method must be"):
        evaluate_policy(T, w, [1.0, 2.0, 3.0], gamma=0.9, method="guess")
    monkeypatch.setattr(mdp, "MOST_SWEEPS", 50)
    with pytest.raises(ValueError, match="every state must reach the end"):
        evaluate_policy([[0]], [0], [1.0], gamma=1.0, method="sweeps")


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_policies_that_cannot_be_evaluated_are_told(form):
    T = np.array([[[0.5, 0.5], [0.0, 1.0]]])
    P = T if form == "dense" else [sparse.csr_array(T[0])]
    R = np.ones((2, 1))
    with pytest.raises(ValueError, match="every state must reach the end"):
        evaluate_policy(P, [0, 0], R, gamma=1.0)
    with pytest.raises(ValueError, match="gamma must be a number from 0 to 1"):
        evaluate_policy(P, [0, 0], R, gamma=1.5)
    with pytest.raises(ValueError, match="actions must be from 0 to 0"):
        evaluate_policy(P, [0, -1], R, gamma=0.9)
    with pytest.raises(ValueError, match="2 actions or probabilities"):
        evaluate_policy(P, [0, 0, 0], R, gamma=0.9)
    with pytest.raises(ValueError, match="must be probabilities"):
        evaluate_policy(P, [[1.0], [0.5]], R, gamma=0.9)


def test_without_a_discount_classes_that_are_never_left():
    """Factors of a singular system are rounding errors: the graph decides."""
    rng = np.random.default_rng(1)
    T = rng.dirichlet(np.ones(7), size=(2, 7))
    r = rng.normal(size=(7, 2))
    for P in (T, [sparse.csr_array(M) for M in T]):
        with pytest.raises(ValueError, match="state 0 pays and never does"):
            evaluate_policy(P, [0] * 7, r, gamma=1.0)
    # two states that lead to each other for ever pay nothing: their value is 0
    rest = [[1], [2], [1]]
    for method in ("solve", "sweeps"):
        V = evaluate_policy(rest, [0, 0, 0], [3.0, 0.0, 0.0], gamma=1.0, method=method)
        np.testing.assert_allclose(V, [3.0, 0.0, 0.0], atol=1e-12)
    # a loop that is left by the end of the episode has a value
    ends = {0: {0: [(0.5, 1, 1.0, False), (0.5, 0, 1.0, True)]},
            1: {0: [(1.0, 0, 1.0, False)]}}  # fmt: skip
    np.testing.assert_allclose(evaluate_policy(ends, [0, 0], gamma=1.0), [3.0, 4.0])


def test_rewards_are_not_given_twice():
    model = as_mdp([[0, 1], [0, 1]], [0.0, 1.0])
    with pytest.raises(ValueError, match="R must be left out"):
        as_mdp(model, [5.0, 5.0])


def test_single_precision_probabilities():
    rng = np.random.default_rng(0)
    T = rng.dirichlet(np.ones(50), size=(2, 50)).astype(np.float32)
    for P in (T, [sparse.csr_array(M) for M in T]):
        model = as_mdp(P, np.zeros(50))
        for M in model.T:
            np.testing.assert_allclose(M.sum(axis=1), 1.0, rtol=1e-15)
    with pytest.raises(ValueError, match="sum to 1"):
        as_mdp(T.astype(float), np.zeros(50))


def test_sparse_rewards_of_dense_transitions():
    P = np.array([[[0.5, 0.5], [0.0, 1.0]]])
    model = as_mdp(P, [sparse.csr_array([[0.0, 2.0], [0.0, 0.0]])])
    np.testing.assert_allclose(model.r, [[1.0], [0.0]])


def test_the_end_is_an_outcome_like_others_on_a_path():
    ends = {0: {0: [(0.3, 1, 0.0, False), (0.3, 2, 0.0, False), (0.4, 0, 0.0, True)]},
            1: {0: [(1.0, 1, 0.0, False)]}, 2: {0: [(1.0, 2, 0.0, False)]}}  # fmt: skip
    assert greedy_path(as_mdp(ends), [0, 0, 0], 0) == ([0], True)
    with pytest.raises(ParameterError, match="start must be a whole number from 0 to"):
        greedy_path(as_mdp(ends), [0, 0, 0], -1)


def test_processes_given_as_arrays_can_be_played(rng):
    """Returns of a policy in the played process have the mean of its solved values."""
    T, R = random_mdp(rng, 4, 2, 3)
    model = as_mdp(T, R)
    policy = value_iteration(model, gamma=0.9).policy
    exact = evaluate_policy(model, policy, gamma=0.9).mean()  # starts are drawn evenly
    run = rollout(
        TabularEnv(model, max_steps=100), Policy(policy), n_episodes=400, keep=True,
        random_state=0,
    )  # fmt: skip
    rewards = np.array([t.reward for t in run.transitions]).reshape(400, 100)
    returns = rewards @ 0.9 ** np.arange(100)
    error = returns.std() / 20
    assert abs(returns.mean() - exact) < 5 * error + 1e-3  # false alarm: 6e-7
    again = as_mdp(TabularEnv(model))
    np.testing.assert_allclose(again.r, model.r)
    for a in range(2):
        M = again.T[a]
        M = M.toarray() if sparse.issparse(M) else M
        np.testing.assert_allclose(M, T[a], atol=1e-12)
    assert rollout(model, Policy(policy), n_steps=10, random_state=0).n_steps == 10
    learnt = QLearning(
        60_000, gamma=0.9, exploration=0.5, learning_rate=VisitDecay(0.7),
        random_state=0,
    ).fit(model)  # fmt: skip
    np.testing.assert_allclose(
        learnt.Q_.max(axis=1), value_iteration(model, gamma=0.9).V, rtol=0.1
    )


def test_ends_and_sparse_forms_come_back():
    for model in (
        as_mdp(Corridor(4, slip=0.2)),
        as_mdp([sparse.eye_array(3, format="csr")] * 2, np.arange(6.0).reshape(3, 2)),
    ):
        again = as_mdp(TabularEnv(model))
        dense = lambda M: M.toarray() if sparse.issparse(M) else np.asarray(M)
        for a in range(model.n_actions):
            np.testing.assert_allclose(dense(again.T[a]), dense(model.T[a]), atol=1e-12)
        np.testing.assert_allclose(again.r, model.r, atol=1e-12)


def test_environments_are_models_everywhere():
    env = Corridor(3)
    best = value_iteration(env, gamma=0.9)
    assert greedy_path(env, best.policy, 0) == ([0, 1, 2], True)
    np.testing.assert_allclose(mdp.q_from_v(env, best.V, 0.9), best.Q, atol=1e-5)
    assert mdp.bellman_residual(env, best.Q, 0.9) < 1e-5
    for gamma in (1.5, -0.1, np.nan):
        for call in (
            lambda g: discounted_return([1.0, 2.0], g),
            lambda g: mdp.q_from_v(env, best.V, g),
            lambda g: mdp.bellman_residual(env, best.Q, g),
        ):
            with pytest.raises(ParameterError, match="gamma"):
                call(gamma)

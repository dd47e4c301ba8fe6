"""POMDP models and beliefs: the tiger, hidden chains, processes that are seen."""

import numpy as np
import pytest

from pansophy.core.chains.filtering import MarkovFilter, bayes_filter
from pansophy.params import ParameterError
from pansophy.rl import (
    BeliefAgent,
    as_pomdp,
    belief_update,
    observation_probabilities,
    qmdp,
    rollout,
    tiger_problem,
    value_iteration,
)
from pansophy.rl.envs import POMDPEnv, Tiger


def random_pomdp(rng, S, A, O):  # noqa: E741
    T = rng.dirichlet(np.ones(S), (A, S))
    Z = rng.dirichlet(np.ones(O), (A, S))
    return as_pomdp(T, Z, rng.normal(size=(S, A)))


def test_tiger_beliefs():
    """0.5 -> 0.85 -> 0.969799, and back by one noise from the other side."""
    tiger = tiger_problem()
    b = belief_update(tiger, tiger.start, 0, 0)
    assert b[0] == pytest.approx(0.85)
    b = belief_update(tiger, b, 0, 0)
    assert b[0] == pytest.approx(0.969799, abs=5e-7)
    np.testing.assert_allclose(belief_update(tiger, b, 0, 1), [0.85, 0.15])
    np.testing.assert_allclose(belief_update(tiger, b, 1, 0), [0.5, 0.5])  # new tiger


def test_beliefs_are_posteriors(rng):
    """Eq. (1) against the sum over all paths of states."""
    model = random_pomdp(rng, 3, 2, 2)
    actions, seen = [0, 1, 1], [1, 0, 1]
    joint = np.zeros(3)
    for path in np.ndindex(3, 3, 3, 3):
        p = model.start[path[0]]
        for t, (a, o) in enumerate(zip(actions, seen, strict=True)):
            p *= model.T[a, path[t], path[t + 1]] * model.Z[a, path[t + 1], o]
        joint[path[-1]] += p
    b = model.start
    for a, o in zip(actions, seen, strict=True):
        assert observation_probabilities(model, b, a).sum() == pytest.approx(1)
        b = belief_update(model, b, a, o)
    np.testing.assert_allclose(b, joint / joint.sum())


def test_one_action_is_hmm_filtering(rng):
    model = random_pomdp(rng, 4, 1, 3)
    seen = rng.integers(3, size=10).tolist()
    chain = MarkovFilter(model.T[0], lambda o: model.Z[0][:, o])
    run = bayes_filter(chain, model.start @ model.T[0], seen)
    b = model.start
    for t, o in enumerate(seen):
        b = belief_update(model, b, 0, o)
        np.testing.assert_allclose(b, run.filtered[t])


def test_states_that_are_seen_make_it_an_mdp(rng):
    """Identity observations: the belief is the state and QMDP is value iteration."""
    T = rng.dirichlet(np.ones(3), (2, 3))
    model = as_pomdp(T, np.eye(3), rng.normal(size=(3, 2)))
    b = belief_update(model, model.start, 1, 2)
    np.testing.assert_array_equal(b, [0, 0, 1])
    best = value_iteration(T, model.r, gamma=0.9, tol=1e-10)
    policy = qmdp(model, gamma=0.9)
    np.testing.assert_allclose(policy.value(np.eye(3)), best.V, atol=1e-7)
    assert [policy.action(e) for e in np.eye(3)] == best.policy.tolist()


def test_an_agent_forgets_between_episodes():
    tiger = tiger_problem()
    seen = []

    class Spy:
        def action(self, belief, rng):
            seen.append(np.array(belief))
            return 0

    rollout(Tiger(max_steps=6), BeliefAgent(tiger, Spy()), n_episodes=3, random_state=0)
    beliefs = np.array(seen).reshape(3, 6, 2)
    np.testing.assert_array_equal(beliefs[:, 0], 0.5)
    assert (beliefs[:, 1:] != beliefs[:, :1]).any()


def test_reward_is_that_of_the_state_before():
    """Opening the door of the tiger costs 100 though it moves in the same step."""
    env = Tiger(max_steps=5)
    for seed in range(10):
        env.reset(seed=seed)
        tiger = int(env.state[0, 0])
        assert env.step(1 + tiger)[1] == -100.0
    model = as_pomdp([[[0, 1], [0, 1]]], np.eye(2), [5.0, 7.0], start=[1.0, 0.0])
    env = POMDPEnv(model, max_steps=3)
    assert env.reset(seed=0)[0] == 2  # nothing was seen yet
    assert env.step(0)[:2] == (1, 5.0)
    assert env.step(0)[:2] == (1, 7.0)


def test_errors_say_what_is_wrong():
    eye = np.eye(2)[None]
    with pytest.raises(ValueError, match=r"Z of action 0 in state 1 .* got 0\.9"):
        as_pomdp(eye, [[0.5, 0.5], [0.5, 0.4]], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"Z must have shape \(1, 2, O\)"):
        as_pomdp(eye, np.ones((3, 2)), [0.0, 1.0])
    with pytest.raises(ValueError, match="a belief must hold 2"):
        as_pomdp(eye, np.eye(2), [0.0, 1.0], start=[0.5, 0.6])
    seen = as_pomdp(eye, np.eye(2), [0.0, 1.0], start=[1.0, 0.0])
    with pytest.raises(ValueError, match="observation 1 is impossible after action 0"):
        belief_update(seen, seen.start, 0, 1)
    with pytest.raises(ValueError, match="accuracy"):
        tiger_problem(0.3)
    with pytest.raises(ValueError, match="sum to 1"):
        as_pomdp(np.ones((1, 2, 2)), np.eye(2), [0.0, 1.0])


def test_beliefs_actions_and_observations_are_checked():
    tiger = tiger_problem()
    for bad in ([0.5, 0.6], [np.nan, 0.5], [1.5, -0.5], [1.0]):
        with pytest.raises(ValueError, match="2 probabilities that sum to 1"):
            belief_update(tiger, bad, 0, 0)
    with pytest.raises(
        ValueError, match="action must be a whole number from 0 to 2, got 3"
    ):
        belief_update(tiger, [0.5, 0.5], 3, 0)
    with pytest.raises(
        ValueError, match="observation must be a whole number from 0 to 1, got -1"
    ):
        belief_update(tiger, [0.5, 0.5], 0, -1)
    with pytest.raises(ValueError, match="action must be a whole number from 0 to 2"):
        observation_probabilities(tiger, [0.5, 0.5], -1)


def test_beliefs_and_models_in_single_precision():
    tiger = tiger_problem()
    b = belief_update(tiger, np.array([0.9, 0.1], np.float32), 0, 0)
    np.testing.assert_allclose(b.sum(), 1.0, rtol=1e-15)
    rng = np.random.default_rng(0)
    T = rng.dirichlet(np.ones(5), size=(2, 5)).astype(np.float32)
    Z = rng.dirichlet(np.ones(3), size=(2, 5)).astype(np.float32)
    model = as_pomdp(T, Z, np.zeros(5))
    np.testing.assert_allclose(model.T.sum(axis=2), 1.0, rtol=1e-15)
    np.testing.assert_allclose(model.Z.sum(axis=2), 1.0, rtol=1e-15)


def test_actions_and_observations_are_whole_numbers():
    tiger = tiger_problem()
    for action in (0.5, "listen", -1, 3):
        with pytest.raises(ParameterError, match="action must be a whole number"):
            belief_update(tiger, tiger.start, action, 0)

"""Prediction from experience: by hand, against linear solves, time limits."""

import numpy as np
import pytest

from pansophy.rl import (
    Policy,
    Transition,
    VisitDecay,
    evaluate_policy,
    monte_carlo_values,
    rollout,
    td_values,
)
from pansophy.rl.envs import Corridor, TabularEnv
from pansophy.rl.tabular import prediction


def step(s, r, after, end=False, cut=False):
    return Transition(s, 0, r, after, end, cut)


def test_first_and_every_visit_by_hand():
    """One episode 0, 0, 1, end with rewards 1, 2, 3: returns 6, 5, 3."""
    log = [step(0, 1.0, 0), step(0, 2.0, 1), step(1, 3.0, 1, end=True)]
    first = monte_carlo_values(log, 3, gamma=1.0)
    every = monte_carlo_values(log, 3, gamma=1.0, visits="every")
    np.testing.assert_array_equal(first.V, [6, 3, 0])
    np.testing.assert_array_equal(every.V, [5.5, 3, 0])
    np.testing.assert_array_equal(every.visits, [2, 1, 0])


@pytest.mark.parametrize("visits", ["first", "every"])
def test_means_tend_to_the_linear_solve(visits):
    env = Corridor(4, slip=0.3)
    policy = np.full((4, 2), [0.3, 0.7])
    exact = evaluate_policy(env, policy, gamma=0.9)
    run = rollout(env, Policy(policy), n_episodes=1500, keep=True, random_state=0)
    found = monte_carlo_values(run, 4, gamma=0.9, visits=visits)
    np.testing.assert_allclose(found.V, exact, atol=0.03)


@pytest.mark.parametrize("trace_decay", [0.0, 0.7, 1.0])
def test_differences_tend_to_the_linear_solve(trace_decay):
    env = Corridor(4, slip=0.3)
    policy = np.full((4, 2), [0.3, 0.7])
    exact = evaluate_policy(env, policy, gamma=0.9)
    run = rollout(env, Policy(policy), n_episodes=800, keep=True, random_state=0)
    found = td_values(run, 4, gamma=0.9, trace_decay=trace_decay, learning_rate=0.01)
    np.testing.assert_allclose(found.V, exact, atol=0.08)
    mean = td_values(run, 4, gamma=0.9, learning_rate=None, n_passes=2, random_state=0)
    assert np.abs(mean.V - exact).max() < 0.15


def test_a_time_limit_is_no_end():
    """One state, reward 1, gamma 0.9, limit 10: the value is 10, never 6.5."""
    endless = TabularEnv({0: {0: [(1.0, 0, 1.0, False)]}}, max_steps=10)
    run = rollout(endless, Policy([0]), n_steps=205, keep=True, random_state=0)
    for visits in ("first", "every"):
        found = monte_carlo_values(run, 1, gamma=0.9, visits=visits)
        assert found.V[0] == pytest.approx(10)
    for trace_decay in (0.0, 0.5, 1.0):
        found = td_values(
            run, 1, gamma=0.9, trace_decay=trace_decay, n_passes=30, random_state=0
        )
        assert found.V[0] == pytest.approx(10, abs=0.01)


def test_errors_say_what_is_wrong(monkeypatch):
    log = [step(0, 1.0, 0, cut=True)]
    for call, what in (
        (lambda: monte_carlo_values([], 1), "keep=True"),
        (lambda: monte_carlo_values(log, 1, visits="last"), "visits must be"),
        (lambda: monte_carlo_values(log, 1, gamma=2.0), "gamma"),
        (lambda: monte_carlo_values([step(3, 1.0, 0)], 2), "from 0 to 1"),
        (lambda: td_values(log, 1, trace_decay=-1.0), "trace_decay"),
        (lambda: td_values(log, 1, learning_rate=0.0), "learning_rate"),
        (lambda: td_values(log, 1, n_passes=0), "n_passes"),
        (lambda: td_values(log, 0), "n_states"),
    ):
        with pytest.raises(ValueError, match=what):
            call()
    monkeypatch.setattr(prediction, "MOST_PASSES", 20)
    with pytest.raises(ValueError, match="have no value"):
        monte_carlo_values(log, 1, gamma=1.0)


def test_steps_may_be_schedules():
    """A constant schedule is the number, VisitDecay(1) the running mean."""
    run = rollout(Corridor(3, slip=0.3), Policy([1, 1, 1]), n_episodes=30, keep=True,
                  random_state=0)  # fmt: skip
    found = lambda rate: td_values(run, 3, gamma=0.9, learning_rate=rate).V
    np.testing.assert_array_equal(found(0.2), found(lambda t: 0.2))
    np.testing.assert_array_equal(found(None), found(VisitDecay(1.0)))
    V, n = np.zeros(3), np.zeros(3)
    for t in run.transitions:
        s = t.observation
        n[s] += 1
        after = 0.0 if t.terminated else V[t.next_observation]
        V[s] += (t.reward + 0.9 * after - V[s]) / n[s] ** 0.7
    np.testing.assert_allclose(found(VisitDecay(0.7)), V, rtol=1e-12)
    with pytest.raises(ValueError, match="learning_rate"):
        found(2.0)

"""The battery of every agent: protocol, seeds, `rollout`, a small world solved.

Joining `AGENTS` is how an agent gets tested: a function from an environment to it.
"""

import itertools

import gymnasium
import numpy as np
import pytest

from pansophy.rl import (
    Boltzmann,
    LinearQ,
    MonteCarloControl,
    Policy,
    QLearning,
    TDControl,
    VisitDecay,
    discounted_return,
    rollout,
    value_iteration,
)
from pansophy.rl.envs import Corridor, GridWorld, TabularEnv
from pansophy.typing import Agent

AGENTS = {
    "random": lambda env: Policy(np.full((env.observation_space.n, 4), 0.25)),
    "table": lambda env: Policy(np.zeros(env.observation_space.n, int)),
    "q-learning": lambda env: QLearning(exploration=0.2).learner(env),
    "q-learning, softmax": lambda env: QLearning(
        exploration=Boltzmann(0.1), learning_rate=VisitDecay(0.7)
    ).learner(env),
    "q by features": lambda env: LinearQ(exploration=0.2).learner(env),
    "q with traces": lambda env: TDControl(
        "q-learning", trace_decay=0.5, exploration=0.2
    ).learner(env),
    "q by planning": lambda env: TDControl(
        "q-learning", n_planning=3, exploration=0.2
    ).learner(env),
    "q by two tables": lambda env: TDControl("double-q", exploration=0.2).learner(env),
    "q of the policy": lambda env: TDControl("sarsa", exploration=0.2).learner(env),
    "q by expectation": lambda env: TDControl(
        "expected-sarsa", exploration=0.2
    ).learner(env),
    "q by Monte Carlo": lambda env: MonteCarloControl(exploration=0.2).learner(env),
}
LEARNERS = [name for name in AGENTS if name.startswith("q")]


@pytest.fixture(params=AGENTS)
def make(request):
    return AGENTS[request.param]


def world():
    return GridWorld(slip=0.1, max_steps=100)


def test_protocol(make, rng):
    env = world()
    agent = make(env)
    assert isinstance(agent, Agent)
    seen = rollout(env, agent, n_steps=50, keep=True, random_state=0)
    assert all(env.action_space.contains(t.action) for t in seen.transitions)
    assert len(seen.transitions) == seen.n_steps == 50 and seen.reason == "steps"


def test_same_seed_same_walk(make):
    def walk(seed):
        env = world()
        run = rollout(env, make(env), n_steps=300, keep=True, random_state=seed)
        return [tuple(t) for t in run.transitions]

    assert walk(1) == walk(1)
    assert walk(1) != walk(2)


def test_transitions_are_a_walk(make):
    env = world()
    run = rollout(env, make(env), n_episodes=5, keep=True, random_state=0)
    assert run.reason == "episodes" and len(run.returns) == 5
    assert run.lengths.sum() == run.n_steps
    begin = 0
    for total, length in zip(run.returns, run.lengths, strict=True):
        episode = run.transitions[begin : begin + length]
        begin += length
        assert discounted_return([t.reward for t in episode], 1.0) == pytest.approx(
            total
        )
        assert episode[-1].terminated or episode[-1].truncated
        for a, b in itertools.pairwise(episode):
            assert b.observation == a.next_observation
            assert not a.terminated and not a.truncated


def test_not_learning_leaves_the_agent_alone(make):
    env = world()
    agent = make(env)
    before = repr(getattr(agent, "Q", None))
    rollout(env, agent, n_steps=100, learn=False, random_state=0)
    assert repr(getattr(agent, "Q", None)) == before


@pytest.mark.parametrize("name", LEARNERS)
def test_a_small_world_is_solved(name):
    env = Corridor(3, max_steps=50)
    agent = AGENTS[name](env)
    rollout(env, agent, n_steps=4000, random_state=0)
    best = value_iteration(env, gamma=0.99)
    np.testing.assert_array_equal(np.argmax(agent.Q, axis=1), best.policy)


def test_one_hot_policy_is_a_deterministic_one():
    env = world()
    actions = np.arange(11) % 4
    runs = [
        rollout(env, Policy(p), n_steps=1, keep=True, random_state=0).transitions
        for p in (actions, np.eye(4)[actions])
    ]
    assert runs[0] == runs[1]
    for bad in ([0.5, 0.5], [[0.5, 0.6]], [[-1.0, 2.0]]):
        with pytest.raises(ValueError, match=r"policy must be|policy is an array"):
            Policy(bad)


def test_logged_actions_replay_in_a_world_without_chance():
    env = GridWorld(max_steps=30)
    log = rollout(env, AGENTS["random"](env), n_steps=200, keep=True, random_state=0)
    actions = iter([t.action for t in log.transitions])
    replayer = type("Replay", (), {"act": lambda self, observation, rng: next(actions)})
    again = rollout(env, replayer(), n_steps=200, keep=True, random_state=9)
    assert again.transitions == log.transitions


def test_time_limits_are_told_from_ends():
    endless = TabularEnv({0: {0: [(1.0, 0, 1.0, False)]}}, max_steps=4)
    run = rollout(endless, Policy([0]), n_steps=10, keep=True, random_state=0)
    assert [t.truncated for t in run.transitions] == [False] * 3 + [True] + [
        False
    ] * 3 + [True] + [False] * 2
    assert not any(t.terminated for t in run.transitions)
    np.testing.assert_array_equal(run.returns, [4, 4])  # the unfinished one is not in


def test_interruption_callbacks_and_printing():
    class Tired:
        left = 30

        def act(self, observation, rng):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return 1

    run = rollout(Corridor(3), Tired(), n_steps=100, random_state=0)
    assert run.interrupted and run.n_steps == 30 and len(run.returns) == 10
    assert repr(run) == "30 steps, 10 episodes, mean return 1, interrupted"

    class Once:
        def child(self, name, total=0):
            return self

        def end(self, state=None):
            return True

    run = rollout(Corridor(3), Policy([1] * 3), n_steps=10**6, task=Once())
    assert run.reason == "callback" and run.n_steps == 4096


def test_errors_say_what_is_wrong():
    env = gymnasium.make("FrozenLake-v1")
    with pytest.raises(ValueError, match="when should the run stop"):
        rollout(env, Policy([0] * 16))
    with pytest.raises(
        ValueError, match="n_episodes must be a whole number of at least 1"
    ):
        rollout(env, Policy([0] * 16), n_episodes=0)

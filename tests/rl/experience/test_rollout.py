"""Rollouts of a policy."""

import gymnasium
import numpy as np
import pytest

from pansophy.rl import (
    Policy,
    as_mdp,
    evaluate_policy,
    rollout,
)
from pansophy.rl.envs import Corridor


def test_policy_played_is_policy_evaluated():
    """Mean return of 4000 episodes within 4.5 standard errors of the linear solve."""
    env = Corridor(4, slip=0.3, reward=5.0)
    policy = np.full((4, 2), [0.25, 0.75])
    steps = evaluate_policy(
        as_mdp({s: {a: [(p, k, 1.0, e) for p, k, _, e in o] for a, o in row.items()}
             for s, row in env.P.items()}), policy, gamma=1.0,
    )[0]  # fmt: skip
    played = rollout(env, Policy(policy), n_episodes=4000, random_state=0)
    assert (played.returns == 5).all()
    error = played.lengths.std() / np.sqrt(4000)
    assert abs(played.lengths.mean() - steps) < 4.5 * error


def test_an_agent_is_told_of_every_start():
    """With or without learning: a memory must not go over to the next episode."""

    class Remembering:
        def begin(self, observation):
            self.seen = [observation]

        def act(self, observation, rng):
            assert self.seen[-1] == observation
            return 1

        def update(self, transition):
            self.seen.append(transition.next_observation)

    class Blind(Remembering):
        starts = 0

        def begin(self, observation):
            self.starts += 1

        def act(self, observation, rng):
            return 1

        def update(self, transition):
            raise AssertionError

    agent = Remembering()
    rollout(Corridor(3), agent, n_episodes=4, random_state=0)
    assert agent.seen == [0, 1, 2, 2]
    blind = Blind()
    rollout(Corridor(3), blind, n_episodes=4, learn=False, random_state=0)
    assert blind.starts == 4


def test_masks_reach_the_agent_and_the_transitions():
    env = gymnasium.make("Taxi-v4", max_episode_steps=30)

    class Legal:
        def act(self, observation, rng, mask):
            return int(rng.choice(np.flatnonzero(mask)))

    run = rollout(env, Legal(), n_steps=100, keep=True, random_state=0)
    for t in run.transitions:
        assert t.mask[t.action] and t.next_observation != t.observation
        np.testing.assert_array_equal(
            t.next_mask, env.unwrapped.action_mask(t.next_observation)
        )


def test_episodes_may_be_cut_off_and_rewards_must_be_numbers():
    run = rollout(
        Corridor(3), Policy([0, 0, 0]), n_steps=10, max_episode_steps=4, keep=True
    )
    assert run.lengths.tolist() == [4, 4]
    assert [t.truncated for t in run.transitions] == [False, False, False, True] * 2 + [
        False
    ] * 2
    right = rollout(
        Corridor(3), Policy([1, 1, 1]), n_episodes=1, max_episode_steps=3, keep=True
    )
    assert right.transitions[-1].terminated and not right.transitions[-1].truncated

    class Unpaid(Corridor):
        def step(self, action):
            found = super().step(action)
            return (found[0], float("nan"), *found[2:])

    with pytest.raises(ValueError, match="the reward of step 1 is nan"):
        rollout(Unpaid(3), Policy([1, 1, 1]), n_steps=5)


class OddWorld(gymnasium.Env):
    """Hands out its state, which the next step changes, and rewards of any type."""

    observation_space = gymnasium.spaces.Box(-9, 9, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, reward=1.0):
        self.reward = reward
        self.x = np.zeros(1, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x[:] = 0
        return self.x, {}

    def step(self, action):
        self.x += 1
        return self.x, self.reward, bool(self.x[0] >= 3), False, {}


class Still:
    def act(self, observation, rng):
        return 0


def test_transitions_keep_what_was_seen():
    run = rollout(OddWorld(), Still(), n_episodes=2, keep=True)
    both = [(float(t.observation[0]), float(t.next_observation[0]))
            for t in run.transitions]  # fmt: skip
    assert both == [(0, 1), (1, 2), (2, 3)] * 2


@pytest.mark.parametrize("reward", [1, True, np.float32(1), np.array(1.0)])
def test_rewards_of_any_type_are_numbers(reward):
    run = rollout(OddWorld(reward), Still(), n_episodes=2, keep=True)
    assert run.returns.tolist() == [3.0, 3.0]
    assert all(type(t.reward) is float for t in run.transitions)


@pytest.mark.parametrize("reward", [None, "one", float("nan"), [1.0, 2.0]])
def test_rewards_that_are_no_number(reward):
    with pytest.raises(ValueError, match="the reward of step 1 is"):
        rollout(OddWorld(reward), Still(), n_episodes=1)


def test_limits_are_whole_numbers():
    for name in ("n_steps", "n_episodes"):
        with pytest.raises(ValueError, match=f"{name} must be a whole number"):
            rollout(OddWorld(), Still(), **{name: 1.5})


def test_policies_have_bounds():
    with pytest.raises(ValueError, match="counted from 0"):
        Policy([0, -1])
    for state in (-1, 2):
        with pytest.raises(ValueError, match=r"the states 0 to 1, not"):
            Policy([0, 1]).act(state, None)

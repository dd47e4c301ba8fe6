"""Gathering from many environments: every reset mode, ends, masks, memory."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from pansophy.rl import Policy, gather, rollout
from pansophy.rl.envs import Corridor, GridWorld, TabularEnv

MODES = list(AutoresetMode)
RANDOM = Policy(np.full((11, 4), 0.25))


def grids(mode, n=3, max_steps=7):
    make = lambda: GridWorld(slip=0.1, max_steps=max_steps)
    return SyncVectorEnv([make] * n, autoreset_mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_transitions_are_walks(mode):
    """Each column is a walk through possible moves; counts agree with episodes."""
    outcomes = GridWorld(slip=0.1).P
    steps = gather(grids(mode), RANDOM, 200, random_state=0)
    after = steps.next_observation()
    assert steps.observation.shape == steps.reward.shape == (200, 3)
    for t, i in np.argwhere(steps.valid):
        s, a = steps.observation[t, i], steps.action[t, i]
        possible = {(k, r, e) for _, k, r, e in outcomes[s][a]}
        assert (after[t, i], steps.reward[t, i], steps.terminated[t, i]) in possible
    assert steps.valid.all() == (mode != AutoresetMode.NEXT_STEP)
    # trap: the step that only resets is no transition
    assert steps.n_steps == steps.lengths.sum() + steps.position.lengths.sum()
    assert len(steps.lengths) == steps.done.sum() > 10
    assert steps.lengths.max() == 7 and not (steps.terminated & steps.truncated).any()
    begun = steps.first.sum() + steps.position.first.sum()
    assert begun + steps.position.ended.sum() == 3 + len(steps.lengths)


def test_modes_agree_in_a_world_without_chance():
    runs = []
    for mode in (AutoresetMode.DISABLED, AutoresetMode.SAME_STEP):
        envs = SyncVectorEnv(
            [lambda: Corridor(3, max_steps=5)] * 2, autoreset_mode=mode
        )
        runs.append(gather(envs, Policy([[0.3, 0.7]] * 3), 50, random_state=3))
    for a, b in zip(runs[0][:-1], runs[1][:-1], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("mode", MODES)
def test_two_calls_are_one(mode):
    whole = gather(grids(mode), RANDOM, 60, random_state=1)
    rng = np.random.default_rng(1)
    envs = grids(mode)
    head = gather(envs, RANDOM, 25, random_state=rng)
    tail = gather(envs, RANDOM, 35, position=head.position, random_state=rng)
    for name in ("observation", "action", "reward", "truncated", "first", "valid"):
        both = np.concatenate([getattr(head, name), getattr(tail, name)])
        np.testing.assert_array_equal(both, getattr(whole, name))
    np.testing.assert_array_equal(np.append(head.returns, tail.returns), whole.returns)


def test_one_environment_is_a_rollout():
    steps = gather(GridWorld(max_steps=9), RANDOM, 100, random_state=5)
    run = rollout(
        GridWorld(max_steps=9), RANDOM, n_steps=100, keep=True, random_state=5
    )
    seen = [[t.observation, t.action, t.next_observation] for t in run.transitions]
    ours = (steps.observation, steps.action, steps.next_observation())
    np.testing.assert_array_equal(np.column_stack([x[:, 0] for x in ours]), seen)
    np.testing.assert_array_equal(steps.returns, run.returns)


def test_extras_masks_and_episode_starts():
    class Masked:
        def __init__(self):
            self.begun = np.zeros(2, int)

        def begin_batch(self, observations, first):
            self.begun += first

        def act_batch(self, observations, rng, mask):
            assert mask.shape == (2, 6)
            action = np.array([rng.choice(np.flatnonzero(m)) for m in mask])
            return action, {"value": observations * 0.5}

    agent = Masked()
    envs = [gymnasium.make("Taxi-v4", max_episode_steps=20) for _ in range(2)]
    steps = gather(envs, agent, 50, random_state=0)
    np.testing.assert_array_equal(agent.begun, [3, 3])
    np.testing.assert_array_equal(steps.extras["value"], 0.5 * steps.observation)
    allowed = np.take_along_axis(steps.mask, steps.action[..., None], axis=2)
    assert allowed.all()
    assert (steps.next_observation() != steps.observation).all()  # masks: no null moves
    core = envs[0].unwrapped
    masks = np.array([core.action_mask(s) for s in range(500)])
    np.testing.assert_array_equal(steps.next_mask(), masks[steps.next_observation()])


def test_tuples_become_columns():
    envs = [gymnasium.make("Blackjack-v1") for _ in range(3)]
    for mode in MODES:
        vector = SyncVectorEnv([lambda e=e: e for e in envs], autoreset_mode=mode)
        act = type("Stick", (), {"act": lambda self, observation, rng: 0})()
        steps = gather(vector, act, 6, random_state=0)
        assert steps.observation.shape == (6, 3, 3)
        assert steps.terminated[steps.valid].all()
        assert steps.final_observation.shape == (steps.n_steps, 3)


def test_errors_say_what_is_wrong():
    remember = type("R", (), {"act": lambda s, o, r: 0, "begin": lambda s, o: None})()
    with pytest.raises(TypeError, match="needs act_batch and begin_batch"):
        gather(Corridor(3), remember, 4)
    with pytest.raises(
        ValueError, match="horizon must be a whole number of at least 1"
    ):
        gather(Corridor(3), Policy([1] * 3), 0)
    with pytest.raises(TypeError, match="envs must be a Gymnasium VectorEnv"):
        gather(3, Policy([1] * 3), 1)
    one = gather(Corridor(3), Policy([1] * 3), 1, random_state=0)
    with pytest.raises(ValueError, match="position is of 1 environments, envs of 2"):
        gather([Corridor(3)] * 2, Policy([1] * 3), 1, position=one.position)


def test_truncation_bootstraps():
    """One state, reward 1, limit 10: the value is 1 / (1 - gamma), never less."""
    endless = TabularEnv({0: {0: [(1.0, 0, 1.0, False)]}}, max_steps=10)
    steps = gather(endless, Policy([0]), 400, random_state=0)
    assert steps.truncated.sum() == 40 and not steps.terminated.any()
    V = np.zeros(1)
    for s, r, after, end in zip(
        steps.observation[:, 0],
        steps.reward[:, 0],
        steps.next_observation()[:, 0],
        steps.terminated[:, 0],
        strict=True,
    ):
        V[s] = r + 0.9 * V[after] * ~end
    assert V[0] == pytest.approx(10)


class MaskedAtReset(Corridor):
    """A world that tells a mask only when an episode begins."""

    def reset(self, **options):
        observation, _ = super().reset(**options)
        return observation, {"action_mask": np.array([0, 1], np.int8)}


def test_a_mask_is_that_of_its_step():
    """Where a step tells none every action is allowed, as in `rollout`."""
    seen = []

    class Watcher:
        def act(self, observation, rng, mask=None):
            seen.append(None if mask is None else mask.tolist())
            return 1

    gather([MaskedAtReset(3)], Watcher(), 4, random_state=0)
    assert seen == [[0, 1], [1, 1], [1, 1], [0, 1]]
    seen.clear()
    rollout(MaskedAtReset(3), Watcher(), n_steps=4, random_state=0)
    assert seen == [[0, 1], None, None, [0, 1]]


def test_environments_by_name():
    steps = gather("FrozenLake-v1", Policy([0] * 16), 3, random_state=0)
    assert steps.reward.shape == (3, 1)

"""The driver: budgets, histories, callbacks, observers."""

import gymnasium
import numpy as np
import pytest
import torch

from pansophy.rl.deep.training import train_agent
from pansophy.rl.envs import Corridor
from pansophy.rl.experience.gather import as_vector_env


class Right:
    """Always goes right; counts its updates."""

    horizon = 8

    def __init__(self):
        self.updates = []

    def act_batch(self, observations, rng, mask=None):
        return np.ones(len(observations), int)

    def update(self, steps, progress, rng):
        self.updates.append((steps.n_steps, progress))
        return {"loss": 1.0}

    def copy_state(self):
        return {}

    def restore_state(self, state):
        raise AssertionError


def run(learner, n, **options):
    envs = as_vector_env([Corridor(3), Corridor(3)])
    return train_agent(envs, learner, n, rng=np.random.default_rng(0), **options)


def test_budget_and_history():
    learner = Right()
    found = run(learner, 40)
    assert found.n_steps == 40 and found.reason == "steps" and not found.interrupted
    assert [n for n, _ in learner.updates] == [16, 16, 8]
    assert [p for _, p in learner.updates] == [0.0, 0.4, 0.8]
    assert found.history["step"].tolist() == [16, 32, 40]
    assert set(found.history["length"].tolist()) == {3}
    assert found.history["end"][:4].tolist() == [6, 6, 12, 12]
    assert repr(found).startswith("40 steps, 12 episodes, mean return")
    odd = run(Right(), 5)
    assert odd.n_steps == 6  # whole rounds of two environments


def test_observers_and_callbacks():
    seen = []
    found = run(
        Right(), 64, observe=lambda learner, n: seen.append(n), observe_every=32
    )
    assert seen == [0, 32, 64] and found.reason == "steps"

    class Once:
        def child(self, name, total=0):
            return self

        def end(self, state=None):
            return True

    found = run(Right(), 10**6, task=Once())
    assert found.reason == "callback" and found.n_steps == 4096


def test_a_state_that_is_not_finite_is_not_kept():
    """Learners may measure rarely: their state is looked at when it is copied."""

    class Spoilt(Right):
        def __init__(self):
            super().__init__()
            self.w = torch.zeros(2)

        def update(self, steps, progress, rng):
            self.w = self.w + (float("nan") if progress > 0.4 else 1.0)
            return {}

        def copy_state(self):
            return {"w": self.w.clone()}

        def restore_state(self, state):
            self.w = state["w"]

    learner = Spoilt()
    found = run(learner, 64)
    assert found.reason == "diverged" and learner.w.isfinite().all()


def test_observations_must_be_numbers():
    class Blind(gymnasium.ObservationWrapper):
        observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

        def observation(self, observation):
            return np.full(1, np.nan if observation == 1 else 0.0, np.float32)

    envs = as_vector_env([Blind(Corridor(3))])
    with pytest.raises(ValueError, match="holds NaN"):
        train_agent(envs, Right(), 40, rng=np.random.default_rng(0))

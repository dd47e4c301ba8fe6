"""Linear action values: indicators are the table, tiles drive up the mountain."""

import gymnasium
import numpy as np
import pytest

from pansophy.persist import load, save
from pansophy.rl import LinearQ, OneHotFeatures, QLearning, TileCoding, rollout
from pansophy.rl.envs import Corridor, GridWorld, MountainCar, TabularEnv


def test_indicators_are_the_table():
    """Update by update: the same walk and the same values as `QLearning`."""
    env = GridWorld(slip=0.1, max_steps=50)
    options = {"n_steps": 1500, "gamma": 0.9, "learning_rate": 0.3, "exploration": 0.2}
    table = QLearning(**options, engine="env", random_state=0).fit(env)
    linear = LinearQ(OneHotFeatures(11), **options, random_state=0).fit(env)
    np.testing.assert_allclose(linear.theta_.T, table.Q_, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(linear.history_["return"], table.history_["return"])
    np.testing.assert_array_equal(linear.predict(np.arange(11)), table.policy_)


@pytest.mark.parametrize("method", ["q-learning", "sarsa"])
def test_a_time_limit_is_no_end(method):
    """One state, reward 1, gamma 0.9, limit 10: the value is 10, never 6.5."""
    endless = TabularEnv({0: {0: [(1.0, 0, 1.0, False)]}}, max_steps=10)
    model = LinearQ(
        n_steps=3000, gamma=0.9, learning_rate=0.2, method=method, random_state=0
    ).fit(endless)
    assert model.action_values([0])[0, 0] == pytest.approx(10, abs=1e-3)


@pytest.mark.parametrize("method", ["q-learning", "sarsa"])
def test_tiles_drive_up_the_mountain(method):
    """A random policy never arrives within 200 steps."""
    env = MountainCar(max_steps=1000)
    tiles = TileCoding([-1.2, -0.07], [0.6, 0.07])
    model = LinearQ(
        tiles, n_episodes=40, n_steps=None, gamma=1.0, learning_rate=0.06,
        exploration=0.0, method=method, random_state=0,
    ).fit(env)  # fmt: skip
    run = rollout(env, model, n_episodes=5, random_state=1)
    assert run.lengths.mean() < 300


def test_same_seed_same_weights_and_errors():
    env = MountainCar()
    runs = [LinearQ(n_steps=500, random_state=s).fit(env).theta_ for s in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()
    with pytest.raises(ValueError, match="LinearQ needs n_steps"):
        LinearQ(n_steps=None).fit(env)
    with pytest.warns(RuntimeWarning), pytest.raises(ValueError, match="diverged"):
        LinearQ(n_steps=4000, learning_rate=50.0, random_state=0).fit(env)


def test_without_learning_it_acts_on_what_it_sees():
    """A cached choice must not outlive its observation."""
    env = GridWorld(max_steps=20)
    for method in ("q-learning", "sarsa"):
        agent = LinearQ(n_steps=10, exploration=0.0, method=method).learner(env)
        agent.theta[2, :] = np.arange(11) % 2
        agent.theta[0, :] = 1 - np.arange(11) % 2
        run = rollout(env, agent, n_steps=40, learn=False, keep=True, random_state=0)
        for t in run.transitions:
            assert t.action == (2 if t.observation % 2 else 0)


def test_saved_and_loaded(tmp_path):
    model = LinearQ(n_steps=300, random_state=0).fit(MountainCar())
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    seen = [[-0.5, 0.0], [0.1, 0.03]]
    np.testing.assert_array_equal(again.action_values(seen), model.action_values(seen))


def test_states_may_be_counted_from_any_number():
    class Shifted(gymnasium.ObservationWrapper):
        def __init__(self, env):
            super().__init__(env)
            n = env.observation_space.n
            self.observation_space = gymnasium.spaces.Discrete(n, start=7)

        def observation(self, observation):
            return observation + 7

    plain = LinearQ(n_steps=500, random_state=0).fit(Corridor(3, max_steps=9))
    moved = LinearQ(n_steps=500, random_state=0).fit(Shifted(Corridor(3, max_steps=9)))
    np.testing.assert_array_equal(plain.theta_, moved.theta_)
    assert moved.predict([7, 8, 9]).tolist() == plain.predict([0, 1, 2]).tolist()
    with pytest.raises(ValueError, match="not from 7 to 9"):
        moved.predict([0])
    with pytest.raises(ValueError, match="features must be a feature map"):
        LinearQ(500).fit(Corridor(3))

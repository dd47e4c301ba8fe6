"""LSPI and fitted Q from fixed transitions: exact in tables, limits, any regressor."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.persist import load, save
from pansophy.rl import (
    LSPI,
    FittedQ,
    OneHotFeatures,
    Policy,
    TileCoding,
    rollout,
    value_iteration,
)
from pansophy.rl.envs import Corridor, GridWorld, MountainCar, TabularEnv
from pansophy.tree import DecisionTreeRegressor


def walk(env, n=1500):
    S, A = env.table.n_states, env.table.n_actions
    random = Policy(np.full((S, A), 1 / A))
    return rollout(env, random, n_steps=n, keep=True, random_state=0)


def test_a_world_without_chance_is_solved_exactly():
    """Every pair was tried: both reach Q* of the tried pairs."""
    env = GridWorld(max_steps=100)
    best = value_iteration(env, gamma=0.9, tol=1e-10)
    log = walk(env)
    tried = np.zeros((11, 4), bool)
    for t in log.transitions:
        tried[t.observation, t.action] = True
    lspi = LSPI(OneHotFeatures(11), 4, gamma=0.9).fit(log)
    assert lspi.converged_
    np.testing.assert_allclose(lspi.theta_.T[tried], best.Q[tried], atol=1e-5)
    fitted = FittedQ(DecisionTreeRegressor(), 4, gamma=0.9, n_iter=100).fit(log)
    Q = fitted.action_values(np.arange(11))
    np.testing.assert_allclose(Q[tried], best.Q[tried], atol=1e-3)
    for model in (lspi, fitted):
        assert rollout(env, model, n_episodes=1, random_state=0).returns[0] > 0.7
    change = fitted.history_["change"]
    assert (change[20:] <= change[19:-1] + 1e-12).all()


def test_a_time_limit_is_no_end():
    """One state, reward 1, gamma 0.9, limit 10: the value is 10, never 6.5."""
    endless = TabularEnv({0: {0: [(1.0, 0, 1.0, False)]}}, max_steps=10)
    log = rollout(endless, Policy([0]), n_steps=40, keep=True, random_state=0)
    lspi = LSPI(OneHotFeatures(1), 1, gamma=0.9).fit(log)
    assert lspi.action_values([0])[0, 0] == pytest.approx(10, abs=1e-6)
    fitted = FittedQ(DecisionTreeRegressor(), 1, gamma=0.9, n_iter=150).fit(log)
    assert fitted.action_values([0])[0, 0] == pytest.approx(10, abs=1e-4)


def test_features_and_transitions_of_a_mountain():
    """Values from random pushes are finite and higher near the goal."""
    env = MountainCar()
    act = type("Random", (), {"act": lambda self, o, rng: int(rng.integers(3))})()
    log = rollout(env, act, n_steps=600, keep=True, random_state=0)
    tiles = TileCoding([-1.2, -0.07], [0.6, 0.07], n_tiles=4, n_tilings=2)
    model = LSPI(tiles, 3, gamma=0.95, ridge=0.1, max_iter=30, tol=1e-3).fit(log)
    assert np.isfinite(model.theta_).all()
    assert model.act(log.transitions[0].observation) in (0, 1, 2)
    rows = lambda one: [one[0], one[1], one[0] * one[1]]
    fitted = FittedQ(
        DecisionTreeRegressor(max_depth=4), 3, gamma=0.95, n_iter=5, features=rows
    ).fit(log.transitions)
    assert fitted.action_values([[-0.5, 0.0]]).shape == (1, 3)


def test_untried_actions_and_errors():
    env = Corridor(3)
    log = rollout(env, Policy([1] * 3), n_episodes=3, keep=True, random_state=0)
    fitted = FittedQ(DecisionTreeRegressor(), 2, gamma=0.9, n_iter=10).fit(log)
    assert fitted.models_[0] is None
    assert fitted.predict([0, 1, 2]).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="keep=True"):
        LSPI(OneHotFeatures(3), 2).fit([])
    with pytest.raises(ValueError, match="actions must be whole numbers from 0 to 0"):
        LSPI(OneHotFeatures(3), 1).fit(log)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        LSPI(OneHotFeatures(11), 4, max_iter=1).fit(walk(GridWorld(max_steps=100), 300))


def test_saved_and_loaded(tmp_path):
    log = walk(GridWorld(max_steps=50), 300)
    tree = DecisionTreeRegressor(max_depth=3)
    for model in (LSPI(OneHotFeatures(11), 4), FittedQ(tree, 4, n_iter=3)):
        model.fit(log)
        save(model, tmp_path / "model")
        again = load(tmp_path / "model")
        np.testing.assert_array_equal(
            again.action_values(range(11)), model.action_values(range(11))
        )

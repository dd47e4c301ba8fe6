"""Linear values: LMS reaches least squares, successors, greedy actions."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.rl import (
    LinearFeatures,
    LinearValue,
    OneHotFeatures,
    Policy,
    evaluate_policy,
    rollout,
)
from pansophy.rl.envs import Corridor, TabularEnv


def test_passes_reach_least_squares(rng):
    X = rng.normal(size=(30, 2))
    y = X @ [2.0, -1.0] + 3 + 0.1 * rng.normal(size=30)
    phi = np.column_stack([np.ones(30), X])
    exact = np.linalg.lstsq(phi, y, rcond=None)[0]
    model = LinearValue(
        LinearFeatures(2), n_passes=3000, decay=0.8, random_state=0
    ).fit(X, y)
    np.testing.assert_allclose(model.theta_, exact, atol=2e-3)
    np.testing.assert_allclose(model.predict(X), phi @ model.theta_)


def test_first_step_by_hand():
    """theta = alpha (y - 0) phi after one row, alpha relative to |phi|^2 = 5."""
    model = LinearValue(LinearFeatures(1), learning_rate=1.0, n_passes=1, decay=0.0)
    np.testing.assert_allclose(model.fit([[2.0]], [10.0]).theta_, [2, 4])
    assert model.converged_ and model.history_["loss"].tolist() == [0.0]


def test_batch_steps_never_raise_the_error_and_end_at_least_squares(rng):
    X = rng.normal(size=(40, 3)) + [0, 1, 2]
    y = rng.normal(size=40)
    phi = np.column_stack([np.ones(40), X])
    exact = np.linalg.lstsq(phi, y, rcond=None)[0]
    model = LinearValue(LinearFeatures(3), mode="batch", decay=0.0, n_passes=3000)
    model.fit(X, y)
    assert (np.diff(model.history_["loss"]) <= 1e-15).all()
    np.testing.assert_allclose(model.theta_, exact, atol=1e-5)
    assert model.converged_ and model.n_iter_ == 3000


def test_features_of_unequal_size_warn_and_can_be_scaled(rng):
    X = rng.normal(size=(60, 3)) * [1.0, 1.0, 1000.0]
    y = 0.3 * X[:, 0] - 0.5 * X[:, 1] + 0.001 * X[:, 2] + 0.1 * rng.normal(size=60)
    phi = np.column_stack([np.ones(60), X])
    exact = np.linalg.lstsq(phi, y, rcond=None)[0]
    with pytest.warns(ConvergenceWarning, match="set scale_features=True"):
        plain = LinearValue(LinearFeatures(3), random_state=0).fit(X, y)
    assert not plain.converged_ and abs(plain.theta_ - exact).max() > 0.1
    for mode in ("online", "batch"):
        model = LinearValue(
            LinearFeatures(3), mode=mode, scale_features=True, random_state=0
        ).fit(X, y)
        assert model.converged_
        np.testing.assert_allclose(model.theta_, exact, atol=0.02)


def test_successor_values():
    """Rewards and values of successors lead to the linear solve; limits are no ends."""
    env = Corridor(4, slip=0.3)
    policy = np.full((4, 2), [0.3, 0.7])
    exact = evaluate_policy(env, policy, gamma=0.9)
    run = rollout(env, Policy(policy), n_episodes=150, keep=True, random_state=0)
    model = LinearValue(
        OneHotFeatures(4), gamma=0.9, n_passes=15, tol=0.1, random_state=0
    )
    model.fit_transitions(run.transitions)
    np.testing.assert_allclose(model.predict(range(4)), exact, atol=0.12)
    assert model.greedy_action([0, 2, 1]) == 1
    endless = TabularEnv({0: {0: [(1.0, 0, 1.0, False)]}}, max_steps=10)
    run = rollout(endless, Policy([0]), n_steps=200, keep=True, random_state=0)
    model = LinearValue(
        OneHotFeatures(1), gamma=0.9, n_passes=20, decay=0.0, random_state=0
    )
    model.fit_transitions(run.transitions)
    assert model.predict([0])[0] == pytest.approx(10)


def test_errors_say_what_is_wrong():
    for call, what in (
        (lambda m: m.fit([[0.0]], [1.0, 2.0]), "one number for each"),
        (lambda m: m.fit([[0.0]], [np.nan]), "NaN"),
        (lambda m: m.fit_transitions([]), "no transitions"),
    ):
        with pytest.raises(ValueError, match=what):
            call(LinearValue(LinearFeatures(1)))
    with pytest.warns(RuntimeWarning), pytest.raises(ValueError, match="diverged"):
        LinearValue(LinearFeatures(1), learning_rate=1e5, decay=0.0).fit(
            [[1.0], [2.0]], [1.0, 5.0]
        )

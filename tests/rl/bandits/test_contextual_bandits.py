"""Contextual bandits: linear bounds against ridge regression; any model as arms."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge as Peer

from pansophy.linear_model import LogisticRegression, Ridge
from pansophy.rl import ContextualBandit, LinUCB, evaluate_off_policy


def test_coefficients_are_ridge_regression(rng):
    learner = LinUCB(2, 3, ridge=0.7)
    X = rng.normal(size=(60, 3))
    arms, y = rng.integers(2, size=60), rng.normal(size=60)
    for x, arm, reward in zip(X, arms, y, strict=True):
        learner.learn(x, arm, reward)
    for arm in range(2):
        rows = arms == arm
        peer = Peer(alpha=0.7, fit_intercept=False).fit(X[rows], y[rows])
        np.testing.assert_allclose(learner.coef[arm], peer.coef_, atol=1e-9)
    x = X[0]
    A = 0.7 * np.eye(3) + X[arms == 0].T @ X[arms == 0]
    bound = learner.coef[0] @ x + np.sqrt(x @ np.linalg.solve(A, x))
    assert learner.scores(x)[0] == pytest.approx(bound)


def test_regret_falls_below_the_best_single_arm(rng):
    """Rewards depend on the context, so no arm is best: contexts must be used."""
    theta = rng.normal(size=(3, 4))
    learner = LinUCB(3, 4)
    got, best, single = [], [], []
    for _ in range(600):
        x = rng.normal(size=4)
        arm = learner.act(x)
        learner.learn(x, arm, theta[arm] @ x + 0.1 * rng.normal())
        got.append(theta[arm] @ x)
        best.append((theta @ x).max())
        single.append(theta[0] @ x)
    late = slice(300, None)
    assert np.mean(got[late]) > 0.97 * np.mean(best[late]) > np.mean(single[late])


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_any_model(kind, rng):
    estimator = Ridge(alpha=0.1) if kind == "regressor" else LogisticRegression(C=10.0)
    learner = ContextualBandit(estimator, 2, epsilon=0.2, growth=1.5)
    won = []
    for _ in range(400):
        x = rng.normal(size=2)
        arm = learner.act(x, rng)
        p = 1 / (1 + np.exp(-4 * x[arm]))
        learner.learn(x, arm, float(rng.random() < p))
        won.append(int(np.argmax(x)) == arm)
    assert np.mean(won[-150:]) > 0.8
    np.testing.assert_allclose(learner.probabilities([5.0, -5.0]), [0.9, 0.1])
    log = learner.log
    # its own log judges a policy that takes the right arm: better than the learner
    right = np.eye(2)[np.argmax(log.context, axis=1)]
    assert evaluate_off_policy(log, right, method="snips").value > log.reward.mean()


def test_late_rewards_keep_the_probability_of_their_pull(rng):
    """Rewards come shuffled; meanwhile the models, and so the probabilities, change."""
    learner = ContextualBandit(Ridge(), 2, epsilon=0.4)
    pulls, waiting = [], []
    for t in range(60):
        x = rng.normal(size=2).round(1)
        p = learner.probabilities(x)
        arm = learner.act(x, rng)
        pulls.append((*x, arm, x[arm], p[arm]))
        waiting.append((x, arm, x[arm]))
        if t % 10 == 9:
            for i in rng.permutation(len(waiting)):
                learner.learn(*waiting[i])
            waiting = []
    assert learner.n_waiting == 0
    log = learner.log
    found = np.column_stack([log.context, log.action, log.reward, log.probability])
    np.testing.assert_allclose(found, pulls)
    assert len(set(log.probability)) > 1


def test_the_log_holds_pulls_with_reward_and_probability(rng):
    learner = ContextualBandit(Ridge(), 2)
    with pytest.raises(ValueError, match="the log is empty"):
        _ = learner.log
    x = np.array([1.0, 2.0])
    arms = [learner.act(x, rng) for _ in range(3)]
    assert learner.n_waiting == 3
    learner.learn(x, arms[0], 1.0)
    learner.learn([5.0, 5.0], 1, 2.0)  # somebody else's pull
    learner.learn([6.0, 6.0], 1, 3.0, probability=0.25)
    assert learner.n_waiting == 2
    np.testing.assert_array_equal(learner.log.reward, [1.0, 3.0])
    assert learner.log.probability[1] == 0.25
    with pytest.raises(ValueError, match="arm must be a whole number from 0 to 1"):
        learner.learn(x, 2, 0.0)
    with pytest.raises(ValueError, match="probability must be"):
        learner.learn([7.0, 7.0], 0, 0.0, probability=0.0)


def test_errors_say_what_is_wrong():
    for make, what in (
        (lambda: LinUCB(0, 1), "n_arms"),
        (lambda: LinUCB(1, 1, ridge=0.0), "ridge"),
        (lambda: LinUCB(1, 2).act([1.0]), "2 finite numbers"),
        (lambda: ContextualBandit(Ridge(), 0), "n_arms"),
        (lambda: ContextualBandit(Ridge(), 1, epsilon=2.0), "epsilon"),
        (lambda: ContextualBandit(Ridge(), 1, growth=0.5), "growth"),
    ):
        with pytest.raises(ValueError, match=what):
            make()

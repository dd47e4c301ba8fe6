"""Off-policy estimates: unbiased where they should be, against simulated truth."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from pansophy.rl import BanditLog, cross_fitted_rewards, evaluate_off_policy

THETA = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])


def target(X):
    """Mostly the best arm."""
    best = np.eye(3)[(X @ THETA.T).argmax(axis=1)]
    return 0.1 / 3 + 0.9 * best


def make_log(rng, n):
    X = rng.normal(size=(n, 2))
    behaviour = rng.dirichlet(np.ones(3) * 5, n)
    arms = (behaviour.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    rewards = (X @ THETA.T)[np.arange(n), arms] + rng.normal(size=n)
    return BanditLog(X, arms, rewards, behaviour[np.arange(n), arms])


def truth():
    X = np.random.default_rng(1).normal(size=(400_000, 2))
    return float((target(X) * (X @ THETA.T)).sum(axis=1).mean())


def test_estimates_agree_with_the_truth(rng):
    """Within 4.5 standard errors, each; doubly robust is surer than IPS."""
    log = make_log(rng, 5000)
    q = cross_fitted_rewards(log, LinearRegression(), 3)
    found = {
        m: evaluate_off_policy(log, target, method=m, rewards=q)
        for m in ("ips", "snips", "direct", "dr")
    }
    value = truth()
    for name, estimate in found.items():
        assert abs(estimate.value - value) < 4.5 * estimate.standard_error, name
    assert found["dr"].standard_error < found["ips"].standard_error
    low, high = found["dr"].interval(4.5)
    assert low < value < high
    assert 100 < found["ips"].effective_size < 5000


def test_doubly_robust_survives_a_wrong_model(rng):
    log = make_log(rng, 5000)
    wrong = np.zeros((5000, 3)) - 3.0
    direct = evaluate_off_policy(log, target, method="direct", rewards=wrong)
    dr = evaluate_off_policy(log, target, rewards=wrong)
    assert direct.value == pytest.approx(-3)
    assert abs(dr.value - truth()) < 4.5 * dr.standard_error


def test_standard_errors_are_honest(rng):
    """Spread of the estimates over 200 logs, against the reported errors."""
    logs = [make_log(rng, 200) for _ in range(200)]
    for method in ("ips", "snips"):
        found = [evaluate_off_policy(log, target, method=method) for log in logs]
        spread = np.std([f.value for f in found])
        reported = np.mean([f.standard_error for f in found])
        assert 0.8 < reported / spread < 1.25


def test_the_logging_policy_has_its_own_mean(rng):
    """pi = p: all weights are 1 and IPS is the mean of the rewards."""
    n = 50
    log = BanditLog(np.zeros((n, 1)), np.zeros(n, int), rng.normal(size=n), np.ones(n))
    found = evaluate_off_policy(log, np.ones((n, 1)), method="ips")
    assert found.value == pytest.approx(log.reward.mean())
    assert found.effective_size == pytest.approx(n)
    clipped = evaluate_off_policy(log, np.ones((n, 1)), method="ips", clip=0.5)
    assert clipped.value == pytest.approx(0.5 * log.reward.mean())


def test_errors_say_what_is_wrong(rng):
    log = make_log(rng, 20)
    uniform = np.full((20, 3), 1 / 3)
    for call, what in (
        (lambda: evaluate_off_policy(log, uniform, method="guess"), "method must be"),
        (lambda: evaluate_off_policy(log, uniform), "needs rewards"),
        (
            lambda: evaluate_off_policy(log, uniform[:5], method="ips"),
            "policy must have",
        ),
        (lambda: evaluate_off_policy(log, 2 * uniform, method="ips"), "sum to 1"),
        (
            lambda: evaluate_off_policy(
                log._replace(probability=np.zeros(20)), uniform, method="ips"
            ),
            "above 0",
        ),
        (lambda: cross_fitted_rewards(log, LinearRegression(), 4), "never pulled"),
    ):
        with pytest.raises(ValueError, match=what):
            call()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"reward": [np.nan, 1.0]}, "finite"),
        ({"action": [-1, 0]}, "whole numbers"),
        ({"action": [0.0, 1.0]}, "whole numbers"),
        ({"probability": [0.5]}, "as many"),
        ({"probability": [0.0, 0.5]}, "above 0"),
        ({"context": np.zeros((0, 1))}, "as many"),
    ],
)
def test_logs_that_cannot_be_right(change, words):
    log = BanditLog(np.zeros((2, 1)), [0, 1], [1.0, 2.0], [0.5, 0.5])
    pi = np.full((2, 2), 0.5)
    with pytest.raises(ValueError, match=words):
        evaluate_off_policy(log._replace(**change), pi, method="ips")


def test_tables_and_weights_that_cannot_be_right():
    log = BanditLog(np.zeros((2, 1)), [0, 1], [1.0, 2.0], [0.5, 0.5])
    pi = np.full((2, 2), 0.5)
    with pytest.raises(ValueError, match="policy holds NaN"):
        evaluate_off_policy(log, pi * np.nan, method="ips")
    with pytest.raises(ValueError, match="clip must be"):
        evaluate_off_policy(log, pi, method="ips", clip=-1.0)
    with pytest.raises(ValueError, match="n_folds must be"):
        cross_fitted_rewards(log, LinearRegression(), 2, n_folds=0)
    single = np.array([[0.3, 0.7], [0.6, 0.4]], np.float32)
    assert evaluate_off_policy(log, single, method="ips").value > 0

"""Decisions of lowest expected cost: worked numbers, conditional means."""

import numpy as np
import pytest

from pansophy import losses


def test_conditional_mean_has_the_lowest_risk(rng):
    joint = rng.dirichlet(np.ones(20)).reshape(4, 5)
    values = rng.normal(size=5)
    best = losses.conditional_mean(joint, values)
    risk = lambda h: np.sum(joint * (values - h[:, None]) ** 2)
    noise = joint.sum(axis=1) @ (losses.conditional_mean(joint, values**2) - best**2)
    assert risk(best) == pytest.approx(noise)
    for _ in range(50):
        assert risk(best + 0.1 * rng.normal(size=4)) > risk(best)
    with pytest.raises(ValueError, match="positive sum"):
        losses.conditional_mean(np.zeros((1, 2)), [0, 1])


def test_decisions():
    costs = [losses.cost_threshold(*c) for c in [(1, 1), (1, 9), (5, 1)]]
    np.testing.assert_allclose(costs, [0.5, 0.1, 0.833333], atol=1e-6)
    assert losses.reject_rule([0.85, 0.5, 0.1], 0.2).tolist() == [1, 0, -1]
    pairs = [(1, 1), (3, 1), (1, 3), (9, 1)]
    answers = [losses.quantile_action(10, 2, *pair) for pair in pairs]
    expected = [10, 11.3489795, 8.6510205, 12.5631031]
    np.testing.assert_allclose(answers, expected, atol=1e-6)
    P = np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
    zero_one = 1 - np.eye(3)
    np.testing.assert_array_equal(losses.bayes_action(P, zero_one), P.argmax(axis=1))
    rows = losses.smooth_labels(np.array([1]), 5)
    np.testing.assert_allclose(rows, [[0.02, 0.92, 0.02, 0.02, 0.02]])

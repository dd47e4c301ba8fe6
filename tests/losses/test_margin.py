"""Slacks, costs per class and the table of margin losses."""

import math

import numpy as np
import pytest

from pansophy import losses


def test_slack_categories():
    # the soft-margin line w = 2/3, w0 = 1/3 on x = -2, -1, 1, 2, -1.5
    x = np.array([-2.0, -1, 1, 2, -1.5])
    t = np.array([-1.0, -1, 1, 1, 1])
    f = 2 / 3 * x + 1 / 3
    found = losses.slack(t, f)
    np.testing.assert_allclose(found.values, [0, 2 / 3, 0, 0, 5 / 3], atol=1e-15)
    words = [losses.SLACK_CATEGORIES[c] for c in found.categories]
    assert words == ["outside", "inside", "outside", "outside", "wrong"]
    wrong = losses.zero_one(t, f) == 1
    np.testing.assert_array_equal(found.values > 1, wrong)


def test_tube_slacks_sum_to_the_loss(rng):
    y, f = rng.normal(size=50), rng.normal(size=50)
    above, below = losses.tube_slacks(y, f, 0.3)
    loss = losses.epsilon_insensitive(0.3)
    np.testing.assert_allclose(above + below, loss.value(y, f), atol=1e-15)
    assert np.all(np.minimum(above, below) == 0)


def test_log_likelihood_is_bernoulli(rng):
    y, f = rng.integers(0, 2, size=30).astype(float), rng.normal(size=30)
    p = 1 / (1 + np.exp(-f))
    direct = np.log(np.where(y == 1, p, 1 - p))
    assert losses.bernoulli_log_likelihood(y, f) == pytest.approx(
        direct.sum(), rel=1e-13
    )
    w = rng.integers(0, 3, size=30)
    repeated = losses.bernoulli_log_likelihood(np.repeat(y, w), np.repeat(f, w))
    assert losses.bernoulli_log_likelihood(y, f, w) == pytest.approx(
        repeated, rel=1e-13
    )
    assert np.isfinite(
        losses.bernoulli_log_likelihood(np.array([1.0]), np.array([-1000.0]))
    )


def test_margin_table():
    z = np.array([-2.0, -1, 0, 0.5, 1, 2])
    table = losses.margin_losses(z)
    np.testing.assert_array_equal(table["zero_one"], [1, 1, 1, 0, 0, 0])
    np.testing.assert_allclose(table["hinge"], [3, 2, 1, 0.5, 0, 0])
    expected = [2.1269280, 1.3132617, 0.6931472, 0.4740770, 0.3132617, 0.1269280]
    np.testing.assert_allclose(table["logistic"], expected, atol=1e-7)
    grid = losses.margin_losses(np.linspace(-4, 4, 401))
    for name in ("hinge", "squared_hinge", "modified_huber", "exponential"):
        assert np.all(grid[name] >= grid["zero_one"]), name
    assert np.all(grid["logistic"] / math.log(2) >= grid["zero_one"] - 1e-15)


@pytest.mark.parametrize("base", [losses.hinge, losses.perceptron, losses.exponential])
def test_costs_scale_as_they_should(base, rng):
    y, f = rng.choice([-1.0, 1.0], size=60), rng.normal(size=60)
    risk = lambda plus, minus: (
        losses.class_weighted_loss(base, plus, minus).value(y, f).sum()
    )
    c, m, a = 3.0, 2.0, 7.0
    assert risk(c, m) == pytest.approx(risk(a * c, a * m) / a)
    assert risk(c, m) == pytest.approx(m * risk(c / m, 1.0))
    times = np.where(y > 0, 3, 2)
    repeated = base.value(np.repeat(y, times), np.repeat(f, times)).sum()
    assert risk(3.0, 2.0) == pytest.approx(repeated)
    np.testing.assert_array_equal(losses.costs_by_sign(y, 3.0, 2.0), times)


def test_weighted_refuses_what_has_no_classes():
    with pytest.raises(ValueError, match="two classes"):
        losses.class_weighted_loss(losses.squared)
    with pytest.raises(ValueError, match="above 0"):
        losses.class_weighted_loss(losses.hinge, 0.0)


def test_slack_of_exactly_one_is_on_the_right_side():
    found = losses.slack(np.array([1.0, 1.0]), np.array([0.0, 1.0]))
    assert [losses.SLACK_CATEGORIES[c] for c in found.categories] == [
        "inside",
        "outside",
    ]


def test_costs_of_classes_scale_the_curvature_bound():
    for positive, negative in ((3.0, 0.5), (0.5, 3.0)):
        loss = losses.class_weighted_loss(losses.logistic, positive, negative)
        assert loss.lipschitz == 3.0 * losses.logistic.lipschitz
    for wrong in ({"positive": 0.0}, {"negative": 0.0}, {"positive": -1.0}):
        with pytest.raises(ValueError, match="above 0"):
            losses.class_weighted_loss(losses.hinge, **wrong)
    assert losses.class_weighted_loss(losses.hinge, negative=0.1).name

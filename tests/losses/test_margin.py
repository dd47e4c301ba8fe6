"""Slacks, costs per class, the margin family, residual powers, decisions."""

import math

import numpy as np
import pytest

from pansophy import losses
from pansophy.losses import get_family, glm_loss


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


def test_perceptron_gradient_sums_mistakes(rng):
    X, y = rng.normal(size=(40, 3)), rng.choice([-1.0, 1.0], size=40)
    f = X @ rng.normal(size=3)
    wrong = y * f <= 0
    g = X.T @ losses.perceptron.gradient(y, f)
    np.testing.assert_allclose(g, -(y[wrong, None] * X[wrong]).sum(axis=0))


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


def test_lp_family(rng):
    y, f = rng.normal(size=20), rng.normal(size=20)
    same = losses.lp(2).value(y, f), losses.squared.value(y, f)
    np.testing.assert_allclose(*same)
    r = np.array([0.5, -3.0, 1.0])
    assert losses.lp_norm(r, np.inf) == 3
    assert losses.lp_norm(r, 200) == pytest.approx(3, rel=1e-12)
    assert losses.lp_norm(1e200 * r, 2) == pytest.approx(1e200 * np.sqrt(10.25))
    assert losses.lp(1).constant(y) == np.median(y)
    # a chord below the curve at p = 1/2
    half = losses.lp(0.5)
    value = lambda v: half.value(np.zeros(1), np.array([v]))[0]
    assert value(0.5) > (value(0.0) + value(1.0)) / 2
    assert not half.convex and losses.lp(1).convex
    with pytest.raises(ValueError, match="lp_norm"):
        losses.lp(np.inf)


def test_tukey_forgets_outliers():
    y = np.array([0.0, 0.1, -0.1, 0.05, 1e6])
    assert abs(losses.tukey().constant(y)) < 0.2
    assert losses.tukey().gradient(y, np.zeros(5))[-1] == 0


def test_pinball_is_quantile():
    assert losses.pinball is losses.quantile
    assert losses.get_loss("pinball", 0.2).parameter == 0.2


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


@pytest.mark.parametrize("name", ["gaussian", "poisson", "gamma", "inverse_gaussian"])
def test_deviance_against_scikit_learn(name, rng):
    metrics = pytest.importorskip("sklearn.metrics")
    part = get_family(name)
    y, mu = rng.gamma(2.0, size=30) + 0.01, rng.gamma(2.0, size=30) + 0.01
    ours = part.deviance(y, mu).mean()
    theirs = metrics.mean_tweedie_deviance(y, mu, power=part.parameter)
    assert ours == pytest.approx(theirs, rel=1e-12)


def test_expected_curvature_is_the_mean_of_the_curvature(rng):
    part = get_family("gamma")
    f = np.full(200_000, 0.4)
    link = losses.gamma.link
    y = rng.gamma(2.0, link.inverse(f) / 2)
    fisher = glm_loss(part, link, expected=True)
    seen = losses.gamma.curvature(y, f).mean()
    assert seen == pytest.approx(fisher.curvature(y, f)[0], rel=0.01)


def test_families_refuse_what_does_not_exist():
    with pytest.raises(ValueError, match="no such distribution"):
        get_family("tweedie", 0.5)
    with pytest.raises(ValueError, match="no family"):
        get_family("normal")
    with pytest.raises(ValueError, match="no distribution"):
        losses.tweedie(0.5)
    assert losses.tweedie(1) is losses.poisson
    assert get_family("tweedie", 2.0).name == "gamma"


def test_labels_are_smoothed_with_any_distribution():
    y = np.array([1, 0, 2])
    u = np.array([0.5, 0.3, 0.2])
    each = np.array([[1.0, 0, 0], [0, 1, 0], [0.2, 0.3, 0.5]])
    f = np.array([[0.1, 2.0, -1.0], [0.5, 0.0, 0.2], [1.0, 1.0, 1.0]])
    for other in (u, each):
        soft = losses.smooth_labels(y, 3, 0.1, u=other)
        np.testing.assert_allclose(soft.sum(axis=1), 1)
        mixed = 0.9 * losses.softmax.value(y, f)
        mixed += 0.1 * losses.softmax.value(np.broadcast_to(other, (3, 3)), f)
        np.testing.assert_allclose(losses.softmax.value(soft, f), mixed)
    uniform = losses.smooth_labels(y, 3, 0.1, u=np.full(3, 1 / 3))
    np.testing.assert_allclose(uniform, losses.smooth_labels(y, 3, 0.1))
    for wrong in ([0.5, 0.5], [0.5, 0.6, 0.2], [1.5, -0.5, 0.0]):
        with pytest.raises(ValueError, match="u of smooth_labels"):
            losses.smooth_labels(y, 3, 0.1, u=np.array(wrong))
    with pytest.raises(ValueError, match="epsilon of smooth_labels"):
        losses.smooth_labels(y, 3, 1.5)


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

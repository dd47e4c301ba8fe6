"""Every loss: derivatives, constants, convexity, backends, compiled twins, numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy import links, losses
from pansophy.core.compiled import compiled
from pansophy.core.weighted import weighted_quantile
from pansophy.losses import LOSSES, _pointwise, get_family, glm_loss
from pansophy.typing import Loss

UNIT = [links.logit, links.probit, links.cloglog, links.loglog, links.cauchit]
MADE = [
    *(glm_loss(get_family("binomial"), link) for link in [*UNIT[1:], links.tanh]),
    glm_loss(get_family("gaussian"), links.log),
    glm_loss(get_family("gaussian"), links.inverse),
    glm_loss(get_family("poisson"), links.identity),
    glm_loss(get_family("poisson"), links.sqrt),
    glm_loss(get_family("gamma")),
    glm_loss(get_family("gamma"), links.inverse_squared),
    glm_loss(get_family("inverse_gaussian")),
    glm_loss(get_family("inverse_gaussian"), links.log),
    glm_loss(get_family("tweedie", 1.5), links.sqrt),
    glm_loss(get_family("negative_binomial", 0.7)),
    losses.tweedie(3.0),
    losses.tweedie(0.0),
    losses.lp(1.0),
    losses.lp(0.5),
    losses.lp(4.0),
    losses.class_weighted_loss(losses.squared_hinge, 3.0, 0.5),
]
ALL = LOSSES + MADE
POINTWISE = [loss for loss in ALL if loss.domain != "label"]
by_name = pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)
each_pointwise = pytest.mark.parametrize("loss", POINTWISE, ids=lambda loss: loss.name)


def targets(loss, n, rng):
    draws = {
        "real": lambda: rng.normal(size=n),
        "fraction": lambda: rng.uniform(size=n),
        "sign": lambda: rng.choice([-1.0, 1.0], size=n),
        "nonnegative": lambda: rng.poisson(2.0, size=n).astype(float),
        "positive": lambda: rng.gamma(2.0, size=n),
        "label": lambda: rng.integers(0, 3, size=n),
    }
    y = draws[loss.domain]()
    above = loss.domain == "real" and loss.link is not links.identity
    return np.abs(y) + 0.1 if above else y  # a mean that the link can reach


def predictions(loss, n, rng):
    if loss.domain == "label":
        return rng.normal(size=(n, 3))
    f = rng.normal(size=n)
    raised = loss.link.positive or loss.name == "poisson_identity"
    return np.abs(f) + 0.3 if raised else f


@by_name
def test_contract(loss):
    assert isinstance(loss, Loss)
    assert isinstance(loss.link, links.Link)
    if loss in LOSSES:
        assert losses.get_loss(loss.name).kind == loss.kind


@by_name
def test_gradient_and_curvature_are_differences(loss, rng):
    y, f = targets(loss, 40, rng), predictions(loss, 40, rng)
    h = 1e-6
    columns = range(f.shape[1]) if f.ndim == 2 else [None]
    for c in columns:
        step = np.zeros_like(f)
        step[... if c is None else (slice(None), c)] = h
        pick = lambda a, c=c: a if c is None else a[:, c]
        slope = (loss.value(y, f + step) - loss.value(y, f - step)) / (2 * h)
        np.testing.assert_allclose(
            pick(loss.gradient(y, f)), slope, rtol=1e-6, atol=1e-7
        )
        up, down = loss.gradient(y, f + step), loss.gradient(y, f - step)
        bend = (pick(up) - pick(down)) / (2 * h)
        np.testing.assert_allclose(
            pick(loss.curvature(y, f)), bend, rtol=1e-5, atol=1e-6
        )
        assert np.all(pick(loss.curvature(y, f)) <= loss.lipschitz + 1e-12)


@by_name
def test_values_and_convexity(loss, rng):
    y = targets(loss, 50, rng)
    a, b = predictions(loss, 50, rng), predictions(loss, 50, rng)
    middle = loss.value(y, 0.3 * a + 0.7 * b)
    chord = 0.3 * loss.value(y, a) + 0.7 * loss.value(y, b)
    if loss.convex:
        assert np.all(middle <= chord + 1e-12)
    else:
        f = np.linspace(0.1 if loss.link.positive else -9, 9, 2001)
        values = loss.value(y[0] + 0 * f, f)
        assert np.any(values[1:-1] > (values[:-2] + values[2:]) / 2)


@by_name
@pytest.mark.parametrize("weighted", [False, True])
def test_constant_is_best(loss, weighted, rng):
    y = targets(loss, 31, rng)
    w = rng.integers(0, 4, size=31).astype(float) if weighted else None
    some = np.arange(31) if w is None else np.repeat(np.arange(31), w.astype(int))
    total = lambda c: np.sum(
        loss.value(y[some], np.broadcast_to(c, (len(some), *np.shape(c))))
    )
    c = loss.constant(y, w)
    best = total(c)
    for _ in range(30):
        for size in (1e-3, 0.1, 1.0):
            assert best <= total(c + size * rng.normal(size=np.shape(c))) + 1e-9
    if weighted:
        repeated = loss.constant(np.repeat(y, w.astype(int)))
        np.testing.assert_allclose(c, repeated, rtol=1e-12, atol=1e-12)


@compiled
def compiled_loss(kind, y, f, a):
    """Value, gradient and curvature by the loops that only loops call."""
    return (
        _pointwise.loss_value(kind, y, f, a),
        _pointwise.loss_gradient(kind, y, f, a),
        _pointwise.loss_curvature(kind, y, f, a),
    )


@each_pointwise
def test_compiled_twin(loss, rng):
    y, f = targets(loss, 20, rng), 3 * predictions(loss, 20, rng)
    twins = [compiled_loss(loss.kind, yi, fi, loss.parameter) for yi, fi in zip(y, f)]
    for i, name in enumerate(("value", "gradient", "curvature")):
        twin = [t[i] for t in twins]
        ours = getattr(loss, name)(y, f)
        if loss.kind < 0:
            assert np.isnan(twin).all() or name == "curvature"
        else:
            np.testing.assert_allclose(ours, twin, rtol=1e-11, atol=1e-13)


@by_name
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_backends_agree(loss, library, rng):
    xp = pytest.importorskip(library)
    y, f = targets(loss, 12, rng), predictions(loss, 12, rng)
    for name in ("value", "gradient", "curvature"):
        ours = getattr(loss, name)(y, f)
        other = getattr(loss, name)(xp.asarray(y), xp.asarray(f))
        np.testing.assert_allclose(ours, np.asarray(other), rtol=1e-12, atol=1e-14)
    w = rng.uniform(size=12)
    c = loss.constant(xp.asarray(y), xp.asarray(w))
    np.testing.assert_allclose(loss.constant(y, w), np.asarray(c), rtol=1e-9, atol=1e-9)


@each_pointwise
def test_float32_stays(loss, rng):
    y, f = targets(loss, 5, rng).astype("f4"), predictions(loss, 5, rng).astype("f4")
    for name in ("value", "gradient", "curvature"):
        assert getattr(loss, name)(y, f).dtype == np.float32


def test_worked_numbers():
    z = np.array([-2.0, -1, 0, 0.5, 1, 2])
    one = np.ones(6)
    np.testing.assert_array_equal(losses.zero_one(one, z), [1, 1, 1, 0, 0, 0])
    np.testing.assert_allclose(losses.hinge.value(one, z), [3, 2, 1, 0.5, 0, 0])
    np.testing.assert_allclose(
        losses.logistic.value(np.ones(3), np.array([1.0, 0, -1])),
        [0.3132617, 0.6931472, 1.3132617],
        atol=1e-7,
    )
    X = np.array([[1.0, 1], [2, 1], [3, 1]])
    g = losses.squared.gradient(np.array([1.0, 2, 2]), np.zeros(3))
    np.testing.assert_array_equal(X.T @ g, [-22, -10])
    tube = losses.epsilon_insensitive(0.5)
    r = np.array([-1, -0.5, -0.2, 0, 0.5, 0.7, 2])
    np.testing.assert_allclose(
        tube.value(0 * r, r), [0.5, 0, 0, 0, 0, 0.2, 1.5], atol=1e-15
    )
    F = np.tile([1.0, 2.0, 3.0], (3, 1))
    for shift in (0.0, 1000.0):
        np.testing.assert_allclose(
            losses.softmax.value(np.arange(3), F + shift),
            [2.4076060, 1.4076060, 0.4076060],
            atol=1e-6,
        )


def test_multiclass_hinge_number():
    W, x = np.array([[1.0, 0], [0, 1], [-1, -1]]), np.array([2.0, 1.5])
    f, y = (W @ x)[None], np.array([0])
    np.testing.assert_allclose(losses.multiclass_hinge.value(y, f), [0.5])
    g = losses.multiclass_hinge.gradient(y, f).T @ x[None]
    np.testing.assert_allclose(g, [-x, x, 0 * x])


def test_finite_far_out():
    f = np.array([-1000.0, 1000.0])
    for name in ("value", "gradient", "curvature"):
        assert np.isfinite(getattr(losses.logistic, name)(np.array([1.0, 0]), f)).all()


def test_surrogates_bound_zero_one():
    z = np.linspace(-4, 4, 201)
    one = np.ones_like(z)
    base = losses.zero_one(one, z)
    assert np.all(losses.hinge.value(one, z) >= base)
    assert np.all(losses.exponential.value(one, z) >= base)
    assert np.all(losses.logistic.value(one, z) / math.log(2) >= base - 1e-15)


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


def test_soft_labels_mix_the_loss(rng):
    f, y = rng.normal(size=(4, 5)), rng.integers(0, 5, size=4)
    soft = losses.softmax.value(losses.smooth_labels(y, 5), f)
    even = losses.softmax.value(np.full((4, 5), 0.2), f)
    np.testing.assert_allclose(soft, 0.9 * losses.softmax.value(y, f) + 0.1 * even)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20), st.floats(0.05, 0.95))
def test_weighted_quantile_minimises_pinball(values, level):
    y = np.array(values)
    pinball = losses.quantile(level)
    cost = lambda c: pinball.value(y, np.full_like(y, c)).sum()
    c = float(weighted_quantile(y, None, level))
    assert cost(c) <= min(cost(v) for v in y) + 1e-9 * (1 + np.abs(y).sum())


def test_bad_parameters():
    for make in (
        lambda: losses.huber(0),
        lambda: losses.quantile(1.0),
        lambda: losses.epsilon_insensitive(-1),
        lambda: losses.get_loss("cubic"),
    ):
        with pytest.raises(ValueError, match=r"must be|no loss"):
            make()


@pytest.mark.parametrize("link", links.LINKS, ids=lambda link: link.name)
@pytest.mark.parametrize("library", [None, "torch", "array_api_strict"])
def test_links(link, library, rng):
    xp = pytest.importorskip(library) if library else np
    f = rng.normal(size=(6, 4))
    f -= f.mean(axis=1, keepdims=True)
    f = np.abs(f) + 0.5 if link.positive else f
    g = xp.asarray(f)
    np.testing.assert_allclose(np.asarray(link(link.inverse(g))), f, atol=1e-12)
    h = 1e-6
    for c in range(4):
        step = np.zeros_like(f)
        step[:, c] = h
        up, down = (
            link.inverse(xp.asarray(f + step)),
            link.inverse(xp.asarray(f - step)),
        )
        slope = (np.asarray(up) - np.asarray(down))[:, c] / (2 * h)
        np.testing.assert_allclose(np.asarray(link.slope(g))[:, c], slope, atol=1e-8)
    if link.bend is not None:
        rise = np.asarray(link.slope(xp.asarray(f + h)))
        fall = np.asarray(link.slope(xp.asarray(f - h)))
        bend = (rise - fall) / (2 * h)
        np.testing.assert_allclose(np.asarray(link.bend(g)), bend, atol=1e-8)
    if link.upper is not None:
        both = np.asarray(link.inverse(g)) + np.asarray(link.upper(g))
        np.testing.assert_allclose(both, 1, rtol=1e-14)
        assert float(link.upper(xp.asarray(20.0))) < 0.02
        far = np.asarray(link.upper(xp.asarray([8.0])))
        assert far[0] > 0 or link is links.cloglog


def test_link_numbers():
    s = links.sigmoid(np.array([-0.5, 1.5, -1000.0, 1000.0]))
    np.testing.assert_allclose(s, [0.3775406688, 0.8175744762, 0, 1], atol=1e-10)
    assert links.logit.slope(np.array(0.0)) == 0.25
    p = links.softmax(np.array([1.0, 2, 3]) + 1e4)
    np.testing.assert_allclose(p, [0.090031, 0.244728, 0.665241], atol=1e-6)

"""Every loss: derivatives, constants, convexity, backends, compiled twins, numbers."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import pansophy
from pansophy import links, losses
from pansophy.core.loops.compiled import compiled
from pansophy.ensemble import HistGradientBoostingRegressor
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


@pytest.mark.parametrize(
    "loss",
    [loss for loss in ALL if loss.domain == "real" and loss.link is links.identity],
    ids=lambda loss: loss.name,
)
def test_a_prediction_without_error(loss):
    """A subgradient of each, where signs of the error are 0."""
    y = np.array([-2.0, 0.0, 3.0])
    g = loss.gradient(y, y)
    lower, upper = (loss.gradient(y, y + d) for d in (-1e-9, 1e-9))
    assert np.all(lower <= g) and np.all(g <= upper)


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


@by_name
def test_pickles_copies_and_saves_as_the_call_that_makes_it(loss, rng, tmp_path):
    y, f = targets(loss, 12, rng), predictions(loss, 12, rng)
    pansophy.save({"loss": loss}, tmp_path / "loss")
    for other in (
        pickle.loads(pickle.dumps(loss)),
        copy.deepcopy(loss),
        pansophy.load(tmp_path / "loss")["loss"],
    ):
        assert (other.name, other.kind) == (loss.name, loss.kind)
        assert other.link is loss.link
        for name in ("value", "gradient", "curvature"):
            expected = getattr(loss, name)(y, f)
            np.testing.assert_array_equal(getattr(other, name)(y, f), expected)


@pytest.mark.parametrize("link", links.LINKS, ids=lambda link: link.name)
def test_links_pickle_as_themselves(link, tmp_path):
    assert pickle.loads(pickle.dumps(link)) is link
    pansophy.save({"link": link}, tmp_path / "link")
    assert pansophy.load(tmp_path / "link")["link"] is link


@pytest.mark.parametrize("name", ["gamma", "tweedie", "negative_binomial", "binomial"])
def test_families_pickle(name):
    family = get_family(name)
    other = pickle.loads(pickle.dumps(family))
    assert (other.name, other.code, other.parameter) == (
        family.name,
        family.code,
        family.parameter,
    )
    assert other.link is family.link


def test_a_copy_with_another_function_is_not_made_by_the_old_recipe():
    """It would come back as the loss that it was copied from."""
    steeper = dataclasses.replace(losses.huber(2.0), gradients=np.add)
    assert pickle.loads(pickle.dumps(steeper.gradients)) is np.add
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(steeper)  # its best constant is still a lambda of the package


def squared_values(y, f, a):
    return (f - y) ** 2


def squared_gradients(y, f, a):
    return 2 * (f - y)


def squared_curvatures(y, f, a):
    return 2 + 0 * f


def mean_of_targets(y, w, a):
    return np.average(y, weights=w)


def test_a_loss_of_ones_own_pickles_with_its_functions():
    own = own_loss(squared_values, squared_gradients, squared_curvatures)
    other = pickle.loads(pickle.dumps(own))
    assert other.values is squared_values
    assert other.link is links.identity


def own_loss(values, gradients, curvatures):
    return losses.Loss(
        "own", -1, "real", values, gradients, curvatures, mean_of_targets
    )


@pytest.mark.parametrize("loss", [losses.huber(2.0), losses.quantile(0.3)])
def test_models_with_a_loss_are_saved(loss, rng, tmp_path):
    X = rng.normal(size=(60, 3))
    model = HistGradientBoostingRegressor(loss=loss, max_iter=3).fit(X, X[:, 0])
    pansophy.save(model, tmp_path / "model")
    for other in (pickle.loads(pickle.dumps(model)), pansophy.load(tmp_path / "model")):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.loss.parameter == loss.parameter

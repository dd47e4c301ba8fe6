"""The rounds of boosting: gradients, leaves, the oracle, and what must never happen."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from pansophy import losses
from pansophy.core.arrays.weighted import weighted_quantile
from pansophy.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from pansophy.ensemble.boosting import _boosting as loops
from pansophy.ensemble.boosting import boosting
from tests.oracles import boosting as oracle

SMALL = {"max_leaf_nodes": 4, "min_samples_leaf": 2, "max_iter": 6}


def numbers(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32).astype(float)
    return X, X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.1 * rng.normal(size=n)


# -- gradients -------------------------------------------------------------------


@numba.njit
def call_exp_block(x, whole, e, n):
    """Only loops can call it."""
    loops.exp_block(x, whole, e, n)


def test_exponentials_are_exact_to_rounding():
    few = np.zeros(4)
    loops.logistic_gradients(few, few, np.empty(0), False, 0, 4, few.copy(), few.copy())
    x = np.linspace(-708, 709, 4001)
    e = np.empty_like(x)
    call_exp_block(x, np.empty(len(x), np.int64), e, len(x))
    assert np.max(np.abs(e / np.exp(x) - 1)) < 5e-16


POINTWISE = [x for x in losses.LOSSES if x.kind not in boosting.MULTICLASS_KINDS]


@pytest.mark.parametrize("loss", POINTWISE, ids=lambda x: x.name)
@pytest.mark.parametrize("weigh", [False, True])
def test_gradients_are_those_of_the_loss(loss, weigh):
    rng = np.random.default_rng(1)
    n = 700
    y = rng.uniform(0.1, 0.9, n)
    if loss.domain == "sign":
        y = np.sign(y - 0.5)
    f, w = rng.normal(size=(1, n)), rng.uniform(0.5, 2, n) if weigh else None
    G, H = boosting.allocate_gradients(loss, 1, n)
    total = boosting.compute_gradients(loss, y, f, w, True, G, H)
    u = np.ones(n) if w is None else w
    np.testing.assert_allclose(G[0], -u * loss.gradient(y, f[0]), rtol=1e-12)
    np.testing.assert_allclose(total, np.sum(u * loss.value(y, f[0])), rtol=1e-12)
    if boosting.uses_curvature(loss):
        h = np.maximum(loss.curvature(y, f[0]), 0)
        np.testing.assert_allclose(H[0], u * h, rtol=1e-12)


@pytest.mark.parametrize("weigh", [False, True])
@pytest.mark.parametrize("K", [3, 40])
def test_softmax_gradients(weigh, K):
    rng = np.random.default_rng(2)
    n = 600
    y, f = rng.integers(0, K, n).astype(np.int32), 3 * rng.normal(size=(K, n))
    w = rng.uniform(0.5, 2, n) if weigh else None
    G, H = boosting.allocate_gradients(losses.softmax, K, n)
    total = boosting.compute_gradients(losses.softmax, y, f, w, True, G, H)
    u = np.ones(n) if w is None else w
    p = np.exp(f - logsumexp(f, axis=0))
    hot = y == np.arange(K)[:, None]
    np.testing.assert_allclose(G, u * (hot - p), atol=1e-12)
    np.testing.assert_allclose(H, u * p * (1 - p), atol=1e-12)
    each = logsumexp(f, axis=0) - f[y, np.arange(n)]
    np.testing.assert_allclose(total, np.sum(u * each), rtol=1e-12)


def test_a_loss_without_loops_goes_by_arrays():
    rng = np.random.default_rng(3)
    y, f = np.where(rng.random(50) < 0.5, 0.0, 1.0), rng.normal(size=(1, 50))
    loss = losses.class_weighted_loss(losses.logistic, positive=2.0)
    G, H = boosting.allocate_gradients(loss, 1, 50)
    total = boosting.compute_gradients(loss, y, f, None, True, G, H)
    np.testing.assert_allclose(G[0], -loss.gradient(y, f[0]))
    np.testing.assert_allclose(H[0], loss.curvature(y, f[0]))
    np.testing.assert_allclose(total, loss.value(y, f[0]).sum())


def leaf_quantile(r, w, level):
    """The value of a tree of one leaf whose residuals are r."""
    rows = np.arange(len(r), dtype=np.int32)
    ends = np.array([0]), np.array([len(r)])
    nodes = loops.NodeRows(rows, *ends, np.array([-1]), False)
    value = np.zeros(1)
    f = np.zeros(len(r))
    loops.quantile_leaf_values(nodes, r, f, w, level, 0.0, 0, 1, value)
    return value[0]


@given(st.integers(1, 30), st.integers(0, 1000), st.sampled_from([0.1, 0.25, 0.5, 0.9]))
@settings(max_examples=40, deadline=None)
def test_quantiles_of_leaves(n, seed, level):
    rng = np.random.default_rng(seed)
    r, w = rng.integers(-5, 6, n).astype(float), rng.integers(1, 4, n).astype(float)
    assert leaf_quantile(r, np.empty(0), level) == weighted_quantile(r, None, level)
    weighted = leaf_quantile(r, w, level)
    assert weighted == weighted_quantile(r, w, level)
    repeated = np.repeat(r, w.astype(int))
    assert weighted == leaf_quantile(repeated, np.empty(0), level)


# -- the oracle ------------------------------------------------------------------


@pytest.mark.parametrize("l2", [0.0, 2.0])
@pytest.mark.parametrize("name", ["squared_error", "poisson"])
def test_numbers_agree_with_the_oracle(name, l2):
    X, y = numbers()
    y = np.floor(np.exp(y / 2)) if name == "poisson" else y
    model = HistGradientBoostingRegressor(name, l2_regularization=l2, **SMALL)
    model.fit(X, y)
    slow = oracle.boost(name, X, y, rounds=6, l2=l2, min_leaf=2)
    fast = np.array([raw[:, 0] for raw in model._staged_raw(X)])
    np.testing.assert_allclose(fast, slow, rtol=1e-6, atol=1e-7)


def test_weights_agree_with_the_oracle():
    X, y = numbers(40)
    w = np.random.default_rng(5).uniform(0.5, 2, 40)
    model = HistGradientBoostingRegressor(**SMALL).fit(X, y, w)
    slow = oracle.boost("squared_error", X, y, w, rounds=6, min_leaf=2)
    np.testing.assert_allclose(model.predict(X), slow[-1], rtol=1e-6, atol=1e-7)


def test_two_classes_agree_with_the_oracle():
    X, y = numbers()
    y = (y > np.median(y)).astype(float)
    model = HistGradientBoostingClassifier(**SMALL).fit(X, y)
    slow = oracle.boost("logistic", X, y, rounds=6, min_leaf=2)
    np.testing.assert_allclose(model.decision_function(X), slow[-1], rtol=1e-6)


def test_three_classes_agree_with_the_oracle():
    X, y = numbers()
    y = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    model = HistGradientBoostingClassifier(**{**SMALL, "max_iter": 2}).fit(X, y)
    f = np.tile(model.baseline_, (len(X), 1))
    for _ in range(2):
        f = oracle.softmax_round(X, y, f, 0.1, 4, 2)
    np.testing.assert_allclose(model.decision_function(X), f, rtol=1e-6, atol=1e-7)


# -- what must hold --------------------------------------------------------------

NAMES = ["squared_error", "absolute_error", "huber", "poisson", "gamma", "tweedie"]


@pytest.mark.parametrize("loss", [*NAMES, losses.epsilon_insensitive(0.05)], ids=str)
def test_training_loss_never_rises(loss):
    X, y = numbers(300)
    y = np.exp(y / 4) if loss in ("poisson", "gamma", "tweedie") else y
    model = HistGradientBoostingRegressor(loss, learning_rate=0.05, max_iter=60)
    fall = np.diff(model.fit(X, y).history_["objective"])
    assert len(fall) == 59
    assert np.all(fall <= 1e-12)


@pytest.mark.parametrize("classes", [2, 4])
def test_training_log_loss_never_rises(classes):
    X, y = numbers(300)
    y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    model = HistGradientBoostingClassifier(max_iter=40).fit(X, y)
    assert np.all(np.diff(model.history_["objective"]) < 0)


@given(st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_weights_are_repetitions(seed):
    rng = np.random.default_rng(seed)
    X, y = numbers(50, 3, seed)
    k = rng.integers(0, 4, 50)
    k[:2] = 1
    options = {"min_samples_leaf": 1, "max_iter": 8, "max_leaf_nodes": 6}
    a = HistGradientBoostingRegressor(**options).fit(X, y, k)
    b = HistGradientBoostingRegressor(**options).fit(
        np.repeat(X, k, 0), np.repeat(y, k)
    )
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "huber"])
def test_weights_are_repetitions_with_kinks(loss):
    X, y = numbers(50, 3, 1)
    k = np.random.default_rng(0).integers(1, 4, 50)
    options = {"min_samples_leaf": 1, "max_iter": 8, "quantile": 0.8}
    a = HistGradientBoostingRegressor(loss, **options).fit(X, y, k)
    b = HistGradientBoostingRegressor(loss, **options)
    b.fit(np.repeat(X, k, 0), np.repeat(y, k))
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-7, atol=1e-8)


def test_threads_change_nothing():
    from pansophy.core.loops import threads

    X, y = numbers(3000, 12)
    codes = np.digitize(y, np.quantile(y, [0.2, 0.5, 0.8]))
    fit = lambda: HistGradientBoostingClassifier(max_iter=5).fit(X, codes)
    wide = fit().decision_function(X)
    with threads.limit_threads(1):
        narrow = fit().decision_function(X)
    np.testing.assert_array_equal(wide, narrow)


def test_training_predictions_are_those_of_the_trees():
    X, y = numbers(500)
    model = HistGradientBoostingRegressor(max_iter=30).fit(X, y)
    mean = np.mean((model.predict(X) - y) ** 2) / 2
    np.testing.assert_allclose(mean, model.history_["objective"][-1], rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [losses.half_squared, losses.logistic])
def test_losses_do_not_depend_on_where_arrays_lie(loss, weighted, rng):
    """Neighbours in memory, as small arrays often are, and arrays far apart."""
    n = 90
    values = [rng.integers(0, 2, n) * 1.0, rng.normal(size=n), rng.uniform(0.5, 2, n)]

    def total(gap, order):
        memory = np.zeros(5 * (n + gap))
        places = [memory[k * (n + gap) :][:n] for k in order]
        for place, value in zip(places, values):
            place[:] = value
        y, f, w, G, H = places
        v = w if weighted else None
        return boosting.compute_gradients(
            loss, y, f[None], v, weighted, G[None], H[None]
        )

    orders = [(0, 1, 2, 3, 4), (1, 2, 0, 4, 3), (2, 0, 1, 3, 4), (4, 3, 2, 1, 0)]
    found = {total(gap, order) for gap in (2, 4000) for order in orders}
    assert len(found) == 1

"""Perceptron: worked numbers, mistake bound, variants, several classes."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pansophy.linear_model import Perceptron
from pansophy.linear_model.classifiers.perceptron import PlainPasses
from pansophy.optim import mistake_driven
from pansophy.params import ParameterError
from tests.oracles import perceptron as oracle

POINTS = np.array([[2.0, 1.0], [1.0, 3.0], [1.0, -1.0], [-1.0, 0.5]])
SIGNS = np.array([1, 1, -1, -1])
CORNERS = np.array([[1.0, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]])


def cloud(n=80, d=4, gap=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4 * n, d))
    f = X @ np.linspace(1, -1, d)
    keep = np.abs(f) > gap
    return X[keep][:n], np.sign(f[keep][:n])


def test_three_mistakes():
    A = np.column_stack([np.ones(4), POINTS])
    met = []

    def learn(w, i):
        if SIGNS[i] * (w @ A[i]) > 0:
            return None
        met.append(w + SIGNS[i] * A[i])
        return met[-1]

    run = mistake_driven(learn, np.zeros(3), 4)
    np.testing.assert_allclose(met, [[1, 2, 1], [0, 1, 2], [-1, 2, 1.5]])
    assert run.state.mistakes == 3 and run.n_iter == 2 and run.converged
    model = Perceptron(shuffle=False).fit(POINTS, SIGNS)
    np.testing.assert_allclose(model.coef_, [[2, 1.5]])
    np.testing.assert_allclose(model.intercept_, [-1])
    assert model.n_mistakes_ == 3 <= model.mistake_bound_ and model.n_iter_ == 2


def zero_one(y):
    """The rule with outputs 0 and 1, and 0 at a score of 0."""
    return lambda w, i: (
        None
        if (w @ CORNERS[i] > 0) == y[i]
        else w + (y[i] - float(w @ CORNERS[i] > 0)) * CORNERS[i]
    )


@pytest.mark.parametrize(
    ("y", "w", "updates", "passes"),
    [([0, 0, 0, 1], [-2, 2, 1], 10, 6), ([0, 1, 1, 1], [0, 1, 1], 4, 4)],
)
def test_and_or_or(y, w, updates, passes):
    run = mistake_driven(zero_one(y), np.zeros(3), 4)
    np.testing.assert_allclose(run.state.model, w)
    assert run.state.mistakes == updates and run.n_iter == passes


def test_xor_never():
    run = mistake_driven(zero_one([0, 1, 1, 0]), np.zeros(3), 4, max_iter=200)
    assert run.reason == "max_iter" and run.history["objective"].min() > 0
    with pytest.warns(ConvergenceWarning, match="each of 200 passes"):
        model = Perceptron(tol=None, max_iter=200).fit(CORNERS[:, 1:], [0, 1, 1, 0])
    assert np.isnan(model.mistake_bound_) and model.n_iter_ == 200


def test_a_plane_that_is_no_better_than_a_constant_is_told(rng):
    """XOR, of four rows or of many: no plane helps. Overlapping classes say nothing."""
    with pytest.warns(ConvergenceWarning, match="no better than .* variant='pocket'"):
        Perceptron().fit(CORNERS[:, 1:], [0, 1, 1, 0])
    X = rng.normal(size=(300, 2))
    z = X[:, 0] + 0.5 * rng.normal(size=300) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Perceptron().fit(X, z)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    X = np.vstack([X, X * [1, -1]])  # exactly as many of each class
    y = np.append(y, 1 - y)
    model = Perceptron(fit_intercept=False)
    with pytest.warns(ConvergenceWarning, match="no better than"):
        model.fit(np.vstack([X, -X]), np.append(y, y))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 1.0), st.floats(0.01, 100.0))
def test_mistakes_stay_below_the_bound(seed, gap, eta):
    X, y = cloud(gap=gap, seed=seed)
    model = Perceptron(tol=None, max_iter=10**5, eta0=eta, random_state=seed).fit(X, y)
    assert model.score(X, y) == 1 and model.n_mistakes_ <= model.mistake_bound_
    A = np.column_stack([X, np.ones(len(X))])
    w = np.append(np.linspace(1, -1, 4), 0.0)
    gamma = np.min(y * (A @ w)) / np.linalg.norm(w)
    assert model.n_mistakes_ <= (np.linalg.norm(A, axis=1).max() / gamma) ** 2


def test_step_length_changes_no_prediction():
    X, y = cloud()
    models = [Perceptron(eta0=e, tol=None).fit(X, y) for e in (0.25, 1.0, 8.0)]
    for model in models:
        np.testing.assert_allclose(model.coef_ / model.eta0, models[1].coef_)


@pytest.mark.parametrize("sparse", [False, True])
def test_plain_and_averaged_against_the_oracle(sparse):
    X, y = cloud(gap=0.0)
    y[::9] *= -1
    rows = sp.csr_matrix(X) if sparse else X
    for variant in ("plain", "averaged"):
        model = Perceptron(variant=variant, shuffle=False, tol=None, max_iter=7)
        model.fit(rows, y)
        w, b, found = oracle.binary(X, y, passes=7, average=variant == "averaged")
        np.testing.assert_allclose(model.coef_, [w], rtol=1e-10)
        np.testing.assert_allclose(model.intercept_, [b], rtol=1e-10, atol=1e-12)
        assert model.n_mistakes_ == found


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("variant", ["plain", "averaged"])
def test_competing_classes_against_the_oracle(variant, sparse):
    X, _ = cloud(gap=0.0)
    y = np.argmax(X[:, :3] + 0.2 * X[:, [3]], axis=1)
    y[::11] = 0
    model = Perceptron(variant=variant, multi_class="multinomial", shuffle=False)
    model.set_params(tol=None, max_iter=6).fit(sp.csr_matrix(X) if sparse else X, y)
    W, b, found = oracle.multiclass(X, y, 3, passes=6, average=variant == "averaged")
    np.testing.assert_allclose(model.coef_, W, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, b, rtol=1e-9, atol=1e-12)
    assert model.n_mistakes_ == found
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-9)


def test_competing_classes_that_separate():
    X, _ = cloud(n=150)
    centers = 6 * np.eye(4)[:3]
    y = np.arange(len(X)) % 3
    X = X + centers[y]
    model = Perceptron(multi_class="multinomial", tol=None).fit(X, y)
    assert model.score(X, y) == 1 and model.n_mistakes_ <= model.mistake_bound_
    ovr = Perceptron(tol=None, max_iter=20_000).fit(X, y)
    assert ovr.mistake_bound_.shape == ovr.n_mistakes_.shape == (3,)
    good = np.isfinite(ovr.mistake_bound_)
    assert good.any() and np.all(ovr.n_mistakes_[good] <= ovr.mistake_bound_[good])


@pytest.mark.parametrize("multi_class", ["ovr", "multinomial"])
def test_pocket_keeps_the_better_weights(multi_class):
    X, y = cloud(n=120, gap=0.0, seed=3)
    y = np.digitize(X[:, 0], [-0.5, 0.5]) if multi_class == "multinomial" else y
    y = y.copy()
    y[::6] = y[::-6][: len(y[::6])]
    how = {"tol": None, "max_iter": 40, "multi_class": multi_class}
    plain = Perceptron(**how).fit(X, y)
    pocket = Perceptron(variant="pocket", **how).fit(X, y)
    assert pocket.score(X, y) >= plain.score(X, y)
    assert pocket.score(X, y) > 0.6


def test_pocket_in_order_finds_what_it_passed_through():
    X, y = cloud(n=40, gap=0.0, seed=5)
    y = y.copy()
    y[::7] *= -1
    model = Perceptron(variant="pocket", shuffle=False, tol=None, max_iter=30).fit(X, y)
    errors = np.sum(model.predict(X) != y)
    assert oracle.fewest_errors(X, y, list(range(len(y))) * 30) <= errors <= 12


def test_numbers_of_scikit_learn():
    X, y = cloud(gap=0.0)
    y[::5] *= -1
    w = np.linspace(0, 2, len(y))
    how = {"shuffle": False, "max_iter": 5, "tol": None}
    for more in ({}, {"penalty": "l2"}, {"penalty": "l1", "alpha": 0.01}):
        ours = Perceptron(**how, **more).fit(X, y, sample_weight=w)
        theirs = peer.Perceptron(**how, **more).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8)


@pytest.mark.parametrize("variant", ["plain", "averaged"])
def test_chunks_in_order_are_one_pass(variant):
    X, y = cloud(gap=0.0)
    whole = Perceptron(variant=variant, shuffle=False, max_iter=1, tol=None).fit(X, y)
    parts = Perceptron(variant=variant, shuffle=False)
    for rows in np.array_split(np.arange(len(X)), 6):
        parts.partial_fit(X[rows], y[rows], classes=[-1, 1])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-12)
    with pytest.raises(ParameterError, match="partial_fit goes with"):
        Perceptron(variant="pocket").partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ParameterError, match="neither penalty"):
        Perceptron(variant="pocket", penalty="l2").fit(X, y)


def test_weighted_pocket_and_float32():
    X, y = cloud(gap=0.0)
    y[::5] *= -1
    heavy = np.where(y > 0, 50.0, 1.0)
    how = {"variant": "pocket", "tol": None, "max_iter": 50}
    model = Perceptron(**how).fit(X, y, sample_weight=heavy)
    same = Perceptron(class_weight={1: 50.0}, **how).fit(X, y)
    np.testing.assert_allclose(model.coef_, same.coef_)
    light = Perceptron(**how).fit(X, y)
    loss = lambda m: heavy @ (m.predict(X) != y)
    assert loss(model) <= loss(light)
    for variant in ("plain", "averaged", "pocket"):
        small = Perceptron(variant=variant).fit(X.astype(np.float32), y)
        assert small.coef_.dtype == np.float32


LOGIC = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_the_sign_of_zero_is_a_choice(make):
    X = make(LOGIC)
    options = {"shuffle": False, "tol": None}
    # labels 0 and 1 with sign(0) = 0, a score of 0 being class 0
    model = Perceptron(sign_of_zero=-1, **options).fit(X, [0, 0, 0, 1])
    assert (model.intercept_[0], *model.coef_[0]) == (-2, 2, 1)
    assert (model.n_iter_, model.n_mistakes_) == (6, 10)
    model = Perceptron(sign_of_zero=-1, **options).fit(X, [0, 1, 1, 1])
    assert (model.intercept_[0], *model.coef_[0]) == (0, 1, 1)
    assert (model.n_iter_, model.n_mistakes_) == (4, 4)
    # signs with sign(0) = +1, where eta (t - sign) is 2 eta t: eta = .5 is eta0 = 1
    model = Perceptron(sign_of_zero=1, **options).fit(X, [-1, -1, -1, 1])
    assert (model.intercept_[0], *model.coef_[0]) == (-3, 2, 1)
    assert model.n_iter_ == 6
    batch = Perceptron(sign_of_zero=1, batch_size="all", **options)
    batch.fit(X, [-1, -1, -1, 1])
    assert model.score(X, [-1, -1, -1, 1]) == batch.score(X, [-1, -1, -1, 1]) == 1
    assert (batch.intercept_[0], *batch.coef_[0]) == (-2, 1, 1)
    assert batch.n_iter_ == 6  # five updates and a pass without mistakes
    pocket = Perceptron(sign_of_zero=1, variant="pocket", **options)
    assert pocket.fit(X, [-1, -1, -1, 1]).score(X, [-1, -1, -1, 1]) == 1


def test_batches_of_one_are_the_incremental_rule(rng):
    X = rng.normal(size=(60, 4))
    y = rng.integers(0, 3, size=60)
    w = rng.uniform(0.5, 2, size=60)
    options = {"shuffle": False, "max_iter": 3, "tol": None}
    model = Perceptron(sign_of_zero=1, **options).fit(X, y, sample_weight=w)
    plain = PlainPasses(model, X, y, w, np.ones(3))
    plain.batch_size = 2
    W, b = np.zeros((3, 4)), np.zeros(3)
    for i in range(0, 60, 2):
        rows = np.arange(i, i + 2)
        for c in range(3):
            sign = np.where(y[rows] == c, 1.0, -1.0)
            f = X[rows] @ W[c] + b[c]
            step = sign * w[rows] * (np.where(f >= 0, 1, -1) != sign)
            W[c], b[c] = W[c] + step @ X[rows], b[c] + step.sum()
    model = plain.start(np.zeros((3, 4)), np.zeros(3))
    plain.one_pass(np.arange(60, dtype=np.int32), model)
    np.testing.assert_allclose(model[0], W)
    np.testing.assert_allclose(model[1], b)
    plain.batch_size = 1
    compiled = plain.start(np.zeros((3, 4)), np.zeros(3))
    order = np.arange(60, dtype=np.int32)
    plain.one_pass(order, compiled)
    for c in range(3):
        w, b = np.zeros(4), np.zeros(1)
        plain.batches(c, order, w, b)
        np.testing.assert_allclose(compiled[0][c], w, atol=1e-12)
        np.testing.assert_allclose(compiled[1][c], b[0], atol=1e-12)


def test_passes_without_end_are_capped_with_a_warning():
    for y in ([0, 1, 1, 0], [1, 0, 0, 1]):
        for options in ({}, {"sign_of_zero": 1}, {"batch_size": "all"}):
            model = Perceptron(tol=None, **options)
            with pytest.warns(ConvergenceWarning, match="not be linearly separable"):
                model.fit(LOGIC, y)
            assert model.n_iter_ == 1000 and not model.converged_
        Perceptron(tol=None, max_iter=7).fit(LOGIC, y)  # seven passes were asked for
    with pytest.raises(ValueError, match="sign_of_zero"):
        Perceptron(sign_of_zero=1, variant="averaged").fit(LOGIC, [0, 0, 0, 1])
    with pytest.raises(ValueError, match="batch_size"):
        Perceptron(batch_size=2, variant="pocket").fit(LOGIC, [0, 0, 0, 1])

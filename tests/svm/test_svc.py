"""Kernel support vector classifiers: worked examples, traps, parity with libsvm."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import svm as libsvm
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning

from pansophy import kernels
from pansophy.base import InterruptedFitWarning
from pansophy.svm import SVC, LinearSVC
from tests.svm.samples import blobs

W18 = np.array([[2.0, 2], [3, 3], [0, 0], [1, 0]])
W18_SIGN = np.array([1, 1, -1, -1])
XOR = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]])


def hard_margin(X, y):
    return SVC(kernel="linear", C=np.inf).fit(X, y)


def multipliers(model, n):
    a = np.zeros(n)
    a[model.support_] = np.abs(model.dual_coef_[0])
    return a


# -- worked examples ----------------------------------------------------------------


def test_worked_hard_margin():
    model = hard_margin(W18, W18_SIGN)
    np.testing.assert_allclose(model.coef_, [[0.4, 0.8]], atol=1e-12)
    np.testing.assert_allclose(model.intercept_, [-1.4], atol=1e-12)
    np.testing.assert_allclose(multipliers(model, 4), [0.4, 0, 0, 0.4], atol=1e-12)
    assert 2 / np.linalg.norm(model.coef_) == pytest.approx(2.2360680, abs=5e-8)
    assert -model.dual_objective_[0] == pytest.approx(0.4, abs=1e-12)
    assert 0.5 * (model.coef_**2).sum() == pytest.approx(0.4, abs=1e-12)


def test_two_further_hard_margins():
    model = hard_margin([[2.0, 2], [3, 3], [0, 0], [-1, 0]], W18_SIGN)
    np.testing.assert_allclose(model.coef_, [[0.5, 0.5]], atol=1e-12)
    np.testing.assert_allclose(model.intercept_, [-1.0], atol=1e-12)
    np.testing.assert_allclose(multipliers(model, 4), [0.25, 0, 0.25, 0], atol=1e-12)
    model = hard_margin([[1.0, 1], [2, 2], [0, 0]], [1, 1, -1])
    np.testing.assert_allclose(model.coef_, [[1.0, 1.0]], atol=1e-12)
    assert sorted(model.support_) == [0, 2]
    # width 2 / |w| = 1.414214, half of it to either side
    assert 2 / np.linalg.norm(model.coef_) == pytest.approx(1.414214, abs=5e-7)
    model = hard_margin([[-1.0, 0], [1, 0]], [-1, 1])
    np.testing.assert_allclose(model.coef_, [[1.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(multipliers(model, 2), [0.5, 0.5], atol=1e-12)


def test_worked_soft_margin():
    X = np.vstack([W18, [[2.5, 2.0]]])
    y = np.append(W18_SIGN, -1)
    model = SVC(kernel="linear", C=2.0).fit(X, y)  # C = 1 / (n lambda), lambda = 0.1
    np.testing.assert_allclose(model.coef_, [[-1 / 6, 5 / 6]], atol=1e-10)
    np.testing.assert_allclose(model.intercept_, [-1.0], atol=1e-10)
    slack = np.maximum(0, 1 - y * model.decision_function(X))
    np.testing.assert_allclose(slack, [2 / 3, 0, 0, 0, 1.25], atol=1e-10)
    primal = 0.05 * (model.coef_**2).sum() + slack.mean()
    assert primal == pytest.approx(0.41944444, abs=5e-9)
    assert -0.1 * model.dual_objective_[0] == pytest.approx(primal, abs=1e-10)


@pytest.mark.parametrize(
    ("C", "a"),
    [
        (1.0, [0.388889, 1, 0.388889, 0, 1]),
        (10.0, [1.888889, 10, 1.888889, 0, 10]),
    ],
)
def test_worked_machine_of_one_column(C, a):
    X = np.array([[-2.0], [-1], [1], [2], [-1.5]])
    y = np.array([-1, -1, 1, 1, 1])
    model = SVC(kernel="linear", C=C).fit(X, y)
    np.testing.assert_allclose(multipliers(model, 5), a, atol=5e-7)
    np.testing.assert_allclose(model.coef_, [[2 / 3]], atol=1e-10)
    np.testing.assert_allclose(model.intercept_, [1 / 3], atol=1e-10)


def test_no_free_vector_takes_the_middle():
    X = np.array([[-2.0], [-1], [1], [2], [-1.5]])
    model = SVC(kernel="linear", C=0.1).fit(X, [-1, -1, 1, 1, 1])
    np.testing.assert_allclose(model.coef_, [[0.25]], atol=1e-12)
    np.testing.assert_allclose(model.intercept_, [0.625], atol=1e-12)  # of [.5, .75]


def test_worked_xor():
    model = SVC(kernel="poly", degree=2, gamma=1, coef0=1, C=10).fit(
        XOR, [-1, -1, 1, 1]
    )
    np.testing.assert_allclose(multipliers(model, 4), np.full(4, 1 / 8), atol=1e-12)
    np.testing.assert_allclose(model.intercept_, [0.0], atol=1e-12)
    np.testing.assert_allclose(model.decision_function(XOR), [-1, -1, 1, 1], atol=1e-12)


# -- properties ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [np.array([[0.0], [1], [2], [3]]), np.array([[0.0, 1], [0, 1], [1, 1], [2, 0]])],
)
def test_a_hard_margin_that_does_not_exist_is_refused(X):
    with pytest.raises(ValueError, match="not separable"):
        hard_margin(X, [0, 1, 0, 1])


def test_overlapping_classes_have_no_hard_margin():
    X, y = blobs(200, spread=3.0)
    with pytest.raises(ValueError, match="not separable"):
        hard_margin(X, y)
    assert SVC(C=np.inf).fit(X, y).score(X, y) == 1.0  # separable by the RBF kernel


def test_rows_that_are_no_support_vectors_do_not_matter():
    X, y = blobs(150, seed=1)
    model = SVC(C=2.0, gamma=0.2).fit(X, y)
    again = SVC(C=2.0, gamma=0.2).fit(X[model.support_], y[model.support_])
    assert len(model.support_) < 150
    np.testing.assert_allclose(
        model.decision_function(X), again.decision_function(X), atol=1e-8
    )
    sign = np.where(y == 1, 1, -1)
    a = multipliers(model, 150)
    margin = sign * model.decision_function(X)
    assert (margin[a > 0] <= 1 + 1e-9).all()
    assert (margin[a == 0] >= 1 - 1e-9).all()


def test_the_linear_kernel_is_the_linear_machine():
    X, y = blobs(200, seed=2)
    model = SVC(kernel="linear").fit(X, y)
    linear = LinearSVC(loss="hinge", intercept_scaling=100.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, linear.coef_, atol=2e-4)
    np.testing.assert_allclose(
        model.decision_function(X), X @ model.coef_[0] + model.intercept_, atol=1e-10
    )


def test_classes_and_rows_in_another_order():
    X, y = blobs(120, seed=4)
    order = np.random.default_rng(0).permutation(120)
    model = SVC().fit(X, y)
    shuffled = SVC().fit(X[order], y[order])
    swapped = SVC().fit(X, 1 - y)
    f = model.decision_function(X)
    np.testing.assert_allclose(shuffled.decision_function(X), f, atol=1e-9)
    np.testing.assert_allclose(swapped.decision_function(X), -f, atol=1e-9)
    X, y = blobs(150, k=3, seed=5)
    names = np.array(["c", "a", "b"])
    model = SVC(decision_function_shape="ovr").fit(X, y)
    named = SVC(decision_function_shape="ovr").fit(X, names[y])
    assert (named.predict(X) == names[model.predict(X)]).all()
    np.testing.assert_allclose(
        named.decision_function(X)[:, [2, 0, 1]], model.decision_function(X), atol=1e-8
    )


def test_duplicates_with_other_labels_and_constant_columns():
    X, y = blobs(60, seed=6)
    X = np.vstack([X, X[:20]])
    X[:, 1] = 7.0
    y = np.append(y, 1 - y[:20])
    for kernel in ("rbf", "linear"):
        ours = SVC(kernel=kernel, C=5.0).fit(X, y)
        theirs = libsvm.SVC(kernel=kernel, C=5.0, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(
            ours.decision_function(X), theirs.decision_function(X), atol=2e-4
        )
    same = np.ones((4, 2))
    f = SVC().fit(same, [0, 0, 0, 1]).decision_function(same)
    assert (f < 0).all()


def test_gamma_counts_rows_by_weight():
    X, y = blobs(80, seed=7)
    w = np.random.default_rng(0).integers(0, 3, 80).astype(float)
    weighted = SVC().fit(X, y, sample_weight=w)
    index = np.repeat(np.arange(80), w.astype(int))
    repeated = SVC().fit(X[index], y[index])
    assert weighted._gamma == pytest.approx(repeated._gamma, rel=1e-12)
    assert SVC().fit(sp.csr_array(X), y)._gamma == pytest.approx(1 / (4 * X.var()))
    assert SVC(gamma="auto").fit(X, y)._gamma == 0.25
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-8
    )
    kept = w > 0
    without = SVC().fit(X[kept], y[kept], sample_weight=w[kept])
    np.testing.assert_allclose(
        weighted.decision_function(X), without.decision_function(X), atol=1e-8
    )
    with pytest.raises(ValueError, match="zero or negative"):
        SVC().fit(X, y, sample_weight=np.zeros(80))
    with pytest.raises(ValueError, match="same class"):
        SVC().fit(X, y, sample_weight=(y == 1).astype(float))


# -- parity -------------------------------------------------------------------------


def primal(model, X, y, C, K):
    """The primal objective of a binary machine, from its own decision values."""
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    f = model.decision_function(X)
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[0]
    return 0.5 * a @ K @ a + C * np.maximum(0, 1 - sign * f).sum()


def dual_of(model, y, K):
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[0]
    return 0.5 * a @ K @ a - np.abs(a).sum()


def data_sets():
    cancer = load_breast_cancer(return_X_y=True)
    X, y = cancer
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    digits, number = load_digits(return_X_y=True)
    iris, kind = load_iris(return_X_y=True)
    moons = make_moons(300, noise=0.3, random_state=0)
    rng = np.random.default_rng(0)
    unscaled = blobs(200, seed=9)[0] * [1.0, 1e3, 1e-3, 10.0], blobs(200, seed=9)[1]
    return {
        "cancer": (scaled, y, {"C": 1.0}),
        "cancer, C=1e5": (scaled, y, {"C": 1e5}),
        "cancer, raw columns": (X, y, {"C": 10.0}),
        "digits": (digits[:600], number[:600] % 2, {"C": 1.0}),
        "iris": (iris[50:], kind[50:], {"C": 100.0, "kernel": "linear"}),
        "moons": (*moons, {"C": 1.0, "gamma": 2.0}),
        "moons, C=1e5": (*moons, {"C": 1e5, "gamma": 2.0}),
        "unscaled": (*unscaled, {"C": 10.0, "gamma": 1e-3}),
        "polynomial": (*blobs(200, seed=10), {"kernel": "poly", "coef0": 1.0}),
        "noise": (rng.normal(size=(150, 5)), rng.integers(0, 2, 150), {"C": 0.1}),
    }


@pytest.mark.filterwarnings("ignore:columns of X differ")
@pytest.mark.parametrize("name", list(data_sets()))
def test_objective_as_libsvm(name):
    X, y, options = data_sets()[name]
    ours = SVC(**options).fit(X, y)
    gamma = ours._gamma
    theirs = libsvm.SVC(**{**options, "gamma": gamma}, tol=1e-5).fit(X, y)
    kernel = options.get("kernel", "rbf")
    known = {"rbf": {"gamma": gamma}, "linear": {}}
    poly = {"gamma": gamma, "degree": 3, "coef0": options.get("coef0", 0.0)}
    from sklearn.metrics.pairwise import pairwise_kernels

    K = pairwise_kernels(X, metric=kernel, **known.get(kernel, poly))
    mine, other = dual_of(ours, y, K), dual_of(theirs, y, K)
    assert mine <= other + 1e-6 * abs(other)
    # libsvm keeps kernel rows in float32, which costs it 2e-6 of the second C=1e5
    assert mine == pytest.approx(other, rel=5e-6 if name == "moons, C=1e5" else 1e-6)
    assert ours.dual_objective_[0] == pytest.approx(mine, rel=1e-9)
    # a duality gap of rounding error proves the optimum, whatever libsvm says
    gap = primal(ours, X, y, options.get("C", 1.0), K) + mine
    assert 0 <= gap + 1e-9 * abs(mine) <= 1e-8 * abs(mine)
    if name == "moons, C=1e5":  # so that the lower one of the two is the optimum
        assert mine < other


@pytest.mark.filterwarnings("ignore:columns of X differ")
def test_weights_of_classes_as_libsvm():
    X, y = blobs(150, k=3, seed=12)
    for weight in ("balanced", {0: 3.0, 1: 0.5}):
        ours = SVC(class_weight=weight).fit(X, y)
        theirs = libsvm.SVC(class_weight=weight, tol=1e-8).fit(X, y)
        np.testing.assert_allclose(
            ours.decision_function(X), theirs.decision_function(X), atol=1e-5
        )


# -- the cache and large problems ---------------------------------------------------


@pytest.fixture
def small_limits(monkeypatch):
    """Problems of 60 rows are large, so that rows are cached and left out."""
    from pansophy.svm import kernel_machine, pairwise_classifier

    monkeypatch.setattr(kernel_machine, "EXACT_ROWS", 60)
    monkeypatch.setattr(pairwise_classifier, "EXACT_ROWS", 60)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("C", [1.0, 1e3])
def test_cached_rows_give_the_same_model(small_limits, monkeypatch, k, C):
    from pansophy.optim.constraints.smo import RowCache

    plain = RowCache.square

    def within_bounds(cache, index, slots, places):
        assert places.max() < cache.buffer.shape[1]  # loops do not look
        return plain(cache, index, slots, places)

    monkeypatch.setattr(RowCache, "square", within_bounds)
    X, y = blobs(400, k=k, seed=16)
    cached = SVC(C=C, cache_size=0.2, decision_function_shape="ovo", tol=1e-5).fit(X, y)
    monkeypatch.undo()
    exact = SVC(C=C, decision_function_shape="ovo").fit(X, y)
    np.testing.assert_allclose(
        cached.decision_function(X), exact.decision_function(X), atol=1e-3
    )
    np.testing.assert_allclose(cached.dual_objective_, exact.dual_objective_, rtol=1e-6)


def test_single_precision_rows_reach_the_optimum(small_limits):
    X, y = blobs(2500, d=3, seed=17)
    ours = SVC().fit(X, y)
    theirs = libsvm.SVC(tol=1e-5).fit(X, y)
    K = kernels.RBF(gamma=ours._gamma)(X)
    assert dual_of(ours, y, K) == pytest.approx(dual_of(theirs, y, K), rel=1e-6)


# -- progress, warnings, warm starts ------------------------------------------------


def test_progress_is_the_violation():
    X, y = blobs(1200, seed=18)
    model = SVC().fit(X, y)
    assert model.history_["violation"][-1] <= model.tol
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()
    assert model.fit_status_ == 0
    with pytest.warns(ConvergenceWarning, match="terminated early"):
        model = SVC(max_iter=5).fit(X, y)
    assert model.n_iter_ == [5]
    assert model.fit_status_ == 1
    assert model.predict(X).shape == (1200,)


def test_columns_of_other_scale_are_named():
    X, y = blobs(40, seed=19)
    with pytest.warns(UserWarning, match="column 2 against column 0"):
        SVC().fit(X * [1.0, 2.0, 1e4, 5.0], y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SVC().fit(X * [1.0, 2.0, 500.0, 5.0], y)
        SVC(kernel="precomputed").fit(np.diag(np.logspace(0, 9, 40)), y)


def test_warm_starts_along_c():
    X, y = blobs(500, k=3, seed=20)
    model = SVC(warm_start=True, gamma=0.3)
    cold_steps, warm_steps = 0, 0
    for C in (0.5, 1.0, 2.0, 4.0, 2.0):
        model.set_params(C=C).fit(X, y)
        cold = SVC(C=C, gamma=0.3).fit(X, y)
        warm_steps += model.n_iter_.sum()
        cold_steps += cold.n_iter_.sum()
        np.testing.assert_allclose(
            model.decision_function(X), cold.decision_function(X), atol=1e-7
        )
    assert warm_steps < cold_steps
    other = model.fit(X[::-1], y[::-1])  # other rows: from the beginning
    np.testing.assert_allclose(
        other.decision_function(X), cold.decision_function(X), atol=1e-7
    )


# -- probabilities ------------------------------------------------------------------


def test_an_interrupted_fit_of_two_classes_is_a_model(small_limits):
    X, y = blobs(400, seed=23)
    calls = []

    def kernel(a, b):
        calls.append(1)
        if len(calls) == 3:  # the first call looks at the symmetry of the kernel
            raise KeyboardInterrupt
        return a @ b.T

    with pytest.warns(InterruptedFitWarning):
        model = SVC(kernel=kernel).fit(X, y)
    assert model.interrupted_ and model.fit_status_ == 1
    assert model.predict(X).shape == (400,)
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        SVC(kernel=kernel).fit(*blobs(400, k=3, seed=24))


# -- kernels that are given ----------------------------------------------------------


def test_a_sigmoid_that_is_no_kernel_warns():
    with pytest.warns(kernels.IndefiniteKernelWarning, match="least eigenvalue -0.09"):
        SVC(kernel="sigmoid", gamma=1.0).fit([[1.0], [2.0]], [0, 1])


def test_high_costs_and_kernels_of_low_rank():
    """Pair steps alone would move the multipliers by about 1 at a time, up to C."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
    model = SVC(C=1e8, kernel="linear").fit(X, y)
    assert model.fit_status_ == 0
    hinge = np.maximum(0, 1 - np.where(y, 1, -1) * model.decision_function(X))
    primal = 0.5 * float((model.coef_**2).sum()) + 1e8 * hinge.sum()
    assert primal == pytest.approx(-float(model.dual_objective_[0]), rel=1e-7)
    with pytest.raises(ValueError, match="not separable"):
        SVC(C=np.inf, kernel="linear").fit(X, y)

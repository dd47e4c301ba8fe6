"""Huber regression and the biweight: bounded outliers, limits, parity, weights."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import linear_model as peer

from pansophy.linear_model import HuberRegressor, LinearRegression, RobustRegressor
from pansophy.linear_model.robust.huber import ConcentratedHuber, huber_scale
from tests.linear_model.small_problems import rows_with_outliers


def objective(model, X, y, e=1.35, alpha=1e-4, w=1.0):
    r, s = y - X @ model.coef_ - model.intercept_, model.scale_
    z = np.abs(r) / s
    bent = np.where(z <= e, z * z, 2 * e * z - e * e)
    return np.sum(w * (s + s * bent)) + alpha * np.sum(model.coef_**2)


@pytest.mark.parametrize("epsilon", [1.0, 1.35, 3.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_scikit_learn_agrees(epsilon, intercept, rng):
    X, y = rows_with_outliers(rng)
    how = {"epsilon": epsilon, "fit_intercept": intercept, "alpha": 0.01}
    ours = HuberRegressor(**how).fit(X, y)
    theirs = peer.HuberRegressor(**how, tol=1e-8, max_iter=5000).fit(X, y)
    best = objective(theirs, X, y, epsilon, 0.01)
    assert objective(ours, X, y, epsilon, 0.01) <= best * (1 + 1e-8)
    if epsilon == 1:  # every scale up to the least residual is as good
        return
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert ours.scale_ == pytest.approx(theirs.scale_, rel=1e-3)
    assert np.mean(ours.outliers_ == theirs.outliers_) > 0.99


def test_an_outlier_cannot_pull_for_ever(rng):
    x = np.arange(20.0)[:, None]
    y = 2 * x[:, 0] + 1 + 0.1 * rng.normal(size=20)
    slopes = {"huber": [], "tukey": [], "ols": []}
    for far in (1e2, 1e4, 1e6):
        z = y.copy()
        z[-1] += far
        slopes["huber"].append(HuberRegressor(max_iter=500).fit(x, z).coef_[0])
        slopes["tukey"].append(RobustRegressor().fit(x, z).coef_[0])
        slopes["ols"].append(LinearRegression().fit(x, z).coef_[0])
    assert np.all(np.abs(np.array(slopes["huber"]) - 2) < 0.2)
    assert np.all(np.abs(np.array(slopes["tukey"]) - 2) < 0.05)
    np.testing.assert_allclose(slopes["tukey"], slopes["tukey"][0], atol=1e-6)
    assert slopes["ols"][-1] > 1000


def test_wide_epsilon_is_least_squares(rng):
    X, y = rows_with_outliers(rng)
    line = LinearRegression().fit(X, y)
    ours = HuberRegressor(epsilon=1e6, alpha=0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, line.coef_, atol=1e-7)
    assert not ours.outliers_.any()
    rms = np.sqrt(np.mean((y - line.predict(X)) ** 2))
    assert ours.scale_ == pytest.approx(rms)
    wide = RobustRegressor("huber", c=1e6).fit(X, y)
    np.testing.assert_allclose(wide.coef_, line.coef_, atol=1e-10)


def test_weights_are_repetitions(rng):
    X, y = rows_with_outliers(rng, n=80)
    w = rng.integers(0, 4, size=80)
    for make in (HuberRegressor, RobustRegressor):
        a = make().fit(X, y, sample_weight=w)
        b = make().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-8)
        assert a.scale_ == pytest.approx(b.scale_, rel=1e-8)


def test_sparse_small_and_foreign(rng):
    X, y = rows_with_outliers(rng)
    X *= np.abs(X) > 0.4
    dense = HuberRegressor().fit(X, y)
    sparse = HuberRegressor().fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)
    small = HuberRegressor().fit(X.astype("f4"), y.astype("f4"))
    assert small.coef_.dtype == np.float32
    np.testing.assert_allclose(small.coef_, dense.coef_, atol=1e-3)
    torch = pytest.importorskip("torch")
    for make in (HuberRegressor, RobustRegressor):
        tensor = make().fit(torch.asarray(X), torch.asarray(y))
        assert torch.is_tensor(tensor.coef_)
        np.testing.assert_allclose(tensor.coef_, make().fit(X, y).coef_, atol=1e-7)


def test_exact_fits_end(rng):
    X = rng.normal(size=(30, 3))
    y = X @ [1.0, -2.0, 3.0] + 0.5
    y[:5] += 10
    model = HuberRegressor(alpha=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, [1, -2, 3], atol=1e-6)
    assert model.outliers_[:5].all()
    tukey = RobustRegressor().fit(X, y)
    np.testing.assert_allclose(tukey.coef_, [1, -2, 3], atol=1e-9)
    np.testing.assert_array_equal(tukey.weights_[:5], 0)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(1.0, 3.0))
def test_best_scale_solves_its_equation(seed, e):
    rng = np.random.default_rng(seed)
    r2, w = rng.standard_t(2, size=40) ** 2, rng.integers(1, 4, size=40).astype(float)
    s = huber_scale(r2, w, w.sum(), e, 1e-12)
    gap = w @ np.minimum(r2, e * e * s * s) - w.sum() * s * s
    assert abs(gap) <= 1e-9 * w.sum() * (s * s + 1e-12)
    guess = huber_scale(r2, w, w.sum(), e, 1e-12, 0.3)
    assert guess == pytest.approx(s, rel=1e-9)


def test_bad_parameters(rng):
    X, y = rows_with_outliers(rng, n=20)
    for model in (HuberRegressor(epsilon=0.9), RobustRegressor("cauchy")):
        with pytest.raises(ValueError, match="must be"):
            model.fit(X, y)


def test_rounding_ends_a_float32_fit(rng):
    X, y = rows_with_outliers(rng, n=40)
    w = rng.integers(0, 4, size=40).astype(float)
    exact = HuberRegressor().fit(X, y, w)
    single = HuberRegressor().fit(X.astype(np.float32), y, w)  # no warning
    np.testing.assert_allclose(single.coef_, exact.coef_, atol=1e-4)


@pytest.mark.parametrize("unit", [1e-150, 1e-12, 1e12, 1e150])
def test_any_unit_of_the_target(unit, rng):
    X, y = rows_with_outliers(rng, n=60)
    for make in (lambda: HuberRegressor(alpha=0), RobustRegressor):
        one, other = make().fit(X, y), make().fit(X, y * unit)
        np.testing.assert_allclose(other.coef_ / unit, one.coef_, rtol=1e-4)


@pytest.mark.parametrize("loss", ["tukey", "huber"])
def test_a_target_of_zeros(loss, rng):
    X, _ = rows_with_outliers(rng, n=40)
    np.testing.assert_array_equal(RobustRegressor(loss).fit(X, np.zeros(40)).coef_, 0)
    np.testing.assert_array_equal(HuberRegressor().fit(X, np.zeros(40)).coef_, 0)


def test_an_infinite_penalty_is_refused(rng):
    X, y = rows_with_outliers(rng, n=20)
    with pytest.raises(ValueError, match="alpha of HuberRegressor must be a number"):
        HuberRegressor(alpha=np.inf).fit(X, y)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_hessian_is_the_derivative_of_the_gradient(intercept, weighted, rng):
    X, y = rows_with_outliers(rng)
    w = rng.uniform(0.5, 2, len(y)) if weighted else None
    f = ConcentratedHuber(X, y, w, 1.35, 0.1, intercept=intercept)
    f.set_scale_floor(1e-8, float(np.std(y)))
    x = np.append(np.linalg.lstsq(X, y)[0], 0.1 if intercept else 0.0)
    step = 1e-6
    free = len(x) if intercept else len(x) - 1
    slopes = [
        (f(x + step * e)[1] - f(x - step * e)[1]) / (2 * step) for e in np.eye(len(x))
    ]
    values = [
        (f(x + step * e)[0] - f(x - step * e)[0]) / (2 * step) for e in np.eye(len(x))
    ]
    _, g = f(x)
    np.testing.assert_allclose(g[:free], values[:free], rtol=1e-5, atol=1e-5)
    H = f.hessian(x)[:free, :free]
    scale = np.abs(H).max()
    np.testing.assert_allclose(H, np.array(slopes)[:free, :free], atol=1e-5 * scale)

"""Quantile regression: vertices, certificates, medians, parity, many rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import linear_model as peer

from pansophy.linear_model import LinearRegression, QuantileRegressor
from tests.linear_model.small_problems import heavy_tailed_rows


def objective(model, X, y, q, alpha, w=None):
    r = y - X @ model.coef_ - model.intercept_
    loss = np.maximum(q * r, (q - 1) * r)
    return np.average(loss, weights=w) + alpha * np.abs(model.coef_).sum()


@pytest.mark.parametrize("q", [0.1, 0.5, 0.85])
@pytest.mark.parametrize("alpha", [0.0, 0.02])
@pytest.mark.parametrize("intercept", [True, False])
def test_scikit_learn_agrees(q, alpha, intercept, rng):
    X, y = heavy_tailed_rows(rng, 150, 5)
    w = rng.uniform(0.5, 2, size=150)
    how = {"quantile": q, "alpha": alpha, "fit_intercept": intercept}
    ours = QuantileRegressor(**how).fit(X, y, sample_weight=w)
    theirs = peer.QuantileRegressor(**how).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    best = objective(theirs, X, y, q, alpha, w)
    assert objective(ours, X, y, q, alpha, w) <= best * (1 + 1e-12)
    assert ours.duality_gap_ < 1e-12
    for solver in ("highs", "highs-ds", "highs-ipm"):
        highs = QuantileRegressor(**how, solver=solver).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(highs.coef_, ours.coef_, atol=1e-6)


def test_penalty_gives_exact_zeros(rng):
    X, y = heavy_tailed_rows(rng, 200, 8)
    model = QuantileRegressor(alpha=0.2).fit(X, y)
    assert 0 < np.sum(model.coef_ == 0) < 8
    flat = QuantileRegressor(alpha=100).fit(X, y)
    np.testing.assert_array_equal(flat.coef_, 0)
    cost = lambda b: np.abs(y - b).mean()
    assert cost(float(flat.intercept_)) == pytest.approx(cost(np.median(y)))


def test_a_constant_is_the_quantile(rng):
    y = rng.normal(size=101)
    X = np.zeros((101, 1))
    for q in (0.1, 0.5, 0.9):
        model = QuantileRegressor(quantile=q, alpha=1.0).fit(X, y)
        assert float(model.intercept_) == pytest.approx(
            np.quantile(y, q, method="inverted_cdf")
        )


def test_an_outlier_pulls_by_its_sign_only(rng):
    x = np.arange(21.0)[:, None]
    y = 2 * x[:, 0] + 1 + 0.1 * rng.normal(size=21)
    near, far = y.copy(), y.copy()
    near[-1], far[-1] = 1e3, 1e9
    lad = [QuantileRegressor(alpha=0).fit(x, t).coef_[0] for t in (near, far)]
    assert lad[0] == pytest.approx(lad[1], abs=1e-6)
    assert abs(lad[0] - 2) < 0.1
    assert LinearRegression().fit(x, far).coef_[0] > 1e6


def test_share_of_rows_below(rng):
    X, y = heavy_tailed_rows(rng, 4000, 3)
    for q in (0.2, 0.7):
        model = QuantileRegressor(quantile=q, alpha=0).fit(X, y)
        below = np.mean(y < model.predict(X) - 1e-9)
        assert below <= q <= below + 4 / 4000 + 1e-12


def test_weights_are_repetitions(rng):
    X, y = heavy_tailed_rows(rng, 60, 3)
    w = rng.integers(0, 4, size=60)
    for alpha in (0.0, 0.05):
        a = QuantileRegressor(quantile=0.3, alpha=alpha).fit(X, y, sample_weight=w)
        b = QuantileRegressor(quantile=0.3, alpha=alpha).fit(
            np.repeat(X, w, axis=0), np.repeat(y, w)
        )
        np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.5, 0.9]))
def test_ties_and_repeats(seed, q):
    """Whole numbers: many rows on one line, many best vertices."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(25, 2)).astype(float)
    y = rng.integers(0, 5, size=25).astype(float)
    X[0], X[1], X[2] = (0, 0), (1, 0), (0, 1)  # full rank
    ours = QuantileRegressor(quantile=q, alpha=0).fit(X, y)
    theirs = peer.QuantileRegressor(quantile=q, alpha=0).fit(X, y)
    best = objective(theirs, X, y, q, 0)
    assert objective(ours, X, y, q, 0) <= best + 1e-7 * (1 + best)


def test_sparse_dependent_and_few_rows(rng):
    X, y = heavy_tailed_rows(rng, 120, 4)
    X *= np.abs(X) > 0.3
    dense = QuantileRegressor(alpha=0.01).fit(X, y)
    sparse = QuantileRegressor(alpha=0.01).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-10)
    twice = np.column_stack([X, X[:, 0]])
    a = QuantileRegressor(alpha=0).fit(X, y)
    b = QuantileRegressor(alpha=0).fit(twice, y)
    assert objective(b, twice, y, 0.5, 0) == pytest.approx(
        objective(a, X, y, 0.5, 0), rel=1e-6
    )
    few = QuantileRegressor(alpha=0).fit(X[:3], y[:3])
    np.testing.assert_allclose(few.predict(X[:3]), y[:3], atol=1e-5)


def test_options_and_refusals(rng, tmp_path):
    X, y = heavy_tailed_rows(rng, 50, 2)
    with pytest.warns(UserWarning, match="did not converge"):
        QuantileRegressor(alpha=0, solver_options={"max_iter": 1}).fit(X, y)
    for model, says in [
        (QuantileRegressor(quantile=1.0), "strictly between"),
        (QuantileRegressor(solver="revised simplex"), "must be one of"),
        (QuantileRegressor(solver_options={"presolve": True}), "max_iter and tol"),
    ]:
        with pytest.raises(ValueError, match=says):
            model.fit(X, y)
    model = QuantileRegressor(quantile=0.3, alpha=0).fit(X, y)
    assert model.loss(X, y) == pytest.approx(objective(model, X, y, 0.3, 0))


@pytest.mark.parametrize("q", [0.1, 0.5])
@pytest.mark.parametrize("alpha", [0, 1])
def test_a_target_of_zeros(q, alpha, rng):
    X, _ = heavy_tailed_rows(rng, 40, 4)
    model = QuantileRegressor(quantile=q, alpha=alpha).fit(X, np.zeros(40))
    np.testing.assert_array_equal(model.coef_, 0)
    assert model.intercept_ == 0

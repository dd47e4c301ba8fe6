"""Biases: the optimum of a ridge regression on indicators, and exact shifts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.recommend import BiasModel, Ratings
from pansophy.recommend.bias_model import fit_offsets


def some(seed, n=8, m=6, share=0.6):
    rng = np.random.default_rng(seed)
    Y = rng.integers(1, 6, (n, m)).astype(float)
    Y[rng.random((n, m)) > share] = np.nan
    Y[0] = Y[:, 0] = 3.0  # everything is connected
    return Y


def test_equals_ridge_regression_on_indicators():
    R = Ratings.from_matrix(some(0))
    model = BiasModel(2.0, reg_item=3.0).fit(R)
    n, m = R.shape
    Z = np.zeros((len(R), n + m))
    Z[np.arange(len(R)), R.users] = Z[np.arange(len(R)), n + R.items] = 1
    P = np.diag(np.r_[np.full(n, 2.0), np.full(m, 3.0)])
    beta = np.linalg.solve(Z.T @ Z + P, Z.T @ (R.values - R.values.mean()))
    np.testing.assert_allclose(model.offsets_.user, beta[:n], atol=1e-4)
    np.testing.assert_allclose(model.offsets_.item, beta[n:], atol=1e-4)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), reg=st.floats(0, 10))
def test_objective_never_rises(seed, reg):
    history = BiasModel(reg, reg_item=reg).fit(Ratings.from_matrix(some(seed))).history_
    J = np.column_stack([history["half"], history["objective"]]).ravel()
    assert (np.diff(J) <= 1e-12 * np.abs(J[1:]) + 1e-12).all()


@pytest.mark.parametrize("kind", ["user", "biases"])
def test_predictions_shift_with_a_constant_of_one_user(kind):
    Y = some(1)
    moved = Y.copy()
    moved[2] += 7.0
    if kind == "user":
        at = lambda Y: fit_offsets(Ratings.from_matrix(Y), "user")
        a, b = at(Y), at(moved)
        full = lambda o: o.mean + o.user[:, None] + o.item
        a, b = full(a), full(b)
    else:
        model = BiasModel(0.0, reg_item=1.0, tol=1e-15, max_iter=2000)
        a = model.fit(Ratings.from_matrix(Y)).complete()
        b = model.fit(Ratings.from_matrix(moved)).complete()
    change = np.zeros_like(Y)
    change[2] = 7.0
    np.testing.assert_allclose(b - a, change, atol=1e-6)


def test_offsets():
    R = Ratings.from_matrix([[1, 3, np.nan], [5, np.nan, np.nan]])
    assert fit_offsets(R, "none").at(R.users, R.items).tolist() == [0, 0, 0]
    assert fit_offsets(R, "global").at(R.users, R.items).tolist() == [3, 3, 3]
    assert fit_offsets(R, "user").at(R.users, R.items).tolist() == [2, 2, 5]
    assert fit_offsets(R, "item").at(R.users, R.items).tolist() == [3, 3, 3]
    u, i = np.array([-1, 0]), np.array([0, -1])
    assert fit_offsets(R, "user").at(u, i).tolist() == [3, 2]


@pytest.mark.parametrize("kind", ["user", "item"])
def test_offsets_are_weighted_means(kind):
    users, items = [0, 0, 1, 1], [0, 1, 0, 1]
    R = Ratings.from_triplets(users, items, [1.0, 2.0, 4.0, 6.0], weights=[1, 3, 3, 1])
    offsets = fit_offsets(R, kind)
    means = {"user": [(1 + 6) / 4, (12 + 6) / 4], "item": [(1 + 12) / 4, (6 + 6) / 4]}
    found = offsets.mean + getattr(offsets, kind)
    np.testing.assert_allclose(found, means[kind], rtol=1e-12)


def test_only_known_cells_count():
    Y = some(2)
    R = Ratings.from_matrix(Y)
    wide = R.with_names(users=np.arange(20), items=np.arange(30))  # empty rows, columns
    a, b = BiasModel().fit(R), BiasModel().fit(wide)
    np.testing.assert_allclose(a.complete(), b.complete(np.arange(8))[:, :6], atol=1e-9)
    assert (b.offsets_.user[8:] == 0).all() and (b.offsets_.item[6:] == 0).all()

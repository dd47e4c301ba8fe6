"""Alternating least squares: worked row, normal equations, descent, odd users."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.core.loops import threads
from pansophy.datasets import make_ratings
from pansophy.recommend import ALS, Ratings
from pansophy.recommend import _als as loops
from pansophy.recommend.als import RidgeProblems, half_sweep, ridge_problems
from pansophy.recommend.bias_model import fit_offsets
from tests.oracles import recommend as slow

NAN = np.nan
pytestmark = pytest.mark.filterwarnings(
    "ignore:ALS did not converge:sklearn.exceptions.ConvergenceWarning"
)


def some(seed, n=15, m=12, share=0.5):
    rng = np.random.default_rng(seed)
    Y = rng.integers(1, 6, (n, m)).astype(float)
    Y[rng.random((n, m)) > share] = NAN
    Y[0, 0] = 3.0
    return Y


@pytest.mark.parametrize("steps", [0, 1, 5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_worked_row(steps, dtype):
    """V = (1, 2), ratings (3, 5), penalty 1: U = 13 / 6."""
    R = Ratings.from_matrix(np.array([[3, 5]], dtype))
    users, _, constant = ridge_problems(R, fit_offsets(R, "none"), 1.0)
    V, U = np.array([[1], [2]], dtype), np.zeros((1, 1), dtype)
    U, value = half_sweep(users, V, U, steps, 0.0)
    np.testing.assert_allclose(U, 13 / 6, rtol=1e-6)
    u = 13 / 6
    right = 0.5 * ((3 - u) ** 2 + (5 - 2 * u) ** 2 + u**2)
    np.testing.assert_allclose(constant + value, right, rtol=1e-5)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    implicit=st.booleans(),
    solver=st.sampled_from(["cg", "cholesky"]),
    scale=st.booleans(),
)
def test_the_loss_never_rises_at_a_half_sweep(seed, implicit, solver, scale):
    how = {"implicit": implicit, "solver": solver, "scale_reg": scale, "tol": 0}
    model = ALS(3, reg=0.3, max_iter=8, random_state=seed, **how)
    history = model.fit(Ratings.from_matrix(some(seed))).history_
    J = np.column_stack([history["half"], history["objective"]]).ravel()
    assert (np.diff(J) <= 1e-10 * np.abs(J[1:])).all()


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_block_gradient_is_zero_and_the_objective_is_right(implicit, weighted):
    Y = some(1)
    known = ~np.isnan(Y)
    W = (
        np.random.default_rng(2).uniform(0.5, 2, Y.shape)
        if weighted
        else np.ones(Y.shape)
    )
    R = Ratings.from_matrix(Y)
    w = W[R.users, R.items] if weighted else None
    how = {"implicit": implicit, "alpha": 0.7, "center": "none", "max_iter": 5}
    model = ALS(3, reg=0.4, random_state=0, tol=0, **how).fit(R, sample_weight=w)
    U, V = model.user_factors_, model.item_factors_
    if implicit:
        A = np.where(known, W * np.nan_to_num(Y), 0)
        right = slow.implicit_loss(A, 0.7, U, V, 0.4)
        C, P = 1 + 0.7 * A, known.astype(float)
    else:
        right = slow.factor_loss(Y, W, U, V, 0.4)
        C, P = np.where(known, W, 0), np.nan_to_num(Y)
    np.testing.assert_allclose(model.objective_, right, rtol=1e-10)
    gradient = (C * (U @ V.T - P)).T @ U + 0.4 * V  # the items were last
    np.testing.assert_allclose(gradient, 0, atol=1e-9)


def test_scaled_penalty():
    Y = some(3)
    model = ALS(2, reg=0.2, scale_reg=True, center="none", random_state=0, max_iter=4)
    model.fit(Ratings.from_matrix(Y))
    U, V, known = model.user_factors_, model.item_factors_, ~np.isnan(Y)
    e = np.where(known, U @ V.T - np.nan_to_num(Y), 0)
    np.testing.assert_allclose(e.T @ U + 0.2 * known.sum(0)[:, None] * V, 0, atol=1e-9)


@pytest.mark.parametrize("solver", ["cg", "cholesky"])
@pytest.mark.parametrize("implicit", [False, True])
def test_users_and_items_without_ratings_get_zero(solver, implicit):
    Y = some(4)
    Y[5], Y[:, 7] = NAN, NAN
    model = ALS(3, solver=solver, implicit=implicit, random_state=0, max_iter=3)
    model.fit(Ratings.from_matrix(Y))
    assert (model.user_factors_[5] == 0).all()
    assert (model.item_factors_[7] == 0).all()
    assert np.isfinite(model.complete()).all()


def test_conjugate_gradients_run_to_the_end_are_exact():
    R = Ratings.from_matrix(some(5))
    V = np.random.default_rng(0).normal(size=(12, 4))
    for implicit in (False, True):
        users, _, _ = ridge_problems(
            R, fit_offsets(R, "global"), 0.1, implicit=implicit
        )
        exact, a = half_sweep(users, V, np.zeros((15, 4)), 0)
        steps, b = half_sweep(users, V, np.ones((15, 4)), 12, 0.0)
        np.testing.assert_allclose(exact, steps, atol=1e-8)
        np.testing.assert_allclose(a, b, rtol=1e-10)


def test_without_a_penalty_what_ratings_do_not_say_is_zero():
    R = Ratings.from_matrix([[3.0, NAN], [NAN, 2.0]])
    users, _, _ = ridge_problems(R, fit_offsets(R, "none"), 0.0)
    U, _ = half_sweep(users, np.array([[1.0, 2.0], [0.5, 1.0]]), np.zeros((2, 2)), 0)
    np.testing.assert_allclose(U, [[3.0, 0.0], [4.0, 0.0]])


def test_weights_are_repetition():
    R = Ratings.from_matrix(some(6))
    w = np.random.default_rng(0).integers(0, 4, len(R))
    X, y = R.pairs(), R.values
    model = ALS(3, random_state=0, max_iter=4)
    a = model.fit(X, y, sample_weight=w).predict(X[w > 0])
    b = model.fit(np.repeat(X, w, axis=0), np.repeat(y, w)).predict(X[w > 0])
    np.testing.assert_allclose(a, b, atol=1e-12)


def test_row_order_threads_and_float32(monkeypatch):
    table = make_ratings(300, 200, 9000)
    R = Ratings.from_frame(table)
    model = ALS(20, random_state=0, max_iter=5, solver="cg")
    a = model.fit(R).user_factors_
    mixed = np.random.default_rng(0).permutation(len(R))
    b = model.fit(R[mixed]).user_factors_
    np.testing.assert_allclose(a, b, atol=1e-7)
    single = Ratings.from_triplets(
        table["user"], table["item"], table["rating"].astype(np.float32)
    )
    assert model.fit(single).user_factors_.dtype == np.float32
    rough = model.objective_
    np.testing.assert_allclose(rough, model.fit(R).objective_, rtol=1e-3)
    monkeypatch.setattr(threads, "available_threads", lambda: 1)
    np.testing.assert_array_equal(model.fit(R).user_factors_, a)


def test_restarts_keep_the_best():
    R = Ratings.from_matrix(some(7))
    how = {"reg": 0.1, "max_iter": 10}
    rng = np.random.default_rng(0)
    best = ALS(3, n_init=4, random_state=rng, **how).fit(R).objective_
    rng = np.random.default_rng(0)
    each = [ALS(3, random_state=rng, **how).fit(R).objective_ for _ in range(4)]
    assert best == pytest.approx(min(each), rel=1e-9)


def test_predictions_shift_with_a_constant_of_one_user():
    Y = some(8)
    moved = Y.copy()
    moved[2] += 4.0
    model = ALS(3, center="user", random_state=0, max_iter=5)
    a = model.fit(Ratings.from_matrix(Y)).complete()
    b = model.fit(Ratings.from_matrix(moved)).complete()
    change = np.zeros_like(Y)
    change[2] = 4.0
    np.testing.assert_allclose(b - a, change, atol=1e-9)


def test_finds_planted_factors_that_biases_cannot():
    from pansophy.recommend import BiasModel, temporal_split

    R = Ratings.from_frame(make_ratings(600, 300, 30_000, n_factors=3), time="time")
    train, test = temporal_split(R)
    error = lambda m: np.sqrt(np.mean((m.predict(test) - test.values) ** 2))
    base = error(BiasModel().fit(train))
    assert error(ALS(3, reg=4.0, random_state=0).fit(train)) < 0.92 * base


def test_folding_in_a_known_user_gives_the_same_factors():
    Y = some(9)
    R = Ratings.from_matrix(Y)
    model = ALS(3, center="user", random_state=0, tol=1e-15, max_iter=3000).fit(R)
    again = model.fold_in(R[R.users == 4])
    np.testing.assert_allclose(
        again.user_factors_[4], model.user_factors_[4], atol=1e-4
    )


@pytest.mark.filterwarnings("ignore:OpenBLAS")
def test_same_factors_as_implicit_from_the_same_start():
    implicit = pytest.importorskip("implicit.als")
    R = Ratings.from_frame(make_ratings(80, 60, 900, implicit=True))
    R32 = Ratings.from_matrix(R.csr.astype(np.float32))
    how = {"iterations": 3, "use_cg": False, "num_threads": 1}
    theirs = implicit.AlternatingLeastSquares(8, 0.5, random_state=0, **how)
    C = R32.csr.copy()
    C.data = 1 + 2.0 * C.data
    n, m = R.shape
    theirs.item_factors = np.random.default_rng(0).normal(size=(m, 8)).astype("f4")
    theirs.user_factors = np.zeros((n, 8), np.float32)
    V = theirs.item_factors.copy()
    theirs.fit(sp.csr_matrix(C), show_progress=False)
    users, items, _ = ridge_problems(
        R32, fit_offsets(R32, "none"), 0.5, implicit=True, alpha=2.0
    )
    U = np.zeros((n, 8), np.float32)
    for _ in range(3):
        U, _ = half_sweep(users, V, U, 0)
        V, _ = half_sweep(items, U, V, 0)
    assert isinstance(users, RidgeProblems)
    np.testing.assert_allclose(U, theirs.user_factors, atol=2e-3)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 16, 33])
@pytest.mark.parametrize("count", [1, 3, 4, 5, 9, 21])
def test_rows_taken_four_at_a_time_are_the_plain_sums(k, count):
    rng = np.random.default_rng(k + 100 * count)
    V, x = rng.normal(size=(30, k)), rng.normal(size=k)
    a, t = rng.uniform(size=count + 2), rng.normal(size=count + 2)
    at = rng.integers(0, 30, count + 2).astype(np.int32)  # one before, one after
    rows, own = V[at[1:-1]], slice(1, count + 1)
    e = rng.uniform(size=k)
    A = np.diag(e) + rows.T @ (a[own, None] * rows)
    b, q = rows.T @ t[own], np.empty(k)
    args = (1, count + 1, at, a, t, V, e)
    loops.normal_matrix_product(*args, x, q, False)
    np.testing.assert_allclose(q, A @ x, rtol=1e-10, atol=1e-10)
    value = loops.normal_matrix_product(*args, x, q, True)
    np.testing.assert_allclose(q, A @ x - b, rtol=1e-10, atol=1e-10)
    assert value == pytest.approx(b @ x, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_towards_what_all_rows_have_in_common(implicit, weighted):
    """Eq. (4), without turning to its axes."""
    Y = some(10)
    R, W = Ratings.from_matrix(Y), np.random.default_rng(1).uniform(0.5, 2, Y.shape)
    if weighted:
        R = dataclasses.replace(R, weights=W[R.users, R.items])
    rng = np.random.default_rng(0)
    V, start, alpha, reg = rng.normal(size=(12, 4)), rng.normal(size=(15, 4)), 0.6, 0.2
    how = {"implicit": implicit, "alpha": alpha, "scale": weighted}
    users, _, _ = ridge_problems(R, fit_offsets(R, "none"), reg, **how)
    U, _ = half_sweep(users, V, start, 2, 0.0)
    known = ~np.isnan(Y)
    W = np.where(known, W if weighted else 1.0, 0.0)
    a = alpha * W * np.nan_to_num(Y) if implicit else W
    T = (1 + a) * known if implicit else W * np.nan_to_num(Y)
    H = V.T @ V if implicit else (V.T * W.sum(0)) @ V / W.sum()
    for u in range(len(Y)):
        ridge = reg * (W[u].sum() if weighted else 1.0) * np.eye(4)
        A = (V.T * a[u]) @ V + ridge + (H if implicit else 0.0)
        M = (1.0 if implicit else W[u].sum()) * H + ridge
        right = slow.conjugate_steps(A, V.T @ T[u], M, start[u], 2)
        np.testing.assert_allclose(U[u], right if known[u].any() else 0, rtol=1e-8)


@pytest.mark.parametrize("implicit", [False, True])
def test_a_few_steps_a_sweep_come_close_to_exact_solves(implicit):
    R = Ratings.from_frame(make_ratings(200, 120, 6000, implicit=implicit))
    how = {"reg": 1.0, "implicit": implicit, "max_iter": 8, "tol": 0, "random_state": 0}
    J = [ALS(24, solver=s, **how).fit(R).objective_ for s in ("cg", "cholesky")]
    assert J[0] < 1.01 * J[1]

"""Factorisation by stochastic gradient descent."""

import numpy as np
import pytest

from pansophy.core.loops import threads
from pansophy.datasets import make_ratings
from pansophy.recommend import BiasModel, Ratings, SGDFactorization, sgd_factorization
from pansophy.recommend._sgd_factorization import (
    Factors,
    RatingColumns,
    factor_sgd_epoch,
)


def test_full_data_without_penalty_reaches_the_svd():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 9)) + 0.1 * rng.normal(
        size=(12, 9)
    )
    how = {"biases": False, "center": "none", "reg": 0.0, "learning_rate": 0.05}
    model = SGDFactorization(
        2, decay=0.05, tol=1e-9, max_iter=4000, random_state=0, **how
    )
    model.fit(Ratings.from_matrix(Y))
    U, S, Vt = np.linalg.svd(Y)
    np.testing.assert_allclose(model.complete(), U[:, :2] * S[:2] @ Vt[:2], atol=0.02)


def test_one_step_by_hand():
    """e = 4 - 1 - (2 * 0.5) = 2; every update is from the values before."""
    b, c, U, V = np.zeros(1), np.zeros(1), np.array([[2.0]]), np.array([[0.5]])
    one, none = np.zeros(1, np.int32), np.empty(0)
    r = np.array([4.0])
    ratings = RatingColumns(one, one, r, none, 1.0)
    factor_sgd_epoch(np.array([0]), ratings, 0.1, 0.5, True, Factors(b, c, U, V))
    assert b[0] == c[0] == 1.0
    assert U[0, 0] == pytest.approx(2 + 0.5 * (2 * 0.5 - 0.1 * 2))
    assert V[0, 0] == pytest.approx(0.5 + 0.5 * (2 * 2.0 - 0.1 * 0.5))


def test_objective_is_that_of_the_text_and_known_cells_only():
    R = Ratings.from_frame(make_ratings(80, 50, 1500))
    model = SGDFactorization(3, random_state=0).fit(R)
    e = model.predict(R) - R.values
    m, b, c = model.offsets_
    sizes = lambda F, b, n: n @ ((F**2).sum(1) + b**2)
    J = (e**2).sum() + 0.05 * (
        sizes(model.user_factors_, b, R.user_counts)
        + sizes(model.item_factors_, c, R.item_counts)
    )
    np.testing.assert_allclose(model.objective_, 0.5 * J, rtol=1e-9)
    assert model.history_["objective"][-1] < model.history_["objective"][0]
    assert m == pytest.approx(R.values.mean())


def test_blocks_share_nothing_and_cover_all(monkeypatch):
    R = Ratings.from_frame(make_ratings(200, 150, 5000))
    plan = sgd_factorization.independent_blocks(R, 4)
    assert sorted(np.concatenate([r for s in plan for r in s])) == list(range(len(R)))
    for some in plan:
        for codes in (R.users, R.items):
            groups = [set(codes[rows]) for rows in some]
            assert sum(map(len, groups)) == len(set().union(*groups))
    monkeypatch.setattr(sgd_factorization, "BLOCKED_FROM", 1000)
    model = SGDFactorization(4, random_state=3)
    a = model.fit(R).user_factors_
    monkeypatch.setattr(threads, "available_threads", lambda: 1)
    np.testing.assert_array_equal(model.fit(R).user_factors_, a)


def test_beats_biases_where_there_is_more():
    R = Ratings.from_frame(make_ratings(400, 200, 20_000, n_factors=3))
    late = np.random.default_rng(0).random(len(R)) < 0.2
    train, test = R[~late], R[late]
    error = lambda m: np.sqrt(np.mean((m.predict(test) - test.values) ** 2))
    model = SGDFactorization(4, reg=0.08, random_state=0).fit(train)
    assert error(model) < 0.95 * error(BiasModel().fit(train))


def test_fold_in_solves_for_the_user():
    R = Ratings.from_frame(make_ratings(80, 50, 1500))
    model = SGDFactorization(3, random_state=0).fit(R)
    new = model.fold_in(R[R.users == 3])
    u, rows = 3, R.users == 3
    V = np.column_stack([model.item_factors_[R.items[rows]], np.ones(rows.sum())])
    t = R.values[rows] - model.offsets_.mean - model.offsets_.item[R.items[rows]]
    A = V.T @ V + 0.05 * rows.sum() * np.eye(4)
    right = np.linalg.solve(A, V.T @ t)
    np.testing.assert_allclose(new.user_factors_[u], right[:3], atol=1e-9)
    np.testing.assert_allclose(new.offsets_.user[u], right[3], atol=1e-9)


def test_too_large_steps_are_told():
    R = Ratings.from_frame(make_ratings(80, 50, 1500))
    with pytest.warns(match="diverged"):
        model = SGDFactorization(3, learning_rate=50.0, random_state=0).fit(R)
    assert np.isfinite(model.complete()).all()


@pytest.mark.parametrize("value", [4.0, 0.1, 0.0])
def test_equal_ratings_are_learned_at_once(value):
    r = Ratings.from_matrix(np.full((9, 7), value))
    model = SGDFactorization(3, random_state=0).fit(r)  # warnings are errors
    assert model.converged_ and model.objective_ == 0.0
    np.testing.assert_array_equal(model.complete(), np.full((9, 7), value))

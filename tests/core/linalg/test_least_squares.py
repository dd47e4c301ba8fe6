"""Least squares: digits of QR, rank decisions, blocks and array libraries."""

import numpy as np
import pytest

from pansophy.core.linalg import least_squares as ls
from tests.oracles.least_squares import digits, exact_least_squares


@pytest.fixture(params=["plain", "far from 0", "ill scaled", "correlated"])
def problem(request, rng):
    X = rng.standard_normal((300, 5))
    if request.param == "far from 0":
        X += 1e5 * np.arange(1, 6)
    elif request.param == "ill scaled":
        X *= np.logspace(-8, 8, 5)
    elif request.param == "correlated":
        X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    y = X @ (1 / X.std(axis=0)) + rng.standard_normal(300)
    return X, y, rng.integers(1, 4, 300).astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("way", ["gram", "qr"])
def test_both_ways_have_the_digits_of_qr(problem, way, intercept, alpha, weighted):
    X, y, w = problem
    w = w if weighted else None
    coef, b = exact_least_squares(X, y, w, alpha=alpha, intercept=intercept)
    fit = ls.least_squares(
        X, y[:, None], w, alpha=alpha, intercept=intercept, solver=way
    )
    S = X - (X.mean(axis=0) if intercept else 0)
    cond = np.linalg.cond(S / np.linalg.norm(S, axis=0))
    far = 1 + np.abs(X.mean(axis=0)).max() / X.std(axis=0).min() * (not intercept)
    room = 1e-13 * cond * min(far, 1e6)
    scale = np.abs(coef * X.std(axis=0)).max() / X.std(axis=0)
    assert (np.abs(fit.coef[:, 0] - coef) / scale).max() < room
    right = np.sum((1 if w is None else w) * (y - b - X @ coef) ** 2)
    assert fit.residual[0] == pytest.approx(right, rel=1e-6)
    assert fit.rank == 5 and fit.dropped == ()


def test_constant_columns_do_not_stop_a_penalised_fit(rng):
    X = rng.standard_normal((500, 4)) + [0, 0, 50, 0]
    X[:, 1] = 1e5 / 3
    Y = rng.standard_normal((500, 2))
    fit = ls.least_squares(X, Y, alpha=1.0, solver="gram")
    assert fit.solver == "gram"
    np.testing.assert_allclose(
        fit.coef,
        ls.least_squares(X, Y, alpha=1.0, solver="svd").coef,
        rtol=1e-9,
        atol=1e-9,
    )


def test_the_fast_way_knows_its_limits(rng):
    X = rng.standard_normal((500, 4))
    Y = rng.standard_normal((500, 1))
    assert ls.least_squares(X, Y, solver="gram").solver == "gram"
    near = X.copy()
    near[:, 3] = near[:, 2] + 1e-7 * near[:, 3]
    fit = ls.least_squares(near, Y, solver="gram")
    assert fit.solver == "qr" and fit.rank == 4
    exact, _ = exact_least_squares(near, Y[:, 0])
    assert digits(fit.coef[:, 0], exact) > 7


def test_rank_decisions_are_made_at_rounding(rng):
    X = rng.standard_normal((200, 6)) + 10
    X[:, 2] = 3.0  # constant
    X[:, 5] = X[:, 0] - 2 * X[:, 1]
    Y = rng.standard_normal((200, 2))
    for scale in (1.0, np.logspace(-9, 9, 6)):
        fit = ls.least_squares(X * scale, Y)
        assert fit.rank == 4
        assert 2 in fit.dropped and len(fit.dropped) == 2
    fit = ls.least_squares(X, Y)
    A = X - X.mean(axis=0)
    np.testing.assert_allclose(
        fit.coef, np.linalg.lstsq(A, Y, rcond=1e-12)[0], atol=1e-12
    )


def test_a_number_cuts_singular_values(rng):
    X = rng.standard_normal((200, 3)) * [1, 1, 1e-5]
    Y = rng.standard_normal((200, 1))
    A = X - X.mean(axis=0)
    for tol, rank in ((1e-3, 2), (1e-8, 3)):
        for way in ("gram", "qr"):
            fit = ls.least_squares(X, Y, tol=tol, solver=way)
            assert fit.rank == rank
            right = np.linalg.lstsq(A, Y - Y.mean(axis=0), rcond=tol)[0]
            np.testing.assert_allclose(fit.coef, right, rtol=1e-8, atol=1e-12)


def test_more_columns_than_rows_gives_the_smallest(rng):
    fit = ls.least_squares(
        np.array([[1.0, 2, 3], [0, 1, 1]]), np.array([[6.0], [2]]), intercept=False
    )
    np.testing.assert_allclose(fit.coef[:, 0], [2 / 3, 2 / 3, 4 / 3])
    X, Y = rng.standard_normal((10, 40)), rng.standard_normal((10, 3))
    fit = ls.least_squares(X, Y)
    A = X - X.mean(axis=0)
    np.testing.assert_allclose(fit.coef, np.linalg.pinv(A) @ Y, atol=1e-10)
    assert fit.rank == 9


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("way", ["gram", "qr", "svd"])
def test_tensors(library, way, rng):
    xp = pytest.importorskip(library)
    X, Y = rng.standard_normal((400, 4)) + 50, rng.standard_normal((400, 2))
    w = rng.uniform(0, 2, 400)
    right = ls.least_squares(X, Y, w, solver=way)
    fit = ls.least_squares(*(xp.asarray(a) for a in (X, Y, w)), solver=way)
    np.testing.assert_allclose(fit.coef, right.coef, rtol=1e-10)


def test_extended_precision_gains_digits_and_never_loses_them(rng, monkeypatch):
    for power in (3, 6, 9, 12):
        x = np.linspace(1, 3, 60)
        X = np.vander(x, power + 1, increasing=True)[:, 1:]
        y = np.sin(x)
        exact, _ = exact_least_squares(X, y)
        polished = digits(ls.least_squares(X, y[:, None]).coef[:, 0], exact)
        monkeypatch.setattr(ls, "EXTENDED_ENTRIES", 0)
        plain = digits(ls.least_squares(X, y[:, None]).coef[:, 0], exact)
        monkeypatch.undo()
        assert polished > plain - 0.5
        if power == 6 and np.finfo(np.longdouble).eps < 1e-18:
            assert polished > plain + 3


def test_nonnegative_satisfies_the_optimality_conditions(rng):
    X, Y = rng.standard_normal((100, 6)), rng.standard_normal((100, 2))
    for alpha in (0.0, 3.0):
        fit = ls.least_squares(X, Y, alpha=alpha, positive=True)
        r = Y - fit.intercept - X @ fit.coef
        g = X.T @ r - alpha * fit.coef
        assert (fit.coef >= 0).all() and (g <= 1e-9).all()
        assert np.abs(g[fit.coef > 0]).max(initial=0) < 1e-9

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from pansophy.core import least_squares as ls
from pansophy.core import least_squares_passes, linalg
from pansophy.core.arrays import to_numpy
from pansophy.core.rows import DatasetRows
from tests.oracles import linalg as slow
from tests.oracles.least_squares import digits, exact_least_squares


def psd(rng, d, rank=None):
    A = rng.standard_normal((d, rank or d + 5))
    return A @ A.T


# --- Cholesky and what is built on it ---------------------------------------------


def test_cholesky_of_a_good_matrix_needs_no_jitter(rng):
    A = psd(rng, 8)
    L, jitter = linalg.cholesky(A)
    assert jitter == 0
    np.testing.assert_allclose(L @ L.T, A, rtol=1e-12)


def test_cholesky_reports_the_least_jitter(rng):
    A = psd(rng, 8, rank=3)
    L, jitter = linalg.cholesky(A)
    assert 0 < jitter <= 1e-10 * np.trace(A)
    np.testing.assert_allclose(L @ L.T, A + jitter * np.eye(8), atol=1e-10)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(A + jitter / 1000 * np.eye(8))


def test_cholesky_refuses_an_indefinite_matrix(rng):
    with pytest.raises(linalg.NotPositiveDefiniteError, match="not positive"):
        linalg.cholesky(np.diag([1.0, -0.5]))
    with pytest.raises(ValueError, match="NaN"):
        linalg.cholesky(np.array([[np.nan]]))


@pytest.mark.parametrize("columns", [(), (3,)])
def test_solve_psd(columns, rng):
    A, B = psd(rng, 6), rng.standard_normal((6, *columns))
    X, jitter = linalg.solve_psd(A, B)
    assert jitter == 0
    np.testing.assert_allclose(A @ X, B, atol=1e-10)


@given(seed=st.integers(0, 10**6), d=st.integers(1, 12))
def test_rank_one_update_and_downdate(seed, d):
    rng = np.random.default_rng(seed)
    L = np.linalg.cholesky(psd(rng, d))
    v = rng.standard_normal(d)
    up = linalg.cholesky_update(L, v)
    np.testing.assert_allclose(up, slow.rank_one(L, v, 1), rtol=1e-8, atol=1e-9)
    back = linalg.cholesky_update(up, v, downdate=True)
    np.testing.assert_allclose(back, L, rtol=1e-6, atol=1e-7)
    half = 0.5 * L[:, 0]
    np.testing.assert_allclose(
        linalg.cholesky_update(L, half, downdate=True),
        slow.rank_one(L, half, -1),
        rtol=1e-8,
        atol=1e-9,
    )


def test_downdate_that_leaves_nothing_is_refused(rng):
    L = np.linalg.cholesky(psd(rng, 4))
    with pytest.raises(linalg.NotPositiveDefiniteError, match="downdated"):
        linalg.cholesky_update(L, 2 * L[:, 0], downdate=True)
    with pytest.raises(ValueError, match="shape"):
        linalg.cholesky_update(L, np.ones(3))


def test_low_rank_solve_and_determinant(rng):
    D, U = rng.uniform(0.5, 2, 30), rng.standard_normal((30, 4))
    A, B = np.diag(D) + U @ U.T, rng.standard_normal((30, 2))
    np.testing.assert_allclose(linalg.solve_low_rank(D, U, B), np.linalg.solve(A, B))
    assert linalg.low_rank(D, U).log_det == pytest.approx(np.linalg.slogdet(A)[1])
    with pytest.raises(linalg.NotPositiveDefiniteError, match="diagonal"):
        linalg.solve_low_rank(D - 1, U, B)


# --- conjugate gradients -----------------------------------------------------------


def test_cg_solves_and_its_objective_falls(rng):
    A, B = psd(rng, 30), rng.standard_normal((30, 3))
    run = linalg.conjugate_gradients(lambda P: A @ P, B, tol=1e-10)
    assert run.converged
    np.testing.assert_allclose(run.state.X, np.linalg.solve(A, B), rtol=1e-5, atol=1e-8)
    objective = run.history["objective"]
    assert (np.diff(objective) <= 1e-9 * np.abs(objective[1:])).all()
    assert run.history["residual"][-1] <= 1e-10


def test_cg_preconditioned_warm_and_with_zero_right_side(rng):
    d = 200
    D = np.logspace(0, 6, d)
    A, b = np.diag(D) + 1e-3 * psd(rng, d), rng.standard_normal(d)
    plain = linalg.conjugate_gradients(lambda P: A @ P, b, tol=1e-8, max_iter=100)
    good = linalg.conjugate_gradients(
        lambda P: A @ P,
        b,
        tol=1e-8,
        max_iter=100,
        precondition=lambda R: R / D[:, None],
    )
    assert good.converged and not plain.converged
    assert good.state.X.shape == (d,)
    warm = linalg.conjugate_gradients(
        lambda P: A @ P, b, X0=good.state.X, tol=1e-6, max_iter=5
    )
    assert warm.n_iter == 1
    none = linalg.conjugate_gradients(lambda P: A @ P, np.zeros(d))
    assert none.converged and not none.state.X.any()


# --- least squares ----------------------------------------------------------------


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


@pytest.mark.parametrize("way", ["gram", "qr"])
def test_blocks_threads_and_sources_agree(way, rng, tmp_path, monkeypatch):
    X, Y = rng.standard_normal((3000, 4)) + 50, rng.standard_normal((3000, 2))
    w = rng.uniform(0, 2, 3000)
    monkeypatch.setattr(least_squares_passes, "BLOCK_BYTES", 10_000)
    monkeypatch.setattr(least_squares_passes, "COPY_BYTES", 10_000)
    fit = ls.least_squares(X, Y, w, solver=way)
    monkeypatch.setattr(
        least_squares_passes.Rows, "each", lambda s, f, **k: (f(*b) for b in s.blocks())
    )
    alone = ls.least_squares(X, Y, w, solver=way)
    np.testing.assert_array_equal(fit.coef, alone.coef)
    monkeypatch.undo()

    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(4)}), path)
    disk = ls.least_squares(DatasetRows(path), Y, w, solver=way)
    thin = ls.least_squares(sp.csr_array(X), Y, w, solver=way)
    for other in (disk, thin):
        assert other.solver == way
        np.testing.assert_allclose(other.coef, fit.coef, rtol=1e-11)
        np.testing.assert_allclose(other.intercept, fit.intercept, rtol=1e-11)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("way", ["gram", "qr", "svd"])
def test_tensors(library, way, rng):
    xp = pytest.importorskip(library)
    X, Y = rng.standard_normal((400, 4)) + 50, rng.standard_normal((400, 2))
    w = rng.uniform(0, 2, 400)
    right = ls.least_squares(X, Y, w, solver=way)
    fit = ls.least_squares(*(xp.asarray(a) for a in (X, Y, w)), solver=way)
    np.testing.assert_allclose(fit.coef, right.coef, rtol=1e-10)
    A, b = xp.asarray(psd(rng, 5)), xp.asarray(rng.standard_normal(5))
    x, _ = linalg.solve_psd(A, b)
    np.testing.assert_allclose(to_numpy(A @ x), to_numpy(b), atol=1e-9)
    run = linalg.conjugate_gradients(lambda P: A @ P, b, tol=1e-12)
    np.testing.assert_allclose(to_numpy(run.state.X), to_numpy(x), rtol=1e-5)
    x = linalg.solve_low_rank(xp.abs(b) + 1, A[:, :2], b)
    back = (xp.abs(b) + 1) * x + A[:, :2] @ (A[:, :2].T @ x)
    np.testing.assert_allclose(to_numpy(back), to_numpy(b), atol=1e-9)


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

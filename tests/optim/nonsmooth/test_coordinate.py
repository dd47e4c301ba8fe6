"""Coordinate descent: loops as the slow ones, worked lasso numbers, extrapolation."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy import optim, penalties
from tests.oracles import coordinate as oracle


def test_coordinate_loops_match_the_oracle(rng):
    from pansophy.optim.nonsmooth import _coordinate as loops
    from pansophy.optim.nonsmooth.centered_design import Design

    X, y, w0 = rng.normal(size=(20, 5)) + 1, rng.normal(size=20), rng.normal(size=5)
    y = y - y.mean()
    order = np.arange(5)
    for positive in (False, True):
        penalty = penalties.elastic_net(2.0, 0.4, positive)
        start = np.abs(w0) if positive else w0
        numbers = (penalty.kind, penalty.a, penalty.b)
        how = (y, start, penalty.a, penalty.b, positive, 3)
        G, w = X.T @ X, start.copy()
        loops.gram_epochs(G, X.T @ y - G @ w, w, order, *numbers, 3)
        np.testing.assert_allclose(w, oracle.elastic_net_epochs(X, *how), rtol=1e-10)
        w = start.copy()
        curve = (X * X).sum(axis=0)
        rows = np.ascontiguousarray(X.T)
        ones, zero = np.ones(20), np.zeros(5)
        u = y - X @ w
        loops.dense_lasso_epochs(rows, ones, zero, u, 0.0, w, curve, order, *numbers, 3)
        np.testing.assert_allclose(w, oracle.elastic_net_epochs(X, *how), rtol=1e-10)
        np.testing.assert_allclose(u, y - X @ w, atol=1e-12)
        S, mean, w = sp.csc_matrix(X), X.mean(axis=0), start.copy()
        C = X - mean
        r = y - X @ w
        shift = loops.sparse_lasso_epochs(
            (S.data, S.indices, S.indptr),
            np.ones(20),
            mean,
            r,
            float(mean @ w),
            w,
            (C * C).sum(axis=0),
            order,
            *numbers,
            3,
        )
        np.testing.assert_allclose(w, oracle.elastic_net_epochs(C, *how), rtol=1e-10)
        np.testing.assert_allclose(r + shift, y - C @ w, atol=1e-12)
    design = Design(S, centre=True)
    np.testing.assert_allclose(design.gram(), C.T @ C / 20, atol=1e-12)
    np.testing.assert_allclose(design.correlate(y), C.T @ y / 20**0.5, atol=1e-12)


def test_worked_lasso_numbers():
    X, y = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 2.0])
    for strength, best in [(0, 0.7857143), (2, 0.7142857), (10, 0.4285714), (22, 0)]:
        run = optim.coordinate_descent(X, y, penalties.l1(strength / 2))
        assert run.state.position[0] == pytest.approx(best, abs=1e-7)
        kinked = lambda w, s=strength: (
            float((y - X @ w) @ (y - X @ w)) + s * abs(w[0]),
            -2 * X.T @ (y - X @ w) + s * np.sign(w),
        )
        slow = optim.subgradient(kinked, np.ones(1), 0.1, max_iter=3000)
        assert slow.objective == pytest.approx(kinked(run.state.position)[0], abs=1e-4)


def test_extrapolation_solves_a_linear_map():
    """Iterates of w <- T w + c in two dimensions: two changes say where it ends."""
    from pansophy.optim.nonsmooth.coordinate import anderson_weights

    T, c = np.array([[0.9, 0.1], [0.0, 0.5]]), np.array([1.0, 2.0])
    W = [np.zeros(2)]
    for _ in range(3):
        W.append(T @ W[-1] + c)
    W = np.array(W)
    z = anderson_weights(W)
    assert z.sum() == pytest.approx(1)
    right = np.linalg.solve(np.eye(2) - T, c)
    np.testing.assert_allclose(z @ W[1:], right, rtol=1e-6)


def test_a_start_and_a_limit_of_iterations(rng):
    X, y = rng.normal(size=(30, 5)), rng.normal(size=30)
    best = optim.coordinate_descent(X, y, penalties.l1(1.0)).state.position
    again = optim.coordinate_descent(X, y, penalties.l1(1.0), start=best)
    assert again.n_iter <= 1
    short = optim.coordinate_descent(X, y, penalties.l1(1e-3), max_iter=1, tol=0.0)
    assert not short.converged and short.n_iter == 1

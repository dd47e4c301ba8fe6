"""Stochastic gradient descent and its transformations."""

import numpy as np
import pytest

from pansophy import optim
from pansophy.optim.stochastic.schedules import Restarts


def noisy(rng, n=400, d=3):
    X = rng.normal(size=(n, d))
    y = X @ np.arange(1.0, d + 1) + rng.normal(size=n)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    f = lambda w, rows: (
        float(np.mean((X[rows] @ w - y[rows]) ** 2)) / 2,
        X[rows].T @ (X[rows] @ w - y[rows]) / len(rows),
    )
    return f, best, n


def test_averaging_removes_noise(rng):
    f, best, n = noisy(rng)
    how = {"batch_size": 4, "max_iter": 12, "tol": 0, "random_state": 0}
    rule = optim.scale_by_schedule(0.05)
    last = optim.sgd(f, np.zeros(3), n, rule, **how)
    mean = optim.sgd(f, np.zeros(3), n, rule, average=2, **how)
    np.testing.assert_array_equal(mean.state.current, last.state.position)
    miss = lambda run: np.linalg.norm(run.state.position - best)
    assert miss(mean) < miss(last) / 2
    assert mean.state.count == 10 * n // 4


def test_mean_of_the_points_exactly(rng):
    f, _, n = noisy(rng, n=12)
    seen = []
    spy = lambda w, rows: (seen.append(w.copy()), f(w, rows))[1]
    how = {"batch_size": 3, "max_iter": 2, "tol": 0, "random_state": 0, "average": 0}
    run = optim.sgd(spy, np.zeros(3), n, optim.scale_by_schedule(0.1), **how)
    points = [*seen[1:], run.state.current]
    np.testing.assert_allclose(run.state.position, np.mean(points, axis=0))


def test_batch_gradient_variance_falls_as_one_over_b(rng):
    f, _, n = noisy(rng, n=5000)
    spread = {}
    for B in (5, 20, 80):
        rows = rng.integers(n, size=(3000, B))  # with replacement: no correction
        g = np.array([f(np.zeros(3), r)[1] for r in rows])
        spread[B] = g.var(axis=0).sum()
    assert spread[5] / spread[20] == pytest.approx(4, rel=0.2)
    assert spread[20] / spread[80] == pytest.approx(4, rel=0.2)
    full = f(np.zeros(3), np.arange(n))[1]
    np.testing.assert_allclose(g.mean(axis=0), full, atol=0.1)


CHAINS = [
    optim.momentum(0.02),
    optim.nesterov(0.02),
    optim.adagrad(0.5),
    optim.rmsprop(0.02),
    optim.adam(0.05),
    optim.chain_transforms(
        optim.clip_by_norm(5.0), optim.scale_by_schedule(Restarts(0.2, 0.001, 50, 2))
    ),
]


@pytest.mark.parametrize("transform", CHAINS)
def test_every_chain_gets_there(transform, rng):
    f, best, n = noisy(rng)
    how = {"batch_size": 50, "max_iter": 60, "tol": 0, "random_state": 0}
    run = optim.sgd(f, np.zeros(3), n, transform, average=40, **how)
    np.testing.assert_allclose(run.state.position, best, atol=0.05)


def test_nesterov_as_textbooks_write_it_and_as_libraries_do():
    f = lambda x, rows: (x * x / 2, x)
    paths = {}
    for lookahead in (True, False):
        path = optim.Trajectory()
        rule = optim.nesterov(0.1, 0.9, lookahead=lookahead)
        optim.sgd(f, np.ones(()), 1, rule, max_iter=6, tol=0, task=path)
        paths[lookahead] = path.positions
    x = paths[True]
    expected = [0.9, 0.729, 0.51759, 0.294589, 0.084499]
    np.testing.assert_allclose(x[:5], expected, atol=1e-6)
    # the other form holds the points at which the gradients of this one were taken
    speed = np.diff(np.append(1.0, x))
    np.testing.assert_allclose(paths[False], x + 0.9 * speed, atol=1e-12)
    with_decay = optim.chain_transforms(
        optim.add_weight_decay(0.0), optim.nesterov(0.1, 0.9, lookahead=True)
    )
    path = optim.Trajectory()
    optim.sgd(f, np.ones(()), 1, with_decay, max_iter=6, tol=0, task=path)
    np.testing.assert_allclose(path.positions, x)
    still = optim.nesterov(0.1, 0.0, lookahead=True)
    path = optim.Trajectory()
    optim.sgd(f, np.ones(()), 1, still, max_iter=3, tol=0, task=path)
    np.testing.assert_allclose(path.positions, [0.9, 0.81, 0.729])

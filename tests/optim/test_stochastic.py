"""Stochastic gradient descent and its transformations."""

import numpy as np
import pytest

from pansophy import optim
from pansophy.optim.schedules import Restarts


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

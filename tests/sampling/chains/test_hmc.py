"""Leapfrog steps and Hamiltonian Monte Carlo with given settings."""

import numpy as np
import pytest

from pansophy.sampling import (
    HMC,
    banana_density,
    leapfrog,
    normal_density,
    sample,
)


def energy(f, x, p):
    return 0.5 * (p**2).sum(axis=1) - f(x)[0]


def test_leapfrog_is_reversible_and_of_second_order(rng):
    f = banana_density(2.0, 0.3).as_target().value_and_grad
    x, p = rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
    y, q, _ = leapfrog(f, x, p, 0.05, 40)
    back, r, _ = leapfrog(f, y, -q, 0.05, 40)
    np.testing.assert_allclose(back, x, atol=1e-10)
    np.testing.assert_allclose(-r, p, atol=1e-10)
    error = []
    for eps in (0.02, 0.01, 0.005):
        y, q, _ = leapfrog(f, x, p, eps, round(1 / eps))
        error.append(np.abs(energy(f, y, q) - energy(f, x, p)).max())
    ratio = np.array(error[:-1]) / error[1:]
    np.testing.assert_allclose(ratio, 4, rtol=0.1)


def test_leapfrog_keeps_volume(rng):
    f = banana_density(2.0, 0.3).as_target().value_and_grad
    z, h = rng.normal(size=4), 1e-5

    def flow(z):
        x, p, _ = leapfrog(f, z[None, :2], z[None, 2:], 0.3, 5)
        return np.concatenate([x[0], p[0]])

    J = [(flow(z + h * e) - flow(z - h * e)) / (2 * h) for e in np.eye(4)]
    np.testing.assert_allclose(np.linalg.det(J), 1, rtol=1e-6)


def test_given_step_size_and_metric_stay():
    sampler = HMC(
        normal_density(np.zeros(2), [1.0, 4.0]),
        step_size=0.3,
        metric=np.array([1.0, 4.0]),
    )
    draws = sample(sampler, 300, init=np.zeros(2), warmup=50, random_state=0)
    assert (draws.state.step_size == 0.3).all()
    np.testing.assert_array_equal(draws.state.inverse, [[1.0, 4.0]])
    assert draws.info["n_steps"].min() >= 4 and draws.info["n_steps"].max() <= 6


def test_hard_walls_do_not_make_paths_endless():
    """A half normal by HMC: the step size falls at the wall, paths stay below 1024."""
    half = lambda x: np.where(x[:, 0] < 0, -np.inf, -0.5 * x[:, 0] ** 2)
    sampler = HMC(half, grad=lambda x: -x, step_size=1e-9)
    _, trace = sampler.steps(np.random.default_rng(0), sampler.init(np.ones((2, 1))), 1)
    assert (trace["n_steps"] <= 1.2 * 1023 + 1).all()


@pytest.mark.parametrize("metric", ["diag", "dense", "unit"])
def test_warm_up_learns_the_metric(metric):
    """The inverse metric is the covariance of the target, up to the error of draws.

    Four chains and a last window of hundreds of steps: each variance is within a factor
    of two (more than eight standard errors of 150 independent draws).
    """
    variances = np.array([1e-4, 1.0, 1e4])
    sampler = HMC(normal_density(np.zeros(3), variances), metric=metric)
    draws = sample(sampler, 20, init=np.ones((4, 3)), warmup=600, random_state=0)
    inverse = np.asarray(draws.state.inverse)
    if metric == "unit":
        assert (inverse == 1).all()
        return
    found = np.diagonal(inverse) if metric == "dense" else inverse[0]
    ratio = found / variances
    assert (ratio > 0.5).all() and (ratio < 2).all()

"""Simulation of dynamic systems."""

import numpy as np
import pytest

from pansophy.state_space import (
    DynamicSystem,
)


def test_simulator_without_noise_is_sure_and_with_it_has_the_moments():
    A, Q = np.array([[0.9, 0.2], [0.0, 0.7]]), np.array([0.3, 0.5])
    linear = lambda x, w: x @ A.T + w
    noise = lambda rng, m: Q * rng.normal(size=(m, 2))
    system = DynamicSystem(linear, noise=noise, observe=lambda x: x[:, :1])
    found = system.simulate(12, [1.0, 2.0], paths=20_000, random_state=0)
    mean, cov = np.array([1.0, 2.0]), np.zeros((2, 2))
    for _ in range(12):
        mean, cov = A @ mean, A @ cov @ A.T + np.diag(Q**2)
    last = found.states[:, -1]
    np.testing.assert_allclose(last.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(last.T), cov, rtol=0.05, atol=0.02)
    np.testing.assert_array_equal(found.observations[:, :, 0], found.states[:, :, 0])
    sure = DynamicSystem(lambda x: x @ A.T)
    a, b = (sure.simulate(5, [1.0, 2.0], random_state=s).states for s in (0, 1))
    np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="transition must give"):
        DynamicSystem(lambda x: x[:, :1]).simulate(2, [1.0, 2.0])

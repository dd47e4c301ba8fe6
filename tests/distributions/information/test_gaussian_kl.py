"""Divergences of Normals: worked numbers, Monte Carlo, refusals."""

import math

import numpy as np
import pytest

from pansophy.distributions import Normal, kl, kl_gaussian


def test_worked_normals():
    assert kl_gaussian(0.0, 1.0, 1.0, 4.0) == pytest.approx(0.443147, abs=5e-7)
    cov = [[2.0, 0.6], [0.6, 1.0]]
    assert kl_gaussian([1.0, 2.0], cov) == pytest.approx(2.752652, abs=5e-7)
    for mean, sd, value in [
        (0, 1, 0),
        (1, 1, 0.5),
        (0, 2, 0.806853),
        (0.5, 0.5, 0.443147),
    ]:
        assert kl_gaussian(float(mean), float(sd) ** 2) == pytest.approx(
            value, abs=5e-7
        )


def test_normals_match_monte_carlo_and_forms(rng):
    A, B = rng.standard_normal((2, 3, 3))
    p = Normal(rng.standard_normal(3), A @ A.T + np.eye(3))
    q = Normal(rng.standard_normal(3), B @ B.T + np.eye(3))
    exact = kl(p, q)
    draws = p.sample(200_000, rng)
    assert kl(p, q, samples=draws) == pytest.approx(exact, rel=0.03)
    assert kl(p, p) == pytest.approx(0, abs=1e-12)
    m, v = rng.standard_normal((4, 3)), rng.random((4, 3)) + 0.5
    full = np.stack([np.diag(row) for row in v])
    np.testing.assert_allclose(kl_gaussian(m, v), kl_gaussian(m, full), rtol=1e-10)
    vae = -0.5 * np.sum(1 + np.log(v) - m**2 - v, axis=1)
    np.testing.assert_allclose(kl_gaussian(m, v), vae, rtol=1e-10)
    batch = Normal(m, full)
    np.testing.assert_allclose(
        kl(batch, q), [kl(batch[j], q) for j in range(4)], rtol=1e-10
    )


def test_normals_out_of_support_and_refusals():
    assert kl_gaussian([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]]) == math.inf
    assert kl_gaussian(0.0, 0.0) == math.inf
    with pytest.raises(ValueError, match="positive definite"):
        kl_gaussian([0.0, 0.0], np.eye(2), [0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="negative"):
        kl_gaussian(0.0, -1.0)
    with pytest.raises(ValueError, match="one more axis"):
        kl_gaussian([0.0, 0.0], np.ones((2, 3)))

"""Transforms of constrained parameters."""

import numpy as np
import pytest

from pansophy.sampling import (
    NUTS,
    as_target_density,
    gradient_error,
    interval,
    mcse_mean,
    positive,
    real,
    sample,
    simplex,
    unconstrained_density,
)
from pansophy.sampling.densities.target_density import ensure_gradient


def test_transforms_keep_the_density(rng):
    """log |det| by differences, bounds, the gradient, and moments of a Dirichlet."""
    torch = pytest.importorskip("torch")
    parts = [real(2), positive(), interval(-1.0, 3.0, 2), simplex(4)]
    density = unconstrained_density(
        lambda x: -0.5 * (x**2).sum(axis=-1), parts, grad=lambda x: -x
    )
    u = rng.normal(size=density.dim)
    x, log_det = density.constrain_with_log_det(u)
    assert x.shape == (9,) and x[2] > 0 and (np.abs(x[3:5] - 1) < 2).all()
    np.testing.assert_allclose(x[5:].sum(), 1)
    free = np.r_[0:8]  # the last of the simplex follows from the others
    h = 1e-6
    move = lambda e: density.constrain(u + h * e) - density.constrain(u - h * e)
    J = [move(e)[free] / (2 * h) for e in np.eye(8)]
    np.testing.assert_allclose(np.linalg.slogdet(J)[1], log_det, rtol=1e-6)
    assert gradient_error(density, u) < 1e-7
    by_torch = unconstrained_density(lambda x: -0.5 * (x**2).sum(dim=-1), parts)
    value, grad = ensure_gradient(as_target_density(by_torch), u[None]).value_and_grad(
        u[None]
    )
    np.testing.assert_allclose(value, density(u))
    np.testing.assert_allclose(grad[0], density.gradient(u), rtol=1e-9)
    assert torch.is_tensor(by_torch(torch.zeros(8, dtype=torch.float64)))
    a = np.array([2.0, 3.0, 5.0])
    law = unconstrained_density(
        lambda x: ((a - 1) * np.log(x)).sum(axis=-1),
        [simplex(3)],
        grad=lambda x: (a - 1) / x,
    )
    draws = sample(NUTS(law), 800, init=np.zeros(2), warmup=300, random_state=0)
    x = law.constrain(draws.positions)
    z = (x.mean(axis=(0, 1)) - a / a.sum()) / mcse_mean(x)
    assert np.abs(z).max() < 4
    for make, words in (
        (lambda: interval(1, 1), "low must be below"),
        (lambda: simplex(1), "at least 2"),
        (lambda: law.constrain(np.zeros(5)), "2 coordinates"),
    ):
        with pytest.raises(ValueError, match=words):
            make()


def test_transforms_far_out_keep_their_digits():
    """log |det| of a sigmoid falls like -|u|, and does not become -inf."""
    flat = unconstrained_density(
        lambda x: 0 * x[..., 0], [simplex(3)], grad=lambda x: 0 * x
    )
    density = flat.as_target()
    for far in (-700.0, 700.0):
        (value,), (slope,) = density.value_and_grad(np.full((1, 2), far))
        # three or two factors of exp(-|u|), up to the shift log 2
        assert value == pytest.approx(-(3 if far > 0 else 2) * 700, abs=2)
        np.testing.assert_allclose(np.abs(slope), [2, 1] if far > 0 else [1, 1])

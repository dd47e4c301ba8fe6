"""Target densities of functions, distributions, torch and Numba."""

import numpy as np
import pytest
from numba import njit

from pansophy.sampling import (
    as_target_density,
    linear_density,
    logistic_density,
    normal_density,
)
from pansophy.sampling.densities.target_density import ensure_gradient, ensure_values


def same(a, b):
    """Equal up to a constant."""
    np.testing.assert_allclose(a - a[0], b - b[0], atol=1e-9)


def test_distribution_and_torch_functions(rng):
    torch = pytest.importorskip("torch")
    from pansophy.distributions import Normal

    x = rng.normal(size=(5, 2))
    law = Normal(np.zeros(2), np.eye(2))
    same(as_target_density(law).value(x), -0.5 * (x**2).sum(axis=1))
    only = lambda t: -torch.exp(t).sum(dim=-1)  # does not take NumPy's arrays
    density = ensure_values(as_target_density(only), x)
    np.testing.assert_allclose(density.value(x), -np.exp(x).sum(axis=1))
    grad = ensure_gradient(as_target_density(only), x).value_and_grad(x)[1]
    np.testing.assert_allclose(grad, -np.exp(x))


@njit
def total(x):
    if x[0] > 100:
        raise ValueError("too far")
    return -x.sum()


def test_numba_errors_are_densities_that_failed():
    density = as_target_density(total)
    np.testing.assert_allclose(density.value(np.ones((2, 3))), -3.0)
    assert np.isnan(density.value(np.full((1, 3), 200.0))).all()
    with pytest.raises(TypeError, match="needs the gradient"):
        density.value_and_grad(np.ones((1, 3)))


def test_wrong_input():
    for make, words in (
        (lambda: normal_density([0.0], [[1.0, 0.0]]), "must have shape"),
        (lambda: normal_density([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]]), "positive def"),
        (lambda: normal_density([0.0], [-1.0]), "must be positive"),
        (lambda: normal_density([0.0]), "either covariance or precision"),
        (lambda: logistic_density(np.ones((3, 1)), [0, 1, 2]), "two labels"),
        (lambda: logistic_density(np.ones((3, 1)), [0, 1]), "as many rows"),
        (lambda: linear_density([[np.nan]], [1.0]), "finite"),
        (lambda: as_target_density("x"), "log_prob must be a function"),
        (
            lambda: as_target_density(np.sum, dim=2).value(np.ones((1, 3))),
            "3 coordinates",
        ),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            make()

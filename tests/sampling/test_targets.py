"""Targets and compiled densities: every form of a density, gradients, wrong shapes."""

import numpy as np
import pytest
from numba import njit

from pansophy.sampling import (
    NUTS,
    as_target_density,
    banana_density,
    eight_schools_density,
    funnel_density,
    gradient_error,
    interval,
    linear_density,
    logistic_density,
    mcse_mean,
    normal_density,
    positive,
    real,
    sample,
    simplex,
    unconstrained_density,
)
from pansophy.sampling.target_density import ensure_gradient, ensure_values


def densities():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.normal(size=300)  # an odd number of columns
    A = rng.normal(size=(7, 7))
    return {
        "normal": normal_density(rng.normal(size=7), A @ A.T + np.eye(7)),
        "diagonal": normal_density(np.ones(3), precision=[1.0, 2.0, 3.0]),
        "logistic": logistic_density(X, y > 0, intercept=True),
        "linear": linear_density(X, y, scale=2.0, noise=3.0),
        "schools": eight_schools_density(),
        "funnel": funnel_density(6),
        "banana": banana_density(),
    }


@pytest.mark.parametrize("name", densities())
def test_gradients(name, rng):
    density = densities()[name]
    for _ in range(3):
        assert gradient_error(density, rng.normal(size=density.dim)) < 1e-7
    assert name[:4] in repr(density) or "normal" in repr(density)


def test_values():
    """Against the formulas, written plainly."""
    from scipy import stats

    rng = np.random.default_rng(1)
    x = rng.normal(size=(4, 3))
    S = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.5]])
    law = stats.multivariate_normal(np.ones(3), S)
    same(normal_density(np.ones(3), S)(x), law.logpdf(x))
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    b, s = x[:, :2], np.exp(x[:, 2])
    want = stats.norm(b @ X.T, s[:, None]).logpdf(y).sum(axis=1)
    want += stats.norm(0, 2).logpdf(b).sum(axis=1)
    want += stats.halfnorm(scale=3).logpdf(s) + x[:, 2]
    same(linear_density(X, y, scale=2.0, noise=3.0)(x), want)
    v, rest = x[:, 0], x[:, 1:]
    want = stats.norm(0, 3).logpdf(v)
    want += stats.norm(0, np.exp(v / 2)[:, None]).logpdf(rest).sum(axis=1)
    same(funnel_density(3)(x), want)
    z = rng.normal(size=(4, 10))
    mu, tau = z[:, 0], np.exp(z[:, 1])
    effects = mu[:, None] + tau[:, None] * z[:, 2:]
    density = eight_schools_density()
    want = stats.norm(effects, density.data[1]).logpdf(density.data[0]).sum(axis=1)
    want += stats.norm(0, 5).logpdf(mu) + stats.halfcauchy(scale=5).logpdf(tau)
    same(density(z), want + z[:, 1] + stats.norm().logpdf(z[:, 2:]).sum(axis=1))


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


def test_transforms_keep_the_density(rng):
    """log |det| by differences, bounds, the gradient, and moments of a Dirichlet."""
    torch = pytest.importorskip("torch")
    parts = [real(2), positive(), interval(-1.0, 3.0, 2), simplex(4)]
    density = unconstrained_density(
        lambda x: -0.5 * (x**2).sum(axis=-1), parts, grad=lambda x: -x
    )
    u = rng.normal(size=density.dim)
    x, log_det = density.both(u)
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
    np.testing.assert_allclose(grad[0], density.slope(u), rtol=1e-9)
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

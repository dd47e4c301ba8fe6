"""Compiled densities: values and gradients."""

import numpy as np
import pytest

from pansophy.sampling import (
    banana_density,
    eight_schools_density,
    funnel_density,
    gradient_error,
    linear_density,
    logistic_density,
    normal_density,
)


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

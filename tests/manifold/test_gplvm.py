"""GPLVM: slopes, dual probabilistic PCA, a likelihood that rises."""

import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from pansophy.kernels import RBF, Constant, Linear, Polynomial
from pansophy.manifold import GPLVM
from pansophy.manifold.gplvm import gplvm_objective, latent_gradient

KERNELS = [
    Constant(1.5) * RBF(0.8),
    Linear(0.7),
    RBF([0.5, 1.5]) + Linear(0.3),
    Polynomial(2, 0.5, 0.3) * RBF(2.0),
]


def rows(n=12, d=5, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X - X.mean(axis=0)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_slopes_against_finite_differences(kernel):
    Y, Z = rows(), rows(12, 2, 1)
    S, d, noise = Y @ Y.T, Y.shape[1], 0.3
    _, dZ, dtheta, dnoise = gplvm_objective(Z, kernel, noise, S, d)
    value = lambda Z, k, s: gplvm_objective(Z, k, s, S, d)[0]
    for i, c in [(0, 0), (5, 1), (11, 0)]:
        step = np.zeros_like(Z)
        step[i, c] = 1e-5
        slope = value(Z + step, kernel, noise) - value(Z - step, kernel, noise)
        assert dZ[i, c] == pytest.approx(slope / 2e-5, rel=1e-5, abs=1e-6)
    for t in range(len(kernel.theta)):
        e = 1e-5 * np.eye(len(kernel.theta))[t]
        up, down = (
            kernel.with_theta(kernel.theta + e),
            kernel.with_theta(kernel.theta - e),
        )
        slope = (value(Z, up, noise) - value(Z, down, noise)) / 2e-5
        assert dtheta[t] == pytest.approx(slope, rel=1e-5, abs=1e-6)
    slope = value(Z, kernel, noise * math.exp(1e-5)) - value(
        Z, kernel, noise * math.exp(-1e-5)
    )
    assert dnoise == pytest.approx(slope / 2e-5, rel=1e-5)


def test_objective_is_the_density_of_the_columns():
    Y, Z, kernel = rows(), rows(12, 2, 1), Constant(1.5) * RBF(0.8)
    K = kernel(Z) + 0.3 * np.eye(12)
    slow = -multivariate_normal(cov=K).logpdf(Y.T).sum()
    assert gplvm_objective(Z, kernel, 0.3, Y @ Y.T, 5)[0] == pytest.approx(slow)


def test_linear_kernel_is_dual_probabilistic_pca():
    n, d, m = 15, 60, 2
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, m)) @ rng.normal(size=(m, d)) + 0.3 * rng.normal(
        size=(n, d)
    )
    X -= X.mean(axis=0)
    model = GPLVM(m, kernel="linear", max_iter=3000, tol=1e-9).fit(X)
    values, U = np.linalg.eigh(X @ X.T / d)
    values, U = values[::-1], U[:, ::-1]
    noise = values[m:].mean()
    best = (U[:, :m] * (values[:m] - noise)) @ U[:, :m].T
    assert model.noise_ == pytest.approx(noise, rel=1e-3)
    np.testing.assert_allclose(model.kernel_(model.embedding_), best, rtol=0, atol=2e-3)


@pytest.mark.filterwarnings("ignore:GPLVM did not converge")
def test_the_marginal_likelihood_rises_and_a_curve_is_found():
    t = np.linspace(-2, 2, 30)
    rng = np.random.default_rng(0)
    X = np.column_stack([t, np.sin(2 * t), np.cos(t)]) + 0.02 * rng.normal(size=(30, 3))
    model = GPLVM(1, max_iter=200).fit(X)
    L = model.history_["objective"]
    assert np.all(np.diff(L) <= 1e-9 * np.abs(L[0]))
    assert L[-1] < L[0]
    linear = GPLVM(1, kernel="linear", max_iter=200).fit(X)
    assert model.log_likelihood_ > linear.log_likelihood_
    back = model.inverse_transform(model.embedding_)
    assert np.abs(back - X).mean() < 0.1


def test_scaling_the_data_scales_the_model():
    X = rows(20, 6)
    how = {"max_iter": 1000, "kernel": "linear", "tol": 1e-7}
    a, b = GPLVM(**how).fit(X), GPLVM(**how).fit(10 * X)
    assert b.noise_ == pytest.approx(100 * a.noise_, rel=1e-3)
    assert b.log_likelihood_ == pytest.approx(
        a.log_likelihood_ - X.size * math.log(10), abs=1e-2
    )


def test_refuses_a_kernel_without_a_slope():
    with pytest.raises(ValueError, match="cannot be learnt"):
        latent_gradient(RBF(1.0) ** 2, rows(5, 2), np.eye(5))
    with pytest.raises(ValueError, match="init has shape"):
        GPLVM(init=np.zeros((3, 2))).fit(rows())

"""Gaussian processes by conjugate gradients against dense matrices."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.core.linalg.linalg import NotPositiveDefiniteError
from pansophy.gaussian_process import ExactSolver, iterative
from pansophy.gaussian_process.exact import GPData, exact_evidence
from pansophy.gaussian_process.iterative import (
    iterative_evidence,
    iterative_posterior,
    kernel_system,
)
from pansophy.kernels import RBF, Linear, Matern, White

KERNELS = [1.5 * RBF([0.8, 1.2]), 1.5 * Matern(0.8, nu=2.5) + White(0.1)]
EXACT = SimpleNamespace(rank=40, n_probes=3, tol=1e-11, max_iter=200, seed=0)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (40, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=40)
    return GPData(X, np.column_stack([y, y**2]), rng.uniform(0.05, 0.2, 40))


def covariance_of(kernel, data):
    return kernel(data.X) + np.diag(data.noise)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rank", [5, 40])
def test_operator_and_preconditioner(kernel, rank, data):
    system = kernel_system(kernel, data, rank)
    C = covariance_of(kernel, data)
    V = np.random.default_rng(1).normal(size=(40, 3))
    np.testing.assert_allclose(system.product(V), C @ V, rtol=1e-10)
    P = np.linalg.inv(system.factor.solve(np.eye(40)))
    # what the factor leaves of the diagonal is spread over all rows
    assert np.trace(P) == pytest.approx(np.trace(C), rel=1e-9)
    _, log_det = np.linalg.slogdet(P)
    assert float(system.factor.log_det) == pytest.approx(log_det, rel=1e-9)
    if rank == 40:
        np.testing.assert_allclose(P, C, atol=1e-6)
    else:
        eigenvalues = np.linalg.eigvals(np.linalg.solve(P, C)).real
        plain = np.linalg.eigvalsh(C)
        condition = eigenvalues.max() / eigenvalues.min()
        assert condition < 0.5 * plain.max() / plain.min()


@pytest.mark.parametrize("kernel", KERNELS)
def test_full_rank_gives_the_exact_evidence(kernel, data):
    """With P = C each probe knows the determinant and the trace of eq. (2) exactly."""
    exact = exact_evidence(kernel, data)
    found = iterative_evidence(kernel, data, EXACT)
    assert found.value == pytest.approx(exact.value, abs=1e-5)
    # (3) is exact in the mean only: its value is z^T C^-1 dK C^-1 z
    assert found.gradient.shape == exact.gradient.shape
    only = iterative_evidence(kernel, data, EXACT, gradient=False)
    assert only.gradient is None and only.value == found.value


def test_gradient_is_that_of_the_probes(data):
    """Eq. (3) with dense matrices and the very same probes."""
    kernel = KERNELS[0]
    options = SimpleNamespace(rank=6, n_probes=4, tol=1e-12, max_iter=300, seed=3)
    found = iterative_evidence(kernel, data, options)
    system = kernel_system(kernel, data, 6)
    Z = iterative.sample_low_rank(system.factor, np.random.default_rng(3), 4)
    C = covariance_of(kernel, data)
    A = np.linalg.solve(C, data.Y)
    dK = kernel.gradient(data.X)
    traces = [
        np.mean(np.sum(np.linalg.solve(C, Z) * (G @ system.factor.solve(Z)), axis=0))
        for G in dK
    ]
    fits = [np.sum(A * (G @ A)) for G in dK]
    want = 0.5 * np.array(fits) - 0.5 * 2 * np.array(traces)  # two outputs
    np.testing.assert_allclose(found.gradient, want, rtol=1e-7)


def test_probes_come_near_the_exact_gradient(data):
    kernel = KERNELS[0]
    options = SimpleNamespace(rank=20, n_probes=600, tol=1e-9, max_iter=300, seed=0)
    found = iterative_evidence(kernel, data, options)
    exact = exact_evidence(kernel, data)
    assert found.value == pytest.approx(exact.value, abs=0.3)
    np.testing.assert_allclose(found.gradient, exact.gradient, atol=1.0)


def test_the_seed_decides_about_the_probes(data):
    few = SimpleNamespace(rank=3, n_probes=2, tol=1e-9, max_iter=300, seed=0)
    one = iterative_evidence(KERNELS[0], data, few).value
    assert one == iterative_evidence(KERNELS[0], data, few).value
    few.seed = 1
    assert one != iterative_evidence(KERNELS[0], data, few).value


@pytest.mark.parametrize("kernel", KERNELS)
def test_posterior(kernel, data, monkeypatch):
    monkeypatch.setattr(iterative, "NEW_ROWS", 4)  # several blocks
    new = np.random.default_rng(2).uniform(-2, 2, (9, 2))
    exact = ExactSolver().condition(kernel, data, None)
    options = SimpleNamespace(rank=8, tol=1e-12, max_iter=300)
    found = iterative_posterior(kernel, data, options)
    np.testing.assert_allclose(found.mean(new), exact.mean(new), atol=1e-8)
    np.testing.assert_allclose(found.variance(new), exact.variance(new), atol=1e-8)
    np.testing.assert_allclose(found.covariance(new), exact.covariance(new), atol=1e-8)
    mean, variance = found.moments(new)
    np.testing.assert_array_equal(mean, found.mean(new))
    np.testing.assert_array_equal(variance, found.variance(new))


def test_variances_are_not_below_zero():
    X = np.linspace(0, 1, 30)[:, None]
    data = GPData(X, np.sin(X), np.full(30, 1e-10))
    options = SimpleNamespace(rank=30, tol=1e-3, max_iter=500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        posterior = iterative_posterior(RBF(2.0), data, options)
        assert (posterior.variance(X) >= 0).all()


def test_a_residual_above_tol_is_told(data):
    system = kernel_system(KERNELS[0], data, 1)
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps at a residual"):
        system.solve(data.Y, 1e-12, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        system.solve(data.Y, 1e-6, 200)


def test_kernels_without_finite_values_are_refused(data):
    with (
        np.errstate(all="ignore"),
        pytest.raises(NotPositiveDefiniteError, match="not finite"),
    ):
        kernel_system(Linear(1.0), data._replace(X=1e200 * data.X), 3)

"""Matern processes of one column as chains, against the exact solver."""

import numpy as np
import pytest
import scipy.linalg
from scipy.optimize import approx_fprime

from pansophy.gaussian_process import ChainSolver, ExactSolver, GaussianProcessRegressor
from pansophy.gaussian_process.chain import (
    MATERN_SYSTEMS,
    chain_terms,
    transition,
    transition_noise,
)
from pansophy.gaussian_process.exact import GPData, exact_evidence
from pansophy.kernels import RBF, Constant, Laplacian, Linear, Matern, White

KERNELS = [
    1.3 * Matern(0.7, nu=0.5) + White(0.1),
    2.0 * Matern(1.5, nu=1.5) + White(0.1) + Constant(0.3),
    2.0 * (1.2 * Matern(1.5, nu=2.5) + Matern(0.2, nu=0.5).fixed())
    + White(0.1) * Constant(0.5)
    + 0.2 * Laplacian(2.0),
    Matern(2.0, nu=2.5).on([0]),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0, 10, 80), np.repeat(5.0, 3), [2.0, 2.0]])
    y = np.sin(x) + 0.1 * rng.normal(size=len(x))
    Y = np.column_stack([y, y**2])
    return GPData(x[:, None], Y, rng.uniform(0.001, 0.1, len(x)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_evidence_and_gradient_are_exact(kernel, data):
    expected = exact_evidence(kernel, data)
    found = ChainSolver().evidence(kernel, data)
    assert found.value == pytest.approx(expected.value, abs=1e-8)
    assert np.allclose(found.gradient, expected.gradient, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_posterior_is_exact(kernel, data):
    rng = np.random.default_rng(1)
    new = rng.uniform(-2, 12, (25, 1))
    new[3] = new[4]
    new[5] = data.X[7]  # a row of the training set: without its white noise
    exact = ExactSolver().condition(kernel, data, rng)
    chain = ChainSolver().condition(kernel, data, rng)
    for name in ("mean", "variance", "covariance"):
        assert np.allclose(
            getattr(chain, name)(new), getattr(exact, name)(new), atol=1e-8
        )


@pytest.mark.parametrize("nu", MATERN_SYSTEMS)
def test_transitions_are_exponentials_and_keep_the_variance(nu):
    system = MATERN_SYSTEMS[nu]
    u = np.array([0.0, 1e-6, 0.01, 0.999, 1.001, 7.0])
    F = transition(system, u)
    Q = transition_noise(system, u, F)
    for i, gap in enumerate(u):
        assert np.allclose(F[i], scipy.linalg.expm(system.A * gap), atol=1e-12)
        kept = F[i] @ system.S @ F[i].T + Q[i]
        assert np.allclose(kept, system.S, atol=1e-12)
        assert np.linalg.eigvalsh(Q[i]).min() >= -1e-17
    # close rows: the leading entry is of the order u^(2 nu), without cancellation
    assert 0 < Q[1][0, 0] < 1e-5


def test_rows_without_y_are_left_out(data):
    kernel = KERNELS[1]
    Y = data.Y[:, :1].copy()
    Y[::3] = np.nan
    seen = ~np.isnan(Y[:, 0])
    expected = exact_evidence(kernel, data._replace(Y=Y).take(seen))
    found = ChainSolver().evidence(kernel, data._replace(Y=Y))
    assert found.value == pytest.approx(expected.value, abs=1e-8)
    assert np.allclose(found.gradient, expected.gradient, atol=1e-8)


def test_order_of_rows_does_not_matter(data):
    order = np.random.default_rng(2).permutation(len(data.Y))
    one = ChainSolver().evidence(KERNELS[0], data)
    other = ChainSolver().evidence(KERNELS[0], data.take(order))
    assert one.value == pytest.approx(other.value, abs=1e-9)


def test_other_kernels_are_refused(data):
    assert chain_terms(RBF() + White()) is None
    assert chain_terms(Matern(nu=2.0)) is None
    assert chain_terms(Matern() * Matern()) is None
    assert chain_terms(Linear()) is None
    model = GaussianProcessRegressor(RBF(), alpha=0.1, solver="chain")
    with pytest.raises(ValueError, match="needs a kernel made of Matern"):
        model.fit(data.X, data.Y)
    with pytest.raises(ValueError, match="solver='chain' needs one column"):
        model.fit(np.ones((4, 2)), np.arange(4.0))


@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_equal_rows_without_noise_get_a_jitter_that_scales(scale):
    x = np.array([[0.0], [0.0], [1.0], [2.0]])
    y = np.array([1.0, 1.0, 0.5, 0.0])
    options = {"alpha": 0.0, "optimizer": None, "solver": "chain"}
    one = GaussianProcessRegressor(1.0 * Matern(), **options).fit(x, y)
    other = GaussianProcessRegressor(scale**2 * Matern(), **options)
    other.fit(x, scale * y)
    assert one.jitter_ > 0
    assert other.jitter_ == pytest.approx(scale**2 * one.jitter_)
    assert np.allclose(other.predict([[0.5]]) / scale, one.predict([[0.5]]))


def test_fit_of_a_long_series():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 300, 4000)
    y = 5 + np.sin(x) + 0.3 * rng.normal(size=4000)
    kernel = 1.0 * Matern(1.0, nu=2.5) + White(1.0)
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    model.fit(x[:, None], y)
    assert model.solver_ == "chain"
    assert "4000 rows of one column" in model.solver_reason_
    mean, std = model.predict(x[:500, None], return_std=True, noise=False)
    assert np.sqrt(np.mean((mean - 5 - np.sin(x[:500])) ** 2)) < 0.1
    assert std.max() < 0.3
    z = (y[:500] - mean) / model.predict(x[:500, None], return_std=True)[1]
    assert 0.9 < z.std() < 1.1
    value = model.log_marginal_likelihood
    theta = model.kernel_.theta
    _, slope = value(theta, eval_gradient=True)
    assert np.allclose(slope, approx_fprime(theta, value, 1e-5), atol=0.1)
    assert np.abs(slope).max() < 1.0  # the optimum, but for the prior

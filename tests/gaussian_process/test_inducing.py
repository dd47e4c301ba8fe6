"""The bound by inducing inputs: below the evidence, exact with all rows, gradients."""

import numpy as np
import pytest

from pansophy.gaussian_process import (
    ExactSolver,
    GaussianProcessRegressor,
    InducingSolver,
)
from pansophy.gaussian_process.exact import GPData, exact_evidence
from pansophy.gaussian_process.inducing import (
    choose_inducing_inputs,
    inducing_evidence,
    inducing_posterior,
)
from pansophy.kernels import RBF, Linear, Matern, White

KERNELS = [
    1.5 * RBF([0.8, 1.2]) + White(0.01),
    1.5 * Matern(0.8, nu=2.5) * Linear(1.0) + White(0.3) * Linear(0.1) + 0.5,
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (150, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=150)
    Y = np.column_stack([y, y**2])
    return GPData(X, Y, rng.uniform(0.01, 0.05, 150))


def differences(f, x, h=1e-5):
    return np.array([(f(x + e) - f(x - e)) / (2 * h) for e in h * np.eye(len(x))])


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradients_in_theta_and_inputs(kernel, data, monkeypatch):
    from pansophy.gaussian_process import inducing

    monkeypatch.setattr(inducing, "ROWS", 40)
    Z = choose_inducing_inputs(kernel, data.X, 5, np.random.default_rng(0)) + 0.05
    bound = lambda k, Z: inducing_evidence(k, data, Z, gradient=False).value
    found = inducing_evidence(kernel, data, Z)
    numeric = differences(lambda t: bound(kernel.with_theta(t), Z), kernel.theta)
    assert np.allclose(found.gradient, numeric, rtol=1e-6, atol=1e-5)
    numeric = differences(lambda z: bound(kernel, z.reshape(Z.shape)), Z.ravel())
    assert np.allclose(found.solver_params, numeric, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_bound_rises_to_the_evidence(kernel, data):
    exact = exact_evidence(kernel, data)
    rng = np.random.default_rng(0)
    values = []
    for m in (5, 20, 60):
        Z = choose_inducing_inputs(kernel, data.X, m, rng)
        values.append(inducing_evidence(kernel, data, Z, gradient=False).value)
    assert values == sorted(values)
    assert values[-1] <= exact.value + 1e-8
    whole = inducing_evidence(kernel, data, data.X.copy())
    assert whole.value == pytest.approx(exact.value, abs=1e-8)
    assert np.allclose(whole.gradient, exact.gradient, atol=1e-7)


def test_all_rows_give_the_exact_posterior(data):
    kernel = KERNELS[1]
    exact = ExactSolver().condition(kernel, data, None)
    found = inducing_posterior(kernel, data, data.X)
    new = data.X[:9] + 0.1
    for name in ("mean", "variance", "covariance"):
        assert np.allclose(
            getattr(found, name)(new), getattr(exact, name)(new), atol=1e-8
        )


def test_fit_moves_the_inputs_uphill(data):
    kernel = 1.0 * RBF([1.0, 1.0]) + White(0.1)
    options = {"random_state": 0}
    X, y = data.X, data.Y[:, 0]
    exact = GaussianProcessRegressor(kernel, solver="exact", **options).fit(X, y)
    values = []
    for moves in (False, True):
        solver = InducingSolver(12, learn_inputs=moves)
        model = GaussianProcessRegressor(kernel, solver=solver, **options).fit(X, y)
        values.append(model.log_marginal_likelihood_value_)
    assert values[0] < values[1] < exact.log_marginal_likelihood_value_ + 1e-6
    assert model.solver_ == "inducing"
    assert len(model._posterior.Z) == 12
    value = model.log_marginal_likelihood(model.kernel_.theta)
    assert value == pytest.approx(values[1], abs=1e-8)
    gap = model.predict(X) - exact.predict(X)
    assert np.sqrt(np.mean(gap**2)) < 0.1


def test_noise_is_needed(data):
    model = GaussianProcessRegressor(
        RBF(), alpha=0.0, solver="inducing", optimizer=None
    )
    with pytest.raises(ValueError, match="solver='inducing' needs noise"):
        model.fit(data.X, data.Y)
    with pytest.raises(ValueError, match="n_inducing of InducingSolver"):
        InducingSolver(n_inducing=0)


@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_units_of_y(scale, data):
    X, y = data.X, data.Y[:, 0]
    options = {"solver": InducingSolver(20), "optimizer": None, "random_state": 0}
    one = GaussianProcessRegressor(1.0 * RBF() + White(0.1), alpha=0.0, **options)
    other = GaussianProcessRegressor(
        scale**2 * RBF() + White(0.1 * scale**2), alpha=0.0, **options
    )
    small = one.fit(X, y).predict(X[:9] + 0.1, return_std=True)
    large = other.fit(X, scale * y).predict(X[:9] + 0.1, return_std=True)
    for a, b in zip(small, large, strict=True):
        assert np.allclose(b / scale, a, rtol=1e-7)

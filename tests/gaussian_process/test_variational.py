"""Variational inference: the collapsed bound, gradients, batches, other likelihoods."""

import numpy as np
import pytest

from pansophy import persist
from pansophy.gaussian_process import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    InducingSolver,
    VariationalSolver,
    get_likelihood,
    student_t_likelihood,
)
from pansophy.gaussian_process.exact import GPData, exact_evidence
from pansophy.gaussian_process.inducing import (
    choose_inducing_inputs,
    inducing_evidence,
    inducing_posterior,
)
from pansophy.gaussian_process.variational import (
    fit_posterior,
    variational_evidence,
    variational_posterior,
    variational_system,
)
from pansophy.kernels import RBF, White

KERNEL = 1.5 * RBF([0.8, 1.2])
N = 80


def problem(name):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (N, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    likelihood = get_likelihood(name)
    k = 1
    if name == "poisson":
        y = rng.poisson(np.exp(f)) * 1.0
    elif name == "bernoulli":
        y = (f + rng.logistic(size=N) > 0) * 1.0
    elif name == "categorical":
        k = 3
        y = np.argmax(np.column_stack([f, -f, X[:, 0]]) + rng.gumbel(size=(N, 3)), 1)
    else:
        y = f + 0.1 * rng.standard_t(3, N)
        if name == "student_t":
            likelihood = student_t_likelihood(4.0, 0.2)
    return GPData(X, 1.0 * y[:, None], np.full(N, 0.02), likelihood, k)


def test_normal_likelihood_is_the_collapsed_bound(monkeypatch):
    from pansophy.gaussian_process import variational

    monkeypatch.setattr(variational, "ROWS", 30)
    data = problem("normal")
    kernel = KERNEL + White(0.02)
    Z = choose_inducing_inputs(kernel, data.X, 15, np.random.default_rng(0)) + 0.01
    found, q = variational_evidence(kernel, data, Z, 1)
    expected = inducing_evidence(kernel, data, Z)
    assert found.value == pytest.approx(expected.value, abs=1e-8)
    assert np.allclose(found.gradient, expected.gradient, atol=1e-8)
    assert np.allclose(found.solver_params, expected.solver_params, atol=1e-8)
    assert found.value < exact_evidence(kernel, data).value
    one = variational_posterior(kernel, Z, q)
    other = inducing_posterior(kernel, data, Z)
    new = data.X[:7] + 0.1
    assert np.allclose(one.mean(new), other.mean(new), atol=1e-8)
    assert np.allclose(one.variance(new), other.variance(new), atol=1e-8)
    assert np.allclose(one.covariance(new), other.covariance(new), atol=1e-8)


@pytest.mark.parametrize("name", ["poisson", "bernoulli", "student_t", "categorical"])
def test_gradients(name):
    data = problem(name).take(slice(0, 30))
    t = data.n_latent
    Z = choose_inducing_inputs(KERNEL, data.X, 6, np.random.default_rng(0)) + 0.01
    value = lambda k, d, Z: variational_evidence(k, d, Z, t, gradient=False)[0].value
    found, _ = variational_evidence(KERNEL, data, Z, t)
    h = 1e-4
    theta = KERNEL.theta
    for i, e in enumerate(h * np.eye(len(theta))):
        up = value(KERNEL.with_theta(theta + e), data, Z)
        down = value(KERNEL.with_theta(theta - e), data, Z)
        assert found.gradient[i] == pytest.approx((up - down) / (2 * h), abs=2e-4)
    for i in (0, 5):
        e = np.zeros(Z.size)
        e[i] = h
        e = e.reshape(Z.shape)
        numeric = (value(KERNEL, data, Z + e) - value(KERNEL, data, Z - e)) / (2 * h)
        assert found.solver_params[i] == pytest.approx(numeric, abs=2e-4)
    if data.likelihood.scale is not None:
        phi = data.likelihood.parameters
        moved = [
            data._replace(likelihood=data.likelihood.with_parameters(phi + e))
            for e in (h, -h)
        ]
        up, down = (value(KERNEL, d, Z) for d in moved)
        assert found.likelihood[0] == pytest.approx((up - down) / (2 * h), abs=2e-4)


def test_bound_is_below_the_evidence_by_importance_sampling():
    """log p(y) of a Bernoulli process by sampling from the variational posterior."""
    data = problem("bernoulli")
    data = data.take(slice(0, 15))
    system = variational_system(KERNEL, data.X)
    bound = variational_evidence(KERNEL, data, data.X, 1, gradient=False)[0].value
    q = fit_posterior(system, data, 1)
    (R,), (mu,) = q.factors()
    rng = np.random.default_rng(0)
    z = rng.standard_normal((20_000, len(mu)))
    v = mu + np.linalg.solve(R.T, z.T).T
    f = v @ system.L.T
    y = np.broadcast_to(data.Y[:, 0], f.shape)
    log_w = data.likelihood.log_prob(y, f).sum(axis=1) - 0.5 * np.sum(v * v, axis=1)
    log_w += 0.5 * np.sum(z * z, axis=1) - np.sum(np.log(np.diagonal(R)))
    evidence = np.log(np.mean(np.exp(log_w - log_w.max()))) + log_w.max()
    assert evidence - 0.5 < bound < evidence + 0.01


def test_batches_approach_the_collapsed_bound():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (800, 2))
    y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.2 * rng.normal(size=800)
    kernel = 1.0 * RBF([1.0, 1.0]) + White(0.5)
    full = GaussianProcessRegressor(
        kernel, solver=InducingSolver(20), random_state=0
    ).fit(X, y)
    stochastic = VariationalSolver(20, batch_size=128, max_steps=100)
    model = GaussianProcessRegressor(kernel, solver=stochastic, random_state=0)
    model.fit(X, y)
    best = full.log_marginal_likelihood_value_
    assert best - 25 < model.log_marginal_likelihood_value_ < best + 5
    assert model.n_evaluations_ == 100
    gap = model.predict(X[:200]) - full.predict(X[:200])
    assert np.sqrt(np.mean(gap**2)) < 0.03
    again = GaussianProcessRegressor(kernel, solver=stochastic, random_state=0)
    assert np.array_equal(again.fit(X, y).predict(X[:50]), model.predict(X[:50]))


def test_classifier_of_many_rows(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, (1200, 2))
    f = 3 * np.sin(2 * X[:, 0]) + 2 * X[:, 1]
    y = np.where(f + rng.logistic(size=1200) > 0, "yes", "no")
    solver = VariationalSolver(30, batch_size=256, max_steps=60)
    model = GaussianProcessClassifier(
        1.0 * RBF([1.0, 1.0]), solver=solver, random_state=0
    ).fit(X, y)
    truth = 1 / (1 + np.exp(-f))
    P = model.predict_proba(X)[:, 1]
    assert np.mean(np.abs(P - truth)) < 0.06
    assert model.solver_ == "variational"
    persist.save(model, tmp_path / "model")
    assert np.array_equal(persist.load(tmp_path / "model").predict_proba(X)[:, 1], P)


@pytest.mark.parametrize("likelihood", ["student_t", "poisson"])
def test_agrees_with_laplace(likelihood):
    data = problem(likelihood)
    models = [
        GaussianProcessRegressor(
            KERNEL, likelihood=likelihood, solver=solver, optimizer=None
        ).fit(data.X, data.Y[:, 0])
        for solver in ("laplace", VariationalSolver(N))
    ]
    one, other = (m.predict(data.X, return_std=True) for m in models)
    assert np.abs(one[0] - other[0]).max() < 0.1 * np.abs(one[0]).max()
    assert np.allclose(one[1], other[1], rtol=0.2)


def test_softmax_agrees_with_laplace():
    data = problem("categorical")
    y = data.Y[:, 0].astype(int)
    P = [
        GaussianProcessClassifier(
            2.0 * RBF(), multi_class="softmax", solver=solver, optimizer=None
        )
        .fit(data.X, y)
        .predict_proba(data.X)
        for solver in ("laplace", VariationalSolver(20))
    ]
    assert np.abs(P[0] - P[1]).max() < 0.15


def test_numbers_of_the_solver():
    with pytest.raises(ValueError, match="rate of VariationalSolver"):
        VariationalSolver(rate=2.0)
    with pytest.raises(ValueError, match="batch_size of VariationalSolver"):
        VariationalSolver(batch_size=0)

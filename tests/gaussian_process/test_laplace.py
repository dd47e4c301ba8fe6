"""Laplace's method for every likelihood: modes, evidence, implicit gradients."""

import numpy as np
import pytest
from scipy.optimize import minimize

from pansophy import losses
from pansophy.gaussian_process import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    expected_softmax,
    get_likelihood,
    loss_likelihood,
    student_t_likelihood,
)
from pansophy.gaussian_process.laplace import (
    IndefiniteCurvature,
    LaplaceData,
    laplace_evidence,
    laplace_posterior,
)
from pansophy.kernels import RBF, Matern

KERNEL = 1.5 * RBF([0.8, 1.2])
N = 40


def problem(name):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (N, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    if name == "poisson":
        return LaplaceData(X, rng.poisson(np.exp(f)) * 1.0, get_likelihood(name))
    if name == "bernoulli":
        y = (f + rng.logistic(size=N) > 0) * 1.0
        return LaplaceData(X, y, get_likelihood(name))
    if name == "categorical":
        logits = np.column_stack([f, -f, 2 * X[:, 0]])
        y = np.argmax(logits + rng.gumbel(size=(N, 3)), axis=1)
        return LaplaceData(X, y, get_likelihood(name), 3)
    y = f + 0.1 * rng.standard_t(2, N)
    if name == "lp":  # its third derivative comes by differences
        return LaplaceData(X, y, loss_likelihood(losses.lp(4), 0.3))
    y[:3] += 8
    return LaplaceData(X, y, student_t_likelihood(4.0, 0.2))


NAMES = ["poisson", "bernoulli", "categorical", "student_t", "lp"]


@pytest.mark.parametrize("name", NAMES)
def test_evidence_gradient_has_the_implicit_term(name):
    data = problem(name)
    value = lambda k, d: laplace_evidence(k, d, gradient=False)[0].value
    found, state = laplace_evidence(KERNEL, data)
    assert np.abs(state.a - state.g).max() < 1e-7  # the mode
    h = 1e-5
    theta = KERNEL.theta
    numeric = [
        (
            value(KERNEL.with_theta(theta + e), data)
            - value(KERNEL.with_theta(theta - e), data)
        )
        / (2 * h)
        for e in h * np.eye(len(theta))
    ]
    assert np.allclose(found.gradient, numeric, rtol=1e-6, atol=1e-6)
    likelihood = data.likelihood
    if likelihood.scale is None:
        return
    phi = likelihood.parameters
    up, down = (
        value(KERNEL, data._replace(likelihood=likelihood.with_parameters(phi + e)))
        for e in (h, -h)
    )
    assert found.likelihood[0] == pytest.approx((up - down) / (2 * h), rel=1e-6)


@pytest.mark.parametrize("name", ["poisson", "student_t", "categorical"])
def test_mode_and_evidence_by_brute_force(name):
    X, y, likelihood, k = problem(name)
    found, state = laplace_evidence(KERNEL, LaplaceData(X, y, likelihood, k))
    K = np.kron(np.eye(k), KERNEL(X) + 1e-9 * np.eye(N))
    inverse = np.linalg.inv(K)
    shape = (lambda f: f.reshape(k, N).T) if k > 1 else (lambda f: f)
    flat = lambda g: g.T.ravel() if k > 1 else g

    def objective(f):
        return 0.5 * f @ inverse @ f - np.sum(likelihood.log_prob(y, shape(f)))

    slope = lambda f: inverse @ f - flat(likelihood.gradient(y, shape(f)))
    start = flat(state.f) + 0.01
    run = minimize(objective, start, jac=slope, method="L-BFGS-B")
    assert objective(flat(state.f)) <= run.fun + 1e-6
    W = np.zeros((k * N, k * N))
    if k == 1:
        W[np.diag_indices(N)] = likelihood.curvature(y, state.f)
    else:
        P = state.system.P
        for i in range(N):
            rows = np.arange(k) * N + i
            W[np.ix_(rows, rows)] = np.diag(P[i]) - np.outer(P[i], P[i])
    log_det = np.linalg.slogdet(np.eye(k * N) + K @ W)[1]
    expected = -objective(flat(state.f)) - 0.5 * log_det
    assert found.value == pytest.approx(expected, abs=1e-5)
    # new rows, eq. (8)
    new = X[:4] + 0.1
    cross = np.kron(np.eye(k), KERNEL(new, X))
    R = W @ np.linalg.inv(np.eye(k * N) + K @ W)
    cov = np.kron(np.eye(k), KERNEL(new)) - cross @ R @ cross.T
    posterior = laplace_posterior(KERNEL, X, state)
    if k == 1:
        assert np.allclose(posterior.covariance(new), cov, atol=1e-7)
        assert np.allclose(posterior.variance(new), np.diagonal(cov), atol=1e-7)
        return
    rows = np.arange(k) * 4 + 2
    assert np.allclose(
        posterior.class_covariance(new)[2], cov[np.ix_(rows, rows)], atol=1e-7
    )


def test_outliers_have_negative_curvature():
    data = problem("student_t")
    _, state = laplace_evidence(KERNEL, data)
    assert isinstance(state.system, IndefiniteCurvature)
    assert state.system.W.min() < 0


def test_student_t_resists_outliers():
    rng = np.random.default_rng(1)
    X = np.sort(rng.uniform(-3, 3, (80, 1)), axis=0)
    truth = np.sin(X[:, 0])
    y = truth + 0.1 * rng.normal(size=80)
    y[::9] += 15
    errors = {}
    for name in ("normal", "student_t"):
        noise = {"alpha": 1.0} if name == "normal" else {}
        model = GaussianProcessRegressor(1.0 * RBF(1.0), likelihood=name, **noise)
        model.fit(X, y)
        errors[name] = np.sqrt(np.mean((model.predict(X) - truth) ** 2))
    assert errors["student_t"] < 0.1 < errors["normal"]
    assert 0.03 < model.likelihood_.scale < 0.3
    assert model.solver_ == "laplace"
    _, std = model.predict(X, return_std=True)
    _, latent = model.predict(X, return_std=True, noise=False)
    noise = model.likelihood_.variance(np.zeros(1))[0]
    assert np.allclose(std**2, latent**2 + noise)
    cov = model.predict(X[:5], return_cov=True, noise=False)[1]
    assert np.allclose(np.diagonal(cov), latent[:5] ** 2, atol=1e-8)


@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_units_of_y_do_not_matter(scale):
    X, y, _, _ = problem("student_t")
    one = GaussianProcessRegressor(
        1.0 * RBF(), likelihood=student_t_likelihood(4.0, 0.2), optimizer=None
    ).fit(X, y)
    other = GaussianProcessRegressor(
        scale**2 * RBF(),
        likelihood=student_t_likelihood(4.0, 0.2 * scale),
        optimizer=None,
    ).fit(X, scale * y)
    assert np.allclose(other.predict(X) / scale, one.predict(X), rtol=1e-6)
    normal = GaussianProcessRegressor(
        1.0 * RBF(), likelihood="student_t", normalize_y=True
    )
    small = normal.fit(X, y).predict(X, return_std=True)
    large = normal.fit(X, scale * y + 3 * scale).predict(X, return_std=True)
    assert np.allclose((large[0] - 3 * scale) / scale, small[0], rtol=1e-4, atol=1e-4)
    assert np.allclose(large[1] / scale, small[1], rtol=1e-3)


def test_counts():
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, (120, 1))
    rate = np.exp(5 + np.sin(2 * X[:, 0]))
    y = rng.poisson(rate)
    model = GaussianProcessRegressor(
        1.0 * Matern(1.0, nu=2.5), likelihood="poisson", normalize_y=True
    ).fit(X, y)
    assert model.likelihood_.offset == pytest.approx(np.log(y.mean()))
    mean, std = model.predict(X, return_std=True)
    assert np.mean(np.abs(mean - rate) / rate) < 0.05
    assert np.all(std >= np.sqrt(mean) * 0.99)  # at least the spread of a Poisson
    f, v = model.latent_mean_and_variance(X)
    assert np.allclose(mean, np.exp(f + model.likelihood_.offset + 0.5 * v), rtol=1e-6)
    samples = model.sample_y(X[:3], 4000, random_state=0)
    assert np.allclose(samples.mean(axis=1), mean[:3], rtol=0.02)
    with pytest.raises(ValueError, match="return_cov needs a likelihood whose mean"):
        model.predict(X, return_cov=True)


def test_softmax_of_two_equal_latents_and_many_classes():
    found = expected_softmax(np.zeros((2, 3)), np.stack([np.eye(3), 9 * np.eye(3)]))
    assert np.allclose(found, 1 / 3, atol=0.01)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 2))
    X[:30] += 3
    X[30:60] -= 3
    y = np.repeat(["a", "b", "c"], 30)
    model = GaussianProcessClassifier(2.0 * RBF(1.0), multi_class="softmax").fit(X, y)
    P = model.predict_proba(X)
    assert np.allclose(P.sum(axis=1), 1)
    assert np.array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    assert model.score(X, y) > 0.9
    value, slope = model.log_marginal_likelihood(model.kernel_.theta, True)
    assert value == pytest.approx(model.log_marginal_likelihood_value_, abs=1e-6)
    assert np.abs(slope).max() < 1.0  # the optimum, but for the prior
    names = {"a": "z", "b": "y", "c": "x"}
    other = GaussianProcessClassifier(2.0 * RBF(1.0), multi_class="softmax").fit(
        X, [names[v] for v in y]
    )
    assert np.allclose(other.predict_proba(X)[:, ::-1], P, atol=0.02)

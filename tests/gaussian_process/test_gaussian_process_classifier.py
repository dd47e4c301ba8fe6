"""Gaussian-process classification: evidence, its gradient, probabilities."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessClassifier as Theirs
from sklearn.gaussian_process import kernels as sk

from pansophy import persist
from pansophy.gaussian_process import (
    GaussianProcessClassifier,
    expected_sigmoid,
    get_likelihood,
)
from pansophy.gaussian_process.laplace import find_mode
from pansophy.kernels import RBF, Matern, Periodic


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (60, 2))
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=60) > 0) * 1


def fixed(kernel, **options):
    return GaussianProcessClassifier(kernel, optimizer=None, **options)


def test_mode_and_evidence_by_brute_force(table):
    X, y = table
    K = (2.0 * RBF(0.8))(X) + 1e-6 * np.eye(len(X))
    inverse = np.linalg.inv(K)

    def objective(f):
        return 0.5 * f @ inverse @ f + np.sum(np.logaddexp(0, np.where(y, -f, f)))

    slope = lambda f: inverse @ f - (y - expit(f))
    found = minimize(
        objective, np.zeros(60), jac=slope, method="BFGS", options={"gtol": 1e-7}
    )
    state = find_mode(K, y.astype(float), get_likelihood("bernoulli"))
    assert np.allclose(state.f, found.x, atol=1e-3)
    assert np.abs(state.a - state.g).max() < 1e-7
    W = np.diag(expit(state.f) * expit(-state.f))
    _, log_det = np.linalg.slogdet(np.eye(60) + K @ W)
    assert state.value == pytest.approx(-objective(state.f) - 0.5 * log_det, abs=1e-6)


@pytest.mark.parametrize(
    "kernel",
    [
        1.5 * RBF([0.7, 1.2]),
        3.0 * Matern(0.9, nu=2.5) * Periodic(1.0, 3.0),
        9.0 * RBF(3.0),
    ],
)
def test_evidence_gradient_has_the_implicit_term(kernel, table):
    X, y = table
    model = fixed(kernel).fit(X, y)
    theta = kernel.theta + 0.05
    _, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    numeric = [
        (
            model.log_marginal_likelihood(theta + e)
            - model.log_marginal_likelihood(theta - e)
        )
        / 2e-5
        for e in 1e-5 * np.eye(len(theta))
    ]
    assert np.allclose(gradient, numeric, rtol=1e-6, atol=1e-7)


def test_agrees_with_scikit_learn(table):
    X, y = table
    kernel = sk.ConstantKernel(2.0) * sk.RBF([0.7, 1.5])
    ours = fixed(kernel).fit(X, y)
    theirs = Theirs(kernel, optimizer=None).fit(X, y)
    theta = kernel.theta - 0.2
    value, gradient = ours.log_marginal_likelihood(theta, True)
    expected, slope = theirs.log_marginal_likelihood(theta, True)
    assert value == pytest.approx(expected, abs=1e-8)
    assert np.allclose(gradient, slope, atol=1e-5)  # their mode stops at 1e-10
    for a, b in zip(
        ours.latent_mean_and_variance(X + 0.1),
        theirs.latent_mean_and_variance(X + 0.1),
        strict=True,
    ):
        assert np.allclose(a, b, atol=1e-5)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-2)
    assert np.array_equal(ours.predict(X + 0.1), theirs.predict(X + 0.1))


def test_optimum_is_no_worse(table):
    X, y = table
    kernel = sk.ConstantKernel(1.0) * sk.RBF([1.0, 1.0])
    ours = GaussianProcessClassifier(kernel).fit(X, y)
    theirs = Theirs(kernel).fit(X, y)
    best = theirs.log_marginal_likelihood_value_
    assert ours.log_marginal_likelihood_value_ > best - 1e-5


def test_warm_start_finds_the_same(table):
    X, y = table
    cold = GaussianProcessClassifier(1.0 * RBF(1.0)).fit(X, y)
    warm = GaussianProcessClassifier(1.0 * RBF(1.0), warm_start=True).fit(X, y)
    assert np.allclose(cold.kernel_.theta, warm.kernel_.theta, atol=1e-3)


@pytest.mark.parametrize("mean", [-3.0, 0.0, 0.7, 20.0])
@pytest.mark.parametrize("std", [0.01, 0.99, 1.01, 3.0, 50.0])
def test_expected_sigmoid(mean, std):
    density = lambda z: np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    centre = np.clip(-mean / std, -9, 9)
    expected = quad(
        lambda z: expit(mean + std * z) * density(z),
        -10,
        10,
        points=[centre],
        limit=500,
    )[0]
    found = expected_sigmoid(np.array([mean]), np.array([std**2]))[0]
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("multi_class", ["one_vs_rest", "one_vs_one"])
def test_several_classes(multi_class, tmp_path):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = GaussianProcessClassifier(
        (4.0 * RBF(1.5)), optimizer=None, multi_class=multi_class, n_jobs=2
    ).fit(X[::2], names[::2])
    assert model.score(X[1::2], names[1::2]) > 0.93
    persist.save(model, tmp_path / "model")
    loaded = persist.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    if multi_class == "one_vs_one":
        with pytest.raises(ValueError, match="gives no probabilities"):
            model.predict_proba(X)
    else:
        P = model.predict_proba(X)
        assert np.allclose(P.sum(axis=1), 1)
        assert np.array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))
    value = model.log_marginal_likelihood(model.kernel_[0].theta)
    assert value == pytest.approx(model.log_marginal_likelihood_value_, abs=1e-9)


def test_probabilities_and_classes_agree(table):
    X, y = table
    rng = np.random.default_rng(1)
    new = rng.uniform(-3, 3, (1000, 2))
    model = GaussianProcessClassifier("auto").fit(X, y)
    assert np.array_equal(model.predict(new), model.predict_proba(new).argmax(axis=1))
    assert model.score(X, y) > 0.8


def test_labels_exchanged(table):
    X, y = table
    one = fixed(RBF()).fit(X, y).predict_proba(X)
    other = fixed(RBF()).fit(X, 1 - y).predict_proba(X)
    assert np.allclose(one, other[:, ::-1])


def test_rows_that_are_undecided_to_rounding():
    """Contradictory labels: f is 0 but for rounding, and both answers still agree."""
    X = np.repeat(np.random.default_rng(0).normal(size=(30, 3)), 2, axis=0)
    model = GaussianProcessClassifier().fit(X, np.tile(["a", "b"], 30))
    assert abs(model.latent_mean_and_variance(X)[0]).max() < 1e-9
    likeliest = model.classes_[model.predict_proba(X).argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), likeliest)


def test_evidence_gradient_of_a_dense_oracle(table):
    """Algorithm 5.1 of Rasmussen and Williams with explicit inverses."""
    X, y = table
    kernel = 2.0 * RBF([0.7, 1.3])
    model = fixed(kernel).fit(X, y)
    value, gradient = model.log_marginal_likelihood(kernel.theta, eval_gradient=True)
    K = kernel(X)
    f = np.zeros(len(X))
    for _ in range(100):  # Newton's steps to the mode
        p = expit(f)
        W = p * (1 - p)
        B = np.linalg.inv(np.eye(len(X)) + K * W)
        f = B @ (K @ (W * f + y - p))
    p = expit(f)
    W = p * (1 - p)
    inner = np.eye(len(X)) + K * W
    a = y - p
    log_p = -np.logaddexp(0, np.where(y, -f, f)).sum()
    expected = -0.5 * a @ f + log_p - 0.5 * np.linalg.slogdet(inner)[1]
    assert value == pytest.approx(expected, abs=1e-8)
    R = np.linalg.inv(np.diag(1 / W) + K)
    posterior = np.linalg.inv(inner) @ K
    third = p * (1 - p) * (2 * p - 1)  # of log p(y | f)
    implicit = 0.5 * np.diagonal(posterior) * third
    slopes = []
    for G in kernel.gradient(X):
        explicit = 0.5 * a @ G @ a - 0.5 * np.trace(R @ G)
        slopes.append(explicit + implicit @ np.linalg.solve(inner, G @ a))
    np.testing.assert_allclose(gradient, slopes, rtol=0, atol=1e-8)

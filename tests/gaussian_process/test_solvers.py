"""Solvers of Gaussian processes against the exact one."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy import persist
from pansophy.gaussian_process import (
    SOLVERS,
    GaussianProcessRegressor,
    IterativeSolver,
    NearestNeighborsSolver,
)
from pansophy.gaussian_process import solvers as module
from pansophy.kernels import RBF, Matern, White

KERNEL = 1.0 * RBF([0.6, 0.9]) + White(0.04)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (500, 2))
    y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.2 * rng.normal(size=500)
    new = rng.uniform(-1.8, 1.8, (100, 2))
    return X, y, new


def model(solver, **options):
    options = {"optimizer": None, "random_state": 0, **options}
    return GaussianProcessRegressor(KERNEL, solver=solver, **options)


def test_all_rows_as_neighbours_are_exact(table):
    X, y, new = table
    exact = model("exact").fit(X[:60], y[:60])
    near = model(NearestNeighborsSolver(n_neighbors=60)).fit(X[:60], y[:60])
    c = near._posterior.inflation
    for how in ("return_std", "return_cov"):
        expected, wide = exact.predict(new, **{how: True})
        mean, found = near.predict(new, **{how: True})
        assert np.allclose(mean, expected, atol=1e-9)
        factor = np.sqrt(c) if how == "return_std" else c
        assert np.allclose(found, factor * wide, atol=1e-9)


def test_neighbours_come_near_and_are_calibrated(table):
    X, y, new = table
    exact = model("exact").fit(X, y)
    gaps = []
    for k in (64, 200):
        near = model(NearestNeighborsSolver(k)).fit(X, y)
        gap = near.predict(new) - exact.predict(new)
        gaps.append(np.sqrt(np.mean(gap**2)))
    assert gaps[0] < 0.04  # a fifth of the noise
    assert gaps[1] < 0.5 * gaps[0]
    held, std = (
        model("neighbors").fit(X[:400], y[:400]).predict(X[400:], return_std=True)
    )
    z = (y[400:] - held) / std
    assert 0.8 < np.sqrt(np.mean(z**2)) < 1.25


def test_hyper_parameters_from_a_subset(table):
    X, y, new = table
    part = NearestNeighborsSolver(n_neighbors=40, n_fit=200)
    fitted = model(part, optimizer="fmin_l_bfgs_b").fit(X, y)
    again = model(part, optimizer="fmin_l_bfgs_b").fit(X, y)
    assert len(fitted._likelihood_rows) == 200
    assert np.array_equal(fitted.predict(new), again.predict(new))
    value = fitted.log_marginal_likelihood(fitted.kernel_.theta)
    assert value == pytest.approx(fitted.log_marginal_likelihood_value_)
    truth = np.sin(2 * new[:, 0]) * np.cos(new[:, 1])
    assert np.sqrt(np.mean((fitted.predict(new) - truth) ** 2)) < 0.1


def test_equal_rows_and_no_noise():
    X = np.repeat(np.linspace(0, 1, 10), 3)[:, None]
    y = np.sin(X[:, 0])
    near = GaussianProcessRegressor(
        Matern(0.7), optimizer=None, solver=NearestNeighborsSolver(5), random_state=0
    ).fit(X, y)
    mean, std = near.predict(X, return_std=True)
    assert np.allclose(mean, y, atol=1e-4)
    assert np.all(np.isfinite(std))
    one = GaussianProcessRegressor(RBF(), solver="neighbors", random_state=0)
    assert one.fit([[1.0]], [2.0]).predict([[1.0]])[0] == pytest.approx(2.0)


def test_auto_says_which_and_why(monkeypatch, table):
    X, y, _ = table
    small = model("auto").fit(X, y)
    assert small.solver_ == "exact"
    assert "500 rows" in small.solver_reason_
    monkeypatch.setattr(module, "EXACT_ROWS", 100)
    large = model("auto").fit(X, y)
    assert large.solver_ == "neighbors"
    assert "500 rows" in large.solver_reason_
    with pytest.raises(ValueError, match="leave_one_out needs"):
        large.leave_one_out()
    asked = model("exact").fit(X, y)
    assert asked.solver_reason_ == "it was asked for; a matrix of 500 rows takes 2 MB"


def test_auto_looks_at_the_likelihood(monkeypatch, table):
    X, y, _ = table
    options = {"likelihood": "student_t", "kernel": 1.0 * RBF([0.6, 0.9])}
    small = model("auto").set_params(**options).fit(X[:100], y[:100])
    assert small.solver_ == "laplace"
    monkeypatch.setattr(module, "LAPLACE_NUMBERS", 90 * 90)
    many = model("auto").set_params(**options).fit(X[:100], y[:100])
    assert many.solver_ == "variational"
    assert "100 rows and 1 latent processes" in many.solver_reason_
    assert np.abs(many.predict(X[:100]) - small.predict(X[:100])).max() < 0.1


@pytest.mark.parametrize("name", SOLVERS)
def test_saved_and_loaded(name, table, tmp_path):
    X, y, new = table
    options = {}
    if name == "chain":
        X, new = X[:, :1], new[:, :1]
        options["kernel"] = 1.0 * Matern(0.6, nu=2.5) + White(0.04)
    elif name == "grid":
        X = np.stack(np.meshgrid(np.arange(10.0), np.arange(8.0)), -1).reshape(-1, 2)
    elif name == "laplace":
        options["likelihood"] = "student_t"
    fitted = model(name).set_params(**options).fit(X[:80], y[:80])
    persist.save(fitted, tmp_path / "model")
    loaded = persist.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(new), fitted.predict(new))


def test_iterative_solver_against_exact(table):
    X, y, new = table
    exact = model("exact").fit(X, y)
    found = model(IterativeSolver(rank=60, tol=1e-10, n_probes=50)).fit(X, y)
    for how in ("return_std", "return_cov"):
        for a, b in zip(
            found.predict(new, **{how: True}),
            exact.predict(new, **{how: True}),
            strict=True,
        ):
            assert np.allclose(a, b, atol=1e-6)
    theta = KERNEL.theta + 0.1
    value, slope = found.log_marginal_likelihood(theta, True)
    expected, gradient = exact.log_marginal_likelihood(theta, True)
    assert value == pytest.approx(expected, abs=0.01 * len(X))
    assert np.abs(slope - gradient).max() < 0.1 * np.abs(gradient).max()
    # many probes: the estimates come as near as one likes
    many = model(IterativeSolver(rank=60, tol=1e-8, n_probes=2000)).fit(
        X[:100], y[:100]
    )
    few = model("exact").fit(X[:100], y[:100])
    value, slope = many.log_marginal_likelihood(theta, True)
    expected, gradient = few.log_marginal_likelihood(theta, True)
    assert value == pytest.approx(expected, abs=0.3)
    assert np.allclose(slope, gradient, atol=0.5)


def test_iterative_fit_is_repeatable_and_good(table):
    X, y, _ = table
    options = {"optimizer": "fmin_l_bfgs_b"}
    one = model("iterative", **options).fit(X[:200], y[:200])
    two = model("iterative", **options, n_targets=1).fit(X[:200], y[:200])
    assert np.array_equal(one.kernel_.theta, two.kernel_.theta)  # fixed probes
    exact = model("exact", **options).fit(X[:200], y[:200])
    best = exact.log_marginal_likelihood_value_
    assert exact.log_marginal_likelihood(one.kernel_.theta) > best - 1.0


def test_iterative_solver_warns_of_its_residual(table):
    X, y, _ = table
    with pytest.warns(ConvergenceWarning, match="conjugate gradients stopped"):
        model(IterativeSolver(rank=1, max_iter=2)).fit(X, y)


def test_numbers_of_a_solver():
    with pytest.raises(ValueError, match="n_neighbors of NearestNeighborsSolver"):
        NearestNeighborsSolver(n_neighbors=0)

"""Processes on full grids, against the exact solver."""

import numpy as np
import pytest

from pansophy.gaussian_process import ExactSolver, GaussianProcessRegressor, GridSolver
from pansophy.gaussian_process.exact import GPData, exact_evidence
from pansophy.gaussian_process.grid import find_grid, grid_structure
from pansophy.kernels import RBF, Blocks, Constant, Linear, Matern, White

KERNELS = [
    1.3 * RBF([0.7, 1.0, 0.4]) + White(0.1),
    1.3 * RBF(0.7) + White(0.1) * Constant(0.3),
    2.0 * Blocks([Matern(1.0), RBF(2.0), Linear(1.0) + 1.0]) + White(0.2),
    Constant(2.0)
    * Matern(0.7, nu=2.5).on(1)
    * RBF([0.5, 0.6]).on([0, 2])
    * RBF(2.0).on([0]),
    RBF([0.7, 1.0, 0.4]).fixed("length_scale[1]"),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    axes = [np.sort(rng.uniform(0, 3, 7)), np.arange(6.0), np.linspace(0, 1, 5)]
    X = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    X = X[rng.permutation(len(X))]
    y = np.sin(X[:, 0]) + 0.2 * X[:, 1] + 0.1 * rng.normal(size=len(X))
    return GPData(X, np.column_stack([y, y**2]), np.full(len(X), 0.01))


@pytest.mark.parametrize("kernel", KERNELS)
def test_evidence_and_gradient_are_exact(kernel, data):
    expected = exact_evidence(kernel, data)
    found = GridSolver().evidence(kernel, data)
    assert found.value == pytest.approx(expected.value, abs=1e-8)
    assert np.allclose(found.gradient, expected.gradient, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_posterior_is_exact(kernel, data):
    rng = np.random.default_rng(1)
    new = rng.uniform(0, 3, (20, 3))
    new[3] = new[4]
    new[5] = data.X[7]
    exact = ExactSolver().condition(kernel, data, rng)
    grid = GridSolver().condition(kernel, data, rng)
    for name in ("mean", "variance", "covariance"):
        assert np.allclose(
            getattr(grid, name)(new), getattr(exact, name)(new), atol=1e-8
        )


def test_what_is_a_grid(data):
    X = data.X
    grid = find_grid(X, [(0,), (1,), (2,)])
    assert grid.shape == (7, 6, 5)
    assert find_grid(X[1:], [(0,), (1,), (2,)]) is None
    twice = X.copy()
    twice[0] = twice[1]
    assert find_grid(twice, [(0,), (1,), (2,)]) is None


@pytest.mark.parametrize(
    ("kernel", "rows", "words"),
    [
        (KERNELS[0], slice(1, None), "the rows do not fill a grid"),
        (RBF([1.0, 1.0, 1.0]) + Linear(), slice(None), "not a product of kernels"),
        (RBF().on(0) * RBF().on(1), slice(None), "does not see every column"),
    ],
)
def test_reasons(kernel, rows, words, data):
    assert grid_structure(kernel, data.X[rows])[0] is None
    model = GaussianProcessRegressor(kernel, solver="grid", optimizer=None)
    with pytest.raises(ValueError, match=words):
        model.fit(data.X[rows], data.Y[rows])


def test_one_noise_for_all_rows(data):
    model = GaussianProcessRegressor(
        KERNELS[0], alpha=np.linspace(0.1, 1, 210), solver="grid", optimizer=None
    )
    with pytest.raises(ValueError, match="the same alpha for all rows"):
        model.fit(data.X, data.Y)


def test_fit_of_a_map():
    rng = np.random.default_rng(2)
    axes = [np.linspace(0, 6, 70), np.linspace(0, 4, 50)]
    X = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    truth = np.sin(X[:, 0]) * np.cos(2 * X[:, 1])
    y = truth + 0.3 * rng.normal(size=len(X))
    kernel = 1.0 * RBF([1.0, 1.0]) + White(1.0)
    model = GaussianProcessRegressor(kernel, random_state=0).fit(X, y)
    assert model.solver_ == "grid"
    assert model.solver_reason_ == "the rows fill a grid of 70 x 50"
    assert np.sqrt(np.mean((model.predict(X) - truth) ** 2)) < 0.05
    _, slope = model.log_marginal_likelihood(model.kernel_.theta, True)
    assert np.abs(slope).max() < 1.0  # the optimum, but for the prior

"""The search for hyper-parameters: failed factors, interruption, priors."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.base import InterruptedFitWarning
from pansophy.core.linalg.linalg import NotPositiveDefiniteError
from pansophy.gaussian_process import (
    GaussianProcessRegressor,
    get_likelihood,
)
from pansophy.gaussian_process import parameter_search as module
from pansophy.gaussian_process.kernel_parameters import kernel_family
from pansophy.gaussian_process.parameter_search import (
    BestTheta,
    HyperparameterVector,
    parameter_prior,
)
from pansophy.kernels import RBF, White


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (50, 1))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=50)


def test_a_failed_factor_is_an_infinite_objective():
    def evidence(theta, gradient):
        if theta[0] > 1:
            raise NotPositiveDefiniteError("no factor")
        return -float(theta @ theta), -2 * theta

    vector = HyperparameterVector(kernel_family(RBF(1.0), 1), get_likelihood("normal"))
    objective = BestTheta(evidence, parameter_prior(vector, None))
    good, slope = objective(np.array([0.5]))
    bad, flat = objective(np.array([2.0]))
    assert bad > good + 1e9
    assert flat.tolist() == [0.0]
    assert objective.theta.tolist() == [0.5]
    assert slope.tolist() == [1.0]


@pytest.mark.parametrize("coarse", [1000, 45])
def test_ctrl_c_leaves_a_usable_model(coarse, table, monkeypatch):
    X, y = table
    monkeypatch.setattr(module, "COARSE_FROM", coarse)
    monkeypatch.setattr(module, "COARSE_ROWS", 40)
    calls = []
    original = BestTheta.__call__

    def interrupted(self, theta, eval_gradient=True):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return original(self, theta, eval_gradient)

    monkeypatch.setattr(module.BestTheta, "__call__", interrupted)
    model = GaussianProcessRegressor(1.0 * RBF(1.0) + White(1.0))
    with pytest.warns(InterruptedFitWarning, match="was interrupted"):
        model.fit(X, y)
    assert model.interrupted_
    assert model.score(X, y) > 0.5
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not model.fit(X, y).interrupted_


def test_rows_that_no_length_scale_relates_are_named(rng):
    X = rng.standard_normal((40, 2))
    y = np.sin(X[:, 0])
    with pytest.warns(ConvergenceWarning, match="relates no row of X to any other"):
        GaussianProcessRegressor(1.0 * RBF() + White()).fit(X * 1e8, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GaussianProcessRegressor(1.0 * RBF() + White()).fit(X, y)
        GaussianProcessRegressor("auto").fit(X * 1e8, y)
        # noise: a kernel that ends with unrelated rows has been learnt
        noise = rng.standard_normal(40)
        GaussianProcessRegressor(1.0 * RBF(0.3), alpha=1e-4).fit(X, noise)

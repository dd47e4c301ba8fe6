"""Poisson, Gamma and Tweedie regression against scikit-learn."""

import numpy as np
import pytest
from sklearn import linear_model as peer

from pansophy.linear_model import (
    GammaRegressor,
    PoissonRegressor,
    TweedieRegressor,
)
from tests.linear_model.small_problems import targets_by_family

TIGHT = {"tol": 1e-10, "max_iter": 300}


@pytest.fixture
def data(rng):
    return targets_by_family(rng)


@pytest.mark.parametrize(
    ("ours", "theirs", "target"),
    [
        (PoissonRegressor, peer.PoissonRegressor, "poisson"),
        (GammaRegressor, peer.GammaRegressor, "gamma"),
    ],
)
@pytest.mark.parametrize("solver", ["auto", "lbfgs", "newton-cholesky"])
def test_scikit_learn_agrees(ours, theirs, target, solver, data, rng):
    X, targets = data
    w = rng.uniform(0.5, 2.0, size=len(X))
    expected = theirs(alpha=0.1, solver="newton-cholesky", tol=1e-12)
    expected.fit(X, targets[target], sample_weight=w)
    model = ours(alpha=0.1, solver=solver, tol=1e-10, max_iter=500)
    model.fit(X, targets[target], sample_weight=w)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-8)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-7)
    assert model.score(X, targets[target]) == pytest.approx(
        expected.score(X, targets[target]), abs=1e-8
    )


@pytest.mark.parametrize(
    ("power", "link"),
    [(p, "log") for p in (-1.0, 0.0, 1.0, 1.5, 2.0, 3.0)]
    + [(p, "auto") for p in (0.0, 1.5)],
)
def test_tweedie_powers(power, link, data):
    X, targets = data
    y = targets["gamma"]
    expected = peer.TweedieRegressor(
        power=power, link=link, alpha=0.1, tol=1e-9, max_iter=5000
    ).fit(X, y)
    model = TweedieRegressor(power=power, link=link, alpha=0.1, **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-6)

"""Mean field updates of conjugate models."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.sampling import (
    MeanField,
    MeanFieldModel,
)
from pansophy.sampling.densities.conjugate_models import (
    DiscreteField,
    GaussianTarget,
)


def rises(run):
    steps = np.diff(run.history.ravel())
    return steps.min() >= -1e-9 * (1 + np.abs(run.history).max())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5))
def test_gaussian_factors_are_too_narrow(seed, d):
    """Means right, variances 1 / Lambda_ii, at most those of the marginals."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    S = A @ A.T + 0.5 * np.eye(d)
    L, mu = np.linalg.inv(S), rng.normal(size=d)
    run = MeanField(GaussianTarget(mu, L), max_iter=2000, tol=1e-12).run()
    q = [run[f"z{j}"] for j in range(d)]
    np.testing.assert_allclose([f.mean[0] for f in q], mu, atol=1e-3)
    v = np.array([f.cov[0, 0] for f in q])
    np.testing.assert_allclose(v, 1 / np.diag(L))
    assert (v <= np.diag(S) * (1 + 1e-12)).all() and rises(run) and run.bound <= 1e-9


def test_wrong_updates_are_noticed():
    factors = {"a": 2.0}
    wrong = MeanFieldModel(
        factors, {"a": lambda q: q["a"] + 1}, lambda q: -(q["a"] ** 2)
    )
    with pytest.warns(RuntimeWarning, match="the bound fell"):
        MeanField(wrong, max_iter=3).run()
    with pytest.raises(ValueError, match="not positive"):
        MeanField(DiscreteField((2,), [((0,), [0.0, 1.0])])).run()


A = np.random.default_rng(3).normal(size=(4, 4))

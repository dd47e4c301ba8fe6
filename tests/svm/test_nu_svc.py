"""Classifier by the share of margin errors: weights, bounds, infeasible nu."""

import numpy as np
import pytest

from pansophy.svm import NuSVC
from tests.svm.samples import blobs


def test_nu_machine_with_weights():
    X, y = blobs(90, seed=8)
    w = np.random.default_rng(1).integers(0, 3, 90).astype(float)
    index = np.repeat(np.arange(90), w.astype(int))
    weighted = NuSVC(nu=0.3).fit(X, y, sample_weight=w)
    repeated = NuSVC(nu=0.3).fit(X[index], y[index])
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-8
    )
    with pytest.raises(ValueError, match="infeasible"):
        NuSVC(nu=0.9).fit(X[:20], np.arange(20) < 5)
    # nu bounds the shares of margin errors and of support vectors
    model = NuSVC(nu=0.4).fit(X, y)
    margin = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert (margin < 1 - 1e-9).mean() <= 0.4
    assert len(model.support_) >= 0.4 * 90


@pytest.mark.parametrize("nu", [0.1, 0.3])
def test_no_margin_is_refused(nu):
    """Two samples of one law: shares of nu of both have weighted means in common."""
    y = np.arange(80) % 2
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(80, 3))
        with pytest.raises(ValueError, match="leaves no margin between the classes"):
            NuSVC(nu=nu, kernel="linear").fit(X, y)
    apart = NuSVC(nu=nu, kernel="linear").fit((X + 9 * y[:, None]) * 1e-6, y)
    assert apart.score((X + 9 * y[:, None]) * 1e-6, y) == 1

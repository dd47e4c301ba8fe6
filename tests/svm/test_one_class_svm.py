"""One-class machine: libsvm, and the share nu of rows outside."""

import numpy as np
import pytest
from sklearn import svm as libsvm

from pansophy.svm import OneClassSVM


@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_one_class(nu):
    X = np.random.default_rng(5).normal(size=(200, 3))
    ours = OneClassSVM(nu=nu).fit(X)
    theirs = libsvm.OneClassSVM(nu=nu, tol=1e-9).fit(X)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=1e-5
    )
    assert ours.dual_coef_.sum() == pytest.approx(nu * 200)
    assert (ours.predict(X) == -1).mean() <= nu
    assert len(ours.support_) >= nu * 200
    np.testing.assert_allclose(ours.offset_, -ours.intercept_)

"""Regression by the share of support vectors: libsvm, and SVR with the tube found."""

import numpy as np
import pytest
from sklearn import svm as libsvm

from pansophy.svm import SVR, NuSVR
from tests.svm.samples import wave


@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_nu_svr(nu):
    X, y = wave(150, seed=1)
    ours = NuSVR(nu=nu, C=2.0).fit(X, y)
    theirs = libsvm.NuSVR(nu=nu, C=2.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)
    assert len(ours.support_) >= nu * 150 - 1e-9
    outside = np.abs(y - ours.predict(X)) > ours.epsilon_ + 1e-9
    assert outside.mean() <= nu
    same = SVR(C=2.0, epsilon=max(ours.epsilon_, 0.0)).fit(X, y)
    np.testing.assert_allclose(same.predict(X), ours.predict(X), atol=1e-7)

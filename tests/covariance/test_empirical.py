"""Empirical and shrunk covariances against scikit-learn."""

import numpy as np
import pytest
import sklearn.covariance as theirs
from sklearn.utils.estimator_checks import check_estimator

from pansophy.covariance import (
    OAS,
    EmpiricalCovariance,
    LedoitWolf,
    MinCovDet,
    ShrunkCovariance,
)


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3


@pytest.mark.parametrize("assume_centered", [False, True])
@pytest.mark.parametrize(
    "cls", [EmpiricalCovariance, ShrunkCovariance, LedoitWolf, OAS]
)
@pytest.mark.parametrize("shape", [(50, 6), (5, 8), (30, 1)])
def test_scikit_learn(cls, assume_centered, shape):
    X = rows(*shape)
    how = {"assume_centered": assume_centered}
    a, b = cls(**how).fit(X), getattr(theirs, cls.__name__)(**how).fit(X)
    np.testing.assert_allclose(a.covariance_, b.covariance_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(a.location_, b.location_, rtol=1e-12)
    eye = np.eye(shape[1])
    for norm in ("frobenius", "spectral"):
        for scaling, squared in ((True, True), (False, False)):
            one, two = (m.error_norm(eye, norm, scaling, squared) for m in (a, b))
            assert one == pytest.approx(two)
    if shape[0] > shape[1]:
        np.testing.assert_allclose(a.precision_, b.precision_, rtol=1e-6)
        np.testing.assert_allclose(a.mahalanobis(X), b.mahalanobis(X), rtol=1e-7)
        assert a.score(X) == pytest.approx(b.score(X))
    loose = cls(store_precision=False, **how).fit(X)
    assert loose.precision_ is None
    np.testing.assert_allclose(loose.get_precision(), a.precision_)


@pytest.mark.parametrize(
    "model",
    [EmpiricalCovariance(), ShrunkCovariance(), LedoitWolf(), OAS(), MinCovDet()],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn(model):
    # these have no role, so that the common battery does not see them
    results = check_estimator(model, on_fail="raise")
    assert len(results) > 30

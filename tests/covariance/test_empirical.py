"""Empirical and shrunk covariances against scikit-learn."""

import numpy as np
import pytest
import sklearn.covariance as theirs
from sklearn.utils.estimator_checks import check_estimator

from pansophy.covariance import (
    OAS,
    EllipticEnvelope,
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


MODELS = [EmpiricalCovariance, ShrunkCovariance, LedoitWolf, OAS, MinCovDet]


@pytest.mark.parametrize("cls", MODELS)
def test_any_scale_that_has_squares_gives_the_same_model(cls):
    X = np.random.default_rng(0).normal(size=(120, 3))
    seed = {"random_state": 0} if cls is MinCovDet else {}
    near = cls(**seed).fit(X)
    for scale in (1e-140, 1e-6, 1e6, 1e140):
        far = cls(**seed).fit(scale * X)
        np.testing.assert_allclose(
            far.covariance_ / scale / scale, near.covariance_, rtol=1e-9
        )
        np.testing.assert_allclose(
            far.mahalanobis(scale * X), near.mahalanobis(X), rtol=1e-9
        )
        if hasattr(near, "shrinkage_"):
            np.testing.assert_allclose(far.shrinkage_, near.shrinkage_)


def test_columns_of_different_scale_count_alike():
    X = np.random.default_rng(0).normal(size=(120, 3))
    A = X * np.array([1e12, 1.0, 1e-12])
    for cls in (EmpiricalCovariance, MinCovDet):
        seed = {"random_state": 0} if cls is MinCovDet else {}
        far, near = cls(**seed).fit(A), cls(**seed).fit(X)
        np.testing.assert_allclose(far.mahalanobis(A), near.mahalanobis(X), rtol=1e-9)


@pytest.mark.parametrize("cls", [*MODELS, EllipticEnvelope])
def test_values_whose_squares_overflow_are_refused(cls):
    X = np.random.default_rng(0).normal(size=(30, 3))
    one = X.copy()
    one[4, 1] = 1e200
    for A in (1e300 * X, one):
        with pytest.raises(ValueError, match="squares overflow"):
            cls().fit(A)


@pytest.mark.parametrize("cls", MODELS[:4])
def test_one_row_is_warned_about(cls):
    with pytest.warns(UserWarning, match="Only one sample"):
        model = cls().fit(np.arange(5.0)[None])
    np.testing.assert_array_equal(model.covariance_, np.zeros((5, 5)))


def test_an_unknown_norm_is_refused_as_by_scikit_learn():
    model = EmpiricalCovariance().fit(np.eye(3))
    with pytest.raises(NotImplementedError, match="frobenius"):
        model.error_norm(np.eye(3), norm="other")
    with pytest.raises(ValueError, match="frobenius"):
        model.error_norm(np.eye(3), norm="other")


def test_all_rows_as_support():
    X = np.random.default_rng(0).normal(size=(80, 3))
    for cls in (MinCovDet, EllipticEnvelope):
        mine = cls(support_fraction=1.0, random_state=0).fit(X)
        peer = theirs.MinCovDet(support_fraction=1.0, random_state=0).fit(X)
        np.testing.assert_allclose(mine.raw_covariance_, peer.raw_covariance_)
        np.testing.assert_allclose(mine.covariance_, peer.covariance_)
        with pytest.raises(ValueError, match="support_fraction"):
            cls(support_fraction=1.5).fit(X)

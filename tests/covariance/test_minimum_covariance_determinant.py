"""MinCovDet and EllipticEnvelope: against all subsets, scikit-learn and outliers."""

import numpy as np
import pytest
import sklearn.covariance as theirs
from scipy.stats import chi2

from pansophy.covariance import (
    EllipticEnvelope,
    EmpiricalCovariance,
    MinCovDet,
)
from pansophy.covariance.minimum_covariance_determinant import (
    Subsets,
    c_step,
    consistency_factor,
    fast_mcd,
    stacked_moments,
)
from tests.oracles import neighbors as oracle


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3


@pytest.mark.parametrize("d", [1, 2])
def test_all_subsets(d):
    X = rows(11, d)
    X[:3] += 9
    mask, rose = fast_mcd(X, 7, np.random.default_rng(0))
    assert not rose
    assert tuple(np.flatnonzero(mask)) == oracle.tightest_subset(X, 7)


def test_steps_never_raise_the_determinant():
    X = rows(300, 4)
    order = np.argsort(np.random.default_rng(0).random((40, 300)), axis=1)
    at = stacked_moments(X, order[:, :160])
    for _ in range(6):
        _, after = c_step(X, at, 160)
        assert (after.log_det <= at.log_det + 1e-9).all()
        at = Subsets(*after)


@pytest.mark.parametrize(("n", "d"), [(200, 3), (1000, 4), (3000, 5)])
def test_the_determinant_of_scikit_learn_or_less(n, d):
    X = rows(n, d)
    X[: n // 4] += 20
    a = MinCovDet(random_state=0).fit(X)
    b = theirs.MinCovDet(random_state=0).fit(X)
    log_det = lambda m: np.linalg.slogdet(m.raw_covariance_)[1]
    assert log_det(a) <= log_det(b) + 1e-3
    assert a.raw_support_.sum() == b.raw_support_.sum()
    assert not a.support_[: n // 4].any()
    np.testing.assert_allclose(a.location_, b.location_, atol=0.05)
    np.testing.assert_allclose(
        a.covariance_, b.covariance_, atol=0.05 * np.abs(b.covariance_).max()
    )


def test_outliers_do_not_move_it():
    X = rows(400, 3)
    clean = EmpiricalCovariance().fit(X[100:])
    for far in (50, 1e6):
        bad = X.copy()
        bad[:100] += far
        model = MinCovDet(random_state=0).fit(bad)
        np.testing.assert_allclose(model.location_, clean.location_, atol=0.3)
        assert np.abs(model.covariance_ / clean.covariance_ - 1).max() < 0.5


def test_right_for_normal_rows():
    X = np.random.default_rng(0).normal(size=(20000, 3))
    model = MinCovDet(random_state=0).fit(X)
    np.testing.assert_allclose(model.covariance_, np.eye(3), atol=0.05)
    np.testing.assert_allclose(model.correct_covariance(X), np.eye(3), atol=0.1)
    m, S, support = model.reweight_covariance(X)
    assert (support == model.support_).all()
    np.testing.assert_allclose(S * consistency_factor(3, 0.975), model.covariance_)
    np.testing.assert_allclose(m, model.location_)
    # the factor is the mean of truncated squares
    x = np.random.default_rng(1).normal(size=(200000, 3))
    inside = (x * x).sum(axis=1) < chi2.ppf(0.6, 3)
    assert consistency_factor(3, 0.6) == pytest.approx(1 / x[inside].var(), rel=0.02)


def test_centred_fraction_and_seed():
    X = rows(120, 3) - 3
    model = MinCovDet(assume_centered=True, support_fraction=0.8, random_state=1).fit(X)
    assert (model.location_ == 0).all()
    assert model.raw_support_.sum() == 96
    again = MinCovDet(assume_centered=True, support_fraction=0.8, random_state=1).fit(X)
    assert (model.covariance_ == again.covariance_).all()


def test_flat_rows_are_told():
    X = rows(60, 2)
    flat = np.column_stack([X, X[:, 0]])
    with pytest.warns(UserWarning, match="not full rank"):
        model = MinCovDet(random_state=0).fit(flat)
    assert np.isfinite(model.mahalanobis(flat)).all()
    with (
        pytest.warns(UserWarning, match="not full rank"),
        pytest.raises(ValueError, match="equal to 0"),
    ):
        MinCovDet(random_state=0).fit(np.repeat([[1.0, 1.0], [2.0, 2.0]], [50, 9], 0))


def test_a_line_that_misses_the_origin_is_flat_only_around_its_mean(rng):
    t = rng.normal(size=60)
    line = np.column_stack([t, 3.0 - t])
    with pytest.warns(UserWarning, match="not full rank"):
        MinCovDet(random_state=0).fit(line)
    # rank 2 around 0: the other warning alone, others are errors
    with pytest.warns(RuntimeWarning, match="lie in a plane"):
        MinCovDet(assume_centered=True, random_state=0).fit(line)


def test_envelope():
    X = rows(300, 2)
    X[:20] += 30
    a = EllipticEnvelope(contamination=20 / 300, random_state=0).fit(X)
    b = theirs.EllipticEnvelope(contamination=20 / 300, random_state=0).fit(X)
    assert (np.flatnonzero(a.predict(X) == -1) == np.arange(20)).all()
    assert (a.predict(X) == b.predict(X)).all()
    np.testing.assert_allclose(
        a.decision_function(X), a.score_samples(X) - a.offset_, rtol=1e-12
    )
    assert a.score(X, b.predict(X)) == 1
    with pytest.raises(ValueError, match="norm must be"):
        a.error_norm(np.eye(2), norm="other")


def test_a_plane_that_is_left_is_warned_of(rng):
    """Half of the rows share a value: no determinant is lower, no inverse exists."""
    X = rng.normal(size=(40, 3))
    X[:24, 2] = 0.2
    with pytest.warns(RuntimeWarning, match="Determinant has increased") as said:
        MinCovDet(support_fraction=0.5, random_state=0).fit(X)
    assert len(said) == 1 and said[0].filename == __file__
    for seed in range(5):
        MinCovDet(random_state=seed).fit(rng.normal(size=(700, 3)))  # no warning

"""Proportional odds against statsmodels and logistic regression."""

import numpy as np
import pytest

from pansophy.linear_model import LogisticRegression, ProportionalOdds


def ordered_rows(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    z = X @ [1.0, -0.5, 0.2] + rng.logistic(size=n)
    return X, np.digitize(z, [-2, -0.5, 1, 2.5])


def test_as_statsmodels():
    """The likelihood of statsmodels is at its maximum where our fit is."""
    ordinal = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    numdiff = pytest.importorskip("statsmodels.tools.numdiff")
    X, y = ordered_rows()
    ours = ProportionalOdds(C=1e9, tol=1e-10).fit(X, y)
    model = ordinal.OrderedModel(y, X, distr="logit")
    # its parameters are the first threshold and the logs of the gaps
    gaps = np.log(np.diff(ours.thresholds_))
    found = np.r_[ours.coef_, ours.thresholds_[0], gaps]
    assert ours.predict_proba(X) == pytest.approx(model.predict(found), rel=1e-9)
    # differences of a sum of 500 terms have eps^(2/3) of its digits
    slope = numdiff.approx_fprime(found, model.loglike, centered=True)
    assert slope == pytest.approx(np.zeros(len(found)), abs=1e-5)
    theirs = model.fit(disp=0, method="bfgs", gtol=1e-4)
    assert theirs.mle_retvals["converged"]
    assert model.loglike(found) >= theirs.llf - 1e-9
    assert ours.coef_ == pytest.approx(theirs.params[:3], abs=1e-2)


def test_two_classes_are_logistic_regression():
    X, y = ordered_rows()
    ours = ProportionalOdds(C=0.7, tol=1e-10).fit(X, y > 2)
    theirs = LogisticRegression(C=0.7, tol=1e-10).fit(X, y > 2)
    assert ours.coef_ == pytest.approx(theirs.coef_[0], abs=1e-7)
    assert ours.thresholds_[0] == pytest.approx(-theirs.intercept_[0], abs=1e-7)
    assert ours.predict_proba(X) == pytest.approx(theirs.predict_proba(X), abs=1e-7)


def test_weights_are_repeated_rows_and_columns_may_be_far_from_0():
    X, y = ordered_rows(200)
    w = np.random.default_rng(1).integers(0, 3, 200)
    a = ProportionalOdds().fit(X, y, sample_weight=w)
    b = ProportionalOdds().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert a.coef_ == pytest.approx(b.coef_, abs=1e-9)
    moved = ProportionalOdds().fit(X + 1e4, y)
    assert moved.coef_ == pytest.approx(ProportionalOdds().fit(X, y).coef_, abs=1e-5)


def test_separated_classes_and_empty_middles_stay_finite():
    X = np.arange(30.0)[:, None]
    model = ProportionalOdds(C=100.0).fit(X, np.repeat([0, 4, 9], 10))
    assert (model.predict(X) == np.repeat([0, 4, 9], 10)).mean() > 0.9
    assert np.isfinite(model.thresholds_).all()
    with pytest.raises(ValueError, match="two classes"):
        ProportionalOdds().fit(X, np.zeros(30))

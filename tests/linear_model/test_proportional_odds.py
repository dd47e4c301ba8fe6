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
    model = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    X, y = ordered_rows()
    ours = ProportionalOdds(C=1e9, tol=1e-10).fit(X, y)
    theirs = model.OrderedModel(y, X, distr="logit")
    found = theirs.fit(disp=0, method="bfgs", gtol=1e-9, maxiter=1000)
    assert ours.coef_ == pytest.approx(found.params[:3], abs=1e-5)
    cuts = theirs.transform_threshold_params(found.params)[1:-1]
    assert ours.thresholds_ == pytest.approx(cuts, abs=1e-5)
    assert ours.predict_proba(X) == pytest.approx(
        theirs.predict(found.params), abs=1e-5
    )


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

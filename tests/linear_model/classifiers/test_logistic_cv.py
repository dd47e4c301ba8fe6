"""Cross-validated logistic regression: scikit-learn's grid, choice and attributes."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.linear_model as peer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

from pansophy.linear_model import LogisticRegression, LogisticRegressionCV
from pansophy.params import ParameterError

CS = [0.01, 0.1, 1.0, 10.0]


def problem(n=120, d=5, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    y = np.argmax(X[:, :k] + rng.gumbel(size=(n, k)), axis=1)
    return X, np.array(["a", "b", "c"])[y]


def theirs(X, y, **how):
    how = {"solver": "lbfgs", "tol": 1e-8, "max_iter": 5000, "scoring": None, **how}
    how = {"use_legacy_attributes": False, "l1_ratios": (0.0,), **how}
    return peer.LogisticRegressionCV(**how).fit(X, y)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_as_scikit_learn(k, intercept):
    X, y = problem(k=k)
    how = {"Cs": CS, "fit_intercept": intercept, "cv": 4}
    for scoring in (None, "neg_log_loss"):
        a = theirs(X, y, **how, scoring=scoring)
        for rows in (X, sp.csr_matrix(X)):
            b = LogisticRegressionCV(
                **how, scoring=scoring, tol=1e-8, use_legacy_attributes=False
            ).fit(rows, y)
            assert (b.C_, b.l1_ratio_) == (a.C_, a.l1_ratio_)
            np.testing.assert_allclose(b.scores_, a.scores_, atol=1e-5)
            np.testing.assert_allclose(b.coef_, a.coef_, atol=1e-5)
            np.testing.assert_allclose(b.intercept_, a.intercept_, atol=1e-5)
            np.testing.assert_allclose(b.coefs_paths_, a.coefs_paths_, atol=1e-4)
            assert b.n_iter_.shape == a.n_iter_.shape
            np.testing.assert_array_equal(b.Cs_, a.Cs_)
            np.testing.assert_array_equal(b.l1_ratios_, a.l1_ratios_)


@pytest.mark.parametrize("k", [2, 3])
def test_ratios_without_refit(k):
    X, y = problem(80, 4, k=k)
    how = {"Cs": [0.3, 1.0], "l1_ratios": np.array([0.0, 0.5, 1.0]), "refit": False}
    how |= {"cv": KFold(3), "scoring": "neg_log_loss"}
    a = theirs(X, y, **how, solver="saga", random_state=0)
    b = LogisticRegressionCV(**how, tol=1e-8, use_legacy_attributes=False).fit(X, y)
    np.testing.assert_allclose(b.scores_, a.scores_, atol=1e-4)
    assert pytest.approx(a.C_) == b.C_
    assert b.coefs_paths_.shape == (3, 3, 2, 1 if k == 2 else 3, 5)
    np.testing.assert_allclose(b.predict_proba(X), a.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("ratios", [None, (0.0, 1.0)])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_old_forms_of_the_attributes(k, ratios):
    X, y = problem(80, 4, k=k)
    how = {"Cs": [0.1, 1.0], "l1_ratios": ratios, "cv": 3}
    a = theirs(X, y, **how, solver="saga", use_legacy_attributes=True, tol=1e-4)
    b = LogisticRegressionCV(**how).fit(X, y)
    for name in ("C_", "l1_ratio_", "n_iter_", "Cs_"):
        assert np.shape(getattr(a, name)) == np.shape(getattr(b, name)), name
    for name in ("scores_", "coefs_paths_"):
        one, two = getattr(a, name), getattr(b, name)
        assert list(one) == list(two)
        assert one["c" if k == 3 else "b"].shape == two["c" if k == 3 else "b"].shape


def test_weights_are_repetitions_where_folds_agree():
    X, y = problem(60, 3, k=2)
    w = np.random.default_rng(1).integers(1, 3, size=60)
    folds = list(StratifiedKFold(3).split(X, y))
    rows = np.repeat(np.arange(60), w)
    again = [tuple(np.flatnonzero(np.isin(rows, part)) for part in f) for f in folds]
    how = {"Cs": CS, "tol": 1e-9, "class_weight": "balanced", "scoring": "accuracy"}
    a = LogisticRegressionCV(**how, cv=folds).fit(X, y, sample_weight=w)
    b = LogisticRegressionCV(**how, cv=again).fit(X[rows], y[rows])
    np.testing.assert_allclose(a.scores_["b"], b.scores_["b"])
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-7)


def test_it_ends_where_a_plain_fit_ends_and_refuses_bad_grids():
    X, y = problem(k=3)
    model = LogisticRegressionCV(Cs=3, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.Cs_, [1e-4, 1, 1e4])
    plain = LogisticRegression(C=model.C_[0], tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    how = {"solver": "liblinear", "intercept_scaling": 3.0, "tol": 1e-8}
    lib = LogisticRegressionCV(Cs=[0.1, 1], **how)
    X2, y2 = problem(k=2)
    lib.fit(X2, y2)
    same = LogisticRegression(C=lib.C_[0], **how)
    np.testing.assert_allclose(lib.coef_, same.fit(X2, y2).coef_, atol=1e-4)
    for bad in ({"Cs": []}, {"Cs": [0.0]}, {"l1_ratios": [2.0]}, {"Cs": 0}):
        with pytest.raises(ParameterError, match="of LogisticRegressionCV must"):
            LogisticRegressionCV(**bad).fit(X, y)
    with pytest.raises(ValueError, match="must be given"):
        LogisticRegressionCV(penalty="elasticnet").fit(X, y)
    assert LogisticRegressionCV(penalty="l1", Cs=2).fit(X, y).l1_ratio_[0] == 1
    with pytest.warns(ConvergenceWarning, match="in some folds"):
        LogisticRegressionCV(solver="lbfgs", max_iter=1, Cs=[1.0], tol=0.2).fit(X, y)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score"])
def test_a_class_that_a_fold_does_not_have_is_scored(k, scoring):
    y = np.repeat(["a", "b", "c"][:k], 4)
    X = np.arange(4.0 * k)[:, None]
    folds = KFold(2 * k)  # two rows of one class each
    model = LogisticRegressionCV(
        Cs=[0.1, 1.0], cv=folds, scoring=scoring, use_legacy_attributes=False
    )
    model.fit(X, y)
    assert model.scores_.shape == (2 * k, 1, 2) and np.isfinite(model.scores_).all()

"""Machines for each pair of classes: votes as libsvm, coupled probabilities."""

import warnings

import numpy as np
import pytest
from sklearn import svm as libsvm
from sklearn.metrics import log_loss

from pansophy.core.loops.threads import limit_threads
from pansophy.svm import SVC, NuSVC
from tests.svm.samples import blobs


def test_dual_coefficients_are_feasible():
    X, y = blobs(200, k=4, seed=3)
    model = SVC(C=3.0).fit(X, y)
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert (np.diff(y[model.support_]) >= 0).all()
    assert model.n_support_.sum() == len(model.support_)
    ends = np.concatenate([[0], np.cumsum(model.n_support_)])
    first, second = slice(ends[1], ends[2]), slice(ends[3], ends[4])  # pair 1, 3
    total = model.dual_coef_[2, first].sum() + model.dual_coef_[1, second].sum()
    assert total == pytest.approx(0.0, abs=1e-9)
    assert (model.dual_coef_[2, first] >= 0).all()
    assert np.abs(model.dual_coef_).max() <= 3.0


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
@pytest.mark.parametrize("cls", ["SVC", "NuSVC"])
def test_many_classes_as_libsvm(cls, shape):
    X, y = blobs(240, d=3, k=5, seed=11)
    options = {"decision_function_shape": shape, "gamma": 0.3}
    if cls == "NuSVC":
        options["nu"] = 0.3
    ours = {"SVC": SVC, "NuSVC": NuSVC}[cls](**options).fit(X, y)
    theirs = getattr(libsvm, cls)(**options, tol=1e-8).fit(X, y)
    atol = 1e-5 if cls == "SVC" else 3e-4  # libsvm divides by the margin it found
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=atol
    )
    assert (ours.support_ == theirs.support_).all()
    assert (ours.n_support_ == theirs.n_support_).all()
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=atol)
    for ties in (False, True):
        if ties and shape == "ovo":
            continue
        ours.set_params(break_ties=ties)
        theirs.set_params(break_ties=ties)
        assert (ours.predict(X) == theirs.predict(X)).all()


@pytest.mark.parametrize("k", [2, 3, 5])
def test_probabilities_and_predictions_agree(k):
    X, y = blobs(200, d=3, k=k, seed=21)
    X = np.vstack([X, X[:20]])
    y = np.append(y, (y[:20] + 1) % k)
    model = SVC(probability=True, random_state=0).fit(X, y)
    T = np.random.default_rng(0).normal(scale=3, size=(1000, 3))
    p = model.predict_proba(T)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p >= 0).all()
    assert (model.classes_[p.argmax(axis=1)] == model.predict(T)).all()
    again = SVC(probability=True, random_state=0).fit(X, y)
    assert (again.predict_proba(T) == p).all()
    np.testing.assert_allclose(model.predict_log_proba(T), np.log(p))
    with pytest.raises(AttributeError, match="predict_proba"):
        SVC().fit(X, y).predict_proba(T)


def test_an_earlier_fit_with_probabilities_is_forgotten():
    X, y = blobs(150, k=3, seed=22)
    model = SVC(probability=True, random_state=0).fit(X, y)
    model.set_params(probability=False).fit(X, y)
    assert not hasattr(model, "probA_")
    assert (model.predict(X) == SVC().fit(X, y).predict(X)).all()


def test_probabilities_are_calibrated():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 2))
    truth = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = rng.random(1500) < truth
    model = SVC(kernel="linear", probability=True, random_state=0).fit(X, y)
    assert np.abs(model.predict_proba(X)[:, 1] - truth).mean() < 0.03


def test_many_classes_of_few_rows_are_not_underconfident():
    """26 classes of 25 rows: the doubts of 25 pairs must not add up."""
    rng = np.random.default_rng(0)
    centers = 1.6 * rng.normal(size=(26, 8))
    y = np.arange(1950) % 26
    X = centers[y] + rng.normal(size=(1950, 8))
    train, test = slice(650), slice(650, None)
    ours = SVC(probability=True, random_state=0).fit(X[train], y[train])
    p = ours.predict_proba(X[test])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn deprecates probability=True
        theirs = libsvm.SVC(probability=True, random_state=0).fit(X[train], y[train])
    assert log_loss(y[test], p) < 0.7 * log_loss(y[test], theirs.predict_proba(X[test]))
    right = p.argmax(axis=1) == y[test]
    assert abs(p.max(axis=1).mean() - right.mean()) < 0.05
    assert ours.inverse_temperature_ > 1.5
    assert (ours.predict(X[test]) == p.argmax(axis=1)).all()


def test_probabilities_do_not_depend_on_threads():
    X, y = blobs(300, k=4, seed=25)
    found = []
    for n in (1, 2):
        with limit_threads(n):
            model = SVC(probability=True, random_state=0).fit(X, y)
            found.append(model.predict_proba(X))
    assert (found[0] == found[1]).all()


def test_coupling_gives_back_consistent_probabilities():
    from pansophy.svm.pairwise_classifier import couple_pairs

    p = np.random.default_rng(0).dirichlet(np.ones(4), size=10)
    i, j = np.triu_indices(4, 1)
    r = p[:, i] / (p[:, i] + p[:, j])
    np.testing.assert_allclose(couple_pairs(r, 4), p, atol=1e-10)

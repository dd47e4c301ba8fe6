"""The label model: votes of unreliable labellers."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pansophy.linear_model import LogisticRegression
from pansophy.semi_supervised import (
    LabelModel,
)


def votes(accuracies, n=4000, K=2, coverage=0.8, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    L = np.empty((n, len(accuracies)), int)
    for j, a in enumerate(accuracies):
        wrong = (y + rng.integers(1, K, n)) % K if K > 1 else y
        L[:, j] = np.where(rng.random(n) < a, y, wrong)
        L[rng.random(n) > coverage, j] = -1
    return L, y


@pytest.mark.parametrize("confusion", ["full", "accuracy"])
@pytest.mark.parametrize("K", [2, 4])
def test_planted_accuracies_are_recovered(confusion, K):
    planted = [0.9, 0.8, 0.7, 0.6, 0.85]
    L, y = votes(planted, K=K)
    model = LabelModel(confusion).fit(L)
    np.testing.assert_allclose(model.accuracies_, planted, atol=0.05)
    np.testing.assert_allclose(model.coverage_, 0.8, atol=0.03)
    heard = (L >= 0).any(axis=1)
    majority = np.array([np.bincount(r[r >= 0], minlength=K).argmax() for r in L])
    right = lambda z: np.mean(z[heard] == y[heard])
    assert right(model.predict(L)) >= right(majority)


def test_perfect_labellers_reproduce_the_labels():
    L, y = votes([1.0, 1.0, 0.5], coverage=1.0)
    model = LabelModel(prior=0.01).fit(L)
    np.testing.assert_array_equal(model.predict(L), y)
    X = np.column_stack((y + 0.1, -y))
    learned = LogisticRegression().fit(X, model.predict(L))
    np.testing.assert_array_equal(learned.coef_, LogisticRegression().fit(X, y).coef_)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["full", "accuracy"]))
def test_the_likelihood_of_votes_never_falls(seed, confusion):
    L, _ = votes([0.8, 0.6, 0.7], n=60, K=3, seed=seed)
    model = LabelModel(confusion, tol=1e-12, max_iter=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(L)
    J = model.history_["objective"]
    assert np.all(np.diff(J) <= 1e-10)


def test_weights_of_votes_are_repetitions():
    L, _ = votes([0.8, 0.7, 0.6], n=80)
    w = np.random.default_rng(0).integers(0, 4, len(L))
    a = LabelModel(tol=1e-10, max_iter=1000).fit(L, sample_weight=w)
    b = LabelModel(tol=1e-10, max_iter=1000).fit(np.repeat(L, w, axis=0))
    np.testing.assert_allclose(a.confusion_, b.confusion_, atol=1e-10)


def test_votes_are_checked():
    with pytest.raises(ValueError, match="whole numbers"):
        LabelModel().fit([[0.5, 1.0]])
    with pytest.raises(ValueError, match="abstains"):
        LabelModel().fit([[-1, -1]])


@pytest.mark.parametrize("confusion", ["full", "accuracy"])
def test_a_labeller_that_never_votes_is_taken_to_guess(confusion):
    votes = np.array([[0, 0, -1], [1, 1, -1], [0, 0, -1], [1, 0, -1], [2, 2, -1]])
    model = LabelModel(confusion, prior=0.0).fit(votes)
    assert np.isfinite(model.predict_proba(votes)).all()
    assert np.allclose(model.confusion_[2], 1 / 3)

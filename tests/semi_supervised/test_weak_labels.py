"""Transductive machines, votes of labellers, bags, attributes."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pansophy.linear_model import LogisticRegression
from pansophy.optim import check_gradient
from pansophy.params import ParameterError
from pansophy.semi_supervised import (
    AttributeClassifier,
    LabelModel,
    MultipleInstance,
    TransductiveSVM,
)
from pansophy.semi_supervised.transductive_svm import transductive_risk
from pansophy.svm import LinearSVC


def blobs(seed=0, n=60, gap=6.0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n)
    X = rng.normal(size=(2 * n, 2)) + gap * y[:, None] * [1.0, 0.0]
    return X, y


def test_two_blobs_with_one_label_each_are_separated():
    X, truth = blobs()
    # labels far off the middle: the supervised boundary cuts through a blob
    X = np.vstack((X, [[-2.5, 6.0], [6.0, -6.0]]))
    truth = np.append(truth, [0, 1])
    y = np.full(len(X), -1)
    y[-2:] = 0, 1
    alone = LinearSVC().fit(X[-2:], [0, 1])
    model = TransductiveSVM(unlabeled_weight=0.5).fit(X, y)
    assert np.mean(alone.predict(X) == truth) < 0.95
    assert np.mean(model.predict(X) == truth) > 0.99


def test_no_unlabelled_weight_is_the_supervised_machine():
    X, truth = blobs(gap=2.0)
    y = np.where(np.arange(len(X)) % 3, truth, -1)
    model = TransductiveSVM(unlabeled_weight=0.0).fit(X, y)
    alone = LinearSVC().fit(X[y >= 0], y[y >= 0])
    np.testing.assert_array_equal(model.coef_, alone.coef_)
    np.testing.assert_array_equal(model.intercept_, alone.intercept_)


def test_the_gradient_of_the_risk(rng):
    X, Z = rng.normal(size=(8, 3)), rng.normal(size=(9, 3))
    y, c, e = np.sign(rng.normal(size=8)), rng.random(8), rng.random(9)
    f = lambda w: transductive_risk(w, 0.2, X, y, c, Z, e, 0.7, 0.9)
    assert check_gradient(f, rng.normal(size=3)) < 1e-6


def test_the_mean_of_the_unlabelled_rows_is_balanced():
    X, _ = blobs()
    y = np.full(len(X), -1)
    y[[0, -1]] = 0, 1
    model = TransductiveSVM().fit(X, y)
    assert model.decision_function(X[y < 0]).mean() == pytest.approx(0.0, abs=1e-9)
    tilted = TransductiveSVM(balance=0.25).fit(X, y)
    assert tilted.decision_function(X[y < 0]).mean() == pytest.approx(-0.5, abs=1e-9)


def test_three_classes():
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], 40)
    centre = np.array([[0, 0], [8, 0], [0, 8.0]])
    X = centre[truth] + rng.normal(size=(120, 2))
    y = np.full(120, -1)
    y[[0, 40, 80]] = 0, 1, 2
    model = TransductiveSVM(unlabeled_weight=0.5).fit(X, y)
    assert model.coef_.shape == (3, 2)
    assert np.mean(model.transduction_ == truth) > 0.97


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


def test_bags_of_one_row_are_the_supervised_fit():
    X, y = blobs(gap=2.0)
    model = MultipleInstance().fit(X, y, groups=np.arange(len(y)))
    np.testing.assert_array_equal(
        model.estimator_.coef_, LogisticRegression().fit(X, y).coef_
    )


def test_the_positive_rows_of_bags_are_found():
    rng = np.random.default_rng(0)
    rows, bags, labels, truth = [], [], [], []
    for b in range(60):
        positive = b % 2
        X = rng.normal(size=(5, 2))
        z = np.zeros(5, int)
        if positive:
            X[0] += 6.0
            z[0] = 1
        rows.append(X), bags.append(np.full(5, b)), labels.append(np.full(5, positive))
        truth.append(z)
    X, bag, y, z = map(np.concatenate, (rows, bags, labels, truth))
    model = MultipleInstance().fit(X, y, groups=bag)
    assert np.mean(model.row_labels_ == z) > 0.99
    names, guess = model.predict_bags(X, bag)
    np.testing.assert_array_equal(guess, names % 2)
    # at least one row of each positive bag, none of a negative one
    assert np.all(np.bincount(bag, model.row_labels_)[1::2] >= 1)
    assert np.all(model.row_labels_[y == 0] == 0)


def test_bags_are_checked():
    X, y = blobs(n=3)
    with pytest.raises(ValueError, match="different labels"):
        MultipleInstance().fit(X, y, groups=[0, 0, 0, 0, 1, 1])
    with pytest.raises(ValueError, match="groups"):
        MultipleInstance().fit(X, y, groups=[0])


def animals():
    rng = np.random.default_rng(0)
    S = {
        "a": [0, 0, 1], "b": [0, 1, 0], "c": [1, 0, 0], "d": [1, 1, 1],
        "e": [0, 0, 0], "f": [1, 1, 0],
    }  # fmt: skip
    rows, y = [], []
    for name in "abcef":
        rows.append(np.array(S[name]) * 6.0 + rng.normal(size=(40, 3)))
        y += [name] * 40
    return S, np.vstack(rows), np.array(y), rng


def test_an_unseen_class_is_recovered_by_its_signature():
    S, X, y, rng = animals()
    model = AttributeClassifier(S).fit(X, y)
    unseen = 6.0 * np.ones((30, 3)) + 0.3 * rng.normal(size=(30, 3))
    assert set(model.predict(unseen)) == {"d"}
    assert np.mean(model.predict(X) == y) > 0.95


def test_an_explanation_lists_attributes():
    S, X, y, _ = animals()
    names = ["wings", "scales", "fur"]
    model = AttributeClassifier(S, attributes=names).fit(X, y)
    first = model.explain(X[:1])[0]
    assert list(first) == ["class", *names]
    assert first["class"] == "a"
    assert first["fur"] > 0.9 > 0.1 > first["wings"]
    np.testing.assert_allclose(
        [first[k] for k in names], model.predict_attributes(X[:1])[0]
    )


def test_signatures_as_an_array_and_their_checks():
    S, X, y, _ = animals()
    same = AttributeClassifier(np.array(list(S.values())), classes=list(S)).fit(X, y)
    np.testing.assert_array_equal(
        same.predict(X), AttributeClassifier(S).fit(X, y).predict(X)
    )
    with pytest.raises(ValueError, match="'c'"):
        AttributeClassifier({"a": [0], "b": [1]}).fit(X, y)
    with pytest.raises(ParameterError, match="from 0 to 1"):
        AttributeClassifier({"a": [0], "b": [1], "c": [2]}).fit(X, y)


@pytest.mark.parametrize("confusion", ["full", "accuracy"])
def test_a_labeller_that_never_votes_is_taken_to_guess(confusion):
    votes = np.array([[0, 0, -1], [1, 1, -1], [0, 0, -1], [1, 0, -1], [2, 2, -1]])
    model = LabelModel(confusion, prior=0.0).fit(votes)
    assert np.isfinite(model.predict_proba(votes)).all()
    assert np.allclose(model.confusion_[2], 1 / 3)


def test_a_balance_is_refused_for_three_classes():
    X, y = np.arange(9.0)[:, None], [0, -1, 0, 1, -1, 1, 2, -1, 2]
    with pytest.raises(ParameterError, match="balance is for two classes"):
        TransductiveSVM(balance=0.3).fit(X, y)


def test_bags_must_be_as_many_as_rows():
    X, bags = np.array([[0.0], [5.0], [0.1], [0.2]]), [0, 0, 1, 1]
    model = MultipleInstance().fit(X, [1, 1, 0, 0], groups=bags)
    with pytest.raises(ValueError, match="groups must hold 4 bags"):
        model.predict_bags(X, [0, 1])


def test_classes_without_an_array_of_signatures_are_refused():
    X, y = np.arange(4.0)[:, None], [0, 0, 1, 1]
    for signatures in (None, {0: [0, 1], 1: [1, 0]}):
        with pytest.raises(ParameterError, match="classes names the rows"):
            AttributeClassifier(signatures, classes=[0, 1]).fit(X, y)

"""Multiple-instance learning."""

import numpy as np
import pytest

from pansophy.linear_model import LogisticRegression
from pansophy.semi_supervised import (
    MultipleInstance,
)
from tests.semi_supervised.small_sets import two_blobs


def test_bags_of_one_row_are_the_supervised_fit():
    X, y = two_blobs(gap=2.0)
    model = MultipleInstance().fit(X, y, groups=np.arange(len(y)))
    np.testing.assert_array_equal(
        model.estimator_.coef_, LogisticRegression().fit(X, y).coef_
    )
    w = np.where(np.arange(len(y)) % 3, 1.0, 5.0)
    model.fit(X, y, sample_weight=w, groups=np.arange(len(y)))
    weighted = LogisticRegression().fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(model.estimator_.coef_, weighted.coef_)


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
    X, y = two_blobs(n=3)
    with pytest.raises(ValueError, match="different labels"):
        MultipleInstance().fit(X, y, groups=[0, 0, 0, 0, 1, 1])
    with pytest.raises(ValueError, match="groups"):
        MultipleInstance().fit(X, y, groups=[0])


def test_bags_must_be_as_many_as_rows():
    X, bags = np.array([[0.0], [5.0], [0.1], [0.2]]), [0, 0, 1, 1]
    model = MultipleInstance().fit(X, [1, 1, 0, 0], groups=bags)
    with pytest.raises(ValueError, match="groups must hold 4 bags"):
        model.predict_bags(X, [0, 1])

"""Reductions of several classes to two, with our classifiers inside."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

import pansophy
from pansophy.linear_model import LogisticRegression, ambiguous_mask, hamming_codes
from pansophy.multiclass import (
    OneVsOneClassifier,
    OneVsRestClassifier,
    OutputCodeClassifier,
)
from pansophy.tree import DecisionTreeClassifier


def ten_classes():
    return make_blobs(200, 4, centers=10, cluster_std=0.5, random_state=0)


@pytest.mark.parametrize(
    ("cls", "options", "models"),
    [
        (OneVsRestClassifier, {}, 10),
        (OneVsOneClassifier, {}, 45),
        (OutputCodeClassifier, {"code_size": 2.0, "random_state": 0}, 20),
    ],
)
def test_numbers_of_models_and_files(cls, options, models, tmp_path):
    X, y = ten_classes()
    model = cls(DecisionTreeClassifier(random_state=0), **options).fit(X, y)
    assert len(model.estimators_) == models
    assert model.score(X, y) > 0.9
    pansophy.save(model, tmp_path / "model.pansophy")
    again = pansophy.load(tmp_path / "model.pansophy")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert clone(model).get_params().keys() == model.get_params().keys()


def test_two_classes_are_the_binary_model():
    X, y = make_blobs(80, 2, centers=2, cluster_std=3.0, random_state=1)
    alone = LogisticRegression().fit(X, y)
    for cls in (OneVsRestClassifier, OneVsOneClassifier):
        model = cls(LogisticRegression()).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), alone.predict(X))


def test_hard_votes_leave_an_ambiguous_region_that_the_highest_score_decides():
    centers = [[0.0, 2.0], [-2.0, -1.0], [2.0, -1.0]]
    X, y = make_blobs(90, 2, centers=centers, cluster_std=0.4, random_state=0)
    model = OneVsRestClassifier(LogisticRegression()).fit(X, y)
    axis = np.linspace(-3, 3, 25)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    scores = model.decision_function(grid)
    mask = ambiguous_mask(scores)
    assert 0 < mask.sum() < len(grid)
    np.testing.assert_array_equal(model.predict(grid), scores.argmax(axis=1))


def test_code_words_of_ten_classes_take_four_bits():
    assert hamming_codes(10).words.shape[1] == 4
    X, y = ten_classes()
    short = OutputCodeClassifier(
        DecisionTreeClassifier(random_state=0), code_size=0.4, random_state=0
    ).fit(X, y)
    assert len(short.estimators_) == 4

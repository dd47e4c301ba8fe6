"""Extremely randomised trees."""

import numpy as np
import pytest
from sklearn import ensemble as peer
from sklearn.datasets import make_classification, make_friedman1

from pansophy.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestRegressor,
)


@pytest.fixture(scope="module")
def classes():
    return make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)


@pytest.fixture(scope="module")
def numbers():
    return make_friedman1(200, noise=0.5, random_state=0)


def test_several_outputs(classes, numbers):
    X, y = classes
    Y = np.array(["a", "b", "c"])[np.stack([y, y[::-1]], axis=1)]
    model = ExtraTreesClassifier(20, random_state=0).fit(X, Y)
    assert [p.shape for p in model.predict_proba(X)] == [(300, 3), (300, 3)]
    np.testing.assert_array_equal(model.predict(X), Y)
    X, y = numbers
    model = RandomForestRegressor(20, random_state=0, keep_targets=True)
    model.fit(X, np.stack([y, -y], axis=1))
    p = model.predict(X)
    np.testing.assert_allclose(p[:, 0], -p[:, 1], atol=1e-9)
    assert model.predict_quantiles(X, [0.1, 0.9]).shape == (200, 2, 2)
    assert model.predict_dist(X).variance.shape == (200, 2)


def test_numbers_are_predicted_as_well_as_by_scikit_learn(numbers):
    X, y = numbers
    train, held_out = slice(150), slice(150, None)
    score = {}
    for name, cls in (
        ("ours", ExtraTreesRegressor),
        ("peer", peer.ExtraTreesRegressor),
    ):
        model = cls(60, random_state=0).fit(X[train], y[train])
        np.testing.assert_allclose(model.predict(X[train]), y[train])  # no bootstrap
        score[name] = model.score(X[held_out], y[held_out])
    assert score["ours"] > 0.5 and abs(score["ours"] - score["peer"]) < 0.06

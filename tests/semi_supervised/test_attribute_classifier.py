"""Classes recognised by attributes."""

import numpy as np
import pytest

from pansophy.params import ParameterError
from pansophy.semi_supervised import (
    AttributeClassifier,
)


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


def test_classes_without_an_array_of_signatures_are_refused():
    X, y = np.arange(4.0)[:, None], [0, 0, 1, 1]
    for signatures in (None, {0: [0, 1], 1: [1, 0]}):
        with pytest.raises(ParameterError, match="classes names the rows"):
            AttributeClassifier(signatures, classes=[0, 1]).fit(X, y)

"""Answers as JSON: numbers that JSON lacks, dates, too many classes."""

import json
from datetime import date
from types import SimpleNamespace

import numpy as np
import pytest

from pansophy.serve import responses


def test_values_that_json_lacks():
    found = json.loads(
        responses.json_bytes(
            {"a": np.float32(0.5), "b": date(2024, 5, 1), "c": {1}.pop}
        )
    )
    assert (
        found["a"] == 0.5 and found["b"] == "2024-05-01" and isinstance(found["c"], str)
    )
    with pytest.raises(ValueError, match="JSON"):
        responses.json_bytes(float("nan"))
    assert responses.finite_or_none(np.inf) is None and responses.finite_or_none(2) == 2


def test_numbers_classes_and_labels(monkeypatch):
    made = lambda task, **more: SimpleNamespace(
        schema=SimpleNamespace(task=task, **more), decide=lambda p: p.argmax(axis=1)
    )
    p = np.array([[0.25, 0.75]])
    number = responses.prediction_objects(made("regression"), np.array([1.5, np.nan]))
    assert number == [{"prediction": 1.5}, {"prediction": None}]
    classes = made("classification", classes=("no", "yes"))
    (one,) = responses.prediction_objects(classes, p)
    assert one == {"prediction": "yes", "probabilities": {"no": 0.25, "yes": 0.75}}
    monkeypatch.setattr(responses, "MOST_CLASSES", 1)
    assert responses.prediction_objects(classes, p) == [{"prediction": "yes"}]
    many = made("multilabel", labels=("a", "b"))
    many.decide = lambda p: p > 0.5
    (one,) = responses.prediction_objects(many, p)
    assert one["prediction"] == {"a": 0, "b": 1} and one["probabilities"]["a"] == 0.25

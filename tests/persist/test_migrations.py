"""Files of older schemas: fields that had other names, classes named by module."""

import json
from pathlib import Path

import numpy as np
import pytest

from pansophy import persist
from pansophy.compare import ConformalRegressor
from pansophy.compare.evaluation.calibration import fit_calibration
from pansophy.compare.evaluation.conformal import fit_prediction_sets
from pansophy.gaussian_process import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
)
from pansophy.persist import classes, codec
from pansophy.persist.migrations import (
    RENAMED_IN_3,
    rename_fields,
    shorten_class_names,
)
from tests.persist.model_files import forge

SCHEMA_3 = Path(__file__).parent / "data" / "schema3"
ANSWERS = json.loads((SCHEMA_3 / "answers.json").read_text())
P = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
Y = np.array([0, 1, 1, 1])
X = np.arange(12.0)[:, None]


def models():
    return [
        fit_calibration(P, Y),
        fit_prediction_sets(P, Y, 0.5),
        ConformalRegressor(method="split", random_state=0).fit(X, X[:, 0]),
        GaussianProcessRegressor(optimizer=None).fit(X, X[:, 0]),
        GaussianProcessClassifier(optimizer=None).fit(X, X[:, 0] > 5),
    ]


def with_old_names(node):
    """The manifest node as schema 2 had it."""
    if isinstance(node, list):
        return [with_old_names(v) for v in node]
    if not isinstance(node, dict):
        return node
    node = {k: with_old_names(v) for k, v in node.items()}
    if str(node.get("class")).startswith("pansophy."):
        cls = classes.class_of(node["class"])
        node["class"] = f"{cls.__module__}.{cls.__qualname__}"
    old = {new: k for k, new in RENAMED_IN_3.get(node.get("class"), {}).items()}
    if old:
        node["v"] = {old.get(k, k): v for k, v in node["v"].items()}
    return node


def answers(model):
    if hasattr(model, "apply"):
        return model.apply(P)
    return model.predict(X)


@pytest.mark.parametrize("model", models(), ids=lambda m: type(m).__name__)
def test_models_of_schema_2_load(model, tmp_path):
    encoder = codec.Encoder()
    node = encoder.encode(model)
    former = with_old_names(node)
    assert json.dumps(former) != json.dumps(node)
    forge(tmp_path / "old", former, encoder.tensors, schema=2)
    loaded = persist.load(tmp_path / "old")
    assert np.array_equal(answers(loaded), answers(model))
    assert json.dumps(codec.Encoder().encode(loaded)) == json.dumps(node)


def test_other_classes_and_damaged_nodes_stay_as_they_are():
    nodes = [
        {"class": "other", "v": {"how": 1}},
        {"class": "a", "v": [{"how": 1}]},
        {"class": ["a"], "v": {"how": 1}},
        "how",
    ]
    manifest = {"model": nodes, "schema": 2}
    assert rename_fields(manifest, {"a": {"how": "method"}}) == manifest


@pytest.mark.parametrize("name", sorted(set(ANSWERS) - {"X"}))
def test_files_of_schema_3_still_load(name):
    model = persist.load(SCHEMA_3 / f"{name}.pansophy")
    method = model.predict if hasattr(model, "predict") else model.transform
    np.testing.assert_allclose(method(np.array(ANSWERS["X"])), ANSWERS[name], atol=2e-6)


def test_names_of_classes_are_short_where_they_are_values_too():
    nodes = [
        {"$": "type", "v": "pansophy.cluster.centers.kmeans.KMeans"},
        {"$": "type", "v": "int"},
        {"$": "text", "v": "pansophy.cluster.centers.kmeans.KMeans"},
        {"class": "pansophy..x"},
        {"class": "pansophy.x"},
    ]
    shortened = shorten_class_names({"model": nodes})["model"]
    assert shortened[0]["v"] == "pansophy.cluster.KMeans"
    assert shortened[1:] == nodes[1:]

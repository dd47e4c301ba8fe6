"""Migrations: manifests of older schemas, brought up to the next one.

`MIGRATIONS[k]` takes a manifest of schema k, as it was read, and returns one of schema
k + 1. There is none for schema 1, whose classes had other names throughout.
"""

import copy
import re

from .classes import public_name

MODULE_PATH = r"pansophy(\.[^.]+){2,}"

# schema 2 -> 3: fields that have other names now, by the full path of their class
RENAMED_IN_3 = {
    "pansophy.compare.evaluation.calibration.CalibrationMap": {"how": "method"},
    "pansophy.compare.evaluation.conformal.PredictionSetRule": {"how": "kind"},
    "pansophy.compare.evaluation.conformal_estimators.ConformalClassifier": {
        "how": "method"
    },
    "pansophy.compare.evaluation.conformal_estimators.ConformalRegressor": {
        "how": "method"
    },
    "pansophy.gaussian_process.abstract_gaussian_process.FittedProcess": {
        "own": "solver_params"
    },
    "pansophy.gaussian_process.gaussian_process_classifier.ClassProcess": {
        "own": "solver_params"
    },
    "pansophy.gaussian_process.gaussian_process_regressor.GaussianProcessRegressor": {
        "_own": "_solver_params"
    },
    "pansophy.tree.shap.Explanation": {"how": "method"},
}


def rename_fields(manifest, renamed=RENAMED_IN_3) -> dict:
    """A copy of a manifest in which fields of some classes have other names.

    Examples
    --------
    >>> from pansophy.persist.migrations import rename_fields
    >>> node = {"$": "record", "class": "a.B", "v": {"how": 1}}
    >>> rename_fields({"model": [node]}, {"a.B": {"how": "method"}})["model"]
    [{'$': 'record', 'class': 'a.B', 'v': {'method': 1}}]
    """
    manifest = copy.deepcopy(manifest)
    for node in _nodes_of(manifest):
        names = renamed.get(str(node.get("class")))
        if names and isinstance(node.get("v"), dict):
            node["v"] = {names.get(k, k): v for k, v in node["v"].items()}
    return manifest


def shorten_class_names(manifest) -> dict:
    """A copy of a manifest whose classes are named by package, not by module.

    Examples
    --------
    >>> from pansophy.persist.migrations import shorten_class_names
    >>> node = {"$": "object", "class": "pansophy.cluster.kmeans.KMeans"}
    >>> shorten_class_names({"model": [node]})["model"]
    [{'$': 'object', 'class': 'pansophy.cluster.KMeans'}]
    """
    manifest = copy.deepcopy(manifest)
    for node in _nodes_of(manifest):
        key = "v" if node.get("$") == "type" else "class"
        path = node.get(key)
        if isinstance(path, str) and re.fullmatch(MODULE_PATH, path):
            node[key] = public_name(path)
    return manifest


def mark_boolean_columns(manifest) -> dict:
    """A copy of a manifest in which boolean columns say so by a field of their own.

    Until schema 4 a sentence told it, the reason for the role.

    Examples
    --------
    >>> from pansophy.persist.migrations import mark_boolean_columns
    >>> fields = {"name": "flag", "role": "number", "why": "true or false"}
    >>> column = {"$": "record", "class": "pansophy.tables.Column", "v": fields}
    >>> mark_boolean_columns({"model": [column]})["model"][0]["v"]["boolean"]
    True
    """
    manifest = copy.deepcopy(manifest)
    for node in _nodes_of(manifest):
        fields = node.get("v")
        if node.get("class") == "pansophy.tables.Column" and isinstance(fields, dict):
            fields.setdefault("boolean", fields.get("why") == "true or false")
    return manifest


def _nodes_of(manifest):
    """Every dict of a manifest's model, an outer one before those inside it."""
    waiting = [manifest["model"]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


MIGRATIONS = {2: rename_fields, 3: shorten_class_names, 4: mark_boolean_columns}

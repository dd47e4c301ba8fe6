"""Models of other libraries are checked before their parsers see them."""

import json

import numpy as np
import pytest

import pansophy
from pansophy.compare.methods import external_boosters
from pansophy.compare.methods.booster_files import checked_booster
from pansophy.compare.methods.external_boosters import (
    BoosterClassifier,
    BoosterRegressor,
    BoosterTask,
)
from pansophy.persist import PersistError

LIGHTGBM = b"""tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective=binary sigmoid:1
feature_names=Column_0 Column_1
feature_infos=none none
tree_sizes=400

Tree=0
num_leaves=3
num_cat=1
split_feature=0 1
split_gain=1 1
threshold=0.5 0
decision_type=2 1
left_child=1 -1
right_child=-2 -3
leaf_value=0.1 -0.2 0.30000000000000004
leaf_weight=1 1 1
leaf_count=1 1 1
internal_value=0 0
internal_weight=0 0
internal_count=3 2
cat_boundaries=0 1
cat_threshold=5
is_linear=0
shrinkage=1


end of trees
"""
TASK = BoosterTask("binary", 2, [1], 0)
TREE = {
    "base_weights": [0.0, 1.0, -1.0],
    "categories": [1, 3],
    "categories_nodes": [0],
    "categories_segments": [0],
    "categories_sizes": [2],
    "default_left": [0, 0, 0],
    "left_children": [1, -1, -1],
    "right_children": [2, -1, -1],
    "split_conditions": [1e-45, 1.0, -1.0],
    "split_indices": [1, 0, 0],
    "split_type": [1, 0, 0],
}


def xgboost_text(**changes):
    sizes = {"num_class": "0", "num_feature": "2", "base_score": "[5E-1]"}
    trees = [TREE | changes]
    model = {"trees": trees, "tree_info": [0]}
    learner = {
        "objective": {"name": "binary:logistic"},
        "learner_model_param": sizes,
        "gradient_booster": {"name": "gbtree", "model": model},
    }
    return json.dumps({"version": [3, 2, 0], "learner": learner}).encode()


def test_a_sound_text_is_written_anew():
    checked = checked_booster("lightgbm", LIGHTGBM, TASK, 2)
    assert b"leaf_value=0.1 -0.2 0.30000000000000004" in checked
    block = checked.split(b"\n\n", 1)[1].split(b"end of trees")[0]
    assert b"tree_sizes=%d\n" % len(block) in checked
    assert checked_booster("lightgbm", checked, TASK, 2) == checked
    checked = checked_booster("xgboost", xgboost_text(), TASK, 2)
    tree = json.loads(checked)["learner"]["gradient_booster"]["model"]["trees"][0]
    assert tree["parents"] == [2**31 - 1, 0, 0]
    assert checked_booster("xgboost", checked, TASK, 2) == checked


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"left_child=1 -1", b"left_child=7 -1"),
        (b"left_child=1 -1", b"left_child=0 -1"),
        (b"right_child=-2 -3", b"right_child=-2 -2147483648"),
        (b"right_child=-2 -3", b"right_child=-2 -2"),
        (b"split_feature=0 1", b"split_feature=2147483647 1"),
        (b"split_feature=0 1", b"split_feature=0"),
        (b"num_cat=1", b"num_cat=1000000000"),
        (b"num_leaves=3", b"num_leaves=1000000000"),
        (b"cat_boundaries=0 1", b"cat_boundaries=0 9"),
        (b"threshold=0.5 0", b"threshold=0.5 7"),
        (b"decision_type=2 1", b"decision_type=2 255"),
        (b"leaf_value=0.1", b"leaf_value=nan"),
        (b"is_linear=0", b"is_linear=1"),
        (b"max_feature_idx=1", b"max_feature_idx=100"),
        (b"num_class=1", b"num_class=9"),
        (b"binary sigmoid:1", b"regression"),
        (b"shrinkage=1", b"shrinkage=" + b"1" * 1000),
    ],
)
def test_forged_text_is_refused(old, new):
    assert old in LIGHTGBM
    with pytest.raises(PersistError, match="not sound"):
        checked_booster("lightgbm", LIGHTGBM.replace(old, new), TASK, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"left_children": [100_000_000, -1, -1]},
        {"left_children": [0, -1, -1]},
        {"left_children": [1, -1]},
        {"right_children": [1, -1, -1]},
        {"split_indices": [2, 0, 0]},
        {"split_type": [0, 0, 0]},
        {"categories": [1, 2**30]},
        {"categories_sizes": [3]},
        {"categories_nodes": [2]},
        {"split_conditions": [1e-45, float("nan"), 0.0]},
        {"split_conditions": [1e-45, "1", 0.0]},
    ],
)
def test_forged_json_is_refused(change):
    with pytest.raises(PersistError, match="not sound"):
        checked_booster("xgboost", xgboost_text(**change), TASK, 2)


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b"\xff", b"{}", b"CBM1"])
@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_what_is_no_model_is_refused_in_one_sentence(library, content):
    with pytest.raises(PersistError, match="booster in the file"):
        checked_booster(library, content, TASK, 2)


@pytest.fixture(params=["lightgbm", "xgboost", "catboost"])
def library(request):
    pytest.importorskip(request.param)
    return request.param


def some_rows(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    X[:, 3], X[:, 4] = rng.integers(0, 12, n), rng.integers(0, 2, n)
    X[::7, 0] = X[::11, 3] = np.nan
    return X, ((X[:, 1] > 0) ^ (X[:, 4] > 0)).astype(int) + (X[:, 2] > 0.5)


@pytest.mark.parametrize("kind", ["binary", "classes", "poisson", "squared_error"])
@pytest.mark.parametrize("categories", [[], [3, 4]])
def test_nothing_that_predictions_need_is_left_out(library, kind, categories):
    X, y = some_rows()
    options = {
        "n_estimators": 12,
        "max_leaves": 8,
        "random_state": 0,
        "categorical_features": categories,
    }
    if kind in ("binary", "classes"):
        model = BoosterClassifier(library, **options)
        model.fit(X, y > 0 if kind == "binary" else y)
    else:
        model = BoosterRegressor(library, objective=kind, **options).fit(X, y)
    whole = external_boosters.LOAD[library](model.kept_.tobytes())
    expected = external_boosters.PREDICT[library](whole, X, model.task_)
    found = external_boosters.booster_predictions(model, X)
    # CatBoost reads the last digit of a number in one way or another
    assert np.allclose(
        found, expected, rtol=1e-14 * (library == "catboost"), atol=1e-15
    )


def test_a_forged_file_is_refused_when_it_is_loaded(library, tmp_path):
    X, y = some_rows()
    model = BoosterClassifier(library, n_estimators=3, random_state=0).fit(X, y)
    text = model.kept_.tobytes().decode()
    old, new = {
        "lightgbm": ("left_child=", "left_child=99"),
        "xgboost": ('"left_children":[', '"left_children":[99'),
        "catboost": ('"split_index":', '"split_index":99999'),
    }[library]
    if library == "catboost":  # its JSON is indented
        text = json.dumps(json.loads(text), separators=(",", ":"))
    assert old in text
    model.kept_ = np.frombuffer(text.replace(old, new, 1).encode(), np.uint8)
    pansophy.save(model, tmp_path / "forged.pansophy")
    with pytest.raises(PersistError, match="not sound"):
        pansophy.load(tmp_path / "forged.pansophy")

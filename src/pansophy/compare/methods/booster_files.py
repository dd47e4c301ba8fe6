"""Checks of models of LightGBM, XGBoost and CatBoost that come from a file.

The native parsers and predictors of the three index by what a file says, without
looking. So a model is read here first, in full; every number that something is indexed
or sized by is checked, and the text that the library then sees is written anew from
what was checked. Whatever is not needed to predict is left out.

The rules of trees: a child comes after its parent, and every node but the first is the
child of one node, so that each way down ends. Features, classes and categories are
those of the fitted estimator. What breaks a rule raises `PersistError`.
"""

import itertools
import json
import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ...persist import PersistError

MAX_DEPTH = 4096  # of a tree: some native code descends by recursion
MAX_CATEGORY = 2**24  # codes of categories
MAX_CATEGORY_BITS = 2**29  # of the sets of a model together
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
MAX_DIGITS = 40  # characters of a number


class BoosterShape(NamedTuple):
    """What a model must agree with: the fitted estimator's sizes and its task."""

    objective: str
    n_groups: int  # trees of a round: one, or one a class
    n_features: int
    categories: tuple[int, ...]


def _require(is_sound, what) -> None:
    if not is_sound:
        raise PersistError(f"the booster in the file is not sound: {what}")


def _booster_shape(task, n_features) -> BoosterShape:
    """The shape of the models of a task; the task may come from a file as well."""
    objective, classes, categories, _ = task
    known = ("squared_error", "poisson", "binary", "classes")
    _require(objective in known, "unknown objective")
    _require(
        _is_number_up_to(classes, 2**20) and _is_number_up_to(n_features, 2**31),
        "sizes",
    )
    if objective == "classes":
        _require(classes > 2, "fewer than three classes")
    columns = list(categories)
    _require(
        all(_is_number_up_to(j, n_features - 1) for j in columns), "categorical columns"
    )
    _require(len(set(columns)) == len(columns), "a categorical column twice")
    groups = classes if objective == "classes" else 1
    return BoosterShape(objective, groups, n_features, tuple(columns))


def _is_number_up_to(value, most) -> bool:
    return type(value) is int and 0 <= value <= most


def _check_tree(left, right, n_leaves=None) -> None:
    """Children come after their parents, all are met once, and no way is too long.

    With `n_leaves`, leaves are numbered apart (-1 - leaf), as LightGBM has them;
    otherwise they are nodes without children.
    """
    n = len(left)
    _require(len(right) == n, "children")
    depth = [0] * n
    is_child = [False] * n
    is_met = [False] * (n_leaves or 0)
    for node, children in enumerate(zip(left, right)):
        if n_leaves is None and children == (-1, -1):
            continue
        for child in children:
            if child >= 0:
                sound = node < child < n and not is_child[child]
                _require(sound, "children")
                is_child[child] = True
                depth[child] = depth[node] + 1
                _require(depth[child] < MAX_DEPTH, "a tree that is too deep")
            else:
                leaf = -1 - child
                sound = n_leaves is not None and leaf < n_leaves and not is_met[leaf]
                _require(sound, "leaves")
                is_met[leaf] = True
    _require(all(is_child[1:]) and all(is_met), "nodes outside the tree")


# --- LightGBM ------------------------------------------------------------------------

LIGHTGBM_ENDING = """end of trees

parameters:
end of parameters

pandas_categorical:null
"""
LIGHTGBM_OBJECTIVES = {
    "squared_error": "regression",
    "poisson": "poisson",
    "binary": "binary sigmoid:1",
}


def _checked_lightgbm(content: bytes, shape: BoosterShape) -> bytes:
    """The text of a LightGBM model, written anew from its checked trees."""
    head, *trees = content.decode("ascii").split("\nTree=")
    fields = _lightgbm_fields(head)
    objective = LIGHTGBM_OBJECTIVES.get(
        shape.objective, f"multiclass num_class:{shape.n_groups}"
    )
    _require(fields.get("objective") == objective, "objective")
    for name in ("num_class", "num_tree_per_iteration"):
        _require(fields.get(name) == str(shape.n_groups), name)
    _require(fields.get("max_feature_idx") == str(shape.n_features - 1), "features")
    _require(len(trees) % shape.n_groups == 0, "number of trees")
    bits = 0
    blocks = []
    for number, text in enumerate(trees):
        body = text.split("\nend of trees")[0]
        tree, tree_bits = _checked_lightgbm_tree(_lightgbm_fields(body), shape)
        bits += tree_bits
        _require(bits <= MAX_CATEGORY_BITS, "sets of categories")
        blocks.append(f"Tree={number}\n{tree}\n\n")
    columns = range(shape.n_features)
    lines = [
        "tree",
        "version=v4",
        f"num_class={shape.n_groups}",
        f"num_tree_per_iteration={shape.n_groups}",
        "label_index=0",
        f"max_feature_idx={shape.n_features - 1}",
        f"objective={objective}",
        f"feature_names={' '.join(f'Column_{j}' for j in columns)}",
        f"feature_infos={' '.join('none' for _ in columns)}",
        f"tree_sizes={' '.join(str(len(block)) for block in blocks)}",
        "",
        "",
    ]
    text = "\n".join(lines) + "".join(blocks) + LIGHTGBM_ENDING
    return text.encode("ascii")


def _lightgbm_fields(text) -> dict[str, str]:
    pairs = (line.split("=", 1) for line in text.split("\n") if "=" in line)
    return {name: value.strip() for name, value in pairs}


def _whole_numbers(fields, name, n) -> list[int]:
    words = fields.get(name, "").split()
    _require(len(words) == n and all(len(w) <= MAX_DIGITS for w in words), name)
    try:
        return [int(word) for word in words]
    except ValueError:
        raise PersistError(f"the booster in the file is not sound: {name}") from None


def _number_words(fields, name, n, *, allowed=()) -> list[str]:
    """Numbers as they are written, so that no digit is lost, or words allowed."""
    words = fields.get(name, "").split()
    _require(
        len(words) == n and all(w in allowed or _is_number(w) for w in words), name
    )
    return words


def _is_number(word) -> bool:
    """Whether a text is a finite number of usual length."""
    fits = len(word) <= MAX_DIGITS and NUMBER.fullmatch(word)
    return bool(fits) and math.isfinite(float(word))


def _checked_lightgbm_tree(fields, shape) -> tuple[str, int]:
    """One tree as text, and the bits of its sets of categories."""
    (n_leaves,) = _whole_numbers(fields, "num_leaves", 1)
    (n_sets,) = _whole_numbers(fields, "num_cat", 1)
    _require(1 <= n_leaves < 2**31 and 0 <= n_sets < n_leaves, "sizes of a tree")
    _require(fields.get("is_linear", "0") == "0", "linear leaves")
    n = n_leaves - 1
    features = _whole_numbers(fields, "split_feature", n)
    _require(all(0 <= j < shape.n_features for j in features), "split_feature")
    kinds = _whole_numbers(fields, "decision_type", n)
    # bit 0: a set of categories; bit 1: missing to the left; bits 2, 3: what is missing
    _require(all(0 <= kind < 12 for kind in kinds), "decision_type")
    left = _whole_numbers(fields, "left_child", n)
    right = _whole_numbers(fields, "right_child", n)
    if n:
        _check_tree(left, right, n_leaves)
    # one that parts what is missing from all else is infinite
    thresholds = _number_words(fields, "threshold", n, allowed=("inf", "-inf"))
    by_set = [float(t) for t, kind in zip(thresholds, kinds) if kind & 1]
    _require(all(t in range(n_sets) for t in by_set), "sets of categories")
    lines = {
        "num_leaves": [n_leaves],
        "num_cat": [n_sets],
        "split_feature": features,
        "split_gain": [0] * n,
        "threshold": thresholds,
        "decision_type": kinds,
        "left_child": left,
        "right_child": right,
        "leaf_value": _number_words(fields, "leaf_value", n_leaves),
        "leaf_weight": [0] * n_leaves,
        "leaf_count": [0] * n_leaves,
        "internal_value": [0] * n,
        "internal_weight": [0] * n,
        "internal_count": [0] * n,
    }
    bits = 0
    if n_sets:
        ends = _whole_numbers(fields, "cat_boundaries", n_sets + 1)
        sound = ends[0] == 0 and all(a < b for a, b in itertools.pairwise(ends))
        _require(sound, "sets of categories")
        words = _whole_numbers(fields, "cat_threshold", ends[-1])
        _require(all(0 <= word < 2**32 for word in words), "sets of categories")
        lines |= {"cat_boundaries": ends, "cat_threshold": words}
        bits = 32 * ends[-1]
    lines["is_linear"] = [0]
    lines["shrinkage"] = _number_words(fields, "shrinkage", 1)
    return "\n".join(f"{k}={' '.join(map(str, v))}" for k, v in lines.items()), bits


# --- JSON ----------------------------------------------------------------------------


def _read_json(content: bytes) -> dict:
    def refuse(word):
        raise PersistError(f"the booster in the file is not sound: {word}")

    value = json.loads(content.decode("utf-8"), parse_constant=refuse)
    _require(type(value) is dict, "no JSON object")
    return value


def part(value, *path) -> Any:
    """A part of a JSON value by keys."""
    for key in path:
        _require(type(value) is dict and key in value, f"{key} is missing")
        value = value[key]
    return value


def _whole_list(values, n=None, low=0, high=2**31 - 1) -> list[int]:
    _require(type(values) is list and (n is None or len(values) == n), "sizes")
    _require(all(type(v) is int and low <= v <= high for v in values), "whole numbers")
    return values


def _number_list(values, n=None) -> list[float]:
    _require(type(values) is list and (n is None or len(values) == n), "sizes")
    _require(all(type(v) in (int, float) for v in values), "numbers")
    numbers = [float(v) for v in values]
    _require(all(map(math.isfinite, numbers)), "numbers that are not finite")
    return numbers


def number(value) -> float:
    return _number_list([value])[0]


# --- XGBoost -------------------------------------------------------------------------

XGBOOST_OBJECTIVES = {
    "squared_error": {
        "name": "reg:squarederror",
        "reg_loss_param": {"scale_pos_weight": "1"},
    },
    "poisson": {
        "name": "count:poisson",
        "poisson_regression_param": {"max_delta_step": "0.699999988"},
    },
    "binary": {
        "name": "binary:logistic",
        "reg_loss_param": {"scale_pos_weight": "1"},
    },
}


def _xgboost_objective(shape) -> dict:
    classes = {
        "name": "multi:softprob",
        "softmax_multiclass_param": {"num_class": str(shape.n_groups)},
    }
    return XGBOOST_OBJECTIVES.get(shape.objective, classes)


def _checked_xgboost(content: bytes, shape: BoosterShape) -> bytes:
    """The JSON of an XGBoost model, written anew from its checked trees."""
    content_read = _read_json(content)
    version = _whole_list(part(content_read, "version"), 3, high=1000)
    learner = part(content_read, "learner")
    objective = _xgboost_objective(shape)
    _require(part(learner, "objective", "name") == objective["name"], "objective")
    sizes = part(learner, "learner_model_param")
    k = shape.n_groups
    _require(part(sizes, "num_class") == str(k if k > 1 else 0), "classes")
    _require(part(sizes, "num_feature") == str(shape.n_features), "features")
    base = part(sizes, "base_score")
    _require(type(base) is str and len(base) <= MAX_DIGITS * (k + 1), "base_score")
    values = base.strip("[]").split(",")
    sound = len(values) in (1, k) and all(map(_is_number, values))
    _require(sound, "base_score")
    _require(part(learner, "gradient_booster", "name") == "gbtree", "kind of booster")
    model = part(learner, "gradient_booster", "model")
    trees = part(model, "trees")
    _require(type(trees) is list and len(trees) % k == 0, "number of trees")
    groups = _whole_list(part(model, "tree_info"), len(trees), high=k - 1)
    budget = [MAX_CATEGORY_BITS]
    kinds = ["c" if j in shape.categories else "q" for j in range(shape.n_features)]
    checked = {
        "learner": {
            "attributes": {},
            "feature_names": [],
            "feature_types": kinds,
            "gradient_booster": {
                "model": {
                    "cats": {"enc": [], "feature_segments": [], "sorted_idx": []},
                    "gbtree_model_param": {
                        "num_parallel_tree": "1",
                        "num_trees": str(len(trees)),
                    },
                    "iteration_indptr": list(range(0, len(trees) + 1, k)),
                    "tree_info": groups,
                    "trees": [
                        _checked_xgboost_tree(i, tree, shape, budget)
                        for i, tree in enumerate(trees)
                    ],
                },
                "name": "gbtree",
            },
            "learner_model_param": {
                "base_score": f"[{','.join(values)}]",
                "boost_from_average": "1",
                "num_class": str(k if k > 1 else 0),
                "num_feature": str(shape.n_features),
                "num_target": "1",
            },
            "objective": objective,
        },
        "version": version,
    }
    return json.dumps(checked, separators=(",", ":")).encode("ascii")


def _checked_xgboost_tree(i, tree, shape, budget) -> dict:
    left = _whole_list(part(tree, "left_children"), low=-1)
    n = len(left)
    _require(n > 0, "an empty tree")
    right = _whole_list(part(tree, "right_children"), n, low=-1)
    _check_tree(left, right)
    parents = [2**31 - 1] * n
    for node, children in enumerate(zip(left, right)):
        for child in children:
            if child >= 0:
                parents[child] = node
    split_type = _whole_list(part(tree, "split_type"), n, high=1)
    nodes = _whole_list(part(tree, "categories_nodes"), high=n - 1)
    of_sets = [node for node in range(n) if split_type[node] == 1]
    _require(nodes == of_sets, "nodes that split by categories")
    sizes = _whole_list(part(tree, "categories_sizes"), len(nodes), low=1)
    starts = _whole_list(part(tree, "categories_segments"), len(nodes))
    ends = np.cumsum([0, *sizes]).tolist()
    _require(starts == ends[:-1], "sets of categories")
    codes = _whole_list(part(tree, "categories"), ends[-1], high=MAX_CATEGORY)
    for a, b in itertools.pairwise(ends):
        budget[0] -= max(codes[a:b]) + 1
    _require(budget[0] >= 0, "sets of categories")
    columns = _whole_list(part(tree, "split_indices"), n, high=shape.n_features - 1)
    return {
        "base_weights": _number_list(part(tree, "base_weights"), n),
        "categories": codes,
        "categories_nodes": nodes,
        "categories_segments": starts,
        "categories_sizes": sizes,
        "default_left": _whole_list(part(tree, "default_left"), n, high=1),
        "id": i,
        "left_children": left,
        "loss_changes": [0.0] * n,
        "parents": parents,
        "right_children": right,
        "split_conditions": _number_list(part(tree, "split_conditions"), n),
        "split_indices": columns,
        "split_type": split_type,
        "sum_hessian": [0.0] * n,
        "tree_param": {
            "num_deleted": "0",
            "num_feature": str(shape.n_features),
            "num_nodes": str(n),
            "size_leaf_vector": "1",
        },
    }


# --- CatBoost ------------------------------------------------------------------------

CATBOOST_LOSSES = {
    "squared_error": "RMSE",
    "poisson": "Poisson",
    "binary": "Logloss",
    "classes": "MultiClass",
}
MAX_CATBOOST_DEPTH = 16  # of its symmetric trees, which have 2^depth leaves


def _checked_catboost(content: bytes, shape: BoosterShape) -> bytes:
    """The JSON of a CatBoost model, written anew from its checked trees."""
    content_read = _read_json(content)
    info = part(content_read, "features_info")
    floats = _checked_float_features(part(info, "float_features"), shape)
    categories = _checked_categories(info.get("categorical_features", []), shape)
    tables = _checked_ctr_tables(content_read.get("ctr_data") or {}, floats, categories)
    ctrs = [_checked_ctr(ctr, tables) for ctr in info.get("ctrs") or []]
    splits = _catboost_splits(floats, categories, ctrs)
    trees = part(content_read, "oblivious_trees")
    _require(type(trees) is list, "trees")
    scale_and_bias = part(content_read, "scale_and_bias")
    sound = type(scale_and_bias) is list and len(scale_and_bias) == 2
    _require(sound, "scale_and_bias")
    k = shape.n_groups
    features: dict[str, Any] = {"float_features": floats}
    checked: dict[str, Any] = {
        "features_info": features,
        "oblivious_trees": [_checked_oblivious_tree(t, splits, k) for t in trees],
        "scale_and_bias": [
            number(scale_and_bias[0]),
            _number_list(scale_and_bias[1], k),
        ],
        "model_info": {
            "params": {
                "flat_params": {},
                "loss_function": {
                    "params": {},
                    "type": CATBOOST_LOSSES[shape.objective],
                },
            }
        },
    }
    if shape.objective in ("binary", "classes"):
        labels = list(range(max(2, k)))
        checked["model_info"]["class_params"] = {
            "class_label_type": "Integer",
            "class_names": labels,
            "class_to_label": labels,
            "classes_count": 0,
        }
    if categories:
        features["categorical_features"] = categories
        features["cat_features_hash"] = _checked_hashes(info.get("cat_features_hash"))
    if ctrs:
        features["ctrs"] = ctrs
        checked["ctr_data"] = tables
    return json.dumps(checked, separators=(",", ":")).encode("ascii")


def _checked_float_features(given, shape) -> list[dict]:
    n = shape.n_features - len(shape.categories)
    _require(type(given) is list and len(given) == n, "float features")
    checked = []
    treatments = ("AsIs", "AsFalse", "AsTrue")
    for j, feature in enumerate(given):
        _require(part(feature, "flat_feature_index") == j, "float features")
        treatment = _one_of(part(feature, "nan_value_treatment"), treatments)
        kept = {
            "borders": ascending(part(feature, "borders")),
            "feature_id": "",
            "feature_index": j,
            "flat_feature_index": j,
            "has_nans": _one_of(part(feature, "has_nans"), (True, False)),
            "nan_value_treatment": treatment,
        }
        checked.append(kept)
    return checked


def _one_of(value, allowed: Iterable) -> Any:
    _require(any(type(value) is type(a) and value == a for a in allowed), "words")
    return value


def ascending(values) -> list[float]:
    numbers = _number_list(values)
    _require(all(a < b for a, b in itertools.pairwise(numbers)), "borders")
    _require(len(numbers) < 2**16, "borders")
    return numbers


def _checked_categories(given, shape) -> list[dict]:
    n = len(shape.categories)
    _require(type(given) is list and len(given) == n, "categorical features")
    first = shape.n_features - n
    categories = []
    for j, feature in enumerate(given):
        place = _whole_list([part(feature, "flat_feature_index")])
        _require(place == [first + j], "categorical features")
        kept: dict[str, Any] = {
            "feature_id": "",
            "feature_index": j,
            "flat_feature_index": first + j,
        }
        if "values" in feature:
            values = _whole_list(feature["values"], low=-(2**31))
            _require(len(set(values)) == len(values), "categories")
            kept["values"] = values
        categories.append(kept)
    return categories


def _checked_hashes(given) -> list[dict]:
    _require(type(given) is list, "hashes of categories")
    return [
        {
            "hash": _whole_list([part(item, "hash")], high=2**32 - 1)[0],
            "value": str(int(_checked_text(part(item, "value")))),
        }
        for item in given
    ]


def _checked_text(value) -> str:
    _require(type(value) is str and len(value) <= 20, "text")
    return value


def _checked_ctr_tables(given, floats, categories) -> dict[str, dict]:
    """Counts of categories by target; the name says of which columns."""
    _require(type(given) is dict, "counts of categories")
    tables = {}
    for name, table in given.items():
        meaning = _read_json(name.encode())
        kind = _one_of(part(meaning, "type"), ("Borders", "Counter"))
        elements = part(meaning, "identifier")
        _require(type(elements) is list and elements, "columns of counts")
        for element in elements:
            _check_ctr_element(element, floats, categories)
        (stride,) = _whole_list([part(table, "hash_stride")], low=2, high=2**16)
        _require(kind != "Counter" or stride == 2, "counts of categories")
        flat = part(table, "hash_map")
        _require(type(flat) is list and len(flat) % stride == 0, "counts of categories")
        hashes = flat[::stride]
        sound = all(re.fullmatch(r"\d{1,20}", _checked_text(h)) for h in hashes)
        _require(sound and all(int(h) < 2**64 for h in hashes), "hashes of categories")
        _require(len(set(hashes)) == len(hashes), "hashes of categories")
        for i in range(1, stride):
            _whole_list(flat[i::stride])
        (total,) = _whole_list([part(table, "counter_denominator")])
        tables[name] = {
            "counter_denominator": total,
            "hash_map": flat,
            "hash_stride": stride,
        }
    return tables


def _check_ctr_element(element, floats, categories) -> None:
    """A column of a combination: a category, or the answer to a split."""
    kind = part(element, "combination_element")
    if kind == "float_feature":
        (j,) = _whole_list([part(element, "float_feature_index")], high=len(floats) - 1)
        expected = {"border": part(element, "border"), "float_feature_index": j}
        _require(expected["border"] in floats[j]["borders"], "borders of combinations")
    else:
        max_category = len(categories) - 1
        (j,) = _whole_list([part(element, "cat_feature_index")], high=max_category)
        expected = {"cat_feature_index": j}
        if kind == "cat_feature_exact_value":
            expected["value"] = part(element, "value")
            known = categories[j].get("values", ())
            _require(expected["value"] in known, "categories of combinations")
        else:
            _require(kind == "cat_feature_value", "columns of counts")
    _require(element == expected | {"combination_element": kind}, "columns of counts")


def _checked_ctr(given, tables) -> dict:
    name = part(given, "identifier")
    _require(type(name) is str and name in tables, "counts of categories")
    meaning = json.loads(name)
    _require(part(given, "elements") == meaning["identifier"], "columns of counts")
    kind = _one_of(part(given, "ctr_type"), (meaning["type"],))
    # of Borders, a border of the target lies between two counts
    max_border = tables[name]["hash_stride"] - 3 if kind == "Borders" else 0
    (border,) = _whole_list([part(given, "target_border_idx")], high=max_border)
    priors = {
        key: number(part(given, key))
        for key in ("prior_denomerator", "prior_numerator", "scale", "shift")
    }
    return {
        "borders": ascending(part(given, "borders")),
        "ctr_type": kind,
        "elements": meaning["identifier"],
        "identifier": name,
        "target_border_idx": border,
        **priors,
    }


def _catboost_splits(floats, categories, ctrs) -> list[dict]:
    """All splits of a model in CatBoost's order, by which trees number them."""
    splits = [
        {"border": b, "float_feature_index": j, "split_type": "FloatFeature"}
        for j, feature in enumerate(floats)
        for b in feature["borders"]
    ]
    splits += [
        {"cat_feature_index": j, "split_type": "OneHotFeature", "value": value}
        for j, feature in enumerate(categories)
        for value in feature.get("values", ())
    ]
    splits += [
        {
            "border": b,
            "ctr_target_border_idx": ctr["target_border_idx"],
            "split_type": "OnlineCtr",
        }
        for ctr in ctrs
        for b in ctr["borders"]
    ]
    return [split | {"split_index": i} for i, split in enumerate(splits)]


def _checked_oblivious_tree(given, splits, k) -> dict:
    tree_splits = part(given, "splits") or []
    _require(
        type(tree_splits) is list and len(tree_splits) <= MAX_CATBOOST_DEPTH, "splits"
    )
    for split in tree_splits:
        (i,) = _whole_list([part(split, "split_index")], high=len(splits) - 1)
        _require(split == splits[i], "splits")
    n = 2 ** len(tree_splits)
    return {
        "leaf_values": _number_list(part(given, "leaf_values"), n * k),
        "leaf_weights": [0.0] * n,
        "splits": [splits[split["split_index"]] for split in tree_splits] or None,
    }


CHECKED = {
    "lightgbm": _checked_lightgbm,
    "xgboost": _checked_xgboost,
    "catboost": _checked_catboost,
}


def checked_booster(library, content: bytes, task, n_features) -> bytes:
    """The model of a library, safe to be handed to it; PersistError if it is not."""
    shape = _booster_shape(task, n_features)
    try:
        return CHECKED[library](content, shape)
    except PersistError:
        raise
    except (ValueError, TypeError, RecursionError, IndexError) as error:
        raise PersistError(
            f"the booster in the file cannot be read as one of {library}"
        ) from error

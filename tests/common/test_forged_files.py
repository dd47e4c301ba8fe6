"""A forged model file with a right checksum is refused, or answers: nothing worse."""

import json
import tracemalloc

import numpy as np
import pytest
from pyarrow import csv
from safetensors.numpy import save_file

from pansophy import persist
from pansophy.cluster import BisectingKMeans, KMeans
from pansophy.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from pansophy.neighbors import KernelDensity, KNeighborsClassifier
from pansophy.persist import PersistError, classes, file, saved_state
from pansophy.persist.codec import Encoder
from pansophy.tree import C45Classifier, DecisionTreeClassifier
from tools.forge import (
    ANSWERED,
    REFUSED,
    Trial,
    forged,
    read_model_file,
    save_estimators,
    some_forgeries,
    try_forgeries,
    write_model_file,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, X @ [1.0, -2.0, 0.5, 0.0], np.where(X[:, 0] > 0, "yes", "no")


def write(path, model, tensors, **changes):
    manifest = {
        "format": "pansophy model",
        "schema": file.SCHEMA,
        "versions": {"pansophy": "0.1.0", **file.library_versions()},
        **changes,
    }
    write_model_file(path, model, tensors, manifest)


# --- sizes, nesting, generators ----------------------------------------------------

RANGE = {"$": "range", "v": [0, 100_000_000_000, 1]}
T0 = {"$": "array", "t": "0"}
COO = {"$": "sparse", "format": "coo", "becomes": "csr", "matrix": False}
BOMBS = {
    "tuple of a range": {"$": "tuple", "v": RANGE},
    "set of a range": {"$": "set", "v": RANGE},
    "frozenset of a range": {"$": "frozenset", "v": RANGE},
    "slice of a range": {"$": "slice", "v": RANGE},
    "objects of a range": {"$": "objects", "shape": [1], "v": RANGE},
    "dict of a range": {"$": "dict", "v": RANGE},
    "long range": RANGE,
    "range of other values": {"$": "range", "v": [0, 10**30, 1]},
    "wide strings": {
        "$": "strings", "shape": [1001], "v": ["a" * 100_000, *["b"] * 1000]
    },
    "many copies": [
        {**T0, "dtype": [[f"name{i}", "<f8"]], "shape": [2000]} for i in range(2000)
    ],
    "many copies of strings": [
        {"$": "strings", "shape": [4000], "t": "1", "lengths": "2"} for _ in range(2000)
    ],
    "empty of a huge shape": {**T0, "t": "3", "shape": [0, 10**15]},
    "negative shape": {**T0, "shape": [-1]},
    "sparse of a huge shape": {**COO, "shape": [10**12, 10**12], "v": [
        {"$": "array", "t": "3"}, {"$": "tuple", "v": [{"$": "array", "t": "4"}] * 2}
    ]},
    "dtype of a huge item": {"$": "dtype", "v": [["a", "<f8", [10**9]]]},
    "mask of another shape": {"$": "masked", "v": [1.0, T0, 0]},
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_sizes_are_checked_before_anything_is_made(name, tmp_path):
    tensors = {
        "0": np.zeros(2000),
        "1": np.zeros(4000, np.uint8),
        "2": np.ones(4000, np.int64),
        "3": np.zeros(0),
        "4": np.zeros(0, np.int64),
    }
    path = tmp_path / "bomb.pansophy"
    write(path, BOMBS[name], tensors)
    persist_error_of(path)  # imports on the way are not the file's
    tracemalloc.start()
    error = persist_error_of(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * path.stat().st_size + 3_000_000, (peak, path.stat().st_size)
    assert "\n" not in error and error.startswith("Cannot load")


def persist_error_of(path) -> str:
    with pytest.raises(PersistError) as caught:
        persist.load(path)
    return str(caught.value)


@pytest.mark.parametrize("deep", [400, 50_000])
@pytest.mark.parametrize("tag", ["list", "tuple", "object"])
def test_nesting_is_limited(deep, tag, tmp_path):
    opened, closed = {
        "list": ("[", "]"),
        "tuple": ('{"$": "tuple", "v": [', "]}"),
        "object": ('{"$": "dict", "v": [["a", ', "]]}"),
    }[tag]
    head = {"format": "pansophy model", "schema": file.SCHEMA, "versions": {}}
    model = opened * deep + "1" + closed * deep
    text = json.dumps(head)[:-1] + f', "model": {model}}}'
    note = {"manifest": text, "sha256": file.checksum(text, {})}
    save_file({}, tmp_path / "deep", metadata=note)
    assert "nested too deeply" in persist_error_of(tmp_path / "deep") or deep > 400


@pytest.mark.parametrize("name", ["MT19937", "Philox", "SFC64"])
@pytest.mark.parametrize("kind", [np.random.Generator, np.random.RandomState])
def test_generators_point_into_their_own_numbers(name, kind, tmp_path):
    made = kind(getattr(np.random, name)(0))
    encoder = Encoder()
    node = json.loads(json.dumps(encoder.encode(made)))
    state = dict(node["v"]["v"])
    if name == "MT19937":
        inner = state["state"]["v"]
        changes = [(inner, k, v) for k in range(2) for v in (700, -1, None)]
    elif name == "Philox":
        pairs = node["v"]["v"]
        place = next(i for i, (k, _) in enumerate(pairs) if k == "buffer_pos")
        changes = [(pairs, place, v) for v in (5, -1, 2**40, "x")]
    else:
        changes = [(state["state"]["v"], 0, v) for v in (None, 3, "x")]
    for pairs, i, value in changes:
        old = pairs[i][1]
        pairs[i][1] = value
        write(tmp_path / "g", node, encoder.tensors)
        persist_error_of(tmp_path / "g")
        pairs[i][1] = old
    write(tmp_path / "g", node, encoder.tensors)
    assert persist.load(tmp_path / "g") is not None


# --- indices of compiled loops -----------------------------------------------------


def set_first(value):
    def change(a):
        a = a.copy()
        a.flat[0] = value
        return a

    return change


cut = lambda a: a[: len(a) // 2]
longer = lambda a: np.concatenate([a, a])
FORGERIES = [
    (DecisionTreeClassifier, "tree_.children_left", set_first(5000)),
    (DecisionTreeClassifier, "tree_.children_left", set_first(0)),  # a self-loop
    (DecisionTreeClassifier, "tree_.children_right", set_first(0)),
    (DecisionTreeClassifier, "tree_.children_right", set_first(1)),  # two parents
    (DecisionTreeClassifier, "tree_.feature", lambda a: np.full_like(a, -1)),
    (DecisionTreeClassifier, "tree_.feature", set_first(4)),
    (DecisionTreeClassifier, "tree_.threshold", cut),
    (DecisionTreeClassifier, "tree_.value", longer),
    (DecisionTreeClassifier, "tree_.missing_go_to_left", cut),
    (DecisionTreeClassifier, "tree_.children_left", lambda a: a.astype(float)),
    (RandomForestClassifier, "forest_.feature", set_first(99)),
    (RandomForestClassifier, "forest_.feature", set_first(-1)),
    (RandomForestClassifier, "forest_.start", set_first(1)),
    (RandomForestClassifier, "forest_.start", cut),
    (RandomForestClassifier, "forest_.value", cut),
    (RandomForestClassifier, "forest_.threshold", set_first(np.nan)),
    (GradientBoostingRegressor, "trees_.children_left", set_first(77)),
    (GradientBoostingRegressor, "trees_.start", lambda a: a[::-1].copy()),
    (HistGradientBoostingClassifier, "trees_.feature", set_first(77)),
    (HistGradientBoostingClassifier, "baseline_", lambda a: a[:0]),
    (AdaBoostClassifier, "estimator_weights_", lambda a: a[:0]),
    (C45Classifier, "tree_.nodes", lambda a: np.zeros_like(a)),
    (C45Classifier, "tree_.nodes", lambda a: np.ones_like(a)),
    (BisectingKMeans, "children_", lambda a: np.zeros_like(a)),
    (BisectingKMeans, "node_centers_", cut),
    (KMeans, "cluster_centers_", lambda a: a[:, :2]),
    (KNeighborsClassifier, "_fit_X", cut),
    (KNeighborsClassifier, "_y", set_first(-3)),
    (KNeighborsClassifier, "_fit_X", lambda a: np.full_like(a, np.nan)),
    (KernelDensity, "tree_.tree.order", set_first(10**6)),
    (KernelDensity, "tree_.tree.lo", cut),
]


def node_at(model, path):
    node = model
    for name in path.split("."):
        node = node["v"][name]
    return node


@pytest.mark.parametrize(("cls", "path", "change"), FORGERIES)
def test_what_loops_index_by_is_checked_at_loading(cls, path, change, rows, tmp_path):
    X, y, c = rows
    model = cls().fit(X, y if "Regressor" in cls.__name__ else c)
    persist.save(model, tmp_path / "m")
    held = read_model_file(tmp_path / "m")
    node = node_at(held.model, path)
    held.tensors["forged"] = change(held.tensors[node["t"]])
    node["t"] = "forged"
    write_model_file(tmp_path / "bad", held.model, held.tensors, held.manifest)
    error = persist_error_of(tmp_path / "bad")
    assert error.count("\n") == 0 and len(error) < 400


NUMBERS = [
    (DecisionTreeClassifier, "tree_", "n_features", 400),
    (DecisionTreeClassifier, None, "n_features_in_", 2),
    (RandomForestClassifier, None, "n_features_in_", 2),
    (GradientBoostingRegressor, None, "n_trees_per_iteration_", 2),
    (KNeighborsClassifier, None, "n_samples_fit_", 10**6),
    (KernelDensity, "tree_.tree", "levels", 20),
    (KMeans, None, "n_features_in_", -4),
    (KMeans, None, "n_features_in_", "four"),
]


@pytest.mark.parametrize(("cls", "path", "name", "value"), NUMBERS)
def test_numbers_agree_with_the_arrays(cls, path, name, value, rows, tmp_path):
    X, y, c = rows
    persist.save(cls().fit(X, y if "Regressor" in cls.__name__ else c), tmp_path / "m")
    held = read_model_file(tmp_path / "m")
    node = held.model if path is None else node_at(held.model, path)
    node["v"][name] = value
    write_model_file(tmp_path / "bad", held.model, held.tensors, held.manifest)
    persist_error_of(tmp_path / "bad")
    if name == "n_features_in_":  # without it, no width would be compared with it
        del node["v"][name]
        write_model_file(tmp_path / "bad", held.model, held.tensors, held.manifest)
        persist_error_of(tmp_path / "bad")


@pytest.mark.parametrize("cls", [AdaBoostClassifier, BaggingRegressor])
def test_members_of_another_width_are_refused(cls, rows, tmp_path):
    X, y, c = rows
    y = np.roll(c, 1) if cls is AdaBoostClassifier else y
    model = cls(n_estimators=3).fit(X, y)
    model.estimators_[1] = cls(n_estimators=2).fit(np.hstack([X, X]), y).estimators_[0]
    persist.save(model, tmp_path / "m")
    assert "contradicts itself" in persist_error_of(tmp_path / "m")


def test_categories_need_codes(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (80, 2)).astype(float)
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, X[:, 0] % 2)
    assert model.tree_.sets.any()
    persist.save(model, tmp_path / "m")
    assert np.array_equal(persist.load(tmp_path / "m").predict(X), model.predict(X))
    model.inputs_ = model.inputs_._replace(forms=np.zeros(2, np.int8), tables=())
    persist.save(model, tmp_path / "m")
    persist_error_of(tmp_path / "m")


# --- pansophy predict --------------------------------------------------------------


@pytest.mark.parametrize("method", ["logistic regression", "random forest"])
def test_predict_answers_or_says_one_sentence(method, tmp_path):
    from typer.testing import CliRunner

    from pansophy.cli.app import app
    from tests.compare.table_models import fitted, people

    table = people(60).select(["age", "city", "day", "yes"])
    persist.save(fitted(table, "yes", method), tmp_path / "m")
    csv.write_csv(table, tmp_path / "t.csv")
    held = read_model_file(tmp_path / "m")
    run = lambda path: CliRunner().invoke(
        app, ["predict", str(path), str(tmp_path / "t.csv")]
    )
    assert run(tmp_path / "m").exit_code == 0
    refused = 0
    rng = np.random.default_rng(3)
    for forgery in some_forgeries(held, 60, rng):
        try:
            changed = forged(held, forgery)
            write_model_file(tmp_path / "bad", *changed, held.manifest)
        except RecursionError:  # too deep to be written
            continue
        got = run(tmp_path / "bad")
        refused += got.exit_code == 2
        assert got.exit_code in (0, 2), (forgery.name, got.exception)
        if got.exit_code == 2:
            assert "Traceback" not in got.output
            assert got.stderr.startswith("pansophy: ") and got.stderr.count("\n") == 1
    assert refused > 15
    whole = (tmp_path / "m").read_bytes()
    for damaged in (
        b"",
        whole[:100],
        whole[:-9],
        b"x" * 500,
        whole.replace(b"age", b"agf"),
    ):
        (tmp_path / "bad").write_bytes(damaged)
        got = run(tmp_path / "bad")
        assert got.exit_code == 2 and got.stderr.count("\n") == 1


# --- every estimator ---------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("estimators")
    return folder, save_estimators(folder)


# counts, seeds of draws, and the bytes of a model that `booster_files` reads in full
NOT_INDICES = {"n_node_samples", "seeds", "_draws", "kept_"}


def test_every_array_of_whole_numbers_has_a_rule(saved):
    folder, names = saved
    bare = set()

    def visit(node, rules, where, name):
        if isinstance(node, list):
            for item in node:
                visit(item, rules, where, name)
        elif isinstance(node, dict):
            tag = node.get("$")
            if tag in ("object", "record"):
                own = dict(
                    saved_state.saved_state_rules(classes.class_of(node["class"]))[0]
                )
                for field, held in node["v"].items():
                    visit(held, own, node["class"], field)
            elif tag == "array" and "dtype" not in node and not node.get("scalar"):
                kind = tensors[node["t"]].dtype.kind
                inside = name in rules or name in NOT_INDICES or ".sklearn" in where
                if kind in "iu" and not inside and where.startswith("pansophy"):
                    bare.add(f"{where}.{name}")
            elif tag not in ("sparse", "dict"):
                visit(node.get("v"), rules, where, name)

    for name in names:
        held = read_model_file(folder / f"{name}.pansophy")
        tensors = held.tensors
        visit(held.model, {}, "", "")
    assert not bare, f"declare them with @saved_state: {sorted(bare)}"


def battery(folder, names, count, seed):
    """Forgeries that crashed, hung or asked for too much, and how many there were."""
    trial = Trial()
    bad, total = [], 0
    try:
        for name in names:
            for forgery, outcome, why in try_forgeries(
                name, folder, count, seed, trial
            ):
                total += 1
                if outcome not in (REFUSED, ANSWERED):
                    bad.append((name, forgery.name, outcome, why))
    finally:
        trial.end()
    return bad, total


def test_forged_files_of_all_estimators_are_refused_or_answer(saved):
    folder, names = saved
    bad, total = battery(folder, names, 3, seed=1)
    assert not bad, bad
    assert total >= 3 * len(names) - 10


@pytest.mark.slow
def test_many_forged_files_of_all_estimators_are_refused_or_answer(saved):
    folder, names = saved
    bad, total = battery(folder, names, 40, seed=2)
    assert not bad, bad
    assert total >= 30 * len(names)

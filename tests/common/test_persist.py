"""save -> load gives the same model, and a bad file can only be refused."""

import contextlib
import io
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.numpy import save_file
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.impute import SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
    TargetEncoder,
)

import pansophy
from pansophy import persist
from pansophy.core.iterate import Result
from pansophy.persist import PersistError, classes, codec, file, foreign

HERE = Path(__file__).parent


def turned(value, folder):
    """The value after a trip through a file."""
    path = os.path.join(folder, "trip.pansophy")
    persist.save(value, path)
    return persist.load(path)


def decoded(value):
    """The value after a trip through the codec alone."""
    encoder = codec.Encoder()
    node = json.loads(json.dumps(encoder.encode(value), allow_nan=False))
    return codec.Decoder(encoder.tensors).decode(node)


def refuse(manifest_model, tmp_path, tensors=None, match=None, **changes):
    """A file with this manifest and a right checksum must raise PersistError."""
    path = tmp_path / "bad.pansophy"
    forge(path, manifest_model, tensors or {}, **changes)
    with pytest.raises(PersistError, match=match):
        persist.load(path)


def forge(path, model, tensors, **changes):
    manifest = {
        "format": "pansophy model",
        "schema": file.SCHEMA,
        "versions": {"pansophy": "0.1.0", **file.library_versions()},
        "model": model,
        **changes,
    }
    text = json.dumps(manifest)
    note = {"manifest": text, "sha256": file.checksum(text, tensors)}
    save_file(tensors, path, metadata=note)


# --- values -----------------------------------------------------------------------


def same(a, b):
    """Equal in type and value, NaN equal to NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        alike = a.dtype.kind == b.dtype.kind and a.shape == b.shape
        if a.dtype.kind == "O":
            return alike and all(map(same, a.ravel(), b.ravel()))
        nan = a.dtype.kind in "fcmM"
        return alike and np.array_equal(a, b, equal_nan=nan)
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, dict):
        pairs = zip(a.items(), b.items())
        return len(a) == len(b) and all(
            same(k, m) and same(v, w) for (k, v), (m, w) in pairs
        )
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


VALUES = [
    None,
    True,
    0,
    -(2**80),
    2**53,
    1.5,
    -0.0,
    math.nan,
    math.inf,
    -math.inf,
    1 + 2j,
    "text with \x00 and \ud800 and \N{SNOWMAN}",
    b"\x00\xff",
    bytearray(b"ab"),
    [1, [2, (3,)]],
    (),
    {1: "a", (2, None): "b", "c": math.nan, 1.5: {}},
    OrderedDict([("b", 1), ("a", 2)]),
    defaultdict(list, {"a": [1]}),
    {3, 1, 2},
    frozenset({"a", "b"}),
    slice(1, None, 2),
    slice(None),
    range(3, 9, 2),
    np.float32(1.1),
    np.int64(2**62),
    np.bool_(True),
    np.str_("s"),
    np.complex64(1 + 2j),
    np.datetime64("2020-01-01"),
    np.dtype("float32"),
    np.dtype([("a", "<i4"), ("b", "<f8", (2,))]),
    np.dtype(object),
    np.float64,
    int,
    object,
    np.log1p,
    np.arange(3),
    np.array(2.5),
    np.zeros((0, 3), np.float32),
    np.array(["a", "bcd"]),
    np.array(["a", None, math.nan, 3, b"x"], dtype=object),
    np.array([["a"], ["b"]], dtype=object),
    np.array(["x", "yy"], dtype=np.dtypes.StringDType()),
    np.arange(4, dtype=">i4"),
    np.arange(3) * 1j,
    np.array([1, 2], "M8[ns]"),
    np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    np.array([True, False]),
    np.array([1.0, 2.0], np.float16),
    np.array([b"ab", b"c"]),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: f"{type(v).__name__}")
def test_values_survive(value):
    assert same(value, decoded(value))


def test_long_string_arrays_are_tensors():
    value = np.array([f"row {i} \N{SNOWMAN}" for i in range(2000)]).reshape(1000, 2)
    encoder = codec.Encoder()
    node = encoder.encode(value)
    assert "v" not in node
    assert same(value, codec.Decoder(encoder.tensors).decode(node))


def test_memory_order_survives():
    value = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    back = decoded(value)
    assert back.flags.f_contiguous and np.array_equal(back, value)
    strided = np.arange(24.0).reshape(4, 6)[::2, ::3]
    assert np.array_equal(decoded(strided), strided)
    assert decoded(value).flags.writeable


def test_shared_arrays_and_objects_stay_shared():
    array, model = np.arange(3.0), Ridge()
    back = decoded([array, array, model, {"m": model}])
    assert back[0] is back[1] and back[2] is back[3]["m"]


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("family", ["array", "matrix"])
def test_sparse_survives(kind, family):
    dense = np.array([[0.0, 1, 0], [2, 0, 0]])
    value = getattr(sparse, f"{kind}_{family}")(dense)
    back = decoded(value)
    assert type(back) is type(value)
    assert np.array_equal(back.toarray(), dense)


def test_masked_arrays_survive():
    value = np.ma.MaskedArray([1.0, 2.0], mask=[True, False], fill_value=9.0)
    back = decoded(value)
    assert back.mask.tolist() == [True, False] and back.fill_value == 9.0


@pytest.mark.parametrize("stream", ["MT19937", "PCG64", "Philox", "SFC64"])
def test_random_streams_go_on_where_they_were(stream):
    bits = getattr(np.random, stream)
    a, b = np.random.Generator(bits(3)), np.random.RandomState(bits(4))
    a.normal(size=7), b.normal(size=7)
    c, d = decoded([a, b])
    assert np.array_equal(a.normal(size=5), c.normal(size=5))
    assert np.array_equal(b.normal(size=5), d.normal(size=5))


def test_our_records_survive(tmp_path):
    result = Result(None, 3, "tolerance", {"objective": np.arange(3.0)}, 0.5)
    back = turned(result, tmp_path)
    assert isinstance(back, Result) and back.converged and back.n_iter == 3


@given(hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(min_side=0, max_dims=4)))
def test_any_array_survives(value):
    back = decoded(value)
    assert back.shape == value.shape
    if value.dtype.kind != "U":  # strings come back at their natural width
        assert back.dtype == value.dtype and back.tobytes() == value.tobytes()
    else:
        assert np.array_equal(back, value)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(plain)
def test_any_plain_value_survives(value):
    assert same(value, decoded(value))


# --- torch ------------------------------------------------------------------------


def test_torch_tensors_and_modules_survive(tmp_path):
    torch = pytest.importorskip("torch")
    values = [
        torch.arange(3),
        torch.ones(2, 3, dtype=torch.bfloat16),
        torch.ones(2, dtype=torch.complex64) * 1j,
        torch.tensor(2.5),
        torch.nn.Parameter(torch.zeros(2)),
        torch.float32,
        torch.device("cpu"),
    ]
    for old, new in zip(values, turned(values, tmp_path)):
        assert type(old) is type(new)
        if isinstance(old, torch.Tensor):
            assert old.dtype == new.dtype and torch.equal(old, new)
        else:
            assert old == new
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.BatchNorm1d(4)
    ).eval()
    back = turned(net, tmp_path)
    x = torch.randn(5, 3)
    assert torch.equal(net(x), back(x)) and not back.training
    stream = torch.Generator().manual_seed(3)
    again = turned(stream, tmp_path)
    a, b = (torch.randn(2, generator=g) for g in (stream, again))
    assert torch.equal(a, b)


def test_tensors_become_arrays_without_torch(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    path = tmp_path / "t.pansophy"
    persist.save([torch.ones(2), torch.ones(2, dtype=torch.complex64)], path)
    monkeypatch.setattr(foreign, "import_torch", lambda: None)
    a, b = persist.load(path)
    assert a.tolist() == [1.0, 1.0] and b.dtype == np.complex64
    persist.save(torch.ones(2, dtype=torch.bfloat16), path)
    with pytest.raises(PersistError, match="install torch"):
        persist.load(path)


# --- models -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    return X, X @ [1.0, -2.0, 0.5, 0.0], np.where(X[:, 0] > 0, "yes", "no")


def models(data):
    X, y, c = data
    mixed = np.empty((80, 2), dtype=object)
    mixed[:, 0], mixed[:, 1] = X[:, 0], c
    mixed[3, 0] = math.nan
    columns = ColumnTransformer(
        [
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), [0]),
            ("c", OneHotEncoder(handle_unknown="ignore"), [1]),
            ("t", TargetEncoder(random_state=0), [1]),
        ]
    )  # fmt: skip
    select = make_pipeline(
        FunctionTransformer(np.abs), SelectKBest(f_regression, k=2), Ridge()
    )
    search = GridSearchCV(
        Ridge(), {"alpha": [0.1, 1.0]}, cv=KFold(3), scoring="r2", n_jobs=1
    )
    return [
        make_pipeline(columns, LogisticRegression()).fit(mixed, c),
        select.fit(X, y),
        search.fit(X, y),
        CalibratedClassifierCV(LogisticRegression(), cv=3).fit(X, c),
        IsotonicRegression(out_of_bounds="clip").fit(X[:, :1], y),
        HistGradientBoostingClassifier(max_iter=3, random_state=0).fit(X, c),
    ]


def test_unfitted_models_keep_their_parameters(tmp_path):
    back = turned(LogisticRegression(C=2.5), tmp_path)
    assert vars(back) == vars(LogisticRegression(C=2.5))


@pytest.mark.parametrize("i", range(6))
def test_scikit_learn_models_predict_the_same(i, data, tmp_path):
    model = models(data)[i]
    back = turned(model, tmp_path)
    assert repr(back) == repr(model)
    X = data[0][:, : getattr(model, "n_features_in_", 1)]
    X = X.astype(object) if X.shape[1] == 2 else X
    if X.dtype == object:
        X[:, 1] = np.where(np.arange(80) % 3, "yes", "never seen")
    assert np.array_equal(model.predict(X), back.predict(X))
    if hasattr(model, "predict_proba"):
        assert np.array_equal(model.predict_proba(X), back.predict_proba(X))


def test_skops_writes_compiled_leaves(data, tmp_path):
    pytest.importorskip("skops")
    X, _, c = data
    for model in (
        RandomForestClassifier(3, random_state=0),
        KNeighborsClassifier(algorithm="kd_tree"),
    ):
        back = turned(model.fit(X, c), tmp_path)
        assert np.array_equal(model.predict_proba(X), back.predict_proba(X))


def test_without_skops_saving_says_so(data, tmp_path, monkeypatch):
    X, _, c = data
    model = RandomForestClassifier(2, random_state=0).fit(X, c)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(PersistError, match="install skops") as caught:
        persist.save(model, tmp_path / "m")
    assert "model.estimators_[0].tree_" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_leaves_that_point_outside_are_refused(data):
    from sklearn.tree import DecisionTreeClassifier

    X, _, c = data
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, c).tree_
    assert foreign.checked_leaf(tree) is tree
    tree.feature[0] = 99
    with pytest.raises(PersistError, match="points outside"):
        foreign.checked_leaf(tree)
    boosted = HistGradientBoostingClassifier(max_iter=2, random_state=0).fit(X, c)
    foreign.check_predictors(boosted)
    boosted._predictors[0][0].nodes["left"][0] = 10_000
    with pytest.raises(PersistError, match="points outside"):
        foreign.check_predictors(boosted)


def ours():
    from pansophy.testing import all_estimators

    return all_estimators()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:y contains no unlabeled samples")
def test_all_of_ours_predict_identically_in_another_process(tmp_path):
    from tools.forge import fit_estimator

    answers = {}
    for name, cls in ours():
        model, X = fit_estimator(cls)
        persist.save(model, tmp_path / f"{name}.pansophy")
        np.save(tmp_path / f"{name}.npy", X)
        answers[name] = answer(model, X)
    assert answers
    code = f"""
        import sys; sys.path.insert(0, {str(HERE)!r})
        import numpy as np, pansophy
        from pathlib import Path
        from test_persist import answer
        folder = Path({str(tmp_path)!r})
        for path in folder.glob("*.pansophy"):
            X = np.load(path.with_suffix(".npy"))
            np.save(folder / f"{{path.stem}}.out.npy", answer(pansophy.load(path), X))
    """
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}  # as here
    command = [sys.executable, "-c", textwrap.dedent(code)]
    subprocess.run(command, check=True, env=one_thread)
    for name, expected in answers.items():
        got = np.load(tmp_path / f"{name}.out.npy")
        assert got.dtype == expected.dtype, name
        assert np.array_equal(got, expected), name


def answer(model, X):
    for method in ("predict_proba", "predict", "transform", "score_samples"):
        if hasattr(model, method):
            found = getattr(model, method)(X)
            return found.toarray() if sp.issparse(found) else np.asarray(found)
    for name in (
        "labels_",
        "embedding_",
        "negative_outlier_factor_",
    ):  # of training rows
        if hasattr(model, name):
            return np.asarray(getattr(model, name))
    raise AssertionError(f"{model} answers nothing")


def test_save_tells_the_size(tmp_path):
    from pansophy.persist import inspect, save

    small, large = (
        save({"x": np.zeros(k)}, tmp_path / f"{k}.pansophy") for k in (1, 1000)
    )
    assert small == (tmp_path / "1.pansophy").stat().st_size
    assert large == (tmp_path / "1000.pansophy").stat().st_size > 8000
    about = inspect(tmp_path / "1000.pansophy")
    assert (about["bytes"], about["file_bytes"]) == (8000, large)


def test_callbacks_are_not_saved(tmp_path):
    from sklearn.callback import ProgressBar

    model = LogisticRegression().set_callbacks(ProgressBar())
    assert "_skl_callbacks" not in vars(turned(model, tmp_path))


# --- what cannot be saved ----------------------------------------------------------


class Stranger(BaseEstimator):
    pass


@dataclass
class Loose:
    x: int = 1


class Pair(NamedTuple):
    a: int
    b: int


@pytest.mark.parametrize(
    "value",
    [Stranger(), Loose(), Pair(1, 2), object(), lambda x: x, os.system, io.StringIO()],
    ids=lambda v: type(v).__name__,
)
def test_strangers_are_named_and_leave_no_file(value, tmp_path):
    pipe = make_pipeline(StandardScaler(), FunctionTransformer(kw_args={"k": value}))
    with pytest.raises(PersistError, match=r"steps\[1\]\[1\]\.kw_args\['k'\]"):
        persist.save(pipe, tmp_path / "m.pansophy")
    assert not list(tmp_path.iterdir())


def test_registered_classes_can_be_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(classes, "_registered", {})
    classes.name_of.cache_clear()
    persist.register(Pair)
    try:
        assert turned(Pair(1, 2), tmp_path) == Pair(1, 2)
    finally:
        classes.name_of.cache_clear()
    monkeypatch.setattr(classes, "_registered", {})
    with pytest.raises(PersistError, match="not an allowed class"):
        persist.load(tmp_path / "trip.pansophy")
    with pytest.raises(TypeError, match="takes a class"):
        persist.register(3)


def test_cycles_cannot_be_saved(tmp_path):
    loop = []
    loop.append(loop)
    with pytest.raises(PersistError, match="contains itself"):
        persist.save(loop, tmp_path / "m")
    model = Ridge()
    model.me = model
    with pytest.raises(PersistError, match="contains itself"):
        persist.save(model, tmp_path / "m")


def test_hidden_methods_cannot_be_saved(tmp_path):
    model = Ridge()
    model.predict = np.log
    with pytest.raises(PersistError, match=r"model\.predict hides a method"):
        persist.save(model, tmp_path / "m")


# --- what cannot be loaded ---------------------------------------------------------


def attack(name, kind="object", **more):
    parts = {p: {} for p in foreign.MODULE_PARTS} if kind == "module" else {}
    return {"$": kind, "class": name, "id": 0, "v": {}, **parts, **more}


RIDGE = attack("sklearn.linear_model.Ridge")
T0, T1, T2, T3 = ({"$": "array", "t": str(i)} for i in range(4))
CSR = {"$": "sparse", "format": "csr", "becomes": "csr", "matrix": False}


BAD_CLASSES = [
    "os.system",
    "builtins.eval",
    "builtins.object",
    "numpy.load",
    "subprocess.Popen",
    "sklearn.utils._testing.ignore_warnings",
    "sklearn.base.clone",
    "sklearn.externals.joblib.Memory",
    "sklearn.preprocessing._data.StandardScaler",
    "sklearn.preprocessing.scale",
    "sklearn.linear_model.__builtins__",
    "sklearn.datasets.fetch_openml",
    "sklearn.pipeline.Bunch",
    "pansophy.persist.file.os",
    "pansophy.persist.file.save",
    "pansophy.persist.codec.Decoder",
    "pansophy.persist.classes.importlib",
    "pansophy.core.iterate.np",
    "pansophy.core.iterate.__class__",
    "pansophy.__init__.x",
    "pansophy..x",
    "pansophy",
    "torch.nn.Module.load_state_dict",
    "torch.nn.functional",
    "torch.load",
    "Ridge",
    "",
    7,
    None,
    ["os", "system"],
]


@pytest.mark.parametrize("name", BAD_CLASSES, ids=str)
@pytest.mark.parametrize("kind", ["object", "record", "module"])
def test_classes_off_the_list_are_refused(name, kind, tmp_path):
    if kind == "module":
        pytest.importorskip("torch")
    refuse(attack(name, kind), tmp_path)


BAD_NODES = {
    "unknown tag": {"$": "reduce", "v": ["os.system", "true"]},
    "no tag": {"v": 1},
    "tag is a list": {"$": ["object"]},
    "function": {"$": "function", "v": "os.system"},
    "numpy.load": {"$": "function", "v": "numpy.load"},
    "numpy.frompyfunc": {"$": "function", "v": "numpy.frompyfunc"},
    "sklearn internal": {"$": "function", "v": "sklearn.utils._joblib.hash"},
    "sklearn.base.clone": {"$": "function", "v": "sklearn.base.clone"},
    "type": {"$": "type", "v": "builtins.eval"},
    "type of numpy": {"$": "type", "v": "numpy.memmap"},
    "dunder": RIDGE | {"v": {"__class__": 1}},
    "dunder dict": RIDGE | {"v": {"__dict__": 1}},
    "method": RIDGE | {"v": {"predict": 1}},
    "not a name": RIDGE | {"v": {"a b": 1}},
    "state is a list": RIDGE | {"v": [1]},
    "forward reference": [{"$": "same", "id": 1}],
    "cycle": RIDGE | {"v": {"me": {"$": "same", "id": 0}}},
    "numbered twice": [RIDGE, RIDGE],
    "record as object": attack("pansophy.core.iterate.Result"),
    "missing fields": attack("pansophy.core.iterate.Result", "record"),
    "missing tensor": {"$": "array", "t": "9"},
    "tensor by number": {"$": "array", "t": 0},
    "huge shape": {"$": "array", "t": "0", "shape": [10**9, 10**9]},
    "objects from bytes": {"$": "array", "t": "0", "dtype": "|O", "shape": [1]},
    "hidden objects": {"$": "array", "t": "0", "dtype": [["a", "|O"]], "shape": [1]},
    "huge dtype": {"$": "array", "t": "0", "dtype": "|V99999999999", "shape": [1]},
    "nonsense dtype": {"$": "array", "t": "0", "dtype": "quux", "shape": [1]},
    "strings of numbers": {"$": "strings", "shape": [1], "v": [3]},
    "strings too few": {"$": "strings", "shape": [10**12], "v": ["a"]},
    "string lengths": {"$": "strings", "shape": [2], "t": "0", "lengths": "0"},
    "objects too few": {"$": "objects", "shape": [10**12], "v": [None]},
    "random stream": {
        "$": "Generator", "v": {"$": "dict", "v": [["bit_generator", "os"]]}
    },
    "sparse outside": CSR | {"shape": [1, 2], "v": [T1, T2, T3]},
    "sparse format": CSR | {"format": "os", "shape": [1], "v": []},
    "misplaced module": attack("torch.nn.ReLU", "module") | {"_modules": {"0": 1}},
    "module as object": attack("torch.nn.ReLU"),
    "module method": attack("torch.nn.ReLU", "module") | {"v": {"forward": T0}},
    "unhashable key": {"$": "dict", "v": [[[1], 2]]},
    "pairs": {"$": "dict", "v": 3},
    "float": {"$": "float", "v": "1e5"},
    "bytes": {"$": "bytes", "v": "***"},
    "skops": {"$": "skops", "t": "0"},
    "torch type": {"$": "torch.dtype", "v": "torch.load"},
    "factory": {"$": "defaultdict", "made": "eval", "v": []},
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_NODES)
def test_malicious_values_are_refused(name, tmp_path):
    tensors = {
        "0": np.arange(8, dtype=np.uint8),
        "1": np.ones(1),
        "2": np.array([10**6], np.int32),
        "3": np.array([0, 1], np.int32),
    }
    if "module" in name:
        pytest.importorskip("torch")
    refuse(BAD_NODES[name], tmp_path, tensors, match="Cannot load")


def test_deep_nesting_is_refused(tmp_path):
    text = json.dumps(
        {"format": "pansophy model", "schema": file.SCHEMA, "versions": {}}
    )
    deep = text[:-1] + ', "model": ' + "[" * 100_000 + "]" * 100_000 + "}"
    note = {"manifest": deep, "sha256": file.checksum(deep, {})}
    save_file({}, tmp_path / "deep", metadata=note)
    with pytest.raises(PersistError):
        persist.load(tmp_path / "deep")


def test_nothing_outside_the_list_is_imported(tmp_path):
    spy = tmp_path / "spyware.py"
    spy.write_text("raise SystemExit('imported')")
    path = tmp_path / "bad.pansophy"
    forge(path, [attack("spyware.Thing")], {})
    code = f"import pansophy; pansophy.load({str(path)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 1 and "PersistError" in done.stderr
    assert "imported" not in done.stderr


# --- the file ----------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path, data):
    path = tmp_path / "model.pansophy"
    persist.save(Ridge().fit(data[0], data[1]), path)
    return path


def test_every_cut_and_every_changed_byte_is_noticed(saved):
    whole, content = saved.read_bytes(), vars(persist.load(saved))
    for cut in (0, 1, 7, 8, 20, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:cut])
        with pytest.raises(PersistError):
            persist.load(saved)
    rng = np.random.default_rng(0)
    places = {*rng.integers(0, len(whole), 60).tolist(), len(whole) - 1}
    for place in places:
        changed = bytearray(whole)
        changed[place] ^= 1 << rng.integers(8).item()
        saved.write_bytes(changed)
        with contextlib.suppress(PersistError):
            # a change that goes through touched nothing but spaces in the header
            assert same(vars(persist.load(saved)), content)
    saved.write_bytes(whole + b"x")
    with pytest.raises(PersistError):
        persist.load(saved)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "foreign"
    save_file({"a": np.ones(2)}, path)
    with pytest.raises(PersistError, match="not a pansophy model"):
        persist.load(path)
    save_file({}, path, metadata={"manifest": "{}", "sha256": "0"})
    with pytest.raises(PersistError, match="malformed"):
        persist.load(path)
    path.write_bytes(b"\x80\x04\x95pickle")
    with pytest.raises(PersistError, match="cut short"):
        persist.load(path)
    with pytest.raises(FileNotFoundError):
        persist.load(tmp_path / "absent")


def test_a_changed_tensor_fails_the_checksum(saved):
    with safe_open(saved, framework="numpy") as old:
        note = old.metadata()
        tensors = {k: old.get_tensor(k) for k in old.keys()}  # noqa: SIM118
    tensors["0"] = tensors["0"] + 1
    save_file(tensors, saved, metadata=note)
    with pytest.raises(PersistError, match="checksum"):
        persist.load(saved)


def test_newer_schema_asks_to_upgrade(tmp_path):
    refuse(None, tmp_path, schema=file.SCHEMA + 1, match="newer pansophy")


def test_older_schema_is_migrated(tmp_path, monkeypatch):
    path = tmp_path / "old"
    forge(path, {"$": "list", "v": [1]}, {}, schema=-1)
    with pytest.raises(PersistError, match="older pansophy"):
        persist.load(path)
    steps = {
        -1: lambda m: {**m, "model": {"$": "tuple", "v": m["model"]["v"]}},
        0: lambda m: m,
        1: lambda m: m,
    }
    monkeypatch.setattr(file, "MIGRATIONS", steps)
    assert persist.load(path) == (1,)


def test_file_of_the_first_schema_gets_one_clear_sentence():
    with pytest.raises(
        PersistError, match=r"schema 1; .* fit the model again and save it"
    ):
        persist.load(HERE / "data" / "schema1.pansophy")


def test_file_of_this_schema_still_loads():
    model = persist.load(HERE / "data" / "schema2.pansophy")
    assert np.allclose(model.predict([[1.0, 2.0], [np.nan, 1.0]]), [2.5, 0.75])


def test_other_scikit_learn_release_warns(tmp_path, data):
    encoder = codec.Encoder()
    node = encoder.encode(Ridge().fit(data[0], data[1]))
    path = tmp_path / "m"
    forge(path, node, encoder.tensors, versions={"scikit-learn": "0.1"})
    with pytest.warns(InconsistentVersionWarning):
        persist.load(path)


def test_inspect_tells_without_building(saved):
    told = persist.inspect(saved)
    assert told["classes"] == ["sklearn.linear_model.Ridge"]
    assert told["versions"]["pansophy"] == pansophy.__version__
    assert told["bytes"] > 0
    forge(saved, attack("os.system"), {})
    assert persist.inspect(saved)["classes"] == ["os.system"]


def test_links_and_permissions_are_kept(saved):
    os.chmod(saved, 0o640)
    link = saved.with_name("link")
    link.symlink_to(saved.name)
    persist.save(Ridge(alpha=7), link)
    assert link.is_symlink() and persist.load(saved).alpha == 7
    assert saved.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in saved.parent.iterdir()) == ["link", saved.name]


@pytest.mark.parametrize("step", ["save_file", "flush", "replace"])
def test_failure_at_any_step_leaves_the_old_file(step, saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*args, **kwargs):
        raise KeyboardInterrupt

    targets = {"save_file": "safetensors.numpy.save_file", "replace": "os.replace"}
    monkeypatch.setattr(
        targets.get(step, "pansophy.core.atomic_files.flush_to_disk"), fail
    )
    with pytest.raises(KeyboardInterrupt):
        persist.save(Ridge(alpha=5), saved)
    assert saved.read_bytes() == before
    assert len(list(saved.parent.iterdir())) == 1


def test_kill_in_the_middle_leaves_the_old_file(saved):
    before = saved.read_bytes()
    code = f"""
        import os, signal
        import safetensors.numpy as container
        from pansophy import persist
        whole = container.save_file
        def half(tensors, path, **kwargs):
            whole(tensors, path, **kwargs)
            with open(path, "r+b") as file:
                file.truncate(50)
            os.kill(os.getpid(), signal.SIGKILL)
        container.save_file = half
        persist.save([1, 2, 3], {str(saved)!r})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)])
    assert done.returncode == -signal.SIGKILL
    assert saved.read_bytes() == before
    persist.save([1], saved)  # what the dead process left does no harm
    assert persist.load(saved) == [1]

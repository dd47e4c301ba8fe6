"""Values as JSON and tensors: they survive, stay shared, and cycles are refused."""

import dataclasses
import json
import math
from collections import OrderedDict, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file
from sklearn.linear_model import Ridge

from pansophy import persist
from pansophy.core.drivers.iterate import Result
from pansophy.kernels import RBF
from pansophy.persist import PersistError, codec, file
from tests.persist.model_files import attack, decoded, refuse, same, turned

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


def test_shared_arrays_and_objects_stay_shared():
    array, model = np.arange(3.0), Ridge()
    back = decoded([array, array, model, {"m": model}])
    assert back[0] is back[1] and back[2] is back[3]["m"]


def test_our_records_survive(tmp_path):
    result = Result(None, 3, "tolerance", {"objective": np.arange(3.0)}, 0.5)
    back = turned(result, tmp_path)
    assert isinstance(back, Result) and back.converged and back.n_iter == 3


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


RIDGE = attack("sklearn.linear_model.Ridge")
T0, T1, T2, T3 = ({"$": "array", "t": str(i)} for i in range(4))
CSR = {"$": "sparse", "format": "csr", "becomes": "csr", "matrix": False}
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
    "record as object": attack("pansophy.core.drivers.iterate.Result"),
    "missing fields": attack("pansophy.core.drivers.iterate.Result", "record"),
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


def test_only_frozen_dataclasses_of_ours_are_checked_by_their_constructor():
    @dataclasses.dataclass(frozen=True)
    class Foreign:
        x: int

        def __post_init__(self):
            pass

    assert codec.is_checked_by_constructor(RBF)
    assert not codec.is_checked_by_constructor(Foreign)
    assert not codec.is_checked_by_constructor(PersistError)
    assert not codec.is_checked_by_constructor(Ridge)

"""Sums over rows: the same sum wherever the rows are and whoever adds them up."""

import importlib
import json
import os
import subprocess
import sys
import tracemalloc
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pansophy.core.arrays import rows as floor
from pansophy.core.arrays.rows import (
    DatasetRows,
    Rows,
    add_statistics,
    as_rows,
    is_dataset,
    rows_in_memory,
    sum_statistics,
)


@pytest.fixture
def X(rng):
    return rng.normal(size=(1000, 3))


def table(X):
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})


@pytest.fixture
def parquet(X, tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(table(X), path, row_group_size=130)
    return path


class Moments(NamedTuple):
    n: int
    mean: np.ndarray
    gram: np.ndarray


def moments(X, *_):
    return Moments(X.shape[0], X.sum(0), X.T @ X)


# -- adding up ---------------------------------------------------------------------


def test_add_follows_the_structure():
    a = {"n": 1, "pair": (np.ones(2), 2.0), "m": Moments(1, np.ones(2), np.eye(2))}
    b = {"n": 2, "pair": (np.ones(2), 3.0), "m": Moments(4, np.ones(2), np.eye(2))}
    c = add_statistics(a, b)
    assert c["n"] == 3
    assert c["pair"][1] == 5.0
    assert isinstance(c["m"], Moments)
    np.testing.assert_array_equal(c["m"].gram, 2 * np.eye(2))
    np.testing.assert_array_equal(a["pair"][0], 1)  # untouched


def test_a_sum_never_writes_into_the_rows(X):
    before = X.copy()
    S = Rows(X, block=1).sum(lambda X: X[0])  # each statistic is a view of X
    np.testing.assert_allclose(S, before.sum(0))
    np.testing.assert_array_equal(X, before)


def test_total_of_numbers_and_single_parts():
    assert sum_statistics(iter([1, 2, 3])) == 6
    assert sum_statistics(iter([5.0])) == 5.0


# -- arrays ------------------------------------------------------------------------


@given(st.integers(1, 60), st.integers(1, 70))
def test_blocks_cut_rows_and_what_is_aligned(n, block):
    X, y = np.arange(2.0 * n).reshape(n, 2), np.arange(n)
    parts = list(Rows(X, y, None, block=block).blocks())
    assert all(len(a) == len(b) <= block for a, b, _ in parts)
    assert all(c is None for *_, c in parts)
    np.testing.assert_array_equal(np.concatenate([a for a, *_ in parts]), X)
    np.testing.assert_array_equal(np.concatenate([b for _, b, _ in parts]), y)


def test_sum_and_map(X):
    R = Rows(X, X[:, 0], block=77)
    got = R.sum(moments)
    assert got.n == 1000
    np.testing.assert_allclose(got.gram, X.T @ X)
    np.testing.assert_allclose(R.map(lambda X, y: X.sum(1) + y), X.sum(1) + X[:, 0])
    a, b = R.map(lambda X, y: (X[:, :2], y > 0))
    np.testing.assert_array_equal(a, X[:, :2])
    np.testing.assert_array_equal(b, X[:, 0] > 0)
    assert (R.n, R.d, R.dtype) == (1000, 3, np.float64)


@pytest.mark.parametrize("order", ["C", "F"])
def test_map_holds_its_result_once(order):
    rows = Rows(np.ones((200_000, 2)), block=1000)
    double = lambda x: np.asarray(np.tile(x, 5), order=order)
    rows.map(double)  # what is made once is made
    tracemalloc.start()
    try:
        found = rows.map(double)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.shape == (200_000, 10)
    assert found.flags[f"{order}_CONTIGUOUS"]
    assert peak < 1.25 * found.nbytes


def test_map_joins_results_of_other_kinds_too():
    rows = Rows(np.arange(10.0), block=3)
    words = rows.map(lambda x: np.array(["a" * int(v) for v in x]))
    assert words.tolist() == ["a" * k for k in range(10)]
    growing = rows.map(lambda x: x.astype(int) if x[0] < 3 else x + 0.5)
    assert growing.tolist() == [0, 1, 2, *(k + 0.5 for k in range(3, 10))]
    some = rows.map(lambda x: x[x % 2 == 0])
    assert some.tolist() == [0, 2, 4, 6, 8]
    pair = rows.map(lambda x: (x, np.stack([x, x], axis=1)))
    assert pair[0].tolist() == list(range(10))
    assert pair[1].shape == (10, 2)


def test_take_and_other_aligned(X):
    R = Rows(X, block=64)
    np.testing.assert_array_equal(R.take([5, 2, 2]), X[[5, 2, 2]])
    other = R.with_aligned(X[:, 1], block=10)
    assert (other.block, R.block) == (10, 64)
    assert other.with_aligned().block == 10
    assert other.sum(lambda X, y: float(y.sum())) == pytest.approx(X[:, 1].sum())


def test_one_dimensional_rows():
    x = np.arange(10.0)
    assert Rows(x, block=3).sum(lambda x: float(x.sum())) == 45
    assert Rows(x).d == 1


def test_block_size_grows_as_rows_get_narrower():
    assert floor.default_block(1) > floor.default_block(100) >= 256
    assert floor.default_block(10**9) == 256


@pytest.mark.parametrize("blas", [True, False])
def test_threads_do_not_change_a_bit(X, monkeypatch, blas):
    found = []
    for n in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", n)
        found.append(Rows(X, block=37).sum(moments, blas=blas))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].gram, other.gram)
        np.testing.assert_array_equal(found[0].mean, other.mean)


def test_sparse_blocks(X):
    S = sparse.csr_array(np.where(X > 0, X, 0))
    R = Rows(S, X[:, 0], block=100)
    got = R.sum(lambda X, y: X.T @ y)
    np.testing.assert_allclose(got, S.T @ X[:, 0])
    assert R.take([3, 1]).shape == (2, 3)
    np.testing.assert_allclose(R.map(lambda X, y: X @ np.ones(3)), S @ np.ones(3))


# -- tensors -----------------------------------------------------------------------


def test_tensors_give_the_same_sum(X):
    torch = pytest.importorskip("torch")
    T = torch.asarray(X)
    got = Rows(T, T[:, 0], block=77).sum(lambda X, y: (X.sum(0), y.sum()))
    want = Rows(X, X[:, 0], block=77).sum(lambda X, y: (X.sum(0), y.sum()))
    assert isinstance(got[0], torch.Tensor)
    np.testing.assert_allclose(got[0].numpy(), want[0], rtol=1e-12)
    np.testing.assert_allclose(float(got[1]), want[1], rtol=1e-12)
    np.testing.assert_array_equal(Rows(T).take([4, 4, 0]).numpy(), X[[4, 4, 0]])
    np.testing.assert_array_equal(Rows(T, block=9).map(lambda X: X * 2).numpy(), 2 * X)
    before = T.clone()
    Rows(T, block=1).sum(lambda X: X[0])
    assert torch.equal(T, before)


def test_strict_arrays(X):
    xp = pytest.importorskip("array_api_strict")
    A = xp.asarray(X)
    got = Rows(A, A[:, 0], block=77).sum(lambda X, y: xp.sum(X, axis=0) * xp.sum(y))
    want = Rows(X, X[:, 0], block=77).sum(lambda X, y: X.sum(axis=0) * y.sum())
    np.testing.assert_allclose(np.asarray(got), want)
    np.testing.assert_array_equal(np.asarray(Rows(A).take([1, 0])), X[[1, 0]])


# -- tables on disk ----------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 64, 130, 999, 5000])
def test_a_file_gives_the_very_same_sum(X, parquet, block):
    a = Rows(X, X[:, 0], block=block).sum(moments)
    b = DatasetRows(parquet, X[:, 0], block=block).sum(moments)
    assert a.n == b.n
    np.testing.assert_array_equal(a.gram, b.gram)
    np.testing.assert_array_equal(a.mean, b.mean)


def test_a_file_of_small_floats_stays_small(X, tmp_path):
    small = X.astype(np.float32)
    pq.write_table(table(small), tmp_path / "s.parquet")
    R = DatasetRows(tmp_path / "s.parquet")
    assert R.dtype == np.float32
    np.testing.assert_array_equal(R.map(lambda X: X), small)
    assert DatasetRows(tmp_path / "s.parquet", dtype=np.float64).dtype == np.float64


def test_take_from_a_file(X, parquet):
    R = DatasetRows(parquet, block=64)
    index = np.array([999, 0, 500, 500, 63, 64])
    np.testing.assert_array_equal(R.take(index), X[index])
    assert R.take([]).shape == (0, 3)
    with pytest.raises(IndexError, match="from 0 to 999"):
        R.take([3, 1000])
    assert R.shape == X.shape


@pytest.mark.parametrize("ending", ["parquet", "csv", "feather"])
def test_formats(X, tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    write = {
        "parquet": pq.write_table,
        "csv": pyarrow.csv.write_csv,
        "feather": pyarrow.feather.write_feather,
    }[ending]
    write(table(X), path)
    np.testing.assert_allclose(as_rows(path, block=300).map(lambda X: X), X)


def test_a_folder_of_files(X, tmp_path):
    for i in range(4):
        pq.write_table(table(X[250 * i : 250 * i + 250]), tmp_path / f"{i}.parquet")
    np.testing.assert_array_equal(as_rows(tmp_path).map(lambda X: X), X)


def test_columns_are_chosen_and_ordered(X, tmp_path):
    mixed = table(X).append_column("name", pa.array(["a"] * 1000))
    pq.write_table(mixed, tmp_path / "m.parquet")
    R = DatasetRows(tmp_path / "m.parquet", columns=["x2", "x0"])
    np.testing.assert_array_equal(R.map(lambda X: X), X[:, [2, 0]])


def test_datasets_with_filters_and_tables_in_memory(X, parquet):
    kept = ds.dataset(parquet).filter(ds.field("x0") > 0)
    np.testing.assert_array_equal(as_rows(kept).map(lambda X: X), X[X[:, 0] > 0])
    np.testing.assert_array_equal(as_rows(table(X), block=90).map(lambda X: X), X)


def test_a_column_of_whole_numbers_with_a_hole_is_nan(tmp_path):
    t = pa.table({"a": pa.array([1, None, 3]), "b": [True, False, True]})
    pq.write_table(t, tmp_path / "h.parquet")
    got = DatasetRows(tmp_path / "h.parquet").map(lambda X: X)
    np.testing.assert_array_equal(got, [[1, 1], [np.nan, 0], [3, 1]])


def test_decimals_and_booleans_with_holes_are_numbers(tmp_path):
    money = pa.array([1.25, None, 3.5]).cast(pa.decimal128(5, 2))
    t = pa.table({"a": money, "b": pa.array([True, None, False])})
    got = DatasetRows(t).map(lambda X: X)
    np.testing.assert_array_equal(got, [[1.25, 1], [np.nan] * 2, [3.5, 0]])


def test_columns_that_are_not_numbers_are_named_not_left_out(tmp_path):
    t = pa.table({"age": [1.0, 2.0], "city": ["a", "b"], "at": pa.array([1, 2])})
    t = t.set_column(2, "at", t["at"].cast(pa.timestamp("s")))
    path = tmp_path / "t.parquet"
    pq.write_table(t, path)
    words = r"not numbers: 'city' \(string\), 'at' \(timestamp.*columns=\['age'\]"
    with pytest.raises(ValueError, match=words):
        as_rows(path)
    with pytest.raises(ValueError, match="'city'"):
        DatasetRows(path, columns=["age", "city"])
    picked = DatasetRows(path, columns=["age"])
    np.testing.assert_array_equal(picked.map(lambda X: X), [[1.0], [2.0]])
    many = pa.table({"x": [1.0], **{f"c{i}": ["a"] for i in range(11)}})
    with pytest.raises(ValueError, match=r"'c7' \(string\) and 3 more\."):
        DatasetRows(many)


def test_the_index_of_a_dataframe_is_no_column(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=[7, 3])
    frame.to_parquet(tmp_path / "f.parquet")
    assert DatasetRows(tmp_path / "f.parquet").columns == ["a"]


def test_clear_words_for_bad_tables(tmp_path, parquet):
    with pytest.raises(FileNotFoundError, match="no such table"):
        as_rows(tmp_path / "absent.parquet")
    pq.write_table(pa.table({"name": ["a", "b"]}), tmp_path / "w.parquet")
    with pytest.raises(ValueError, match="no numeric column"):
        as_rows(tmp_path / "w.parquet")
    with pytest.raises(ValueError, match="no column named 'y'"):
        DatasetRows(parquet, columns=["x0", "y"])


def test_what_counts_as_a_table(parquet, X):
    assert is_dataset(parquet)
    assert is_dataset(str(parquet))
    assert is_dataset(DatasetRows(parquet))
    assert is_dataset(table(X))
    assert not is_dataset(X)
    assert not is_dataset([[1.0]])
    assert not is_dataset([])
    assert not is_dataset(["a document", "rows.parquet"])
    assert is_dataset([str(parquet), parquet])
    R = DatasetRows(parquet)
    assert as_rows(R) is R
    assert as_rows(R, X[:, 0], block=5).block == 5


SUM = """
import json, resource, sys
import numpy as np
from pansophy.core.arrays.decoded_rows import row_memory
from pansophy.core.arrays.rows import DatasetRows

def peak():  # MB; ru_maxrss begins with what the parent held
    try:
        with open("/proc/self/status") as file:
            return int(file.read().split("VmHWM:")[1].split()[0]) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

stats = lambda X: X.T @ X
DatasetRows(sys.argv[1]).sum(stats)
before = peak()
with row_memory(10e6):
    gram = DatasetRows(sys.argv[2]).sum(stats)
print(json.dumps({"grown": peak() - before, "trace": float(np.trace(gram))}))
"""


def test_memory_is_a_few_blocks(rng, tmp_path):
    pytest.importorskip("resource")
    small, large = tmp_path / "s.parquet", tmp_path / "l.parquet"
    pq.write_table(table(rng.normal(size=(2000, 50))), small)
    plain = {"use_dictionary": False, "compression": "none"}
    pq.write_table(table(rng.normal(size=(300_000, 50))), large, **plain)  # 114 MB
    args = [sys.executable, "-c", SUM, str(small), str(large)]
    two = {**os.environ, "OMP_NUM_THREADS": "2"}  # each thread holds a block
    done = subprocess.run(args, capture_output=True, text=True, check=False, env=two)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["grown"] < 60
    assert told["trace"] == pytest.approx(300_000 * 50, rel=0.01)


@pytest.mark.parametrize(
    "ending", ["parquet", "csv", "csv.gz", "tsv", "jsonl", "arrow"]
)
def test_a_file_of_any_kind_by_its_ending(tmp_path, ending):
    table = pa.table({"a": np.arange(30.0), "b": np.arange(30.0) ** 2})
    path = tmp_path / f"t.{ending}"
    frame = table.to_pandas()
    if ending == "parquet":
        pq.write_table(table, path)
    elif ending == "arrow":
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    expected = np.asarray(frame)
    pattern = str(tmp_path / f"*.{ending}")
    for source in (path, str(path), pattern, [path], tmp_path):
        rows = DatasetRows(source)
        assert np.allclose(np.concatenate([X for (X,) in rows.blocks()]), expected)


def test_a_file_of_another_kind_is_one_sentence(tmp_path):
    for name in ("t.xlsx", "t.jsonl.gz", "t.parquet.gz"):
        (tmp_path / name).write_bytes(b"nothing")
        with pytest.raises(ValueError, match=rf"{name} is not a table that can be fit"):
            DatasetRows(tmp_path / name)
    (tmp_path / "t.parquet").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"t.parquet cannot be read as a table"):
        DatasetRows(tmp_path / "t.parquet")
    with pytest.raises(FileNotFoundError, match="no such table"):
        DatasetRows(str(tmp_path / "*.csv"))


def test_use_as_an_array_is_a_type_error(tmp_path):
    pq.write_table(pa.table({"a": np.arange(3.0)}), tmp_path / "t.parquet")
    rows = DatasetRows(tmp_path / "t.parquet")
    with pytest.raises(TypeError, match="needs its rows in memory"):
        rows.astype(float)
    assert not hasattr(rows, "tocsr")


def test_what_is_in_memory(parquet, X):
    held = table(X)
    np.testing.assert_array_equal(rows_in_memory(held), X)
    np.testing.assert_array_equal(rows_in_memory(DatasetRows(held)), X)
    assert rows_in_memory(X) is X
    for source in (parquet, str(parquet), ds.dataset(parquet), DatasetRows(parquet)):
        with pytest.raises(TypeError, match="needs its rows in memory"):
            rows_in_memory(source)


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("text", "PLSA"),
        ("text", "GibbsLDA"),
        ("generative", "TableVAE"),
        ("graphical", "BayesianNetwork"),
        ("graphical", "StructureSearch"),
        ("neural_network", "SequenceClassifier"),
    ],
)
def test_methods_that_read_tables_by_themselves_refuse_files(parquet, package, name):
    cls = getattr(importlib.import_module(f"pansophy.{package}"), name)
    args = (np.arange(1000) % 2,) if name == "SequenceClassifier" else ()
    with pytest.raises(TypeError, match="needs its rows in memory"):
        cls().fit(str(parquet), *args)

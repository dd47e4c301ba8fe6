"""Batches have one type a column; samples are uniform, repeatable and bounded."""

import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

from pansophy.datasets import make_messy
from pansophy.tables import (
    TableError,
    column_values,
    count_table_rows,
    infer_schema,
    read_table,
    reading_notes,
    sample_table_rows,
    stream,
    table_batches,
    text_file,
)

N = 5000


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    rng = np.random.default_rng(0)
    table = pa.table({
        "i": np.arange(N), "x": pa.array(rng.normal(size=N), mask=rng.random(N) < 0.1),
        "s": [f"a\n{i % 7}" for i in range(N)], "f": rng.random(N) < 0.5,
        "d": np.datetime64("2024-01-01T10:00:00") + rng.integers(0, 10**6, N),
        "late": [str(i) for i in range(N - 1)] + ["oops"],
    })  # fmt: skip
    table.to_pandas().to_csv(folder / "t.csv", index=False)
    table.to_pandas().to_csv(folder / "t.csv.gz", index=False, sep=";", decimal=",")
    table.to_pandas().to_json(
        folder / "t.jsonl", orient="records", lines=True, date_format="iso"
    )
    pyarrow.parquet.write_table(table, folder / "t.parquet", row_group_size=700)
    pyarrow.feather.write_feather(table, folder / "t.feather", chunksize=900)
    files = [
        folder / f"t.{e}" for e in ("csv", "csv.gz", "jsonl", "parquet", "feather")
    ]
    data = pyarrow.dataset.dataset(folder / "t.parquet")
    return table, [*files, table, table.to_pandas(), data, lambda: table.to_reader(800)]


def opened(source):
    return source() if callable(source) else source


def test_batches_counts_and_samples_agree_for_every_source(sources, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", 20_000)
    monkeypatch.setattr(stream, "SPARE", 100)  # the pool is pruned again and again
    table, all_sources = sources
    keys = np.random.default_rng(4).random(N)
    drawn = np.sort(np.argsort(keys)[:300])
    for source in all_sources:
        parts = list(table_batches(opened(source), 1024))
        assert [p.num_rows for p in parts] == [1024] * 4 + [N - 4096], source
        assert len({str(p.schema.remove_metadata()) for p in parts}) == 1
        whole = pa.concat_tables(parts)
        for name in ("i", "s", "f", "late"):
            assert whole.column(name).to_pylist() == table.column(name).to_pylist()
        for name in ("x", "d"):
            np.testing.assert_allclose(
                as_floats(whole.column(name)), as_floats(table.column(name)), atol=1e-9
            )
        assert count_table_rows(opened(source)) == N
        some = sample_table_rows(opened(source), 300, seed=4)
        assert some.column("i").to_pylist() == drawn.tolist(), source
        assert some.schema.types == parts[0].schema.types
        assert sample_table_rows(opened(source), 2 * N).num_rows == N


def as_floats(column):
    return column_values.column_as_floats(
        column, "c", "ISO" if column.type == pa.string() else ""
    )


def test_a_schema_saves_the_first_pass(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", 5000)
    table = make_messy(400, 1)
    for kind in ({}, {"sep": ";", "decimal": ","}):
        path = tmp_path / "m.csv"
        table.to_pandas().to_csv(path, index=False, **kind)
        schema = infer_schema(read_table(path), "quit?")
        frame = schema.frame(read_table(path))
        parts = [schema.frame(t) for t in table_batches(path, 90, schema=schema)]
        np.testing.assert_array_equal(
            np.vstack([p.values for p in parts]), frame.values
        )
        told = pa.concat_arrays([p.texts[0] for p in parts])
        assert told.to_pylist() == frame.texts[0].to_pylist()
        y = [schema.target_values(t) for t in table_batches(path, 90, schema=schema)]
        np.testing.assert_array_equal(np.concatenate(y), schema.target_values(table))


def test_samples_are_uniform():
    table = pa.table({"i": np.arange(12)})
    hits = np.zeros(12)
    pairs = np.zeros((12, 12))
    for seed in range(1500):
        found = sample_table_rows(table, 4, seed).column("i").to_numpy()
        hits[found] += 1
        pairs[np.ix_(found, found)] += 1
    assert np.all(np.abs(hits / 1500 - 4 / 12) < 0.05)
    off = pairs[np.triu_indices(12, 1)] / 1500
    assert np.all(np.abs(off - 4 * 3 / (12 * 11)) < 0.04)


def test_a_large_file_is_sampled_in_little_memory(tmp_path):
    path, n = tmp_path / "large.parquet", 400_000
    pyarrow.parquet.write_table(
        pa.table({f"x{j}": np.arange(n) + 0.5 for j in range(10)}), path
    )
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    found = sample_table_rows(path, 1000, seed=1)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.num_rows == 1000 and held < 8e6  # the table has 32 MB
    assert pa.total_allocated_bytes() - before < 1e6


def test_late_bytes_of_another_encoding(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, "BLOCK", 1000)
    path = tmp_path / "l.csv"
    path.write_bytes(b"a,y\n" + b"x,1\n" * 100_000 + b"\xe9,2\n")
    last = list(table_batches(path))[-1]
    assert last.column("a")[-1].as_py() == "é" and count_table_rows(path) == 100_001
    assert "cp1252" in reading_notes(sample_table_rows(path, 5))[0]


def test_bad_sources_get_one_sentence(tmp_path):
    (tmp_path / "r.csv").write_text("a,b\n1,2\n3\n")
    (tmp_path / "h.csv").write_text("a,b\n")
    (tmp_path / "d.csv").write_text("a,a\n1,2\n")
    (tmp_path / "p.parquet").write_text("no")
    cases = {
        "r.csv": "line 3 has 1 value", "h.csv": "has no rows", "absent": "There is no",
        "p.parquet": "cannot be read", "d.csv": "several columns",
    }  # fmt: skip
    for name, says in cases.items():
        for read in (
            lambda p: list(table_batches(p)),
            lambda p: sample_table_rows(p, 5),
        ):
            with pytest.raises(TableError, match=says):
                read(tmp_path / name)
    for read in (
        lambda: sample_table_rows({"a": [1]}, 0),
        lambda: next(table_batches({"a": [1]}, 0)),
    ):
        with pytest.raises(ValueError, match="at least 1"):
            read()
    empty = pd.DataFrame({"a": []})
    with pytest.raises(TableError, match="no rows"):
        next(table_batches(empty))

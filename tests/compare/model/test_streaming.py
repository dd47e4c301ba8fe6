"""Predictions for tables of any size: the same answers, whole files, bounded memory."""

import gzip
import io
import json
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import csv, feather, parquet

import pansophy
from pansophy.compare.model.streaming import (
    append_predictions,
    passthrough_columns,
    predict_stream,
)
from pansophy.tables import TableError
from tests.compare.table_models import people

INPUTS = ["age", "pay", "city", "day", "note"]
TABLE = people()
NEW = people(250, seed=3)


def read_back(path):
    name = str(path)
    if name.endswith(".gz"):
        return csv.read_csv(pa.BufferReader(gzip.decompress(path.read_bytes())))
    if name.endswith(".jsonl"):
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return pa.Table.from_pylist(rows)
    read = {
        ".csv": csv.read_csv,
        ".parquet": parquet.read_table,
        ".feather": feather.read_table,
    }
    return read[path.suffix](path)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "feather", "jsonl"])
@pytest.mark.parametrize("source", ["table", "csv", "parquet"])
def test_batches_give_what_the_whole_table_gives(model, tmp_path, ending, source):
    rows = NEW.select([*INPUTS, "score"])
    if source != "table":
        path = tmp_path / f"in.{source}"
        (csv.write_csv if source == "csv" else parquet.write_table)(rows, path)
    out = tmp_path / f"out.{ending}"
    done = predict_stream(
        model, rows if source == "table" else path, out, batch=64, level=0.8
    )
    whole = model.answer(rows, level=0.8)
    found = read_back(out)
    assert done.rows == found.num_rows == 250
    assert found.column_names == whole.column_names
    assert found.column("yes").to_pylist() == whole.column("yes").to_pylist()
    p, q = (t.column("p(yes)").to_numpy() for t in (found, whole))
    assert np.allclose(p, q, rtol=1e-14)
    sets = whole.column("yes set").to_pylist()
    if ending.startswith("csv"):
        sets = [" | ".join(s) for s in sets]
    assert found.column("yes set").to_pylist() == sets
    assert [f.kind for f in done.findings] == ["unknown column"]
    assert not (tmp_path / f"out.{ending}.part").exists()


def test_kept_columns_come_first_and_names_stay_apart(model, tmp_path):
    out = tmp_path / "out.parquet"
    predict_stream(model, NEW, out, keep=["note", "yes"], proba=False)
    found = parquet.read_table(out)
    assert found.column_names == ["note", "yes", "yes (predicted)"]
    assert found.column("yes").equals(NEW.column("yes"))
    predict_stream(model, NEW, out, keep="*")
    assert parquet.read_table(out).column_names[: NEW.num_columns] == NEW.column_names
    with pytest.raises(TableError, match="'nite' to keep; did you mean 'note'"):
        predict_stream(model, NEW, out, keep=["nite"])


def test_formulas_in_text_files_are_text(model, tmp_path):
    evil = ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3+x()", "\t=1"]
    fine = ["-5", "+49 221 1234", "a=b", "", "'=quoted"]
    rows = NEW.slice(0, 10).append_column("=id", pa.array(evil + fine))
    out = tmp_path / "out.csv"
    predict_stream(model, rows, out, keep=["=id"])
    text = csv.read_csv(
        out, convert_options=csv.ConvertOptions(column_types={"'=id": pa.string()})
    )
    assert text.column("'=id").to_pylist() == ["'" + v for v in evil] + fine
    for ending in ("parquet", "jsonl"):  # nothing runs these: they are left alone
        other = tmp_path / f"out.{ending}"
        predict_stream(model, rows, other, keep=["=id"])
        assert read_back(other).column("=id").to_pylist() == evil + fine


def test_whatever_stops_it_leaves_a_whole_file_or_none(model, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("old")

    def stop(done):
        if done >= 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_stream(model, NEW, out, batch=50, progress=stop)
    assert out.read_text() == "old"
    bad = NEW.set_column(0, "age", pa.array(["12"] * 200 + ["old"] * 50))
    with pytest.raises(TableError, match="'age' should hold numbers, but has 'old'"):
        predict_stream(model, bad, out, batch=50)
    assert out.read_text() == "old" and list(tmp_path.iterdir()) == [out]


def test_an_open_file_gets_csv_and_a_function_gets_tables(model):
    out, seen = io.BytesIO(), []
    predict_stream(model, NEW, out, batch=100)
    found = csv.read_csv(pa.BufferReader(out.getvalue()))
    predict_stream(model, NEW, seen.append, batch=100)
    assert found.num_rows == 250 and [t.num_rows for t in seen] == [100, 100, 50]


def test_drift_is_found_on_the_way(model, tmp_path):
    old = NEW.set_column(0, "age", pc.add(NEW.column("age"), 60.0))
    done = predict_stream(model, old, tmp_path / "o.csv", batch=40)
    drifted = [f for f in done.findings if f.kind == "drift"]
    assert [f.column for f in drifted] == ["age"] and "drifted" in str(done)
    plain = predict_stream(model, old, tmp_path / "o.csv", batch=40, check=False)
    assert not [f for f in plain.findings if f.kind == "drift"]


def test_memory_does_not_grow_with_the_table(model, tmp_path):
    rows = NEW.select([*INPUTS])
    with parquet.ParquetWriter(tmp_path / "in.parquet", rows.schema) as writer:
        for _ in range(160):  # groups of rows, far more than are read ahead
            writer.write_table(pa.concat_tables([rows] * 20))
    kept = []
    before = pa.total_allocated_bytes()
    predict_stream(
        model,
        tmp_path / "in.parquet",
        tmp_path / "out.csv",
        batch=5000,
        progress=lambda done: kept.append(pa.total_allocated_bytes() - before),
    )
    assert len(kept) == 160 and max(kept) < 0.6 * 3200 * rows.nbytes


def test_interrupted_from_the_keyboard(model, tmp_path):
    """A real SIGINT, in a process of its own."""
    pansophy.save(model, tmp_path / "m.pansophy")
    parquet.write_table(NEW, tmp_path / "in.parquet")
    code = """
        import os, signal
        from pansophy import load
        from pansophy.compare.model.streaming import predict_stream
        def tick(done):
            if done >= 100:
                os.kill(os.getpid(), signal.SIGINT)
        try:
            predict_stream(load("m.pansophy"), "in.parquet", "out.csv", batch=50,
                           progress=tick)
        except KeyboardInterrupt:
            print("stopped", sorted(os.listdir()))
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.stdout.strip() == "stopped ['in.parquet', 'm.pansophy']", ran.stderr


def test_answers_never_share_a_name_with_what_is_kept():
    table = pa.table({"y": [1], "y (predicted)": [2]})
    out = append_predictions(
        table,
        passthrough_columns(table, ["y", "y (predicted)", "y"]),
        pa.table({"y": [3], "p": [4]}),
    )
    assert out.column_names == ["y", "y (predicted)", "y (predicted) (predicted)", "p"]

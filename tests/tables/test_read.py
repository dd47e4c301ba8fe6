"""Files and dataframes of every kind become the same table, or one clear sentence."""

import bz2
import contextlib
import gzip
import json
import os
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from pansophy.datasets import make_messy
from pansophy.tables import (
    TableError,
    count_table_rows,
    infer_schema,
    read_table,
    sample_table_rows,
    table_batches,
)

COLUMNS = {"a": [1, 2, 3], "b": ["x", None, "z"], "c": [0.5, None, 1.5]}


TEXT = "a,b,c\n1,x,0.5\n2,,NA\n3,z,1.5\n"


LINES = (
    '{"a": 1, "b": "x", "c": 0.5}\n{"a": 2, "b": null}\n{"c": 1.5, "b": "z", "a": 3}\n'
)


def put(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def same(table):
    return table.to_pydict() == COLUMNS


def test_every_kind_of_file_is_the_same(tmp_path):
    table = pa.table(COLUMNS)
    put(tmp_path / "t.csv", TEXT)
    put(tmp_path / "t.tsv", TEXT.replace(",", "\t"))
    put(tmp_path / "bar.txt", TEXT.replace(",", "|"))
    put(tmp_path / "semi.csv", "\ufeff" + TEXT.replace(",", ";"))
    put(tmp_path / "comma.csv", TEXT.replace(",", ";").replace(".", ","))
    put(tmp_path / "crlf.csv", TEXT.replace("\n", "\r\n"))
    put(tmp_path / "wide.csv", TEXT.encode("utf-16"))
    put(tmp_path / "t.jsonl", LINES)
    put(tmp_path / "t.json", "[" + LINES.strip().replace("\n", ",") + "]")
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    pyarrow.parquet.write_table(table, tmp_path / "no_ending")
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    with pa.ipc.new_stream(tmp_path / "stream.arrow", table.schema) as writer:
        writer.write_table(table)
    for path in list(tmp_path.iterdir()):
        raw = path.read_bytes()
        put(
            tmp_path / f"{path.name}.gz",
            gzip.compress(raw[:20]) + gzip.compress(raw[20:]),
        )
        put(tmp_path / f"{path.name}.bz2", bz2.compress(raw))
        put(tmp_path / f"{path.name}.zst", pa.compress(raw, "zstd", asbytes=True))
    put(tmp_path / "gz_by_content.csv", gzip.compress(TEXT.encode()))
    for path in tmp_path.iterdir():
        assert same(read_table(path)), path.name
    assert same(read_table(str(tmp_path / "t.csv")))


def test_every_kind_of_frame_is_the_same():
    table = pa.table(COLUMNS)
    frame = pd.DataFrame(COLUMNS)
    assert same(read_table(table)) and same(read_table(COLUMNS))
    assert same(read_table(table.to_batches()[0])) and same(
        read_table(table.to_pylist())
    )
    assert same(read_table(pl.DataFrame(COLUMNS))) and same(read_table(frame))
    assert same(read_table(pl.DataFrame(COLUMNS).lazy()))
    moved = frame.set_index(pd.Index([7, 8, 9]))
    moved = moved.astype({"a": "Int64", "b": "category", "c": "Float32"})
    assert same(read_table(moved))
    odd = read_table(pd.DataFrame({0: [1, 2], "mixed": ["x", 3]}))
    assert odd.to_pydict() == {"0": [1, 2], "mixed": ["x", "3"]}
    plain = pa.table({"s": pa.array(["x"], pa.string_view()), "h": np.float16([1.5])})
    assert [str(t) for t in read_table(plain).schema.types] == ["string", "float"]
    kind = pd.CategoricalDtype(["low", "high"], ordered=True)
    made = pd.DataFrame(
        {"g": pd.Series(["high", "low"] * 2, dtype=kind), "y": [0, 1] * 2}
    )
    assert infer_schema(read_table(made), "y")["g"].levels == ("low", "high")
    made = pl.DataFrame({"g": ["high", "low"] * 2, "y": [0, 1] * 2})
    made = made.with_columns(pl.col("g").cast(pl.Enum(["low", "high"])))
    assert infer_schema(read_table(made), "y")["g"].levels == ("low", "high")


def test_a_messy_table_survives_a_file(tmp_path):
    table = make_messy(200, 3)
    path = tmp_path / "m.csv"
    table.to_pandas().to_csv(path, index=False)
    again = read_table(path)
    assert again.column_names == table.column_names
    assert again.column("review").to_pylist() == table.column("review").to_pylist()
    roles = lambda t: [c.role for c in infer_schema(t, "quit?").columns]
    assert roles(again) == roles(table)
    frames = [infer_schema(t, "quit?").frame(t).values for t in (table, again)]
    np.testing.assert_allclose(frames[0], frames[1])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: p / "absent.csv", "There is no file"),
        (lambda p: p, "is a folder"),
        (lambda p: put(p / "e.csv", ""), "is empty"),
        (lambda p: put(p / "blank.csv", " \n\n"), "is empty"),
        (lambda p: put(p / "e.csv.gz", gzip.compress(b"")), "is empty"),
        (lambda p: put(p / "h.csv", "a,b\n"), "has no rows"),
        (lambda p: put(p / "d.csv", "a,a \n1,2\n"), "several columns named 'a'"),
        (
            lambda p: put(p / "w.csv", 'a,b\n"1\n",2\n1\n'),
            "line 4 has 1 value, but the",
        ),
        (lambda p: put(p / "w.csv", "a;b\n1;2\n1;2;3\n"), r"line 3 has 3 .* by ';'"),
        (lambda p: put(p / "x.parquet", "no"), "cannot be read as a table"),
        (lambda p: put(p / "x.feather", "no"), "cannot be read as a table"),
        (lambda p: put(p / "x.csv.gz", b"\x1f\x8bno"), "cannot be read as a table"),
        (lambda p: put(p / "b.csv", bytes(range(256))), "binary file"),
        (lambda p: put(p / "b.csv", b"a,b\n1\0,2\n"), "binary file"),
        (lambda p: put(p / "b.xlsx", b"PK\x03\x04..."), "save its table as CSV"),
        (lambda p: put(p / "j.jsonl", '{"a": 1}\n{"a": \n'), "line 2 is not JSON"),
        (lambda p: put(p / "j.jsonl", '{"a": 1}\n[2]\n'), "line 2 is not an object"),
        (lambda p: put(p / "j.json", "[1, 2]"), "not a list of objects"),
        (
            lambda p: put(p / "k.json", '{"a": {"0": 1}, "b": {"0": 2}}'),
            "whole columns",
        ),
        (lambda p: put(p / "p.csv", " <!DOCTYPE html>\n<p>a,b</p>"), "is a web page"),
        (lambda p: 3, "A int is not a table"),
        (lambda p: {"a": [1], "b": [1, 2]}, "different lengths"),
        (lambda p: {"a": 1}, "'a' is a int, not values"),
        (lambda p: {}, "has no rows"),
    ],
)
def test_bad_tables_get_one_sentence(make, says, tmp_path):
    with pytest.raises(TableError, match=says) as caught:
        read_table(make(tmp_path))
    assert "\n" not in str(caught.value)


def test_damaged_files_get_a_sentence_or_are_read(tmp_path):
    table = make_messy(40)
    table.to_pandas().to_csv(tmp_path / "a.csv", index=False)
    put(tmp_path / "a.csv.gz", gzip.compress((tmp_path / "a.csv").read_bytes()))
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "a.feather")
    rows = table.select(["age", "review"]).to_pylist()
    put(tmp_path / "a.jsonl", "\n".join(json.dumps(r) for r in rows))
    refused = 0
    for path in sorted(tmp_path.iterdir()):
        for seed in range(12):
            rng = np.random.default_rng(seed)
            raw = bytearray(path.read_bytes())
            raw = raw[: rng.integers(1, len(raw))] if seed % 3 == 0 else raw
            for at in rng.integers(0, len(raw), [1, 20][seed % 2]):
                raw[at] = rng.integers(0, 256)
            hurt = put(tmp_path / f"hurt{path.name[1:]}", bytes(raw))
            try:
                for part in table_batches(hurt, 16):
                    part.to_pylist()
                read_table(hurt).to_pylist()
            except TableError as error:
                assert "\n" not in str(error)
                refused += 1
            hurt.unlink()
    assert refused > 20


def test_an_index_with_a_name_is_a_column():
    when = pd.date_range("2024-01-01", periods=3, name="when")
    frame = pd.DataFrame({"x": [1, 2, 3]}, index=when)
    assert read_table(frame).column_names == ["x", "when"]
    assert read_table(frame.reset_index(drop=True)).column_names == ["x"]
    assert read_table(frame.rename_axis("x")).column_names == ["x"]
    both = frame.set_index(pd.MultiIndex.from_arrays([[1, 1, 2], [1, 2, 1]],
                                                     names=["a", None]))  # fmt: skip
    assert read_table(both).column_names == ["x", "a"]


def test_columns_that_a_dataframe_numbers():
    frame = pd.DataFrame({0: [0.5, 1.5, 2.5], 1: ["a", "b", "a"], 2: [1, 2, 1]})
    schema = infer_schema(read_table(frame), 1, weight=2, roles={0: "angle"})
    assert (schema.target, schema.weight, schema["0"].role) == ("1", "2", "angle")


def test_intervals_periods_and_columns_of_one_name():
    x = pd.Series([0.0, 1.0, None, 3.0])
    cut = pd.cut(x, [-1, 0.5, 1.5, 4])
    frame = pd.DataFrame({
        "cut": cut, "span": pd.Series(pd.IntervalIndex(cut)),
        "month": pd.period_range("2024-01", periods=4, freq="M"), "x": x,
    })  # fmt: skip
    table = read_table(frame)
    assert table["cut"].to_pylist() == ["(-1.0, 0.5]", "(0.5, 1.5]", None, "(1.5, 4.0]"]
    assert table["span"].to_pylist() == table["cut"].to_pylist()
    schema = infer_schema(table)
    assert (schema["cut"].role, schema["month"].role) == ("ordinal", "date")
    assert schema["cut"].levels[0] == "(-1.0, 0.5]"
    with pytest.raises(TableError, match=r"several columns of one name.*'x'"):
        read_table(pd.concat([frame, frame[["x"]]], axis=1))


@pytest.mark.parametrize("read", [read_table, count_table_rows, sample_table_rows])
@pytest.mark.parametrize("content", ["a,y\n1,2\n3,4\n", '{"a": 1}\n{"a": 2}\n'])
def test_pipes_are_read(tmp_path, read, content):
    """A named pipe gives its bytes once; formats need several passes."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(content,))
    writer.start()
    try:
        found = read(pipe, 5) if read is sample_table_rows else read(pipe)
    finally:
        writer.join()
    assert (found if isinstance(found, int) else found.num_rows) == 2


def test_an_empty_pipe_is_named_as_given(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("",))
    writer.start()
    with pytest.raises(TableError, match=f"{pipe} is empty"):
        read_table(pipe)
    writer.join()


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_no_table(device):
    if not os.path.exists(device):
        pytest.skip("the system has no such device")
    for call in (read_table, lambda path: next(table_batches(path))):
        with pytest.raises(TableError, match=f"{device} is a device, not a table"):
            call(device)


def test_a_pipe_without_an_end_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("pansophy.tables.read.MAX_PIPE", 3 << 20)
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)

    def feed():
        with contextlib.suppress(BrokenPipeError), open(path, "wb") as pipe:
            while True:
                pipe.write(b"1,2\n" * 100_000)

    feeder = threading.Thread(target=feed)
    feeder.start()
    with pytest.raises(TableError, match=r"pipe.csv gives more than 0.00293 GB"):
        read_table(path)
    feeder.join(60)
    assert not feeder.is_alive()


@pytest.mark.parametrize("name", ["bomb.json.gz", "bomb.parquet.gz"])
def test_what_unpacks_to_more_than_there_is_memory_for(tmp_path, monkeypatch, name):
    monkeypatch.setattr("pansophy.tables.csv_dialect.memory_budget", lambda: 1e6)
    path = tmp_path / name
    start = b"PAR1" if "parquet" in name else b'[{"a": 1},'
    path.write_bytes(gzip.compress(start + b" " * (64 << 20)))
    for call in (read_table, lambda path: list(table_batches(path))):
        with pytest.raises(TableError, match=f"{name} holds more than .* unpacked"):
            call(path)


def test_a_long_line_is_named(tmp_path):
    path = tmp_path / "long.csv"
    path.write_bytes(b"a,b\n1,2\n3," + b"9" * (9 << 20) + b"\n")
    with pytest.raises(TableError, match=r"long.csv, line 3 is longer than 4 MB"):
        read_table(path)
    path.write_bytes(b'a,b\n1,"2\n' + b"3,4\n" * (3 << 20))
    with pytest.raises(TableError, match="is a quotation mark missing"):
        read_table(path)
    path = tmp_path / "long.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": ' + b" " * (100 << 20))
    with pytest.raises(TableError, match=r"long.jsonl, line \d is longer than 64 MB"):
        read_table(path)


@pytest.mark.parametrize("kind", ["lines", "list"])
def test_rows_with_a_new_name_each_are_refused(tmp_path, kind):
    path = tmp_path / "names.jsonl"
    rows = [{f"column {i}": i} for i in range(4000)]
    if kind == "list":
        path.write_text(json.dumps(rows))
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(TableError, match="hardly a name in common"):
        read_table(path)
    sparse = [{f"c{i % 40}": i, "x": 1} for i in range(4000)]
    path.write_text("".join(json.dumps(row) + "\n" for row in sparse))
    assert read_table(path).num_columns == 41

"""Writers of predictions: bad targets, any text in JSON lines."""

import json

import pyarrow as pa
import pytest
from pyarrow import csv

from pansophy.compare.model.streaming import predict_stream
from pansophy.compare.model.table_writers import format_and_compression, table_writer
from pansophy.tables import TableError
from tests.compare.table_models import people

INPUTS = ["age", "pay", "city", "day", "note"]
TABLE = people()
NEW = people(250, seed=3)


def test_bad_targets_are_one_sentence(model, tmp_path):
    for name in ("out", "out.xlsx", "out.parquet.gz"):
        with pytest.raises(TableError, match="does not say how to write it"):
            predict_stream(model, NEW, tmp_path / name)
    with pytest.raises(TableError, match="folder is not there"):
        predict_stream(model, NEW, tmp_path / "none" / "out.csv")
    path = tmp_path / "in.csv"
    csv.write_csv(NEW, path)
    with pytest.raises(TableError, match="cannot replace the table"):
        predict_stream(model, path, path)
    assert format_and_compression("a.b.tsv.zst") == ("tsv", "zstd")


def test_json_lines_hold_any_text(tmp_path):
    values = ['say "hi"', "two\nlines", "ü \u2028 \\", None, ""]
    table = pa.table({'a "b"': values, "x": [1.5, None, float("nan"), -0.0, 1e300]})
    with table_writer(tmp_path / "o.jsonl") as write:
        write(table)
        write(table.slice(0, 0))
    lines = (tmp_path / "o.jsonl").read_bytes().decode().split("\n")[:-1]
    rows = [json.loads(line) for line in lines]
    assert [r['a "b"'] for r in rows] == values
    assert [r["x"] for r in rows] == [1.5, None, None, -0.0, 1e300]

"""Reading tables, roles of columns, the task, and new rows read the same way."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from pansophy.diagnose.leaks import alarms
from pansophy.tables import Frame, TableError, infer, read_table

COLUMNS = {"a": [1, 2, 3], "b": ["x", None, "z"], "c": [0.5, None, 1.5]}


def same(table):
    return table.to_pydict() == COLUMNS


def test_every_kind_of_table_is_the_same(tmp_path):
    table = pa.table(COLUMNS)
    text = "a,b,c\n1,x,0.5\n2,,NA\n3,z,1.5\n"
    (tmp_path / "t.csv").write_text(text)
    (tmp_path / "t.tsv").write_text(text.replace(",", "\t"))
    (tmp_path / "semi.csv").write_text("\ufeff" + text.replace(",", ";"))
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write(text)
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    for path in tmp_path.iterdir():
        assert same(read_table(path)), path.name
        assert same(read_table(str(path)))
    assert same(read_table(table)) and same(read_table(COLUMNS))
    assert same(read_table(pl.DataFrame(COLUMNS)))
    frame = pd.DataFrame(COLUMNS)
    assert same(read_table(frame))


def test_quoted_separators_and_newlines(tmp_path):
    path = tmp_path / "q.csv"
    path.write_text('name,x\n"a, b",1\n"c\nd",2\n')
    assert read_table(path).to_pydict() == {"name": ["a, b", "c\nd"], "x": [1, 2]}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: p / "absent.csv", "There is no file"),
        (lambda p: p, "is a folder"),
        (lambda p: put(p / "e.csv", ""), "is empty"),
        (lambda p: put(p / "h.csv", "a,b\n"), "has no rows"),
        (lambda p: put(p / "d.csv", "a,a\n1,2\n"), "several columns named 'a'"),
        (lambda p: put(p / "w.csv", "a,b\n1\n"), "cannot be read as a table"),
        (lambda p: put(p / "x.parquet", "no"), "cannot be read as a table"),
        (lambda p: 3, "A int is not a table"),
    ],
)
def test_bad_tables_get_one_sentence(make, says, tmp_path):
    with pytest.raises(TableError, match=says) as caught:
        read_table(make(tmp_path))
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_left_out(tmp_path):
    path = put(tmp_path / "u.csv", b"a,x,y\n\xff,1,0\nb,2,1\nc,4,0\n")
    found = {c.name: c.role for c in infer(read_table(path), "y").columns}
    assert found == {"a": "other", "x": "number"}


def put(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def roles(**columns):
    n = len(next(iter(columns.values())))
    table = pa.table({**columns, "y": np.arange(n) % 2})
    return {c.name: c.role for c in infer(table, "y").columns}


def test_roles_of_columns():
    n = 60
    rng = np.random.default_rng(0)
    found = roles(
        number=rng.normal(size=n),
        whole=rng.integers(0, 9, n),
        flag=rng.random(n) < 0.5,
        word=rng.choice(["a", "b"], n),
        many=[f"city {i % 20}" for i in range(n)],
        constant=["k"] * n,
        constant_number=[1.0] * n,
        empty=pa.nulls(n),
        once=[None] * 30 + ["k"] * 30,
        row=np.arange(n),
        order_id=rng.permutation(n) + 1000,
        code=[f"c{i}" for i in range(n)],
        text=[f"the quick brown fox {i} jumps" for i in range(n)],
        date=pa.array((np.arange(n) * 3).astype("M8[D]")),
        lists=[[1, 2]] * n,
        level=pd.Categorical(rng.choice(["u", "v"], n)),
    )
    assert found == {
        "number": "number",
        "whole": "number",
        "flag": "number",
        "word": "category",
        "many": "category",
        "constant": "constant",
        "constant_number": "constant",
        "empty": "constant",
        "once": "category",
        "row": "id",
        "order_id": "id",
        "code": "id",
        "text": "text",
        "date": "number",
        "lists": "other",
        "level": "category",
    }


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"] * 20, "classification"),
        ([True, False] * 20, "classification"),
        ([0, 1] * 20, "classification"),
        (list(range(40)), "regression"),
        ([0.0, 1.0] * 20, "regression"),  # fractions are never turned into classes
        (np.linspace(0, 1, 40), "regression"),
    ],
)
def test_task_is_read_off_the_target(y, task):
    table = pa.table({"x": np.arange(40) % 7, "y": y})
    assert infer(table, "y").task == task
    if task == "regression":
        assert infer(table, "y", "regression").why == "as asked"


@pytest.mark.parametrize(
    ("columns", "task", "says"),
    [
        ({"x": [1, 2], "z": [1, 2]}, "auto", "no column 'y'"),
        ({"x": [1, 2], "y": ["a", "a"]}, "auto", "nothing to learn"),
        ({"x": [1, 2], "y": ["a", "b"]}, "regression", "not numbers"),
        ({"x": [1] * 40, "y": list("ab") * 20}, "auto", "No column besides"),
        ({"x": range(40), "y": [f"n{i}" for i in range(40)]}, "auto", "too many"),
        ({"x": [1, 2], "y": [[1], [2]]}, "auto", "cannot be a target"),
    ],
)
def test_bad_targets_get_one_sentence(columns, task, says):
    with pytest.raises(TableError, match=says):
        infer(pa.table({k: list(v) for k, v in columns.items()}), "y", task)


def test_new_rows_are_read_the_same_way():
    old = pa.table({"n": [1.0, 2.0, 3.0], "c": ["a", "b", "a"], "y": [0, 1, 0]})
    schema = infer(old, "y")
    assert schema.frame(old).values.tolist() == [[1, 0], [2, 1], [3, 0]]
    new = pa.table({"c": ["b", "new", None], "extra": [1, 2, 3], "n": ["4", "5", None]})
    got = schema.frame(new).values
    assert got[:2].tolist() == [[4, 1], [5, -1]] and np.isnan(got[2]).all()
    assert schema.extra(new) == ["extra"]
    with pytest.raises(TableError, match="lacks the column 'c'"):
        schema.frame(new.drop_columns(["c"]))
    with pytest.raises(TableError, match="lacks the columns 'n', 'c'"):
        schema.frame(pa.table({"q": [1]}))
    with pytest.raises(TableError, match="'n' should hold numbers, but has 'four'"):
        schema.frame(pa.table({"n": ["1", "four"], "c": ["a", "a"]}))
    with pytest.raises(TableError, match="'c' should hold categories"):
        schema.frame(pa.table({"n": [1], "c": [[1]]}))


def test_whole_number_levels_survive_a_gap():
    old = pa.table({"c": ["1", "2", "1"], "y": [0, 1, 0]})
    new = pa.table({"c": pa.array([2.0, None, 1.0])})
    got = infer(old, "y").frame(new).values[:, 0]
    assert got[0] == 1 and np.isnan(got[1]) and got[2] == 0


def test_infinite_values_count_as_missing():
    table = pa.table({"x": [1.0, np.inf, 2.0], "y": [0, 1, 0]})
    assert np.isnan(infer(table, "y").frame(table).values[1, 0])


def test_leak_alarms():
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    table = pa.table({"twice": 2 * y, "x": rng.normal(size=50), "y": y})
    schema = infer(table, "y")
    X, t = schema.frame(table), schema.goal(table)
    assert alarms(X, t, schema) == ["'twice' looks like a copy of the target 'y'."]
    (note,) = alarms(
        Frame(np.r_[X.values, X.values[:5]][:, 1:]),
        np.r_[t, t[:5]],
        infer(table.drop_columns(["twice"]), "y"),
    )
    assert note.startswith("5 rows repeat another row")
    words = pa.table({"w": ["p", "q"] * 20, "y": ["no", "yes"] * 20, "x": range(40)})
    schema = infer(words, "y")
    X, t = schema.frame(words), schema.goal(words)
    assert any("'w' looks like a copy" in a for a in alarms(X, t, schema))

"""New rows are read as the schema says; schemas survive a file that people edit."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.datasets import make_messy
from pansophy.tables import Column, Schema, TableError, infer_schema
from pansophy.tables.roles import UNUSED, USED
from pansophy.tables.schema import read_column


def test_new_rows_are_read_the_same_way():
    old = pa.table({"n": [1.0, 2.0, 3.0], "c": ["a", "b", "a"], "y": [0, 1, 0]})
    schema = infer_schema(old, "y")
    assert schema.frame(old).values.tolist() == [[1, 0], [2, 1], [3, 0]]
    new = pa.table({"c": ["b", "new", None], "extra": [1, 2, 3], "n": ["4", "5", None]})
    for table in (new, pa.concat_tables([new] * 40)):  # a few rows, many rows
        got = schema.frame(table).values
        assert got[:2].tolist() == [[4, 1], [5, -1]] and np.isnan(got[2]).all()
    assert schema.extra(new) == ["extra"]
    with pytest.raises(TableError, match="lacks the column 'c'"):
        schema.frame(new.drop_columns(["c"]))
    with pytest.raises(TableError, match="lacks the columns 'n', 'c'"):
        schema.frame(pa.table({"q": [1]}))
    for times in (1, 40):
        with pytest.raises(TableError, match="'n' should hold numbers, but has 'four'"):
            schema.frame(
                pa.table({"n": ["1", "four"] * times, "c": ["a", "a"] * times})
            )
        with pytest.raises(TableError, match="'c' should hold categories"):
            schema.frame(pa.table({"n": [1] * times, "c": [[1]] * times}))


def test_whole_number_levels_survive_a_gap():
    old = pa.table({"c": ["1", "2", "1"], "y": [0, 1, 0]})
    new = pa.table({"c": pa.array([2.0, None, 1.0])})
    got = infer_schema(old, "y").frame(new).values[:, 0]
    assert got[0] == 1 and np.isnan(got[1]) and got[2] == 0


def test_infinite_values_count_as_missing():
    table = pa.table({"x": [1.0, np.inf, 2.0], "y": [0, 1, 0]})
    assert np.isnan(infer_schema(table, "y").frame(table).values[1, 0])


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**6), 10**6), st.floats(width=32),
    st.sampled_from(["a", "b", "1", " 2.5", "1e3", "2024-02-03", "03/04/2024"]),
    st.sampled_from(["12:30", "9:05:10", "true", "False"]),
    st.dates(dt.date(1900, 1, 1)), st.datetimes(dt.datetime(1900, 1, 1)), st.times(),
    st.text(max_size=3),
)  # fmt: skip
COLUMNS = [
    Column("c", "number", ""), Column("c", "category", "", ("a", "b", "1", "true")),
    Column("c", "ordinal", "", ("a", "b")), Column("c", "date", ""),
    Column("c", "date", "", (), 0.0, "%d/%m/%Y"), Column("c", "angle", "", (), 360.0),
    Column("c", "angle", "", (), 86400.0), Column("c", "number", "", missing=("a",)),
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(VALUES, st.sampled_from(COLUMNS))
def test_one_row_is_read_as_many_are(value, column):
    schema = Schema("y", "regression", "", (column,))
    column_of_it = pa.chunked_array([pa.array([value], from_pandas=True)])
    try:
        want = read_column(column_of_it, column)
    except TableError as error:
        with pytest.raises(TableError) as caught:
            schema.rows([{"c": value}])
        assert str(caught.value) == str(error)
        return
    np.testing.assert_allclose(
        schema.rows([{"c": value}]).values[:, 0], want, rtol=1e-9
    )


def test_rows_and_tables_give_the_same_frame():
    table = make_messy(60, 2)
    schema = infer_schema(table, "quit?")
    whole = schema.frame(table)
    rows = schema.rows(table.to_pylist())
    parts = [schema.frame(table.slice(i, 7)) for i in range(0, 60, 7)]
    np.testing.assert_array_equal(rows.values, whole.values)
    np.testing.assert_array_equal(np.vstack([p.values for p in parts]), whole.values)
    assert rows.texts[0].to_pylist() == whole.texts[0].to_pylist()
    assert np.isnan(schema.rows([{}]).values).all() and schema.rows([{}]).shape[0] == 1
    picked = whole[np.array([3, 1])]
    assert picked.texts[0].to_pylist() == [whole.texts[0][i].as_py() for i in (3, 1)]


def test_groups_times_and_weights():
    table = pa.table({
        "x": [1.0, 2, 4, 3], "who": ["b", "a", "b", "c"], "w": [1, 0, 2, 3],
        "t": [3, 1, 2, 9],
        "day": pd.to_datetime(["2024-01-02", "2024-01-01", "2023-05-05", "2020-01-01"]),
        "day2": ["02.01.2024", "01.01.2024", "31.12.2023", "01.01.2020"],
        "bad": [1.0, None, 2.0, 3.0], "minus": [1, -1, 2, 2], "zero": [0] * 4,
        "y": [0, 1, 0, 1],
    })  # fmt: skip
    schema = infer_schema(table, "y", group="who", time="day", weight="w")
    assert [schema[n].role for n in ("who", "w", "day")] == ["group", "weight", "date"]
    assert schema.groups(table).tolist() == [0, 1, 0, 2]
    assert schema.weights(table).tolist() == [1, 0, 2, 3]
    assert np.diff(schema.times(table))[0] == -86400
    other = infer_schema(table, "y", time="day2")
    assert other.times(table)[1] == schema.times(table)[1]
    assert infer_schema(table, "y", time="t").times(table).tolist() == [3, 1, 2, 9]
    nothing = infer_schema(table, "y")
    assert (
        nothing.groups(table) is nothing.weights(table) is nothing.times(table) is None
    )
    for asked, says in (
        ({"weight": "minus"}, "'minus' has a negative value -1"),
        ({"weight": "bad"}, "'bad' of weights is missing or infinite in 1 row"),
        ({"weight": "zero"}, "'zero' is 0 in every row"),
        ({"weight": "who"}, "'who' should hold numbers, but has 'b'"),
        ({"time": "bad"}, "'bad' of times is missing"),
        ({"group": "bad"}, "'bad' is missing in 1 rows"),
        ({"group": "zero"}, "'zero' has one value"),
        ({"group": "y"}, "'y' is the target"),
        ({"group": "whoo"}, "did you mean 'who'"),
    ):
        with pytest.raises(TableError, match=says):
            infer_schema(table, "y", **asked)


NAMES = st.text(st.characters(codec="utf-8"), max_size=8)
TEXTS = st.lists(NAMES, min_size=2, max_size=4, unique=True).map(tuple)


@st.composite
def schemas(draw):
    names = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    target, names = names[0], names[1:]
    columns = []
    for i, name in enumerate(names):
        role = draw(st.sampled_from(USED if i == 0 else USED + UNUSED))
        levels = draw(TEXTS) if role in ("category", "ordinal") else ()
        period = draw(st.floats(0.5, 1e6)) if role == "angle" else 0.0
        form = "%d/%m/%Y" if role == "date" else draw(st.sampled_from(["", "1,234.5"]))
        form = form if role in ("number", "date") else ""
        columns.append(Column(name, role, draw(NAMES), levels, period, form))
    task = draw(
        st.sampled_from(["classification", "regression", "count", "multilabel"])
    )
    whole = st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=3, unique=True)
    kinds = st.one_of(
        TEXTS, whole.map(tuple), st.just((False, True)), st.just((0.5, 2.0))
    )
    classes = draw(kinds) if task == "classification" else ()
    labels, form = (("p", "q\n"), ";") if task == "multilabel" else ((), "")
    pick = lambda: draw(st.none() | st.sampled_from(names))
    return Schema(
        target, task, draw(NAMES), tuple(columns), classes, labels, pick(), pick(),
        pick(), form,
    )  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(schemas())
def test_schemas_survive_a_file(tmp_path_factory, schema):
    path = tmp_path_factory.getbasetemp() / "s.toml"
    schema.write(path)
    again = Schema.read(path)
    assert again == schema
    assert [type(c) for c in again.classes] == [type(c) for c in schema.classes]


def test_edited_schemas(tmp_path):
    path = tmp_path / "s.toml"
    table = pa.table({
        "a": [1, 2, 1, 3], "turn": [1.0, 300.0, 20.0, 5.0], "b": ["u", "v", "u", "u"],
        "d": ["03/04/2024", "05/06/2024", "01/01/2023", "01/01/2023"],
        "y": list("pqpq"),
    })  # fmt: skip
    infer_schema(table, "y").write(path)
    text = path.read_text()
    edited = text.replace(
        '[columns."a"]\nrole = "number"', '[columns."a"]\nrole = "category"'
    )
    edited = edited.replace('"turn"]\nrole = "number"', '"turn"]\nrole = "angle"')
    edited = edited.replace('["u", "v"]', '["v", "u"]').replace("%m/%d", "%d/%m")
    path.write_text(edited)
    schema = Schema.read(path, table)
    assert schema["a"].levels == ("1", "2", "3") and schema["b"].levels == ("v", "u")
    assert schema["turn"].period == 360
    assert schema.frame(table).values[0, 3] == pd.Timestamp("2024-04-03").timestamp()
    with pytest.raises(TableError, match="column 'a': category needs levels"):
        Schema.read(path)
    for old, new, says in (
        ('"category"', '"categry"', "'a': 'categry' is not a role; did you mean 'cate"),
        ('role = "angle"', "", "column 'turn': a role is missing"),
        ('role = "angle"', 'role = "angle"\nperiod = "x"', "'turn': period must be"),
        (
            'role = "angle"',
            'role = "angle"\nperod = 3',
            "no setting 'perod'; did you mean",
        ),
        ('["v", "u"]', "[1, 2]", "column 'b': levels must be a list"),
        ('"%d/%m/%Y"', '"day"', "column 'd': format 'day' is neither"),
        ('"classification"', '"klass"', "task must be one of"),
        ('["p", "q"]', '["p"]', "two or more classes"),
        ('target = "y"', 'target = "b"', "the target is among the columns"),
        (
            'target = "y"',
            'target = "y"\ngroup = "g"',
            "group column 'g' is not a column",
        ),
        ('target = "y"', "target = y", "not a schema file: .*line"),
        ('target = "y"', 'goal = "y"', "no setting 'goal'"),
    ):
        path.write_text(edited.replace(old, new, 1))
        with pytest.raises(TableError, match=says) as caught:
            Schema.read(path, table)
        assert "\n" not in str(caught.value)
    with pytest.raises(TableError, match="There is no file"):
        Schema.read(tmp_path / "absent.toml")

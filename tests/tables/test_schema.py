"""New rows are read as the schema says."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pansophy.tables import TableError, infer_schema


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


def test_any_table_has_a_schema():
    pd = pytest.importorskip("pandas")
    columns = {"x": [1.0, 2.5, 3.0, 4.0], "y": ["a", "b", "a", "b"]}
    assert infer_schema(columns, "y") == infer_schema(pd.DataFrame(columns), "y")

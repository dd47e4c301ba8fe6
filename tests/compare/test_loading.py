"""Loading: arrays, frames and files become rows; what is left out is counted."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest

from pansophy.compare import TableError, loading
from pansophy.compare.loading import (
    array_columns,
    check_given_schema,
    find_schema,
    is_array,
    is_target_values,
    load_dataset,
    read_or_sample,
    table_and_target,
)
from pansophy.compare.options import Options
from tests.compare.comparisons import rows


def load(table, **options):
    return load_dataset(table, Options.checked(target="y", **options))


def test_rows_and_their_roles():
    table = rows(40)
    found = load(table, group="g")
    assert found.source is table and found.table.num_rows == 40
    assert found.notes == [] and found.sampled == 0
    assert found.schema.classes == ("no", "yes")
    want = (table["y"] == "yes").astype(int)
    np.testing.assert_array_equal(found.data.y, want)
    np.testing.assert_array_equal(found.data.group, table["g"])
    assert found.data.weight is None and found.data.time is None
    assert [c.name for c in found.schema.columns if c.role == "number"] == ["x"]


def test_unknown_targets_and_weights_of_zero_are_left_out():
    table = rows(40)
    table["y"] = table["y"].astype(object)
    table["y"][:3] = None
    table["w"] = np.ones(40)
    table["w"][[0, 5, 6]] = 0.0
    found = load(table, weight="w")
    assert found.table.num_rows == 35
    assert found.notes == [
        "3 rows without a known 'y' left out.",
        "2 rows left out: 'w' is 0.",
    ]
    np.testing.assert_array_equal(found.data.weight, np.ones(35))
    np.testing.assert_array_equal(
        found.table["x"].to_numpy(), np.delete(table["x"], [0, 1, 2, 5, 6])
    )
    with pytest.raises(TableError, match="'y' is empty"):
        load({"x": [1.0, 2.0], "y": pa.nulls(2, pa.string())}, task="classification")


def test_empty_labels_are_no_labels():
    table = {"x": np.arange(8.0), "y": ["a;b", "a", None, "b"] * 2}
    found = load(table, task="multilabel")
    assert found.table.num_rows == 8
    assert found.notes == ["2 rows with an empty 'y': taken as no label."]
    assert found.data.y.shape == (8, 2) and found.data.y[2].sum() == 0


def test_classes_of_one_row():
    table = rows(20)
    table["y"] = table["y"].astype(object)
    table["y"][4] = "perhaps"
    found = load(table)
    assert found.schema.classes == ("no", "yes") and found.table.num_rows == 19
    assert found.notes == ["One row left out: the only one of its class."]
    table["y"][5] = "never"
    (note,) = load(table).notes
    assert note == "2 rows left out: each the only one of its class."
    with pytest.raises(TableError, match=r"'y' has 4 different values in 4 rows, of"):
        load({"x": np.arange(4.0), "y": list("abcd")}, task="classification")
    numbers = {"x": np.arange(5.0), "y": [1, 1, 2, 3, 4]}
    with pytest.raises(TableError, match=r"one value is in .*task='regression'"):
        load(numbers, task="classification")


def test_samples_of_large_tables(tmp_path, monkeypatch):
    table = pa.table(rows(50))
    same, whole = read_or_sample(table, 50, 0)
    assert whole == 0 and same.num_rows == 50
    assert read_or_sample(table, None, 0)[1] == 0
    some, whole = read_or_sample(table, 20, 0)
    assert whole == 50 and some.num_rows == 20
    again, _ = read_or_sample(table, 20, 0)
    assert some.equals(again) and not some.equals(read_or_sample(table, 20, 1)[0])
    path = tmp_path / "rows.csv"
    pyarrow.csv.write_csv(table, path)
    monkeypatch.setattr(loading, "LARGE_FILE", 10)  # rows are counted first

    def refused(source):
        raise AssertionError("the whole file was read")

    monkeypatch.setattr(loading, "read_table", refused)
    part, whole = read_or_sample(path, 20, 0)
    assert whole == 50 and part.num_rows == 20
    monkeypatch.undo()
    found = load(table, max_rows=20)
    assert found.sampled == 50
    assert found.notes[0].startswith(
        "The table has 50 rows; methods are compared on 20"
    )


def test_arrays_and_targets_of_their_length():
    X, y = np.array([[1.0, 2.0], [3.0, 4.0]]), [7, 8]
    table, name = table_and_target(X, y)
    assert name == "target"
    assert table.to_pydict() == {"x0": [1.0, 3.0], "x1": [2.0, 4.0], "target": [7, 8]}
    frame = pd.DataFrame({"a": [1, 2]})
    table, name = table_and_target(frame, pd.Series([0.5, 1.5], name="price"))
    assert name == "price" and table.column_names == ["a", "price"]
    column = np.array([[1], [2]])
    assert table_and_target(frame, column)[0]["target"].to_pylist() == [1, 2]
    records, name = table_and_target([{"a": 1, "y": 2}, {"a": 3, "y": 4}], "y")
    assert name == "y" and records["a"].to_pylist() == [1, 3]
    same, name = table_and_target(frame, "a")
    assert same is frame and name == "a"
    twice, name = table_and_target({"target": [1, 2]}, [3, 4])
    assert name == "target (y)" and twice.column_names == ["target", "target (y)"]


def test_targets_that_do_not_fit():
    X = np.zeros((3, 2))
    with pytest.raises(TableError, match="X has 3 rows, but y has 2"):
        table_and_target(X, [1, 2])
    with pytest.raises(TableError, match=r"one value for each row, got the shape \(3,"):
        table_and_target(X, np.zeros((3, 2)))
    frame = pd.DataFrame({"price": [1, 2]})
    with pytest.raises(TableError, match="'price' is in X and is the target as well"):
        table_and_target(frame, pd.Series([1, 2], name="price"))
    with pytest.raises(TableError, match="different lengths"):
        array_columns([[1, 2], [3]])
    with pytest.raises(TableError, match="rows and columns, got the shape"):
        array_columns(np.zeros((2, 2, 2)))
    assert array_columns(np.arange(3)).column_names == ["x0"]


def test_what_is_an_array():
    assert is_array(np.zeros(3)) and is_array([[1, 2]]) and is_array([np.zeros(2)])
    assert not is_array(np.zeros(2, [("a", float)]))  # has names
    assert not is_array([]) and not is_array([{"a": 1}]) and not is_array("file.csv")


def test_names_and_values_of_targets():
    table = {"a": [1, 2], "b": [3, 4]}
    for name in (None, "a", 3, np.int64(3), ["a", "b"], ["a"], ("a", "b")):
        assert not is_target_values(name, table), name
    for values in (np.array([1, 2]), [1, 2], [0.5, None], ["no", "yes"], ["a", "yes"]):
        assert is_target_values(values, table), values
    assert not is_target_values(["no", "yes"], "file.csv")  # names of its columns
    assert not is_target_values(["no", "yes", "no"], table)  # of another length


def options(**given):
    return Options.checked(**{"target": "y", **given})


def test_a_given_schema_is_not_contradicted():
    table = pa.table(rows(20))
    schema = find_schema(table, options(group="g", ignore=["k"]))
    given = options(schema=schema, group="g", ignore=["k"], task="classification")
    assert check_given_schema(table, given) is schema
    assert find_schema(table, options(schema=schema)) is schema
    for wrong, words in [
        ({"target": "x"}, r"for the target 'y', not 'x'"),
        ({"task": "regression"}, r"'classification' for the task, not 'regression'"),
        ({"group": "k"}, r"says 'g' for the group, not 'k'"),
        ({"weight": "x"}, r"says None for the weight, not 'x'"),
        ({"ignore": ["x"]}, r"says 'number' for the role of 'x', not 'ignore'"),
        ({"roles": {"x": "category"}}, r"'number' for the role of 'x', not 'category'"),
    ]:
        with pytest.raises(TableError, match=words):
            check_given_schema(table, options(schema=schema, **wrong))

"""Fuzzy joins: rows, nulls, names of columns, kinds of tables."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pansophy.tables import TableError, fuzzy_join

LEFT = {"name": ["Jon Smith", "nobody here", "Ana Díaz", None], "age": [31, 5, 52, 8]}
RIGHT = {
    "who": ["ana diaz", "john smith", "x"],
    "age": [1, 2, 3],
    "city": ["L", "Y", ""],
}


def test_inner_and_left():
    inner = fuzzy_join(LEFT, RIGHT, left_on="name", right_on="who").to_pydict()
    assert inner["name"] == ["Jon Smith", "Ana Díaz"]
    assert inner["city"] == ["Y", "L"]
    assert inner["age"] == [31, 52]
    assert inner["age_right"] == [2, 1]
    np.testing.assert_allclose(inner["similarity"], [0.9, 1.0])
    left = fuzzy_join(LEFT, RIGHT, left_on="name", right_on="who", how="left")
    left = left.to_pydict()
    assert left["name"] == LEFT["name"]
    assert left["city"] == ["Y", None, "L", None]
    assert left["similarity"][1] is None


def test_one_to_one_and_options():
    left = {"name": ["anna", "anna"], "similarity": [1, 2]}
    right = {"name": ["anna", "anna b"]}
    both = fuzzy_join(left, right, "name", threshold=0.5)
    assert both["name_right"].to_pylist() == ["anna", "anna"]
    assert both["similarity_"].to_pylist() == [1.0, 1.0]
    single = fuzzy_join(left, right, "name", threshold=0.5, one_to_one=True)
    assert single["name_right"].to_pylist() == ["anna", "anna b"]


def test_kinds_of_tables(tmp_path):
    expected = ["York", "Lima"]
    people = {"name": ["Jon Smith", "Ana Díaz"]}
    cities = {"name": ["ana diaz", "john smith"], "city": ["Lima", "York"]}
    frame = fuzzy_join(pd.DataFrame(people), cities, "name")
    assert isinstance(frame, pd.DataFrame)
    assert frame["city"].tolist() == expected
    frame = fuzzy_join(pl.DataFrame(people), pd.DataFrame(cities), "name")
    assert isinstance(frame, pl.DataFrame)
    assert frame["city"].to_list() == expected
    pd.DataFrame(cities).to_csv(tmp_path / "c.csv", index=False)
    table = fuzzy_join(pa.table(people), tmp_path / "c.csv", "name")
    assert table["city"].to_pylist() == expected
    numbers = fuzzy_join({"id": [1234567]}, {"id": [1234568]}, "id")
    assert numbers.num_rows == 1
    none = fuzzy_join({"name": ["abc"]}, {"name": ["xyz"]}, "name")
    assert none.num_rows == 0
    assert none.column_names == ["name", "name_right", "similarity"]


def test_bad_input():
    with pytest.raises(TableError, match="left table has no column 'x', only name"):
        fuzzy_join(LEFT, RIGHT, left_on="x", right_on="who")
    with pytest.raises(ValueError, match="needs `on`"):
        fuzzy_join(LEFT, RIGHT, left_on="name")
    with pytest.raises(ValueError, match="how must be"):
        fuzzy_join(LEFT, LEFT, "name", how="outer")

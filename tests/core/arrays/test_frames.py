"""Data frames that hold words."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from pansophy.core.arrays.frames import (
    column_as_array,
    column_names,
    column_place,
    column_reader,
    text_column,
)
from pansophy.linear_model import Ridge
from pansophy.tree import DecisionTreeRegressor

FRAME = pd.DataFrame({"age": [1.0, 2.0, 3.0], "city": ["a", "b", "a"]})


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        FRAME.astype({"city": "category"}),
        FRAME.astype({"city": object}),
        pl.from_pandas(FRAME),
    ],
    ids=["text", "category", "object", "polars"],
)
def test_the_column_of_words_is_named(frame):
    assert text_column(frame) == "city"
    with pytest.raises(ValueError, match="column 'city' of X holds text"):
        Ridge().fit(frame, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="categorical_features"):
        DecisionTreeRegressor().fit(frame, [1.0, 2.0, 3.0])


def test_tables_of_numbers_have_none():
    assert text_column(FRAME[["age"]]) is None
    assert text_column(np.ones((2, 2))) is None
    model = DecisionTreeRegressor().fit(FRAME[["age"]], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(FRAME)


TABLES = {
    "array": np.array([[1, 4], [2, 5]]),
    "list": [[1, 4], [2, 5]],
    "dict": {"a": [1, 2], "b": [4, 5]},
    "sparse": scipy.sparse.csr_array([[1, 4], [2, 5]]),
    "pandas": pd.DataFrame({"a": [1, 2], "b": [4, 5]}),
    "arrow": pa.table({"a": [1, 2], "b": [4, 5]}),
}


@pytest.mark.parametrize("kind", TABLES)
def test_columns_of_any_table(kind):
    X = TABLES[kind]
    assert column_as_array(X, 1).tolist() == [4, 5]
    names = column_names(X)
    assert names == (["a", "b"] if kind in ("dict", "pandas", "arrow") else None)
    if names:
        assert column_as_array(X, "b").tolist() == [4, 5]
        assert column_place(X, "a") == 0
    with pytest.raises(ValueError, match="column 'z' is not in the table"):
        column_place(X, "z")


def test_polars_columns():
    X = pl.DataFrame({"a": ["x", None]})
    assert column_as_array(X, "a").tolist() == ["x", None]


def test_a_vector_is_no_table():
    with pytest.raises(ValueError, match="Expected 2D array"):
        column_reader(np.ones(3))

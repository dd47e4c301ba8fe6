"""Few rows are read value by value as many rows are."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.datasets import make_messy
from pansophy.tables import Column, Schema, TableError, infer_schema
from pansophy.tables.schema import read_column

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

"""Rows of a request: read as the schema reads, hints for unknown keys."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pansophy.serve.openapi import example_row
from pansophy.serve.row_reader import RowReader, RowsRejected, value_reader
from pansophy.tables import infer_schema
from tests.serve.people_rows import INPUTS, ROW, TABLE, rows_of

value = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.text(max_size=8),
    st.floats(),
    st.sampled_from(["Bonn", "2024-05-01", "2024-05-01T12:00:00"]),
    st.lists(st.integers(), max_size=1),
)


@given(change=st.dictionaries(st.sampled_from([*INPUTS, "other"]), value))
@settings(max_examples=100, deadline=None)
def test_the_document_and_the_reader_keep_the_same_rules(small, change):
    reader, kind, _ = small
    row = {**ROW, **change}
    try:
        kind.model_validate(row, by_alias=True)
        typed = True
    except ValidationError:
        typed = False
    try:
        reader.read([row])
        read = True
    except RowsRejected as bad:
        dates = {"date" in p.problem for p in bad.problems}
        read = dates == {True} and isinstance(row["day"], str)  # a text, but no date
    assert typed == read


def test_the_reader_reads_what_the_schema_reads(model):
    rows = TABLE.select(INPUTS)
    found = RowReader(model).read(rows_of(rows)).frame()
    whole = model.schema.frame(rows)
    assert np.array_equal(found.values, whole.values, equal_nan=True)
    assert found.texts[0].equals(whole.texts[0])
    assert RowReader(model).read([example_row(model)]).notes == []


def test_few_unknown_keys_get_a_hint_and_long_ones_none(dummy):
    reader = RowReader(dummy)
    with pytest.raises(RowsRejected) as caught:
        reader.read([{**ROW, "agee": 1, "AGE": 1, "x" * 10_000: 1}])
    texts = [p.problem for p in caught.value.problems]
    assert [("did you mean 'age'" in t) for t in texts] == [True, True, False]
    assert max(map(len, texts)) < 200


@pytest.mark.parametrize("roles", [None, {"flag": "number"}])
def test_a_boolean_column_is_read_whatever_the_reason_for_its_role(roles):
    table = {"flag": [True, False] * 4, "y": ["a", "b", "c", "d"] * 2}
    schema = infer_schema(pa.table(table), "y", roles=roles)
    (column,) = schema.columns
    read = value_reader(column)
    assert [read(True), read(False), read(1)] == [1.0, 0.0, 1.0]


def test_a_column_of_numbers_takes_no_booleans():
    table = pa.table({"x": [1, 2, 3], "y": [0.1, 0.2, 0.4]})
    (column,) = infer_schema(table, "y").columns
    with pytest.raises(ValueError, match="a number"):
        value_reader(column)(True)

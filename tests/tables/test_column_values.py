"""Columns as numbers: dates in seconds, what counts as missing, unknown levels."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from pansophy.tables import TableError
from pansophy.tables.column_values import (
    column_as_floats,
    column_as_texts,
    count_not_finite,
    is_date,
    is_numeric_type,
    is_text,
    level_codes,
)


def floats(values, kind=None, **how):
    return column_as_floats(pa.chunked_array([pa.array(values, kind)]), "x", **how)


def test_dates_and_times_are_seconds():
    day = datetime.date(1970, 1, 3)
    np.testing.assert_array_equal(floats([day, None]), [2 * 86400, np.nan])
    assert floats([1500], pa.timestamp("ms"))[0] == 1.5
    assert floats([2_000_000], pa.duration("us"))[0] == 2.0
    assert floats([90], pa.time32("s"))[0] == 90
    np.testing.assert_array_equal(floats([True, None]), [1, np.nan])


def test_infinite_and_huge_numbers_are_missing():
    found = floats([1e149, 1e151, -np.inf, None])
    np.testing.assert_array_equal(np.isnan(found), [False, True, True, True])
    assert np.isnan(floats([None, None], pa.null())).all()
    assert count_not_finite(pa.chunked_array([[1.0, np.inf, None]])) == 2
    assert count_not_finite(pa.chunked_array([["a", None]])) == 1


def test_texts_that_are_numbers_or_a_sentence():
    np.testing.assert_array_equal(floats([" 1.5", "", "-2"]), [1.5, np.nan, -2])
    np.testing.assert_array_equal(floats(["1", "n/a"], missing=("n/a",)), [1, np.nan])
    with pytest.raises(TableError, match="'x' should hold numbers, but has 'one'"):
        floats(["1", "one"])
    with pytest.raises(TableError, match="should hold numbers, but has values of type"):
        floats([[1, 2]])


def test_levels_by_their_text():
    codes = level_codes(pa.chunked_array([[3.0, None, 4.0, 5.5]]), ["3", "5.5"], "x")
    np.testing.assert_array_equal(codes, [0, np.nan, -1, 1])
    texts = column_as_texts(
        pa.chunked_array([pa.array(["a"]).dictionary_encode()]), "x"
    )
    assert texts.to_pylist() == ["a"]
    with pytest.raises(TableError, match="should hold categories"):
        column_as_texts(pa.chunked_array([[{"a": 1}]]), "x")


def test_kinds_of_types():
    assert is_numeric_type(pa.decimal128(5)) and not is_numeric_type(pa.bool_())
    assert is_text(pa.dictionary(pa.int8(), pa.string())) and not is_text(pa.binary())
    assert is_date(pa.date64()) and not is_date(pa.time64("us"))

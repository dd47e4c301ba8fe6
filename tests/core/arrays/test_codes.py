"""Values as codes: all types of columns, missing values, known levels."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.core.arrays.codes import (
    as_column,
    codes_of_levels,
    encode_values,
    is_missing,
    missing_mask,
)
from pansophy.core.arrays.frames import column_reader

COLUMNS = [
    np.array([3, -2, 3, 0]),
    np.array([250, 3, 250], np.uint8),
    np.array([-128, 127, 0], np.int8),
    np.array([10**12, -(10**12), 5]),
    np.array([2**63, 1], np.uint64),
    np.array([0.5, -1.0, 0.5]),
    np.array([4.0, 2.0, 4.0], np.float32),
    np.array([True, False, True]),
    np.array(["b", "a", "b"]),
    np.array(["2020-01-02", "1999-01-01"], "datetime64[D]"),
    np.array(["b", 2, 1.5, "a"], dtype=object),
    np.array([], int),
]


@pytest.mark.parametrize("values", COLUMNS, ids=lambda v: f"{v.dtype}")
def test_levels_of_codes_are_the_values(values):
    codes, levels = encode_values(values)
    assert codes.dtype == np.int64
    assert levels[codes].tolist() == values.tolist()
    assert len(set(levels.tolist())) == len(levels)
    if values.dtype != object:
        assert levels.dtype == values.dtype
        np.testing.assert_array_equal(levels, np.unique(values))


@given(st.lists(st.integers(-9, 9) | st.text(max_size=2) | st.none(), max_size=20))
def test_codes_do_not_depend_on_the_order_of_rows(values):
    codes, levels = encode_values(values)
    back = encode_values(values[::-1])
    assert back.levels.tolist() == levels.tolist()
    assert back.codes.tolist() == codes[::-1].tolist()
    decoded = [None if c < 0 else levels[c] for c in codes]
    assert decoded == values


def test_many_texts_are_coded_alike():
    values = np.array(["é", "b", "a", "b"] * 400)
    codes, levels = encode_values(values)
    np.testing.assert_array_equal(levels, np.unique(values))
    np.testing.assert_array_equal(levels[codes], values)


def test_every_kind_of_missing_value():
    missing = [None, float("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT")]
    assert all(map(is_missing, missing))
    assert not any(map(is_missing, [0, "", False, "nan", np.array([1, 2]), []]))
    assert missing_mask(np.array([*missing, 1], dtype=object)).tolist() == [
        True
    ] * 6 + [False]
    assert missing_mask(np.array([1.0, np.nan])).tolist() == [False, True]
    assert missing_mask(np.array(["NaT", "2020-01-01"], "M8[D]")).tolist() == [
        True,
        False,
    ]
    assert missing_mask(np.array([1, 2])).tolist() == [False, False]
    assert encode_values(np.array([np.nan, 2.0, np.nan])).codes.tolist() == [-1, 0, -1]
    assert encode_values(np.array(["NaT", "2020-01-01"], "M8[D]")).codes.tolist() == [
        -1,
        0,
    ]
    assert encode_values(pd.Series(["x", None])).codes.tolist() == [0, -1]
    assert encode_values([None, None]).levels.tolist() == []


def test_text_beside_other_values_keeps_its_type():
    assert as_column(["a", 1]).tolist() == ["a", 1]
    assert as_column(range(3)).tolist() == [0, 1, 2]
    assert as_column(["a", "b"]).dtype.kind == "U"


def test_known_levels():
    levels = np.array([1, 4, 9])
    assert codes_of_levels([9, 2, 1, 10], levels).tolist() == [2, -1, 0, -1]
    assert codes_of_levels([], levels).tolist() == []
    assert codes_of_levels([1], np.array([])).tolist() == [-1]


def test_what_cannot_be_coded_is_refused():
    with pytest.raises(ValueError, match="one column"):
        encode_values(np.ones((2, 2)))
    with pytest.raises(TypeError, match="got a list"):
        encode_values(np.array([[1], None], dtype=object))


def test_fractions_are_told_apart():
    codes, levels = encode_values(np.array([0.5, 0.25, 0.75, 0.25, 1.5]))
    assert levels.tolist() == [0.25, 0.5, 0.75, 1.5]
    assert codes.tolist() == [1, 0, 2, 0, 3]


def test_numbers_of_several_types_keep_them():
    codes, levels = encode_values(np.array([2.5, 1, None, 10**20], dtype=object))
    assert levels.dtype == object and codes.tolist() == [1, 0, -1, 2]
    assert [type(v) for v in levels] == [int, float, int]
    assert encode_values(np.array(["b", None, "a"], object)).levels.dtype.kind == "U"


def test_dictionaries_of_arrow_keep_their_nulls():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": pa.array(["x", None, "y"]).dictionary_encode()})
    for column in (table["a"], column_reader(table)(0)):
        assert as_column(column).tolist() == ["x", None, "y"]

"""Tables of labels as codes, from every kind of table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pansophy.graphical import VariableSpace, decode_table, encode_table

COLUMNS = {
    "word": ["b", "a", None, "b"],
    "number": [2.0, np.nan, 1.5, 2.0],
    "whole": [7, 3, 3, 5],
    "flag": [True, False, True, True],
}
CODES = [[1, 1, 2, 1], [0, -1, 0, 0], [-1, 0, 0, 1], [1, 1, 1, 1]]
STATES = (("a", "b"), (1.5, 2.0), (3, 5, 7), (False, True))


@pytest.mark.parametrize(
    "kind",
    [
        lambda c: c,
        pd.DataFrame,
        lambda c: pd.DataFrame(c).astype({"word": "category"}),
        lambda c: pl.DataFrame(c, strict=False),
        lambda c: pl.DataFrame(c, strict=False).cast({"word": pl.Categorical}),
        lambda c: pa.table(pd.DataFrame(c)),
        lambda c: np.array(pd.DataFrame(c), dtype=object),
    ],
)
def test_every_kind_of_table_gives_the_same_codes(kind):
    codes, space = encode_table(kind(COLUMNS))
    assert codes.tolist() == CODES
    assert space.states == STATES
    assert codes.dtype == np.int8 and codes.flags.f_contiguous


def test_codes_of_known_states_and_back():
    space = VariableSpace(("a", "b"), (("no", "yes"), (0, 1, 2)))
    codes, same = encode_table({"b": [2, 0], "a": ["yes", None]}, space)
    assert same is space and codes.tolist() == [[1, 2], [-1, 0]]
    assert encode_table({"b": [1]}, space)[0].tolist() == [[-1, 1]]
    back = decode_table(codes, space)
    assert back["a"].tolist() == ["yes", None] and back["b"].tolist() == [2, 0]
    text = VariableSpace(("a",), (("0", "1"),))
    assert encode_table(np.array([[1.0], [0.0]]), text)[0].tolist() == [[1], [0]]


def test_states_beyond_a_byte_and_wide_numbers():
    column = np.arange(300)[::-1] * 10**6
    codes, space = encode_table(column[:, None])
    assert codes.dtype == np.int16 and codes[:, 0].tolist() == list(range(300))[::-1]
    assert space.sizes == (300,)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"a": ["maybe"]}, "no state 'maybe'"),
        ({"c": [1]}, "no column is a variable"),
        (np.zeros((2, 3)), "3 columns for 2 names"),
        (np.zeros(3), "2 dimensions"),
        ({"a": ["no"], "b": [0, 1]}, "has 2 rows, others 1"),
    ],
)
def test_bad_tables_are_told_in_a_sentence(data, words):
    space = VariableSpace(("a", "b"), (("no", "yes"), (0, 1, 2)))
    with pytest.raises(ValueError, match=words):
        encode_table(data, space)

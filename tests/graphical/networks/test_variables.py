"""Variables: codes of known states and back, bad tables in a sentence."""

import numpy as np
import pytest

from pansophy.graphical import VariableSpace, decode_table, encode_table


def test_codes_of_known_states_and_back():
    space = VariableSpace(("a", "b"), (("no", "yes"), (0, 1, 2)))
    codes, same = encode_table({"b": [2, 0], "a": ["yes", None]}, space)
    assert same is space and codes.tolist() == [[1, 2], [-1, 0]]
    assert encode_table({"b": [1]}, space)[0].tolist() == [[-1, 1]]
    back = decode_table(codes, space)
    assert back["a"].tolist() == ["yes", None] and back["b"].tolist() == [2, 0]
    text = VariableSpace(("a",), (("0", "1"),))
    assert encode_table(np.array([[1.0], [0.0]]), text)[0].tolist() == [[1], [0]]


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

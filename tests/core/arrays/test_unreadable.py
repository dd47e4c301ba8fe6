"""What keeps values from being numbers, in words."""

import numpy as np
import pytest

from pansophy.core.arrays.unreadable import (
    array_of_rows,
    is_conversion_error,
    unreadable_error,
    what_is_unreadable,
)


@pytest.mark.parametrize(("values", "words"), [
    ("abc", "it is the text 'abc'"),
    ({"a": 1}, "it is a dict"),
    (3, "it is a int"),
    (np.array("a"), "it is the single value a"),
    ([[1, 2], [3]], "row 1 has 1 entry and row 0 has 2"),
    ([1, [2, 3]], "row 1 has 2 entries and row 0 has none of its own"),
    ([[1, 2], 3], "row 1 has no entries of its own and row 0 has 2"),
    ([[1, "two"]], "row 0 holds the text 'two' in column 1"),
    ([[1, None]], "row 0 holds None in column 1"),
    ([1, object], "entry 1 is a type"),
    ([[1, "2.5"]], None),
    (np.ones(3), None),
    ([], None),
])  # fmt: skip
def test_what_is_unreadable(values, words):
    assert what_is_unreadable(values) == words


def test_the_error_keeps_the_type_of_the_one_it_replaces():
    for kind in (TypeError, ValueError):
        error = unreadable_error("X of Ridge", [[1], ["a"]], kind("could not convert"))
        assert type(error) is kind
        assert str(error).startswith("X of Ridge must hold numbers, but row 1 holds")


def test_numpys_sentence_is_recognised():
    with pytest.raises(ValueError, match="could not convert") as found:
        np.asarray(["a"], dtype=float)
    assert is_conversion_error(found.value)
    assert not is_conversion_error(ValueError("alpha must be positive"))


def test_rows_of_unequal_length_are_named():
    np.testing.assert_array_equal(array_of_rows([[1, 2], [3, 4]]), [[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="y of PCA must hold numbers, but row 2 has 3"):
        array_of_rows([[1], [2], [3, 4, 5]], "y of PCA")

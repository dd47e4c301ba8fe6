"""Tables with categories as numbers and codes."""

import numpy as np
import pandas as pd
import pytest

from pansophy.neural_network import PretrainedTableClassifier
from pansophy.neural_network.table_encoding import check_new_table, check_table

FRAME = pd.DataFrame({"x": [1.0, 2.0, np.nan], "c": ["b", "a", "b"]})


def test_codes_begin_at_one_and_unknown_levels_are_zero():
    model = PretrainedTableClassifier()
    (numbers, codes), y, w = check_table(model, FRAME, [0, 1, 0], None)
    np.testing.assert_array_equal(numbers, [[1.0], [2.0], [np.nan]])
    assert codes.tolist() == [[2], [1], [2]] and y.tolist() == [0, 1, 0] and w is None
    assert model.table_.levels == [3]
    new = pd.DataFrame({"x": [5.0], "c": ["z"]})
    numbers, codes = check_new_table(model, new)
    assert numbers.tolist() == [[5.0]] and codes.tolist() == [[0]]


def test_a_plain_array_has_no_codes():
    model = PretrainedTableClassifier()
    (numbers, codes), _, _ = check_table(model, np.eye(3), [0, 1, 0], None)
    assert numbers.shape == (3, 3) and codes.shape == (3, 0)
    scaled = model.table_._replace(centre=np.ones(3), scale=np.full(3, 2.0))
    np.testing.assert_array_equal(scaled.standardise(np.ones((1, 3))), np.zeros((1, 3)))


def test_infinite_numbers_are_refused():
    bad = FRAME.assign(x=[1.0, np.inf, 2.0])
    with pytest.raises(ValueError, match="contains infinity in column 0"):
        check_table(PretrainedTableClassifier(), bad, [0, 1, 0], None)

"""Targets of diagnostics: classes or numbers, what is known, indicators."""

import numpy as np

from pansophy.diagnose.leakage.target_columns import TargetColumn


def test_known_and_varying_values():
    classes = TargetColumn("y", "class", np.array([0, -1, 1]), ("'a'", "'b'"))
    assert classes.known.tolist() == [True, False, True] and classes.k == 2
    assert classes.varies and not classes.take([0, 1]).varies
    numbers = TargetColumn("y", "number", np.array([1.0, np.nan, 1.0]))
    assert numbers.known.tolist() == [True, False, True] and not numbers.varies


def test_indicators_of_classes_and_of_the_commonest_number():
    classes = TargetColumn("y", "class", np.array([0, -1, 1]), ("'a'", "'b'"))
    found = {word: mask.tolist() for word, mask in classes.indicators()}
    assert found == {"'a'": [True, False, False], "'b'": [False, False, True]}
    numbers = TargetColumn("y", "number", np.array([0.0] * 5 + [1.5, 2.5]))
    ((word, mask),) = numbers.indicators()
    assert word == "0" and mask.sum() == 5
    assert not list(TargetColumn("y", "number", np.arange(9.0)).indicators())


def test_two_classes_are_one_number():
    two = TargetColumn("y", "class", np.array([0, 1, 1]), ("'no'", "'yes'"))
    ((word, y),) = two.numbers(slice(None))
    assert word == "'yes'" and y.tolist() == [0, 1, 1]
    assert two.describe(word) == "the share of 'yes' in 'y'"
    three = TargetColumn("y", "class", np.array([0, 1, 2]), ("a", "b", "c"))
    assert [w for w, _ in three.numbers([0, 2])] == ["a", "b", "c"]
    ((word, y),) = TargetColumn("y", "number", np.array([1.0, 2.0])).numbers([1])
    assert (
        word is None and y.tolist() == [2] and two.describe(None).startswith("the mean")
    )

"""Rules of saved state: each says what it means; what is a binary tree."""

import numpy as np
import pytest

from pansophy import persist
from pansophy.persist import PersistError, classes, saved_state
from pansophy.persist.saved_state import (
    Each,
    FloatArray,
    IntArray,
    Offsets,
    Part,
    Row,
    Whole,
    are_binary_trees,
)


def test_rules_read_as_they_say(tmp_path, monkeypatch):
    monkeypatch.setattr(classes, "_registered", {})
    classes.name_of.cache_clear()

    @persist.register
    @saved_state.saved_state(
        order=IntArray("rows", low=0, below="rows"),
        X=FloatArray("rows", "d_", finite=True),
        d_=Whole(low=1, high=9),
        start=Offsets("parts", "rows"),
        pairs=Each(Row(Whole(), FloatArray(None)), "parts"),
        inner=Part(type(None), optional=True),
        check=lambda held: held.order[0] == 0,
    )
    class Held:
        pass

    good = {
        "order": np.arange(3),
        "X": np.zeros((3, 2)),
        "d_": 2,
        "start": np.array([0, 2, 3]),
        "pairs": [(1, np.zeros(1)), (2, np.zeros(4))],
        "inner": None,
    }
    wrong = {
        "order": [np.arange(4), np.array([0, 1, 3]), np.zeros(3), [0, 1, 2], None],
        "X": [np.zeros((3, 3)), np.zeros((2, 2)), np.full((3, 2), np.nan), np.zeros(6)],
        "d_": [0, 3, 10, 2.0, True, None],
        "start": [np.array(v) for v in ([0, 3], [1, 2, 3], [0, 3, 3], [0, 2, 4])],
        "pairs": [[], [(1, np.zeros(1))], [(1,), (2,)], ((-1, np.zeros(1)),) * 2, 7],
        "inner": [3],
    }  # fmt: skip

    def trip(values):
        held = Held()
        vars(held).update(values)
        persist.save(held, tmp_path / "h")
        return persist.load(tmp_path / "h")

    try:
        assert trip(good).d_ == 2
        for name, values in wrong.items():
            for value in values:
                with pytest.raises(PersistError, match=" of Held must "):
                    trip({**good, name: value})
        with pytest.raises(PersistError, match="contradicts itself"):
            trip({**good, "order": np.array([1, 0, 2])})
    finally:
        classes.name_of.cache_clear()


def test_binary_trees():
    left, right = np.array([1, 2, -1, -1, -1]), np.array([4, 3, -1, -1, -1])
    assert are_binary_trees(left, right)
    assert are_binary_trees(np.array([-1]), np.array([-1]))
    both = np.concatenate([left, left]), np.concatenate([right, right])
    assert are_binary_trees(*both, np.array([0, 5, 10]))
    assert not are_binary_trees(*both)
    assert not are_binary_trees(left[:0], right[:0])
    for place in range(5):
        for value in (-1, 0, 1, 2, 3, 4, 5, 10**6):
            other = left.copy()
            other[place] = value
            assert are_binary_trees(other, right) == (value == left[place])
            other = right.copy()
            other[place] = value
            assert are_binary_trees(left, other) == (value == right[place])

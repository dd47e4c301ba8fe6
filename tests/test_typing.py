"""Rules of parameters that several packages share."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from pansophy.typing import _are_numbers, _is_splits


@pytest.mark.parametrize("good", [None, 2, np.int64(5), KFold(3), [([0], [1])]])
def test_what_splits_can_be(good):
    assert _is_splits(good)


def test_splits_made_one_after_the_other():
    assert _is_splits(pair for pair in [([0], [1])])


@pytest.mark.parametrize("bad", [1, 0, -3, np.int64(1), True, 2.0, "3", b"3"])
def test_what_splits_cannot_be(bad):
    assert not _is_splits(bad)


def test_lists_of_numbers():
    for good in ([1], (0.5, 2), np.arange(3)):
        assert _are_numbers(good)
    for bad in ([], 3, "12", [1.0, np.nan]):
        assert not _are_numbers(bad)

"""Splits as they are described say which rows of the tree go left."""

import numpy as np
import pytest

from pansophy.tree import DecisionTreeClassifier, DirectionalSplit
from pansophy.tree.explanation.splits import (
    LevelSplit,
    ThresholdSplit,
    describe_split,
    describe_splits,
    unpack_code_set,
)
from pansophy.tree.growing.input_encoding import InputEncoder
from tests.tree.small_trees import code_set, small_tree

NAN = np.nan


def test_thresholds():
    split = ThresholdSplit(2, 1.5, missing_left=True)
    assert split.test([1.5, 1.6, NAN, -np.inf]).tolist() == [True, False, True, True]
    assert not ThresholdSplit(2, 1.5, missing_left=False).test(NAN)
    assert str(split) == "column 2 <= 1.5"


def test_levels():
    split = LevelSplit(0, ("a", "b"), ("c",), missing_left=False)
    assert split.test(["a", "c", "new", None]).tolist() == [True, False, False, False]
    other = split._replace(missing_left=True)
    assert other.test([["a", "c"], ["new", "b"]]).tolist() == [
        [True, False], [True, True],
    ]  # fmt: skip
    assert str(split) == "column 0 in {a, b}"


@pytest.mark.parametrize("period", [360.0, 2 * np.pi, 24.0])
def test_half_circles(period, rng):
    split = DirectionalSplit(1, 0.3 * period, period)
    x = rng.uniform(-period, 2 * period, 200)
    t = 2 * np.pi * x / period
    want = np.cos(t) * split.u[0] + np.sin(t) * split.u[1] >= 0
    np.testing.assert_array_equal(split.test(x), want)
    assert np.hypot(*split.u) == pytest.approx(1.0)
    assert not split.test(NAN) and split._replace(missing_left=True).test(NAN)
    # the half circle is closed on one side: its start is in, its end is out
    exact = DirectionalSplit(0, 0.0, 8.0)
    assert exact.test([-2.0, 2.0, 6.0, 10.0]).tolist() == [True, False, True, False]


def test_sets_of_codes():
    mask = unpack_code_set(code_set(0, 5, 63, 64, 255))
    assert mask.shape == (256,)
    assert np.flatnonzero(mask).tolist() == [0, 5, 63, 64, 255]


def test_splits_of_a_small_tree():
    plain = InputEncoder(np.zeros(2, np.int8))
    got = describe_splits(small_tree(), plain)
    assert got == [
        ThresholdSplit(1, 0.5, False), None, ThresholdSplit(0, -1.0, True), None, None,
    ]  # fmt: skip
    assert describe_split(small_tree(), plain, 1) is None


def tables(rng, n=120):
    """A column of levels, one of angles and one of numbers, some of them missing."""
    X = np.empty((n, 3), object)
    X[:, 0] = rng.choice(["red", "green", "blue", "black", "white"], n)
    X[:, 1] = rng.uniform(0, 360, n).round(1)
    X[:, 2] = rng.normal(size=n)
    y = np.isin(X[:, 0], ["red", "blue"]) ^ (np.abs(X[:, 1].astype(float) - 100) < 70)
    X[rng.random(n) < 0.1, 1] = NAN
    return X, (y ^ (X[:, 2].astype(float) > 0.5)).astype(int)


def test_described_splits_send_rows_where_the_tree_does(rng):
    X, y = tables(rng)
    model = DecisionTreeClassifier(
        categorical_features=[0], directional_features={1: 360.0}, random_state=0
    ).fit(X, y)
    grown = model.tree_
    splits = describe_splits(grown, model.inputs_)
    kinds = {type(s) for s in splits if s is not None}
    assert kinds == {ThresholdSplit, LevelSplit, DirectionalSplit}
    path = grown.decision_path(model.inputs_.encode(X)).toarray().astype(bool)
    for node, split in enumerate(splits):
        if split is None:
            assert grown.children_left[node] == -1
            continue
        here = path[:, node]
        column = X[here, split.feature]
        column = column if split.feature == 0 else column.astype(float)
        goes_left = path[here, grown.children_left[node]]
        np.testing.assert_array_equal(split.test(column), goes_left)
        if isinstance(split, LevelSplit):
            assert not set(split.left) & set(split.right)

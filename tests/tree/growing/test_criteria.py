"""Worked numbers of impurities and gains."""

import numpy as np
import pytest

from pansophy.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    entropy,
    gini,
    information_gain,
    split_impurity,
)
from pansophy.tree.growing.criteria import KINDS, Criterion


def test_gini_numbers():
    assert gini([4, 4]) == pytest.approx(0.5)
    assert gini([5, 3]) == pytest.approx(0.46875)
    assert gini([7, 0, 0]) == 0.0
    assert gini([2, 2, 2, 2]) == pytest.approx(1 - 1 / 4)
    assert split_impurity([4, 1], [1, 4]) == pytest.approx(0.32)
    assert split_impurity([5, 1], [1, 3]) == pytest.approx(0.316667, abs=1e-6)


def test_entropy_numbers():
    assert entropy([9, 5]) == pytest.approx(0.9402859587)
    assert entropy([5, 3]) == pytest.approx(0.954434, abs=1e-6)
    for p, bits in ((0.1, 0.468996), (0.25, 0.811278), (0.5, 1.0), (0.0, 0.0)):
        assert entropy([p, 1 - p]) == pytest.approx(bits, abs=1e-6)
    assert entropy([1, 1, 1]) == pytest.approx(np.log2(3))
    assert entropy([5, 3], np.e) == pytest.approx(entropy([5, 3]) * np.log(2))


def test_information_gain_numbers():
    assert information_gain([4, 1], [1, 4]) == pytest.approx(0.278072, abs=1e-6)
    nats = information_gain([4, 1], [1, 4], base=np.e)
    assert nats == pytest.approx(0.192745, abs=1e-6)
    assert information_gain([5, 1], [1, 3]) == pytest.approx(0.256426, abs=1e-6)
    assert information_gain([3, 3], [1, 1]) == pytest.approx(0.0)
    assert information_gain([4, 0], [0, 4]) == pytest.approx(1.0)


def test_gini_sees_what_error_count_does_not():
    # majority errors are 20 before and after, Gini falls
    assert gini([80, 20]) == pytest.approx(0.32)
    assert split_impurity([40, 0], [40, 20]) == pytest.approx(0.266667, abs=1e-6)


OUTLOOK = [[2, 3], [4, 0], [3, 2]]  # yes, no when sunny, overcast, rainy
HUMIDITY = [[3, 4], [6, 1]]
WIND = [[6, 2], [3, 3]]
WARMTH = [[2, 2], [4, 2], [3, 1]]


def test_weather_gains():
    gains = [information_gain(*g) for g in (OUTLOOK, HUMIDITY, WIND, WARMTH)]
    np.testing.assert_allclose(
        gains, [0.24675, 0.151836, 0.048127, 0.029223], atol=1e-6
    )


# the 14 days: outlook 0 sunny, 1 overcast, 2 rainy; warmth 0 cool to 2 hot; humidity
# 0 normal, 1 high; wind 0 weak, 1 strong; whether tennis was played
DAYS = np.array(
    [
        [0, 2, 1, 0, 0], [0, 2, 1, 1, 0], [1, 2, 1, 0, 1], [2, 1, 1, 0, 1],
        [2, 0, 0, 0, 1], [2, 0, 0, 1, 0], [1, 0, 0, 1, 1], [0, 1, 1, 0, 0],
        [0, 0, 0, 0, 1], [2, 1, 0, 0, 1], [0, 1, 0, 1, 1], [1, 1, 1, 1, 1],
        [1, 2, 0, 0, 1], [2, 1, 1, 1, 0],
    ]
)  # fmt: skip


def test_tennis_tree():
    X, y = DAYS[:, :4], DAYS[:, 4]
    onehot = np.c_[X[:, [0]] == [0, 1, 2], X[:, 1:]]
    root = DecisionTreeClassifier("entropy", max_depth=1).fit(onehot, y).tree_
    assert root.impurity[0] == pytest.approx(0.940286, abs=1e-6)
    # of all two-way questions "overcast?" gains most, and its days are all played
    assert root.feature[0] == 1
    yes = root.children_right[0]
    assert root.impurity[yes] == 0.0
    assert root.n_node_samples[yes] == 4
    gain = root.compute_feature_importances(normalize=False)[1]
    assert gain == pytest.approx(information_gain([5, 5], [4, 0]))
    full = DecisionTreeClassifier("entropy").fit(onehot, y)
    np.testing.assert_array_equal(full.predict(onehot), y)


def test_variance_numbers():
    X, y = np.arange(6)[:, None], np.array([1.0, 2, 3, 10, 11, 12])
    tree = DecisionTreeRegressor(max_depth=1).fit(X, y).tree_
    assert tree.threshold[0] == 2.5
    np.testing.assert_allclose(
        tree.impurity, [20.916667, 0.666667, 0.666667], atol=1e-6
    )
    np.testing.assert_allclose(tree.value[:, 0, 0], [6.5, 2, 11])


def test_absolute_error_predicts_medians():
    X, y = np.arange(6)[:, None], np.array([1.0, 2, 9, 10, 11, 40])
    tree = DecisionTreeRegressor("absolute_error", max_depth=1).fit(X, y).tree_
    assert tree.value[0, 0, 0] == 9.5
    assert tree.impurity[0] == pytest.approx(np.mean(abs(y - 9.5)))


def test_children_may_be_one_table():
    """A table has a row for each child, as it comes out of a cross table."""
    table = [[4, 1], [1, 4]]
    assert information_gain(table) == pytest.approx(0.278072, abs=1e-6)
    assert information_gain(np.array(table)) == information_gain(*table)
    assert split_impurity(table) == pytest.approx(0.32)
    assert split_impurity(np.array(table), impurity=entropy) == pytest.approx(0.721928)
    assert information_gain([3, 2]) == 0.0  # one child is no split
    np.testing.assert_allclose(gini(table), [0.32, 0.32])
    np.testing.assert_allclose(entropy(table), [0.721928] * 2, atol=1e-6)


def test_counts_that_are_none_are_refused():
    for function in (information_gain, split_impurity):
        for children in ((4, 1), ([4, 1], [1]), ([[[4, 1]], [[1, 4]]],), ("ab",)):
            with pytest.raises(ValueError, match="lists of class counts"):
                function(*children)
        with pytest.raises(ValueError, match="no rows"):
            function([0, 0], [0, 0])
        with pytest.raises(ValueError, match="at least 0"):
            function([4, -1], [1, 4])
    for function in (gini, entropy):
        for counts in (4, [4, -1], [4, np.nan]):
            with pytest.raises(ValueError, match="class counts"):
                function(counts)


def test_nothing_and_one_class_are_pure():
    assert entropy([0, 0]) == 0.0
    np.testing.assert_array_equal(entropy([[0, 0], [1, 1]]), [0.0, 1.0])
    assert split_impurity([[5]]) == 0.0


@pytest.mark.parametrize(
    ("kind", "m", "classes", "sums", "scale"),
    [
        ("gini", 1, (2,), 1, 2.0),
        ("gini", 1, (3,), 3, 1.0),
        ("gini", 2, (2, 3), 5, 0.5),
        ("entropy", 1, (2,), 2, 1 / np.log(2)),
        ("gain_ratio", 2, (2, 2), 4, 0.5 / np.log(2)),
        ("squared_error", 3, (), 3, 1 / 3),
        ("gaussian", 2, (), 4, 1.0),
        ("gaussian_joint", 3, (), 9, 1.0),
        ("direction", 2, (), 4, 0.5),
    ],
)
def test_sums_of_a_node_and_their_scale(kind, m, classes, sums, scale):
    criterion = Criterion(KINDS[kind], m, classes)
    assert criterion.n_sums == sums
    assert criterion.scale == pytest.approx(scale)


def test_columns_that_are_summed():
    y = np.array([[2.0, 3.0], [5.0, 7.0]])
    columns = lambda kind: Criterion(KINDS[kind], 2).columns(y)
    np.testing.assert_array_equal(columns("squared_error"), y)
    np.testing.assert_array_equal(columns("gaussian"), [[2, 3, 4, 9], [5, 7, 25, 49]])
    np.testing.assert_array_equal(
        columns("gaussian_joint"), [[2, 3, 4, 6, 9], [5, 7, 25, 35, 49]]
    )
    expected = np.stack([np.cos(y), np.sin(y)], axis=2).reshape(2, 4)
    np.testing.assert_array_equal(columns("direction"), expected)


def test_values_of_nodes():
    weight = np.array([4.0, 2.0])
    binary = Criterion(KINDS["gini"], 1, (2,))
    np.testing.assert_array_equal(
        binary.values(np.array([[1.0], [2.0]]), weight), [[[0.75, 0.25]], [[0.0, 1.0]]]
    )
    mixed = Criterion(KINDS["gini"], 2, (2, 3))
    np.testing.assert_array_equal(
        mixed.values(np.array([[3.0, 1, 2, 2, 0], [2, 0, 0, 1, 1]]), weight),
        [[[0.75, 0.25, 0], [0.5, 0.5, 0]], [[1, 0, 0], [0, 0.5, 0.5]]],
    )
    mean = Criterion(KINDS["gaussian"], 1).values(np.array([[8.0, 9], [2, 9]]), weight)
    np.testing.assert_array_equal(mean, [[[2.0]], [[1.0]]])
    angles = Criterion(KINDS["direction"], 2).values(
        np.array([[1.0, 1.0, 0.0, -2.0]]), weight[:1]
    )
    np.testing.assert_allclose(angles, [[[np.pi / 4], [-np.pi / 2]]])


def test_values_within_bounds():
    low = np.array([0.2, 0.6])
    high = np.array([0.5, 0.9])
    classes = Criterion(KINDS["gini"], 1, (2,))
    shares = np.array([[[0.9, 0.1]], [[0.3, 0.7]]])
    np.testing.assert_allclose(
        classes.clip(shares, low, high), [[[0.8, 0.2]], [[0.3, 0.7]]]
    )
    one = Criterion(KINDS["gini"], 1, (1,))
    np.testing.assert_array_equal(one.clip(np.ones((2, 1, 1)), low, high)[:, 0, 0], 1)
    numbers = Criterion(KINDS["squared_error"], 1)
    np.testing.assert_array_equal(
        numbers.clip(np.array([[[0.0]], [[0.7]]]), low, high)[:, 0, 0], [0.2, 0.7]
    )

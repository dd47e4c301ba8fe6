"""Class weights: by weight, as scikit-learn where that counts rows."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

from pansophy.core.arrays.class_weight import apply_class_weight, compute_class_weight

y = np.array(["b", "a", "b", "b", "c"])


@pytest.mark.parametrize("rule", ["balanced", {"a": 2}, {"a": 2, "b": 3, "c": 0}, {}])
def test_without_weights_as_scikit_learn(rule):
    np.testing.assert_allclose(
        apply_class_weight(rule, y), compute_sample_weight(rule, y)
    )


def test_several_outputs_as_scikit_learn():
    Y = np.array([[0, 1], [1, 1], [0, 2], [0, 1]])
    for rule in ("balanced", [{0: 2, 1: 3}, {1: 5}]):
        np.testing.assert_allclose(
            apply_class_weight(rule, Y), compute_sample_weight(rule, Y)
        )


def test_balanced_counts_by_weight():
    w = np.array([2, 1, 0, 3, 2])
    once = apply_class_weight("balanced", y, w)
    rows = np.repeat(np.arange(5), w)
    again = apply_class_weight("balanced", y[rows])
    np.testing.assert_allclose(once, np.bincount(rows, again, 5))
    totals = [once[y == c].sum() for c in "abc"]
    np.testing.assert_allclose(totals, np.full(3, w.sum() / 3))


def test_a_class_of_weight_0_is_no_class():
    w = np.array([1, 0, 1, 1, 1])
    kept = w > 0
    np.testing.assert_allclose(
        apply_class_weight("balanced", y, w)[kept],
        apply_class_weight("balanced", y[kept]),
    )


def test_a_bootstrap_sample_as_scikit_learn():
    drawn = np.array([0, 0, 2, 4, 4])
    counts = np.bincount(drawn, minlength=5)
    np.testing.assert_allclose(
        apply_class_weight("balanced", y, counts),
        counts * compute_sample_weight("balanced", y, indices=drawn),
    )


def test_none_leaves_weights_alone():
    w = np.ones(5)
    assert apply_class_weight(None, y, w) is w
    assert apply_class_weight(None, y) is None
    factors = compute_class_weight(None, classes=np.array(["a"]), codes=[0])
    assert factors.tolist() == [1]


@pytest.mark.parametrize(
    ("rule", "target", "message"),
    [
        ({"z": 2}, y, r"The classes, \['a', 'b', 'c'\], are not in class_weight"),
        ({"a": 2}, np.ones((2, 2)), "should be a list of dicts"),
        ([{}, {}], y, "number of elements in class_weight"),
        ("fair", y, "must be a dict, 'balanced' or None, got 'fair'"),
    ],
)
def test_bad_rules_are_refused(rule, target, message):
    with pytest.raises(ValueError, match=message):
        apply_class_weight(rule, target)


def test_a_dict_may_list_more_classes_than_there_are():
    assert apply_class_weight({"a": 1, "b": 2, "c": 3, "z": 9}, y).max() == 3

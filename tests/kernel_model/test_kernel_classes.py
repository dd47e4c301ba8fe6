"""Classes of kernel models: signs against the rest, weights of classes, labels."""

from types import SimpleNamespace

import numpy as np
import pytest

from pansophy.kernel_model.kernel_classes import (
    encode_classes,
    labels_from_scores,
    signs_against_rest,
)


def test_signs_of_two_and_of_three_classes():
    codes = np.array([0, 1, 1])
    np.testing.assert_array_equal(signs_against_rest(codes, 2), [[-1], [1], [1]])
    np.testing.assert_array_equal(
        signs_against_rest(np.array([0, 2]), 3), [[1, -1, -1], [-1, -1, 1]]
    )


def test_weights_of_classes_multiply_those_of_rows():
    model = SimpleNamespace(class_weight={"a": 2.0, "b": 1.0})
    codes, w = encode_classes(model, np.array(["b", "a", "b"]), np.array([1.0, 3, 5]))
    assert codes.tolist() == [1, 0, 1] and w.tolist() == [1, 6, 5]
    assert encode_classes(SimpleNamespace(), np.array([1, 2]), None)[1] is None
    with pytest.raises(ValueError, match="SimpleNamespace needs at least 2 classes"):
        encode_classes(model, np.array([1, 1]), None)


def test_labels_by_sign_or_by_the_largest_score():
    model = SimpleNamespace(classes_=np.array(["a", "b", "c"]))
    assert labels_from_scores(model, np.array([[0, 2, 1], [3, 2, 1]])).tolist() == [
        "b",
        "a",
    ]
    assert labels_from_scores(model, np.array([-1.0, 0.5])).tolist() == ["a", "b"]

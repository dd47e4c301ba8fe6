"""Single units: thresholds, biases, signs and sigmoids."""

from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import teaching  # noqa: E402


def test_a_logistic_unit_cut_at_a_half_is_the_sign_unit(rng):
    X = np.vstack([rng.normal(size=(200, 3)), np.zeros((1, 3))])
    w, b = rng.normal(size=3), 0.3
    for bias in (b, 0.0):  # the last row has z = 0
        soft = teaching.Neuron(w, bias, "logistic")(X)
        hard = teaching.Neuron(w, bias, "sign")(X)
        assert np.array_equal(np.where(soft >= 0.5, 1.0, -1.0), hard)


def test_bias_form_is_threshold_form(rng):
    X = rng.normal(size=(100, 3))
    w = np.array([0.2, 0.5, 0.3])
    by_threshold = teaching.Neuron(w, threshold=0.4, activation="step")
    by_bias = teaching.Neuron(w, -0.4, "step")
    wide = teaching.Neuron(by_bias.with_constant_input(), activation="step")
    assert np.array_equal(by_threshold(X), by_bias(X))
    assert np.array_equal(by_threshold(X), (X @ w > 0.4).astype(float))
    ones = np.column_stack([np.ones(100), X])
    assert np.array_equal(wide(ones), by_bias(X))


def test_a_lower_threshold_never_turns_a_one_into_a_zero(rng):
    X = rng.normal(size=(200, 2))
    answers = [
        teaching.Neuron([0.6, 0.4], threshold=t, activation="step")(X)
        for t in np.linspace(1, -1, 9)
    ]
    for higher, lower in pairwise(answers):
        assert np.all(lower >= higher)


def test_a_linear_unit_and_bad_arguments(rng):
    X = rng.normal(size=(5, 2))
    assert teaching.Neuron([2.0, 1.0], 3.0, "identity")(X) == pytest.approx(
        X @ [2, 1] + 3
    )
    assert teaching.Neuron([0.0], activation="sign")([[1.0]]) == [1.0]  # sign(0) = +1
    with pytest.raises(ValueError, match="activation of Neuron"):
        teaching.Neuron([1.0], activation="sgn")
    with pytest.raises(ValueError, match="not both"):
        teaching.Neuron([1.0], 1.0, threshold=1.0)
    with pytest.raises(ValueError, match="row of numbers"):
        teaching.Neuron(1.0)

"""Cutset conditioning on a ring, also where some states are impossible."""

import math

import numpy as np
import pytest

from pansophy.graphical import MarkovRandomField, cutset_conditioning
from pansophy.graphical.networks.variables import ZeroProbabilityError

T = np.array([[2.0, 1.0], [1.0, 2.0]])
LOOP = {("a", "b"): T, ("b", "c"): T, ("c", "d"): T, ("d", "a"): T}


def test_weights_of_the_cutset_and_marginals():
    field = MarkovRandomField(LOOP, {"a": [3, 1]})
    exact = cutset_conditioning(field, cutset=["a"])
    np.testing.assert_allclose(exact.weights, [123, 41])
    assert [round(float(exact[v][0]), 6) for v in "abc"] == [0.75, 0.591463, 0.554878]
    assert math.exp(exact.log_z) == pytest.approx(164)
    assert len(cutset_conditioning(field).cutset) == 1


def test_an_impossible_state_of_the_cutset_has_no_weight():
    exact = cutset_conditioning(MarkovRandomField(LOOP, {"a": [3, 0]}), cutset=["a"])
    np.testing.assert_allclose(exact.weights, [123, 0])
    np.testing.assert_allclose(exact["a"], [1, 0])


def test_impossible_evidence_is_named():
    field = MarkovRandomField(LOOP, {"a": [3, 0]})
    with pytest.raises(ZeroProbabilityError, match="a=1 has probability 0"):
        cutset_conditioning(field, {"a": 1}, cutset=["b"])

"""Separable penalties: limits of their parameters, and points partly outside."""

import math

import numpy as np
import pytest

from pansophy.penalties import box, elastic_net, nonnegative


def test_ends_of_the_mix_are_allowed():
    w = np.array([3.0, -4.0])
    assert elastic_net(2.0, l1_ratio=0).value(w) == 25.0
    assert elastic_net(2.0, l1_ratio=1).value(w) == 14.0
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="from 0 to 1"):
            elastic_net(1.0, l1_ratio=wrong)


def test_one_coordinate_outside_is_outside():
    positive = elastic_net(1.0, l1_ratio=1, positive=True)
    assert positive.value(np.array([1.0, -1.0])) == math.inf
    assert positive.value(np.array([1.0, 0.0])) == 1.0
    for penalty in (box(-1.0, 1.0), nonnegative()):
        assert penalty.value(np.array([0.5, -2.0])) == math.inf
        assert penalty.value(np.array([0.5, 0.0])) == 0.0
    assert box(-1.0, 1.0).value(np.array([0.5, 2.0])) == math.inf

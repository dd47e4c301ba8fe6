"""Compiled functions of one number against SciPy."""

import numpy as np
import pytest
from scipy.special import expit

from pansophy.core import _scalar

NUMBERS = [-800.0, -30.0, -1.5, -0.0, 0.0, 1e-9, 2.0, 40.0, 800.0]


@pytest.mark.parametrize("x", NUMBERS)
def test_sigmoid_and_softplus(x):
    assert _scalar.sigmoid(x) == pytest.approx(expit(x), rel=1e-14)
    assert _scalar.log1pexp(x) == pytest.approx(np.logaddexp(0, x), rel=1e-14)


def test_series_of_exp_is_exact_to_rounding():
    r = np.linspace(-np.log(2) / 2, np.log(2) / 2, 101)
    found = [_scalar.exp_series(float(v)) for v in r]
    np.testing.assert_allclose(found, np.exp(r), rtol=4e-16)

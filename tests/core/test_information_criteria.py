"""AIC and BIC by their definitions."""

import numpy as np

from pansophy.core.information_criteria import aic, bic


def test_values_and_arrays():
    assert aic(-7.0, 2) == 18.0
    assert bic(-7.0, 2, np.e) == 16.0
    assert np.isclose(bic(-7.0, 2, np.e**3), 20.0)
    np.testing.assert_allclose(aic(np.array([-7.0, -6.0]), np.array([2, 3])), [18, 18])

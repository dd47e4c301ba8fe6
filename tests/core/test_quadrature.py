"""Gauss-Legendre panels: exact for polynomials, and on panels of unequal width."""

import numpy as np
import pytest

from pansophy.core.quadrature import gauss_legendre, panel_quadrature


def test_polynomials_are_integrated_exactly():
    x, w = panel_quadrature([-1.0, 0.5, 4.0], 3)
    assert len(x) == len(w) == 6
    for degree in range(6):
        truth = (4.0 ** (degree + 1) - (-1.0) ** (degree + 1)) / (degree + 1)
        assert w @ x**degree == pytest.approx(truth, rel=1e-13)


def test_weights_are_the_widths_of_the_panels():
    _, w = panel_quadrature([0.0, 1.0, 10.0], 4)
    np.testing.assert_allclose(w.reshape(2, 4).sum(axis=1), [1.0, 9.0])
    assert gauss_legendre(4) is gauss_legendre(4)

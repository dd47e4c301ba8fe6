"""The quadratic map against the polynomial kernel of degree 2."""

import numpy as np
import pytest

from pansophy.feature_extraction import QuadraticMap
from pansophy.kernels import Polynomial
from pansophy.linear_model import LogisticRegression


def test_quadratic_map_is_its_kernel(rng):
    x = np.array([[1.0, 2.0], [3.0, -1.0]])
    phi = QuadraticMap().fit_transform(x)
    np.testing.assert_allclose(
        phi[0], [1, 1.414214, 2.828427, 2.828427, 1, 4], atol=1e-6
    )
    assert phi[0] @ phi[1] == pytest.approx(4)
    y = np.array([[1.0, 2.0], [3.0, 4.0]])
    same = QuadraticMap(homogeneous=True).fit_transform(y)
    assert same[0] @ same[1] == pytest.approx(121)
    X = rng.standard_normal((10, 5))
    for homogeneous, c in ((True, 0.0), (False, 1.0)):
        model = QuadraticMap(homogeneous=homogeneous).fit(X)
        phi = model.transform(X)
        np.testing.assert_allclose(phi @ phi.T, Polynomial(2, 1.0, c)(X))
        assert len(model.get_feature_names_out()) == phi.shape[1]


def test_xor_becomes_separable():
    X = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])
    y = [0, 1, 1, 0]
    phi = QuadraticMap().fit_transform(X)
    assert LogisticRegression(C=100.0).fit(phi, y).score(phi, y) == 1

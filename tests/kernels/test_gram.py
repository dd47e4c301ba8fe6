"""Gram matrices: centring, and verdicts with a witness."""

import numpy as np
import pytest

from pansophy import kernels as K
from pansophy.kernels import check_psd


def test_centring(rng):
    X, Z = rng.standard_normal((9, 3)), rng.standard_normal((4, 3))
    gram = K.gram("linear", X)
    centred = K.center(gram)
    assert np.abs(centred.sum(axis=0)).max() < 1e-12
    np.testing.assert_allclose(K.center(centred), centred, atol=1e-12)
    mean = X.mean(axis=0)
    np.testing.assert_allclose(centred, (X - mean) @ (X - mean).T, atol=1e-12)
    np.testing.assert_allclose(
        K.center(Z @ X.T, gram), (Z - mean) @ (X - mean).T, atol=1e-12
    )
    with pytest.raises(ValueError, match="square training matrix"):
        K.center(gram[:3])


def test_psd_verdicts_have_a_witness(points):
    x = np.array([[1.0], [2.0]])
    K = np.tanh(x @ x.T)
    assert np.linalg.det(K) == pytest.approx(-0.1682658, abs=5e-8)
    for bad in (K, np.diag([0.0, -1.0]), -((x - x.T) ** 2)):
        verdict = check_psd(bad)
        assert not verdict.psd and verdict.smallest < 0
        assert verdict.witness @ bad @ verdict.witness < 0

"""Robust losses: powers of residuals, outliers that are forgotten."""

import numpy as np
import pytest

from pansophy import losses


def test_lp_family(rng):
    y, f = rng.normal(size=20), rng.normal(size=20)
    same = losses.lp(2).value(y, f), losses.squared.value(y, f)
    np.testing.assert_allclose(*same)
    r = np.array([0.5, -3.0, 1.0])
    assert losses.lp_norm(r, np.inf) == 3
    assert losses.lp_norm(r, 200) == pytest.approx(3, rel=1e-12)
    assert losses.lp_norm(1e200 * r, 2) == pytest.approx(1e200 * np.sqrt(10.25))
    assert losses.lp(1).constant(y) == np.median(y)
    # a chord below the curve at p = 1/2
    half = losses.lp(0.5)
    value = lambda v: half.value(np.zeros(1), np.array([v]))[0]
    assert value(0.5) > (value(0.0) + value(1.0)) / 2
    assert not half.convex and losses.lp(1).convex
    with pytest.raises(ValueError, match="lp_norm"):
        losses.lp(np.inf)


def test_tukey_forgets_outliers():
    y = np.array([0.0, 0.1, -0.1, 0.05, 1e6])
    assert abs(losses.tukey().constant(y)) < 0.2
    assert losses.tukey().gradient(y, np.zeros(5))[-1] == 0

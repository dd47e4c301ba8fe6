"""Concentration of distances with the dimension, and coverage of levels."""

import numpy as np
import pytest

from pansophy.diagnose import (
    concentration_path,
    distance_concentration,
)


def test_distances_concentrate():
    flat, ten, hundred, thousand = concentration_path()
    assert flat.mean == pytest.approx(0.526, abs=0.02)
    assert (ten.min, ten.mean, ten.max) == pytest.approx((0.265, 1.26, 2.34), abs=0.07)
    assert ten.ratio == pytest.approx(8.8, abs=2)
    assert (hundred.mean, hundred.ratio) == pytest.approx((4.07, 1.71), abs=0.06)
    assert (thousand.mean, thousand.ratio) == pytest.approx((12.91, 1.20), abs=0.03)
    for c in (ten, hundred, thousand):
        assert 1.9 < c.gap < 2.5
    for c in concentration_path((10, 100, 1000), law="normal"):
        assert c.radius == pytest.approx(np.sqrt(c.dimension), rel=0.04)
        assert c.radius_sd == pytest.approx(0.7, abs=0.05)
    assert "about equally far" in str(thousand) and "equally" not in str(flat)


def test_concentration_of_tables_and_coverage(rng):
    X = rng.integers(0, 2, (200, 3))
    assert distance_concentration(X).coverage == 1.0
    assert distance_concentration(rng.integers(0, 2, (200, 20))).coverage < 2e-4
    low = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 300))
    assert distance_concentration(low).directions < 6
    found = distance_concentration({"a": ["u", "v"] * 20, "b": ["x"] * 30 + ["y"] * 10})
    assert found.coverage == 1.0

"""Distances by correlation: NumPy's, common columns pair by pair, flat rows."""

import numpy as np
import pytest

from pansophy.distances.correlation import centered_rows, pearson


def test_complete_rows_are_numpys(rng):
    X = rng.normal(size=(6, 5)) + 1e6
    np.testing.assert_allclose(1 - pearson(X), np.corrcoef(X), atol=1e-8)
    moved = 3 * X + 100
    np.testing.assert_allclose(pearson(X, moved), pearson(X), atol=1e-8)


def test_common_columns_pair_by_pair(rng):
    X = rng.normal(size=(6, 8))
    X[rng.random((6, 8)) < 0.3] = np.nan
    found = 1 - pearson(X, X[:3], missing="common")
    for i in range(6):
        for j in range(3):
            both = ~np.isnan(X[i]) & ~np.isnan(X[j])
            right = np.corrcoef(X[i, both], X[j, both])[0, 1]
            assert found[i, j] == pytest.approx(right, abs=1e-9)


def test_flat_rows_and_refusals():
    X = np.array([[0.1] * 3, [1.0, 2.0, 3.0]])
    assert (centered_rows(X)[0] == 0).all()  # though the mean of 0.1 rounds
    assert pearson(X, zero=0.7)[0, 1] == 0.7
    assert pearson(X, missing="common", zero=0.7)[0, 1] == 0.7
    for missing in ("refuse", "common"):
        with pytest.raises(ValueError, match=r"does not vary|row of zeros"):
            pearson(X, zero=None, missing=missing)
    with pytest.raises(ValueError, match="see missing='common'"):
        pearson([[1.0, np.nan]])
    with pytest.raises(ValueError, match="missing must be"):
        pearson(X, missing="drop")
    for bad in (np.inf, -np.inf):
        for missing in ("refuse", "common"):
            for rows in ((X, [[1.0, bad, 2.0]]), ([[1.0, bad, 2.0]], X)):
                with pytest.raises(ValueError, match="found an infinity"):
                    pearson(*rows, missing=missing)

"""DBSCAN by tiles of matrix products: the clusters of exact distances, at any scale."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist
from sklearn import cluster as peer

from pansophy.cluster import DBSCAN
from pansophy.cluster.density import dbscan_tiles as tiles


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spread", [0.0, 1.5, 20.0, 1e6])
def test_clusters_are_those_of_exact_distances(spread, weighted, monkeypatch):
    """Multiples of 2^-16: squares of near distances are exact, whoever adds them.

    scikit-learn finds the clusters, but of these distances; its own are those of matrix
    products, which are wrong for rows far from 0.
    """
    monkeypatch.setattr(tiles, "TILE", 64)
    monkeypatch.setattr(tiles, "SMALL", 16)
    monkeypatch.setattr(tiles, "PIVOTS", 20)
    rng = np.random.default_rng(0)
    X = (
        rng.normal(size=(900, 20))
        + spread * rng.normal(size=(6, 20))[rng.integers(6, size=900)]
    )
    X = np.round(X * 2**16) / 2**16
    squares = cdist(X, X, "sqeuclidean")  # sums of squared differences
    w = rng.integers(0, 3, 900) if weighted else None
    for eps in (3.5, 4.1875, 5.5):
        for least in (5, 80):
            a = DBSCAN(eps=eps, min_samples=least).fit(X, sample_weight=w)
            exact = peer.DBSCAN(eps=eps**2, min_samples=least, metric="precomputed")
            b = exact.fit(squares, sample_weight=w)
            assert_array_equal(a.labels_, b.labels_)
            assert_array_equal(a.core_sample_indices_, b.core_sample_indices_)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_tiles_of_any_scale(scale):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (300, 20)).astype(float)
    X[150:, 0] += 1e9
    D = cdist(X, X)
    for eps in (3.0, 3.05):  # many distances are exactly 3
        how = {"eps": eps, "min_samples": 2}
        expected = DBSCAN(metric="precomputed", **how).fit_predict(D)
        assert_array_equal(DBSCAN(**how).fit_predict(X), expected)
    found = DBSCAN(eps=3.05 * scale, min_samples=2).fit_predict(scale * X)
    assert_array_equal(found, expected)
    assert expected.max() > 5

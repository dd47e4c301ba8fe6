"""The report on several k-means runs: local optima, singletons and outliers."""

import matplotlib as mpl
import numpy as np
import pytest

from pansophy.cluster import diagnose_kmeans

mpl.use("Agg")


def three(n=150, seed=0, gap=9.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + np.repeat([[0, 0], [gap, 0], [0, gap]], n // 3, 0)


def test_sticking_and_restarts_as_worked():
    X = np.array([[0.0], [0.5], [5.0], [5.5], [20.0], [20.5]])
    stuck = [[0.0], [20.0], [20.5]]
    report = diagnose_kmeans(X, 3, given_centers=[stuck], n_init=6, random_state=0)
    assert report.costs[0] == pytest.approx(25.25)
    assert report.model.inertia_ == pytest.approx(0.375)
    assert report.model.inertia_ == report.costs.min()
    assert report.agreement.max() == 1
    alone = diagnose_kmeans(
        X, 3, given_centers=[stuck, stuck, [[0.0], [5.0], [20.0]]], n_init=0
    )
    assert alone.share_near_best == pytest.approx(1 / 3)
    assert any("stick in local optima" in s for s in alone.warnings)


def test_single_rows_and_outliers_are_flagged():
    X = np.vstack([three(), [[300.0, 300.0]]])
    report = diagnose_kmeans(X, 4, random_state=0)
    assert len(report.singletons) == 1
    assert report.sizes[report.singletons[0]] == 1
    assert "a single row" in str(report)
    two = diagnose_kmeans(np.vstack([three(), [[40.0, 40.0]]]), 3, random_state=0)
    assert two.outliers.tolist() == [150] or len(two.singletons)
    clean = diagnose_kmeans(three(), 3, random_state=0)
    assert clean.warnings == ()
    assert clean.share_near_best == 1
    with pytest.raises(ValueError, match="at least one run"):
        diagnose_kmeans(X, 2, n_init=0)

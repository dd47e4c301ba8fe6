"""Lloyd iterations against slow oracles: means, bounds, and when bounds are used."""

import numpy as np
import pytest

from pansophy.cluster.centers import _kmeans as loops
from pansophy.cluster.centers.lloyd_iteration import (
    CompiledAssignment,
    row_mean_and_variance,
)
from tests.oracles import kmeans as oracle


def blobs(n=400, d=4, k=5, gap=3.0, seed=0):
    rng = np.random.default_rng(seed)
    C = gap * rng.normal(size=(k, d))
    return rng.normal(size=(n, d)) + C[rng.integers(0, k, n)]


def test_means_of_clusters():
    X, w = blobs(50, 3, 3), np.random.default_rng(0).random(50)
    C = X[:3].copy()
    z, m = oracle.assign(X, C), X.mean(axis=0)
    hot = (z[:, None] == np.arange(3)) * w[:, None]
    sums = (
        hot.T @ (X - m),
        hot.sum(0),
        hot.T @ ((X - m) ** 2).sum(1),
        np.ones(3, int),
    )
    new = np.empty_like(C)
    J, shift = loops.cluster_means(*sums, C, m, new)
    np.testing.assert_allclose(new, oracle.means(X, w, z, C))
    assert pytest.approx(oracle.objective(X, w, C, z)) == J
    assert shift == pytest.approx(((new - C) ** 2).sum())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tighten", [False, True])
def test_rows_left_out_could_not_have_changed(dtype, tighten):
    X = blobs(2000, 6, 12, gap=1.0).astype(dtype)
    w, C = np.ones(2000, dtype), X[:12].astype(float)
    assignment = CompiledAssignment(X, w, 12, keep_bounds=True)
    m, previous = row_mean_and_variance(X, w)[0].astype(dtype).astype(float), None
    for _ in range(12):
        assignment.tighten = tighten
        z, sums = assignment.assign(C, previous, m)
        D = oracle.distances2(X.astype(float), C)
        own, best = D[np.arange(2000), z], D.min(axis=1)
        assert np.all(own <= best + 1e-4 if dtype == np.float32 else own <= best + 1e-9)
        far = np.sort(np.where(np.arange(12) == z[:, None], np.inf, D), axis=1)[:, 0]
        assert np.all(assignment.upper >= np.sqrt(own) * (1 - 1e-6))
        assert np.all(assignment.lower <= np.sqrt(far) * (1 + 1e-6))
        previous, C = C, m + sums.sums / sums.mass[:, None]
    assert assignment.have_bounds
    assert sums.moved < 400


def test_bounds_are_suspended_while_they_clear_too_few_rows():
    X = np.random.default_rng(0).normal(size=(3000, 16))
    assignment = CompiledAssignment(X, np.ones(3000), 8)
    assert assignment.suspended == 1
    assignment._judge_bounds(3000, 0)
    assert assignment.suspended == 2
    assert assignment.next_suspension == 4
    assert assignment._mode() == loops.WITHOUT_BOUNDS

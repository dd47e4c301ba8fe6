"""One battery for every distance, against SciPy and on every array library."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from pansophy.core.arrays.arrays import to_numpy
from pansophy.distances import (
    METRICS,
    cosine,
    mahalanobis,
    manhattan,
    minkowski,
    pairwise,
    pairwise_argmin,
    squared_euclidean,
)
from pansophy.teaching import check_metric

COV = np.array([[2.0, 0.3, 0, 0, 0.1], [0.3, 1, 0, 0, 0], [0, 0, 3, 0.5, 0],
                [0, 0, 0.5, 1, 0], [0.1, 0, 0, 0, 1]])  # fmt: skip
CASES = [  # ours, our options, SciPy's name and options
    ("euclidean", {}, "euclidean", {}),
    ("squared_euclidean", {}, "sqeuclidean", {}),
    ("manhattan", {}, "cityblock", {}),
    ("chebyshev", {}, "chebyshev", {}),
    ("minkowski", {"p": 3}, "minkowski", {"p": 3}),
    ("minkowski", {"p": 1.5}, "minkowski", {"p": 1.5}),
    ("minkowski", {"p": 1}, "cityblock", {}),
    ("minkowski", {"p": 2}, "euclidean", {}),
    ("minkowski", {"p": math.inf}, "chebyshev", {}),
    ("cosine", {}, "cosine", {}),
    ("pearson", {}, "correlation", {}),
    ("hamming", {}, "hamming", {}),
    ("mahalanobis", {"cov": COV}, "mahalanobis", {"VI": np.linalg.inv(COV)}),
]
LIBRARIES = ["numpy", "torch", "array_api_strict"]
NOT_METRICS = {"squared_euclidean", "sqeuclidean", "cosine", "pearson", "correlation"}


@pytest.fixture
def points(rng):
    return rng.standard_normal((40, 5)), rng.standard_normal((25, 5))


def test_every_metric_has_a_case():
    functions = {METRICS[name] for name, *_ in CASES}
    assert functions == set(METRICS.values())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("ours", "options", "scipys", "theirs"), CASES)
def test_same_as_scipy(library, ours, options, scipys, theirs, points):
    xp = pytest.importorskip(library)
    X, Z = (xp.asarray(a) for a in points)
    D = pairwise(X, Z, metric=ours, **options)
    assert type(D) is type(X)
    right = cdist(*points, scipys, **theirs)
    np.testing.assert_allclose(to_numpy(D), right, rtol=1e-12, atol=1e-15)
    alone = to_numpy(pairwise(X, metric=ours, **options))
    np.testing.assert_allclose(
        alone, cdist(points[0], points[0], scipys, **theirs), rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize(("ours", "options", "scipys", "theirs"), CASES)
def test_tiles_and_float32(ours, options, scipys, theirs, points, monkeypatch):
    from pansophy.distances import pairwise_metrics

    right = pairwise(*points, metric=ours, **options)
    monkeypatch.setattr(pairwise_metrics, "TILE", 7)
    monkeypatch.setattr(pairwise_metrics, "DEVICE", 100)
    np.testing.assert_allclose(pairwise(*points, metric=ours, **options), right)
    torch = pytest.importorskip("torch")
    T = (torch.asarray(a) for a in points)
    np.testing.assert_allclose(to_numpy(pairwise(*T, metric=ours, **options)), right)
    X, Z = (a.astype(np.float32) for a in points)
    D = pairwise(X, Z, metric=ours, **options)
    assert D.dtype == np.float32
    np.testing.assert_allclose(D, right, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", sorted(METRICS))
def test_axioms(name, points):
    report = check_metric(name, points[0])
    assert report.is_metric is (name not in NOT_METRICS)
    if name in NOT_METRICS:
        i, k, j = report.triangle
        D = pairwise(points[0], metric=name)
        assert D[i, j] > D[i, k] + D[k, j]
        assert report._replace(triangle=None).is_metric


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("gap", [1e-3, 1e-7, 1e-12])
def test_close_points_keep_their_digits(library, gap, rng):
    xp = pytest.importorskip(library)
    X = rng.standard_normal((50, 8))
    Z = X + gap * rng.standard_normal((50, 8))
    Z[::2] += 3
    D = to_numpy(squared_euclidean(xp.asarray(X), xp.asarray(Z)))
    np.testing.assert_allclose(D, cdist(X, Z, "sqeuclidean"), rtol=1e-11)
    far = X + 1e8  # all close to each other compared with their size
    D = to_numpy(squared_euclidean(xp.asarray(far)))
    np.testing.assert_allclose(D, cdist(far, far, "sqeuclidean"), rtol=1e-7)
    assert (np.diagonal(D) == 0).all()


@given(seed=st.integers(0, 10**6), p=st.floats(1, 20))
def test_minkowski_falls_with_p(seed, p):
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((5, 4)), rng.standard_normal((6, 4))
    D = minkowski(X, Z, p=p)
    assert (manhattan(X, Z) * (1 + 1e-12) >= D).all()
    assert (minkowski(X, Z, p=p + 1) * (1 - 1e-12) <= D).all()


def test_minkowski_refuses_p_below_1(points):
    for p in (0.5, math.nan):
        with pytest.raises(ValueError, match="p of minkowski"):
            minkowski(*points, p=p)


def test_cosine_is_scale_free_with_a_policy_for_zeros(points):
    X, Z = points
    np.testing.assert_allclose(cosine(7 * X, 1e-200 * Z), cosine(X, Z), rtol=1e-12)
    X = np.vstack([X[:2], np.zeros(5)])
    D = cosine(X)
    np.testing.assert_array_equal(D[2], [1, 1, 0])
    np.testing.assert_array_equal(cosine(X, zero=0.25)[2], [0.25, 0.25, 0])
    with pytest.raises(ValueError, match="zeros"):
        cosine(X, zero=None)


def test_mahalanobis_is_affine_invariant(points, rng):
    X, _ = points
    A = rng.standard_normal((5, 5))
    np.testing.assert_allclose(mahalanobis(X @ A + 3), mahalanobis(X), rtol=1e-8)
    np.testing.assert_allclose(mahalanobis(X, cov=np.eye(5)), pairwise(X), rtol=1e-12)
    flat = np.diag([1.0, 1, 1, 1, 0])
    np.testing.assert_allclose(mahalanobis(X, cov=flat), pairwise(X[:, :4]), rtol=1e-9)
    with pytest.raises(ValueError, match="semi-definite"):
        mahalanobis(X, cov=-np.eye(5))
    with pytest.raises(ValueError, match="5 x 5"):
        mahalanobis(X, cov=np.eye(4))


@pytest.mark.parametrize("library", LIBRARIES)
def test_nearest(library, rng, monkeypatch):
    from pansophy.distances import pairwise_metrics

    xp = pytest.importorskip(library)
    X, C = rng.standard_normal((500, 6)) + 1e3, rng.standard_normal((7, 6)) + 1e3
    D = cdist(X, C, "sqeuclidean")
    for tile, device in ((pairwise_metrics.TILE, pairwise_metrics.DEVICE), (9, 64)):
        monkeypatch.setattr(pairwise_metrics, "TILE", tile)
        monkeypatch.setattr(pairwise_metrics, "DEVICE", device)
        found = pairwise_argmin(xp.asarray(X), xp.asarray(C))
        np.testing.assert_array_equal(to_numpy(found.index), D.argmin(axis=1))
        np.testing.assert_allclose(to_numpy(found.squared), D.min(axis=1), rtol=1e-9)


def test_own_function_as_metric(points):
    X, Z = points
    D = pairwise(X, Z, metric=lambda X, Z: np.abs(X[:, :1] - Z[:, 0]))
    np.testing.assert_array_equal(D, manhattan(X[:, :1], Z[:, :1]))
    by_rows = pairwise(X, Z, metric=lambda x, z: abs(x[0] - z[0]))
    np.testing.assert_array_equal(by_rows, D)


def test_bad_arguments_are_named(points):
    with pytest.raises(ValueError, match="metric must be one of"):
        pairwise(*points, metric="hemming")
    with pytest.raises(ValueError, match="5 columns cannot be compared"):
        pairwise(points[0], points[1][:, :2])
    with pytest.raises(ValueError, match="2 dimensions"):
        pairwise(points[0][0])

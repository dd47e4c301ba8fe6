"""Seeds: probabilities, invariance to how rows are written, quality, loops."""

import numba
import numpy as np
import pandas as pd
import pytest
import sklearn.cluster as peer
from scipy import sparse
from sklearn.base import clone

from pansophy import cluster
from pansophy.cluster import (
    KMeans,
    kmeans_plusplus,
    sample_initial_centers,
)
from pansophy.cluster.centers import _kmeans as loops
from pansophy.cluster.centers.initialization import (
    check_scale,
    projection_keys,
    sample_center_rows,
)
from pansophy.core.arrays.rows import Rows
from tests.oracles import kmeans as oracle


def test_probabilities_of_the_second_seed():
    # Points 0, 1, 4, 5 after picking 0: probabilities 0, 1/42, 16/42, 25/42.
    X, n = np.array([[0.0], [1.0], [4.0], [5.0]]), 4000
    counts, given = np.zeros(4), 0
    for s in range(n):
        _, index = kmeans_plusplus(X, 2, random_state=s, n_local_trials=1)
        if index[0] == 0:
            counts[index[1]] += 1
            given += 1
    assert abs(given / n - 1 / 4) < 0.03  # four standard deviations
    p = np.array([0, 1, 16, 25]) / 42
    off = 4 * np.sqrt(p * (1 - p) / given)
    assert np.all(np.abs(counts / given - p) <= off)


def test_weights_set_the_odds_of_the_first_seed():
    X, w = np.arange(3.0)[:, None], np.array([1.0, 0.0, 3.0])
    first = [
        kmeans_plusplus(X, 1, sample_weight=w, random_state=s)[1][0]
        for s in range(2000)
    ]
    share = np.bincount(first, minlength=3) / 2000
    assert share[1] == 0
    assert abs(share[2] - 0.75) < 0.04


@pytest.mark.parametrize("method", ["k-means++", "random"])
def test_seeds_do_not_depend_on_how_rows_are_written(method):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(40, 3)).round(1), rng.integers(0, 4, 40)
    order = rng.permutation(w.sum())
    Y = np.repeat(X, w, axis=0)[order]
    ones = np.ones(len(Y))
    for s in range(20):
        a, i = sample_initial_centers(
            X, w.astype(float), 6, np.random.default_rng(s), method=method
        )
        b, _ = sample_initial_centers(
            Y, ones, 6, np.random.default_rng(s), method=method
        )
        c, _ = sample_initial_centers(
            sparse.csr_array(Y), ones, 6, np.random.default_rng(s), method=method
        )
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(a, X[i])
        assert len(np.unique(a, axis=0)) == 6


def test_random_seeds_are_distinct_rows_of_x():
    X = np.repeat(np.arange(5.0)[:, None], 50, axis=0)
    for s in range(10):
        C, _ = sample_initial_centers(
            X, np.ones(250), 5, np.random.default_rng(s), method="random"
        )
        assert sorted(C.ravel()) == [0, 1, 2, 3, 4]


def test_as_good_as_sklearns_seeds():
    rng = np.random.default_rng(0)
    centers = 4 * rng.normal(size=(30, 6))
    X = rng.normal(size=(3000, 6)) + centers[rng.integers(0, 30, 3000)]
    cost = lambda C: oracle.distances2(X, C).min(axis=1).sum()
    ours = [cost(kmeans_plusplus(X, 30, random_state=s)[0]) for s in range(20)]
    theirs = [cost(peer.kmeans_plusplus(X, 30, random_state=s)[0]) for s in range(20)]
    # Both draw from one distribution: the means differ by at most 4 standard errors.
    spread = np.hypot(np.std(ours), np.std(theirs)) / np.sqrt(20)
    assert abs(np.mean(ours) - np.mean(theirs)) < 4 * spread


def test_projection_keys_put_equal_rows_together():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (500, 4)).astype(float)
    key = projection_keys(Rows(X, block=64), rng)
    order = np.argsort(key, kind="stable")
    changes = np.any(np.diff(X[order], axis=0) != 0, axis=1).sum()
    assert changes + 1 == len(np.unique(X, axis=0))


def test_costs_and_triangle_inequality_match_the_oracle():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 5)) + 8 * rng.normal(size=(6, 5))[rng.integers(0, 6, 900)]
    w = rng.random(900)
    from pansophy.cluster.centers.initialization import CompiledSeeding

    seeding = CompiledSeeding(X, w, X[:, 0])
    for i in (3, 50, 700):
        seeding.accept(X[i])
    chosen = X[[3, 50, 700]]
    np.testing.assert_allclose(seeding.D2, oracle.distances2(X, chosen).min(axis=1))
    np.testing.assert_array_equal(seeding.nearest, oracle.assign(X, chosen))
    V = X[[10, 20, 30, 40]]
    np.testing.assert_allclose(seeding.costs(V), oracle.seed_costs(X, w, chosen, V))


def test_draw_is_a_look_up_in_the_running_sum():
    mass, order = np.array([0.0, 2.0, 0.0, 1.0, 1.0]), np.array([4, 0, 1, 2, 3])
    at = np.array([0.0, 0.2, 0.25, 0.7, 0.75, 0.999999])
    found = np.empty(6, np.int64)
    assert loops.sample_along_order(order, mass, at, found) == 4
    assert found.tolist() == [4, 4, 1, 1, 3, 3]


@numba.njit
def call_find_nearest(X, m, count, listed, both, A, c2, work):
    """Only loops can call it."""
    loops.find_nearest(X, m, count, listed, both, A, c2, work)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("d", "k"), [(1, 1), (3, 5), (8, 4), (13, 30), (129, 33)])
@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("both", [False, True])
def test_nearest_of_a_tile_matches_the_oracle(dtype, d, k, listed, both):
    """Few columns, some, and many: three algorithms, the same nearest centres."""
    from pansophy.cluster.centers.lloyd_iteration import center_terms

    rng, n = np.random.default_rng(0), loops.LANES
    X, C = rng.normal(size=(n + 40, d)).astype(dtype), rng.normal(size=(k, d))
    C, at = C.astype(dtype).astype(float), 40 + np.arange(n)
    terms = center_terms(C, C, np.full(d, 0.25), dtype)
    work = loops.nearest_workspace(k, d, dtype)
    _, _, best, second, norm, _, rows, z = work
    rows[:n] = rng.permutation(at) if listed else at
    call_find_nearest(X, terms.m, n, listed, both, terms.A, terms.c2, work)
    X = X[rows[:n]].astype(float)
    label, first, *rest = oracle.two_nearest(X, C) if k > 1 else (np.zeros(n), None)
    np.testing.assert_array_equal(z, label)
    if both:
        np.testing.assert_allclose(norm, ((X - 0.25) ** 2).sum(axis=1), rtol=1e-5)
    if both and k > 1:
        tol = 1e-3 if dtype == np.float32 else 1e-10
        np.testing.assert_allclose(best + norm, first, atol=tol)
        np.testing.assert_allclose(second + norm, rest[0], atol=tol)


def test_too_few_distinct_rows_repeat_a_seed():
    X = np.array([[1.0], [1.0], [2.0]])
    C, _ = kmeans_plusplus(X, 3, random_state=0)
    assert set(C.ravel()) == {1.0, 2.0}


def test_sample_center_rows_gives_row_numbers():
    X = np.arange(10.0)[:, None]
    index = sample_center_rows(X, np.ones(10), 4, np.random.default_rng(0), X[:, 0])
    assert len(set(index.tolist())) == 4


def test_bad_number_of_seeds():
    with pytest.raises(ValueError, match="n_clusters of KMeans must be"):
        kmeans_plusplus([[1.0]], 0)
    with pytest.raises(ValueError, match="n_samples=1 should be >= n_clusters=2"):
        kmeans_plusplus([[1.0]], 2)
    with pytest.raises(ValueError, match="n_local_trials must be a whole number"):
        kmeans_plusplus([[1.0]], 1, n_local_trials=0)
    assert KMeans(1, random_state=0).fit([[1.0]]).inertia_ == 0


def blobs(n=400, d=4, k=5, gap=3.0, seed=0):
    rng = np.random.default_rng(seed)
    C = gap * rng.normal(size=(k, d))
    return rng.normal(size=(n, d)) + C[rng.integers(0, k, n)]


def plain_farthest(X, first, k):
    chosen = [first]
    while len(chosen) < k:
        D = oracle.distances2(X, X[chosen]).min(axis=1)
        chosen.append(int(D.argmax()))
    return chosen


@pytest.mark.parametrize("kind", ["numpy", "csr", "torch"])
def test_farthest_first(kind):
    X = blobs()
    data = X
    if kind == "csr":
        data = sparse.csr_array(X)
    elif kind == "torch":
        data = pytest.importorskip("torch").asarray(X)
    w = np.ones(400) if kind != "torch" else data[:, 0] * 0 + 1
    for s in range(5):
        C, index = sample_initial_centers(
            data, w, 7, np.random.default_rng(s), method="farthest"
        )
        assert list(index) == plain_farthest(X, index[0], 7)
        np.testing.assert_allclose(np.asarray(C), X[index])


def test_farthest_first_takes_outliers_and_no_row_without_weight():
    X = np.vstack([blobs(), [[500.0] * 4], [[-900.0] * 4]])
    w = np.ones(402)
    w[-1] = 0
    _, index = sample_initial_centers(
        X, w, 2, np.random.default_rng(0), method="farthest"
    )
    assert index[1] == 400
    model = KMeans(5, init="farthest", n_init=3, random_state=0).fit(blobs(gap=20))
    assert model.inertia_ == pytest.approx(
        KMeans(5, n_init=10, random_state=0).fit(blobs(gap=20)).inertia_
    )


MODELS = [
    cluster.KMeans(2, random_state=0),
    cluster.KMedoids(2),
    cluster.KMedians(2, random_state=0),
    cluster.FuzzyCMeans(2, random_state=0),
    cluster.KernelKMeans(2, kernel="rbf", random_state=0),
    cluster.TrimmedKMeans(2, trim=0.0, random_state=0),
    cluster.VectorQuantizer(2, random_state=0),
    cluster.ClusterImputer(2, random_state=0),
    cluster.SelfOrganizingMap((1, 2), random_state=0),
]


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[:10] += 9
    return X


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_two_groups_at_any_scale_or_one_sentence(model, rows):
    for scale in (1e-140, 1e-20, 1.0, 1e20, 1e140):
        z = clone(model).fit(rows * scale).labels_
        assert (z[:10] == z[0]).all() and (z[10:] == 1 - z[0]).all()
    with pytest.raises(ValueError, match="too little to square: scale X"):
        clone(model).fit(rows * 1e-200)
    for scale in (1e160, 1e200):
        with pytest.raises(ValueError, match=r"squares overflow|too large to square"):
            clone(model).fit(rows * scale)
    if not isinstance(model, cluster.ClusterImputer):  # which works in float64
        for scale, says in (
            (1e30, "squares overflow|too large to square"),
            (1e-30, "too little"),
        ):
            with pytest.raises(ValueError, match=says):
                clone(model).fit((rows * scale).astype(np.float32))


def test_check_scale_passes_what_can_be_squared():
    for X in (
        np.ones((4, 2)),
        np.full((4, 2), 1e150),
        np.array([[0.0, np.nan], [1, 2]]),
    ):
        check_scale("KMeans", X)
    check_scale("KMeans", np.array([[0.0], [1e-200]]), small=False)
    with pytest.raises(ValueError, match="X of KMeans holds values up to 1e\\+308"):
        check_scale("KMeans", np.array([[-1e308], [1e308]]))


def test_distances_without_squares_go_further(rows):
    z = cluster.KMedoids(2, metric="manhattan").fit(rows * 1e-200).labels_
    assert (z[:10] == z[0]).all() and (z[10:] != z[0]).all()


def test_trimmed_keeps_column_names(rows):
    frame = pd.DataFrame(rows, columns=list("abc"))
    model = cluster.TrimmedKMeans(2, random_state=0).fit(frame)
    np.testing.assert_array_equal(model.predict(frame), model.labels_)

"""K-medoids: swaps against the definition, matrices against rows, known answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances

from pansophy.cluster import KMeans, KMedoids
from pansophy.cluster.centers import _kmedoids, kmedoids
from tests.oracles import medoids as slow


@pytest.fixture
def D(rng):
    return pairwise_distances(rng.normal(size=(40, 3)))


def blobs(rng, n=60, k=3):
    return np.concatenate([rng.normal(size=(n // k, 2)) + 8 * j for j in range(k)])


def test_distances_whose_sum_overflows_are_distances():
    far = np.array([[0.0], [1e308]])
    D = kmedoids.finite_distances(far, far, "manhattan")
    np.testing.assert_array_equal(D, [[0.0, 1e308], [1e308, 0.0]])


def test_loops_equal_the_definition(D, rng):
    w = rng.random(40)
    at = np.array([3, 17, 30])
    M = np.ascontiguousarray(D[at])
    first, second = np.empty((2, 40))
    a, b = np.empty((2, 40), np.int32)
    _kmedoids.two_nearest(M, first, second, a, b)
    for mine, theirs in zip((first, second, a, b), slow.two_nearest(M)):
        np.testing.assert_array_equal(mine, theirs)
    loss, room = np.empty((2, 3))
    _kmedoids.removal_losses(w, first, second, a, loss)
    np.testing.assert_allclose(loss, slow.losses(D, w, list(at)))
    np.testing.assert_allclose(
        _kmedoids.build_gains(D, np.arange(40), w, first),
        slow.gains(D, w, first),
        atol=1e-12,
    )
    for c in (0, 5, 39):
        out, by = _kmedoids.best_swap(D[c], w, first, second, a, loss, room)
        want = slow.changes(D, w, list(at), c)
        assert out == want.argmin()
        np.testing.assert_allclose(by, want.min())
    _kmedoids.replace_medoid(D[5], 1, M, first, second, a, b)
    for mine, theirs in zip((first, second, a, b), slow.two_nearest(D[[3, 5, 30]])):
        np.testing.assert_array_equal(mine, theirs)


def test_build_by_bounds_is_build(D, rng):
    w = rng.integers(1, 4, size=40).astype(float)
    source = kmedoids.DistanceSource(D, "precomputed")
    order = np.argsort(D @ w, kind="stable")
    found = kmedoids.pam_build(source, w, 6, order)
    np.testing.assert_array_equal(found, slow.build(D, w, 6))


def test_no_single_swap_helps_at_the_end(D):
    model = KMedoids(4, metric="precomputed").fit(D)
    w = np.ones(40)
    for c in range(40):
        if c not in model.medoid_indices_:
            change = slow.changes(D, w, list(model.medoid_indices_), c)
            assert change.min() > -1e-9
    assert model.inertia_ == pytest.approx(slow.objective(D, w, model.medoid_indices_))


def test_small_problems_reach_the_best_of_all(rng):
    """81 % of such problems end in the optimum (150 measured), the others near it.

    Fewer than 5 of 20 come with a chance of 2e-9.
    """
    exact, ratios = 0, []
    for _ in range(20):
        D = pairwise_distances(rng.normal(size=(12, 2)))
        got = KMedoids(3, metric="precomputed").fit(D).inertia_
        best = slow.best_of_all(D, np.ones(12), 3)
        assert got >= best - 1e-12
        exact += got < best + 1e-9
        ratios.append(got / best)
    assert exact >= 5
    assert np.mean(ratios) < 1.03  # 1.004, with a deviation of 0.003


@pytest.mark.parametrize("method", ["swap", "alternate"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_a_matrix_gives_the_result_of_the_rows(method, metric, rng):
    X = rng.normal(size=(50, 3))
    rows = KMedoids(4, metric=metric, method=method).fit(X)
    D = kmedoids.pairwise(X, X, metric)
    matrix = KMedoids(4, metric="precomputed", method=method).fit(D)
    np.testing.assert_array_equal(rows.medoid_indices_, matrix.medoid_indices_)
    np.testing.assert_array_equal(rows.labels_, matrix.labels_)
    np.testing.assert_array_equal(rows.predict(X), matrix.predict(D))
    assert matrix.cluster_centers_ is None


def test_blocks_give_the_result_of_the_matrix(rng, monkeypatch):
    X = rng.normal(size=(80, 3))
    whole = KMedoids(5).fit(X)
    monkeypatch.setattr(kmedoids, "LIMIT", 0)
    monkeypatch.setattr(kmedoids, "BLOCK", 80 * 7)
    parts = KMedoids(5).fit(X)
    np.testing.assert_array_equal(whole.medoid_indices_, parts.medoid_indices_)
    assert parts.inertia_ == pytest.approx(whole.inertia_, rel=1e-12)


def test_exemplars_are_rows_and_cost_no_less_than_means(rng):
    X = blobs(rng)
    for method in ("swap", "alternate", "exemplar"):
        model = KMedoids(3, metric="sqeuclidean", method=method).fit(X)
        np.testing.assert_array_equal(model.cluster_centers_, X[model.medoid_indices_])
        assert model.inertia_ >= KMeans(3, n_init=5, random_state=0).fit(X).inertia_


def test_exemplar_stops_where_it_has_been(rng):
    X = rng.normal(size=(100, 2))
    model = KMedoids(6, method="exemplar", metric="sqeuclidean").fit(X)
    assert model.converged_
    assert model.inertia_ <= model.history_["objective"].min() + 1e-9


@pytest.mark.parametrize("init", ["build", "k-medoids++", "random"])
@pytest.mark.parametrize("method", ["swap", "alternate"])
def test_objective_never_rises(init, method, rng):
    X = rng.normal(size=(120, 3))
    model = KMedoids(7, init=init, method=method, random_state=0).fit(X)
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()


@given(st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_weights_are_repetitions_and_order_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 2))
    w = rng.integers(0, 4, size=25)
    a = KMedoids(3).fit(X, sample_weight=w)
    again = rng.permutation(np.repeat(X, w, axis=0))
    b = KMedoids(3).fit(again)
    assert a.inertia_ == pytest.approx(b.inertia_)
    order = lambda C: C[np.lexsort(C.T)]
    np.testing.assert_array_equal(order(a.cluster_centers_), order(b.cluster_centers_))


def test_one_medoid_is_the_most_central_row(rng):
    X = rng.normal(size=(30, 2))
    model = KMedoids(1, init="random", random_state=3).fit(X)
    assert model.medoid_indices_[0] == pairwise_distances(X).sum(axis=1).argmin()


def test_an_outlier_does_not_move_a_medoid(rng):
    X = blobs(rng, 40, 2)
    before = KMedoids(2).fit(X).cluster_centers_
    after = KMedoids(2).fit(X, sample_weight=np.ones(40)).cluster_centers_
    np.testing.assert_array_equal(before, after)
    far = np.vstack([X, [[30.0, 30.0]]])
    C = KMedoids(2).fit(far).cluster_centers_
    assert np.abs(C).max() < 12


def test_equal_rows_and_given_rows():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\) found"):
        model = KMedoids(4).fit(X)
    assert model.inertia_ == 0
    assert len(set(model.medoid_indices_)) == 4
    start = KMedoids(2, init=[0, 9], max_iter=1).fit(X)
    np.testing.assert_array_equal(start.medoid_indices_, [0, 9])


def test_float32_stays_and_functions_work(rng):
    X = rng.normal(size=(30, 2)).astype(np.float32)
    assert KMedoids(3).fit(X).transform(X).dtype == np.float32
    mine = lambda A, B: np.abs(A[:, None, :] - B[None, :, :]).sum(axis=2)
    a, b = KMedoids(3, metric=mine).fit(X), KMedoids(3, metric="manhattan").fit(X)
    np.testing.assert_array_equal(a.labels_, b.labels_)


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"init": [0, 99]}, "rows of X by number"),
        ({"init": [0.5, 1.5]}, "rows of X by number"),
        ({"metric": "nonsense"}, "metric must be"),
        ({"metric": "precomputed"}, "square"),
        ({"n_clusters": 50}, "n_samples=20"),
    ],
)
def test_bad_parameters(how, match, rng):
    with pytest.raises(ValueError, match=match):
        KMedoids(**{"n_clusters": 2, **how}).fit(rng.normal(size=(20, 2)))
    with pytest.raises(ValueError, match="means"):
        KMedoids(2, metric="precomputed", method="exemplar").fit(np.zeros((3, 3)))

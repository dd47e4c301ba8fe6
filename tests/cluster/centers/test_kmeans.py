"""K-means: worked traces, the oracle, scikit-learn, and where the rows may live."""

import itertools
import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn.cluster as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from pansophy import cluster
from pansophy.base import InterruptedFitWarning
from pansophy.cluster import KMeans, kmeans_objective
from pansophy.cluster.centers import kmeans as module
from pansophy.cluster.centers.kmeans import kmeans_labels, lloyd
from pansophy.core.arrays.rows import DatasetRows
from pansophy.params import ParameterError
from tests.oracles import kmeans as oracle


def blobs(n=600, d=5, k=4, gap=3.0, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + gap * rng.normal(size=(k, d))[rng.integers(0, k, n)]
    return X.astype(dtype)


def column(*values):
    return np.asarray(values, float)[:, None]


def write(path, X):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table(columns), path, row_group_size=500)
    return path


# -- worked examples ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "start", "trace", "centers"),
    [
        ((1, 2, 4, 10, 11, 15), (1, 2), (318, 62.88, 18.66667), (2.33333, 12)),
        ((1, 2, 3, 10, 11, 12), (1, 2), (246, 41.68, 4), (2, 11)),
        ((0, 1, 4, 5), (0, 5), (2, 1), (0.5, 4.5)),
    ],
)
def test_worked_traces(points, start, trace, centers):
    model = KMeans(2, init=column(*start)).fit(column(*points))
    np.testing.assert_allclose(model.history_["objective"], trace, rtol=1e-6)
    np.testing.assert_allclose(model.cluster_centers_.ravel(), centers, rtol=1e-5)
    assert model.converged_
    assert model.n_iter_ == len(trace)
    assert all(len(h) == model.n_iter_ for h in model.history_.values())
    assert model.history_["moved"][0] == len(points)
    assert model.history_["moved"][-1] == 0 or model.history_["shift"][-1] == 0


def test_first_mean_update_lowers_the_objective_as_worked():
    X = column(1, 2, 9, 10)
    model = KMeans(2, init=column(1, 2)).fit(X)
    C = oracle.means(X, np.ones(4), oracle.assign(X, column(1, 2)), column(1, 2))
    assert oracle.objective(X, np.ones(4), C, np.array([0, 1, 1, 1])) == 38
    assert model.inertia_ == pytest.approx(1)


def test_restarts_leave_a_local_optimum():
    X = column(0, 0.5, 5, 5.5, 20, 20.5)
    stuck = KMeans(3, init=column(0, 20, 20.5)).fit(X)
    assert stuck.inertia_ == pytest.approx(25.25)
    several = KMeans(3, init="random", n_init=20, random_state=0).fit(X)
    assert several.inertia_ == pytest.approx(0.375)


def test_more_restarts_are_never_worse():
    X = blobs(300, 2, 8, gap=1.0)
    J = [
        KMeans(8, init="random", n_init=r, random_state=3).fit(X).inertia_
        for r in (1, 2, 4, 8)
    ]
    assert all(later <= earlier for earlier, later in itertools.pairwise(J))


def test_as_many_clusters_as_distinct_rows_costs_nothing():
    X = np.repeat(blobs(7), 3, axis=0)
    assert KMeans(7, random_state=0).fit(X).inertia_ == pytest.approx(0, abs=1e-20)


# -- against the oracle and scikit-learn -------------------------------------------


@pytest.mark.parametrize("algorithm", ["lloyd", "elkan"])
@pytest.mark.parametrize(
    "shape",
    [(50, 1, 2), (300, 3, 5), (700, 9, 13), (257, 4, 1), (300, 8, 6), (600, 130, 33)],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_oracle(algorithm, shape, weighted):
    n, d, k = shape
    X, rng = blobs(n, d, k, gap=1.0), np.random.default_rng(1)
    w = rng.integers(0, 4, n) * 0.7 if weighted else np.ones(n)
    C, z, trace = oracle.lloyd(X, w, X[:k])
    algorithm = algorithm if k > 1 else "lloyd"
    model = KMeans(k, init=X[:k], tol=0, algorithm=algorithm)
    model.fit(X, sample_weight=w if weighted else None)
    np.testing.assert_allclose(model.cluster_centers_, C, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.labels_, z)
    J = model.history_["objective"]
    np.testing.assert_allclose(J, trace[: len(J)], rtol=1e-9)
    assert len(trace) - len(J) in (0, 1)  # the oracle waits for rows without weight
    assert model.inertia_ == pytest.approx(oracle.objective(X, w, C, z))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_same_as_sklearn_from_the_same_start(dtype, offset):
    X = blobs(4000, 8, 20, gap=1.0, dtype=dtype) + dtype(offset)
    ours = KMeans(20, init=X[:20], tol=0).fit(X)
    theirs = peer.KMeans(20, init=X[:20], n_init=1, tol=0).fit(X)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=2e-5)
    assert ours.cluster_centers_.dtype == dtype
    if dtype == np.float64:
        assert ours.n_iter_ == theirs.n_iter_
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_)


def test_tolerance_is_scikit_learns():
    X = blobs(2000, 4, 10, gap=0.5)
    for tol in (1e-2, 1e-3, 1e-4):
        ours = KMeans(10, init=X[:10], tol=tol).fit(X)
        theirs = peer.KMeans(10, init=X[:10], n_init=1, tol=tol).fit(X)
        assert ours.n_iter_ == theirs.n_iter_
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)


def test_methods_agree_with_sklearn():
    X, new = blobs(500), blobs(40, seed=5)
    w = np.random.default_rng(0).random(40)
    ours = KMeans(4, init=X[:4]).fit(X)
    theirs = peer.KMeans(4, init=X[:4], n_init=1).fit(X)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))
    np.testing.assert_allclose(ours.transform(new), theirs.transform(new))
    assert ours.score(new) == pytest.approx(theirs.score(new))
    assert ours.score(new, sample_weight=w) == pytest.approx(
        theirs.score(new, sample_weight=w)
    )
    np.testing.assert_array_equal(ours.fit_predict(X), theirs.labels_)
    np.testing.assert_allclose(ours.fit_transform(X), theirs.transform(X))
    names = ours.get_feature_names_out().tolist()
    assert names == ["kmeans0", "kmeans1", "kmeans2", "kmeans3"]
    assert list(ours.set_output(transform="pandas").transform(new)) == names


def test_bounds_never_change_an_answer():
    for seed in range(5):
        X = blobs(3000, 16, 30, gap=0.7, seed=seed, dtype=np.float32)
        w = np.ones(len(X), np.float32)
        C = X[:30].astype(float)
        kept = lloyd(X, w, C, keep_bounds=True)
        plain = lloyd(X, w, C, keep_bounds=False)
        np.testing.assert_array_equal(kept.state.labels, plain.state.labels)
        J, J0 = kept.history["objective"], plain.history["objective"]
        np.testing.assert_allclose(J, J0)


def test_objective_never_rises():
    X = blobs(3000, 6, 25, gap=0.5)
    J = KMeans(25, init=X[:25], tol=0).fit(X).history_["objective"]
    assert np.all(np.diff(J) <= 1e-9 * J[0])


def test_labels_are_what_predict_gives_even_at_ties():
    X = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), -1).reshape(-1, 2)
    for seed in range(10):
        model = KMeans(5, random_state=seed).fit(X)
        np.testing.assert_array_equal(model.labels_, model.predict(X))
    X = np.random.default_rng(0).integers(0, 2, (3000, 128)).astype(np.float32)
    model = KMeans(40, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, model.predict(X))


# -- invariances -------------------------------------------------------------------


INITS = st.sampled_from(["k-means++", "random"])


@given(st.integers(0, 10**6), st.integers(2, 6), INITS)
def test_weights_are_repeated_rows(seed, k, init):
    rng = np.random.default_rng(seed)
    X = blobs(60, 3, 5, seed=seed)
    w = rng.integers(0, 4, 60)
    w[:8] = 1
    order = rng.permutation(w.sum())
    model = lambda: KMeans(k, init=init, n_init=2, random_state=seed)
    a = model().fit(X, sample_weight=w)
    b = model().fit(np.repeat(X, w, axis=0)[order])
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, rtol=1e-9)
    assert a.inertia_ == pytest.approx(b.inertia_)


@given(st.integers(0, 10**6), st.floats(-1e4, 1e4))
def test_row_order_and_translation_do_not_matter(seed, offset):
    X, rng = blobs(80, 3, 4, seed=seed), np.random.default_rng(seed)
    a = KMeans(4, init=X[:4]).fit(X)
    order = rng.permutation(80)
    b = KMeans(4, init=X[:4] + offset).fit(X[order] + offset)
    C = a.cluster_centers_ + offset
    np.testing.assert_allclose(C, b.cluster_centers_, atol=1e-7)
    np.testing.assert_array_equal(a.labels_[order], b.labels_)


@pytest.mark.parametrize("shape", [(30_000, 40, 20), (6_000, 130, 40), (700, 300, 64)])
def test_threads_do_not_matter(monkeypatch, shape):
    X, k = blobs(*shape, gap=0.5, dtype=np.float32), shape[2]
    fits = []
    for n in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", n)
        fits.append(KMeans(k, random_state=0, tol=1e-1).fit(X))
    np.testing.assert_array_equal(fits[0].cluster_centers_, fits[1].cluster_centers_)
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)


# -- where the rows live -----------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_table_on_disk_is_the_array(tmp_path, dtype):
    X = blobs(5000, 4, 6, dtype=dtype)
    path = write(tmp_path / "x.parquet", X)
    a = KMeans(6, random_state=0).fit(X)
    b = KMeans(6, random_state=0).fit(path)
    np.testing.assert_array_equal(a.cluster_centers_, b.cluster_centers_)
    np.testing.assert_array_equal(a.labels_, b.labels_)
    assert a.inertia_ == b.inertia_
    np.testing.assert_array_equal(b.predict(path), b.labels_)
    np.testing.assert_allclose(b.transform(path), a.transform(X))
    assert b.score(str(path)) == pytest.approx(-b.inertia_)
    assert b.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]


def test_text_in_a_table_is_named_and_columns_can_be_picked(tmp_path):
    X, path = blobs(60, 2), tmp_path / "t.parquet"
    names = {"a": X[:, 0], "city": ["x"] * 60, "b": X[:, 1]}
    pq.write_table(pa.table(names), path)
    with pytest.raises(ValueError, match=r"not numbers: 'city' \(string\)"):
        KMeans(2).fit(path)
    model = KMeans(2, random_state=0).fit(DatasetRows(path, columns=["a", "b"]))
    plain = KMeans(2, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(path), plain.labels_)


def test_table_larger_than_the_sample_is_seeded_from_it(tmp_path, monkeypatch):
    from pansophy.cluster.centers import initialization

    monkeypatch.setattr(initialization, "SAMPLE_BYTES", 8 * 4 * 300)
    X = blobs(5000, 4, 6, gap=20)
    model = KMeans(6, random_state=0).fit(write(tmp_path / "x.parquet", X))
    best = KMeans(6, n_init=10, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(best.inertia_)


def test_table_with_nan_is_refused(tmp_path):
    X = blobs(50, 3)
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match="column 'x1' contains NaN"):
        KMeans(2).fit(write(tmp_path / "x.parquet", X))


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_tensors_stay_tensors(init):
    torch = pytest.importorskip("torch")
    X = blobs(500, 4, 5)
    T = torch.asarray(X)
    a = KMeans(5, init=init, n_init=1, random_state=0).fit(X)
    b = KMeans(5, init=init, n_init=1, random_state=0).fit(T)
    assert isinstance(b.cluster_centers_, torch.Tensor)
    assert b.cluster_centers_.dtype == T.dtype
    assert b.labels_.device == T.device
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_.numpy())
    np.testing.assert_array_equal(a.labels_, b.labels_.numpy())
    np.testing.assert_array_equal(b.predict(T).numpy(), a.labels_)
    np.testing.assert_allclose(b.transform(T).numpy(), a.transform(X))
    assert b.score(T) == pytest.approx(-a.inertia_)


def test_strict_arrays():
    xp = pytest.importorskip("array_api_strict")
    X = blobs(300, 3, 4)
    w = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    a = KMeans(4, random_state=0).fit(X, sample_weight=w)
    b = KMeans(4, random_state=0).fit(xp.asarray(X), sample_weight=xp.asarray(w))
    assert b.inertia_ == pytest.approx(a.inertia_)
    T = b.transform(xp.asarray(X))
    np.testing.assert_allclose(np.asarray(T), a.transform(X), atol=1e-12)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows(kind):
    rng = np.random.default_rng(0)
    X = blobs(400, 12, 5, gap=6) * (rng.random((400, 12)) < 0.6)
    w = rng.random(400)
    a = KMeans(5, random_state=0, n_init=3).fit(X, sample_weight=w)
    b = KMeans(5, random_state=0, n_init=3).fit(kind(X), sample_weight=w)
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-10)
    np.testing.assert_array_equal(a.labels_, b.predict(kind(X)))
    np.testing.assert_allclose(b.transform(kind(X)), a.transform(X), atol=1e-7)
    assert b.inertia_ == pytest.approx(a.inertia_)


# -- starts, empty cells, parameters -----------------------------------------------


@pytest.mark.parametrize("kind", ["numpy", "torch", "csr"])
def test_empty_clusters_take_the_farthest_rows(kind):
    X, C = column(1, 2, 3, 9, 10), column(0, 100, 101)
    data = {
        "numpy": lambda: X,
        "csr": lambda: sparse.csr_array(X),
        "torch": lambda: pytest.importorskip("torch").asarray(X),
    }[kind]()
    model = KMeans(3, init=C).fit(data)
    expected, labels, trace = oracle.lloyd(X, np.ones(5), C)
    centers = np.asarray(model.cluster_centers_)
    np.testing.assert_allclose(centers, expected)
    np.testing.assert_allclose(model.history_["objective"], trace, atol=1e-12)
    np.testing.assert_array_equal(np.asarray(model.labels_), labels)


def test_zero_weight_rows_never_become_centres():
    X = column(0, 1, 2, 1000)
    model = KMeans(2, init=column(0, -500)).fit(X, sample_weight=[1, 1, 1, 0])
    assert model.cluster_centers_.max() <= 2
    for seed in range(20):
        model = KMeans(3, random_state=seed).fit(X, sample_weight=[1, 1, 1, 0])
        assert model.cluster_centers_.max() <= 2


def test_fewer_distinct_rows_than_clusters_is_warned_of():
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\) found"):
        model = KMeans(3, random_state=0).fit(column(1, 1, 1, 5, 5))
    assert model.inertia_ == pytest.approx(0, abs=1e-25)


@pytest.mark.parametrize("name", ["KMedians", "KMedoids", "KernelKMeans",
                                  "TrimmedKMeans", "BisectingKMeans"])  # fmt: skip
def test_relatives_say_so_too_and_put_equal_rows_together(name):
    model = getattr(cluster, name)(3)
    if hasattr(model, "random_state"):
        model.set_params(random_state=0)
    if hasattr(model, "trim"):
        model.set_params(trim=0.0)
    with pytest.warns(
        ConvergenceWarning, match=r"distinct clusters \(2\) found"
    ) as said:
        z = model.fit(column(1, 1, 1, 5, 5)).labels_
    assert said[0].filename == __file__
    assert len(set(z[:3])) == len(set(z[3:])) == 1 and z[0] != z[3]


def test_start_from_a_function():
    X, seen = blobs(100), []

    def first(X, n_clusters, random_state):
        seen.append(random_state.randint(1000))
        return X[:n_clusters]

    model = KMeans(4, init=first, random_state=0).fit(X)
    assert model.inertia_ == KMeans(4, init=X[:4]).fit(X).inertia_
    assert len(set(seen)) > 1
    assert len(seen) == 10


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"n_clusters": 0}, "n_clusters of KMeans must be a whole number of at"),
        ({"init": "kmeans"}, "init of KMeans must be one of 'k-means\\+\\+', 'random'"),
        ({"n_init": "many"}, "n_init of KMeans must be 'auto' or a whole number"),
        ({"tol": -1.0}, "tol of KMeans must be a number of at least 0, got -1.0"),
        ({"algorithm": "full"}, "algorithm of KMeans must be one of 'lloyd', 'elkan'"),
        ({"copy_x": 3}, "copy_x of KMeans must be True or False, got 3"),
    ],
)
def test_bad_parameters(params, words):
    with pytest.raises(ParameterError, match=words):
        KMeans(**params).fit(blobs(20))


def test_bad_starts():
    X = blobs(20, 2)
    with pytest.raises(ValueError, match=r"centers \(3, 2\).*need \(4, 2\)"):
        KMeans(4, init=X[:3]).fit(X)
    with pytest.raises(ValueError, match="initial centers contain NaN"):
        KMeans(1, init=[[np.nan, 1.0]]).fit(X)
    with pytest.raises(ValueError, match="n_samples=20 should be >= n_clusters=21"):
        KMeans(21).fit(X)
    with pytest.warns(RuntimeWarning, match="only one init instead of n_init=5"):
        KMeans(2, init=X[:2], n_init=5).fit(X)


def test_every_parameter_of_sklearn_exists_with_its_default():
    ours, theirs = KMeans().get_params(), peer.KMeans().get_params()
    assert {name: ours[name] for name in theirs} == theirs


# -- interruption, resuming, callbacks ---------------------------------------------


def interrupt_after(monkeypatch, iterations):
    """Make the update of the centres raise Ctrl-C once."""
    real, calls = module.updated_centers, []

    def update(*args):
        calls.append(1)
        if len(calls) == iterations + 1:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(module, "updated_centers", update)


def test_interrupted_fit_is_usable_and_resumes(monkeypatch):
    X = blobs(3000, 5, 20, gap=0.5)
    whole = KMeans(20, init=X[:20], tol=0).fit(X)
    interrupt_after(monkeypatch, 3)
    model = KMeans(20, init=X[:20], tol=0, warm_start=True)
    with pytest.warns(InterruptedFitWarning, match="interrupted after 3 iterations"):
        model.fit(X)
    assert model.interrupted_
    assert not model.converged_
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.inertia_ == pytest.approx(-model.score(X))
    model.fit(X)
    assert model.converged_
    assert not model.interrupted_
    assert model.n_iter_ == whole.n_iter_ - 3
    np.testing.assert_allclose(model.cluster_centers_, whole.cluster_centers_)


def test_max_iter_is_warned_of():
    X = blobs(1000, 5, 10, gap=0.2)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 iterations"):
        KMeans(10, init=X[:10], max_iter=2, tol=0).fit(X)


def test_scoring_monitor_sees_the_iterations():
    from sklearn.callback import ScoringMonitor

    X = blobs(500, 3, 6, gap=0.5)
    monitor = ScoringMonitor(scoring=lambda est, X, y=None: est.score(X))
    model = KMeans(6, init=X[:6], tol=0).set_callbacks(monitor).fit(X)
    log = monitor.get_logs().data
    assert len(log) >= model.n_iter_


def test_labels_for_mixtures():
    X = blobs(500, 3, 4, gap=10)
    z = kmeans_labels(X, None, 4, np.random.default_rng(0))
    assert kmeans_objective(
        X, [X[z == j].mean(axis=0) for j in range(4)]
    ) == pytest.approx(KMeans(4, n_init=5, random_state=0).fit(X).inertia_)


def test_objective_minimised_over_labels():
    X, w = blobs(100), np.random.default_rng(0).random(100)
    C = X[:3]
    J = oracle.objective(X, w, C, oracle.assign(X, C))
    assert kmeans_objective(X, C, sample_weight=w) == pytest.approx(J)


def test_unconverged_warning_is_silenced_only_by_asking():
    X = blobs(1000, 5, 10, gap=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            KMeans(10, init=X[:10], max_iter=1, tol=0).fit(X)


def test_three_forms_of_the_objective():
    # joint form J(C, z): least over z is the form of centres, over C that of clusters
    X = np.array([[0.0], [1.0], [4.0], [6.0]])
    C, w = np.array([[0.0], [5.0]]), np.ones(4)
    labels = list(itertools.product([0, 1], repeat=4))
    joint = [oracle.objective(X, w, C, np.array(z)) for z in labels]
    assert min(joint) == kmeans_objective(X, C) == 3
    z = np.array([0, 0, 1, 1])
    means = oracle.means(X, w, z, C)
    by_clusters = oracle.objective(X, w, means, z)
    grid = np.linspace(-1, 7, 81)
    tried = (
        oracle.objective(X, w, np.array([[a], [b]]), z) for a in grid for b in grid
    )
    assert by_clusters == pytest.approx(min(tried))
    assert kmeans_objective(X, X) == 0


def cosine_oracle(X, C, turns):
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    C = C / np.linalg.norm(C, axis=1, keepdims=True)
    for _ in range(turns):
        z = (U @ C.T).argmax(axis=1)
        C = np.array([U[z == j].sum(axis=0) for j in range(len(C))])
        C /= np.linalg.norm(C, axis=1, keepdims=True)
    return C, (U @ C.T).argmax(axis=1), 2 * np.sum(1 - (U @ C.T).max(axis=1))


def test_spherical_k_means():
    X = blobs(400, 4, 5) + 1.0
    C, z, J = cosine_oracle(X, X[:5], 200)
    model = KMeans(5, init=X[:5], tol=0, metric="cosine").fit(X)
    np.testing.assert_allclose(model.cluster_centers_, C)
    np.testing.assert_array_equal(model.labels_, z)
    assert model.inertia_ == pytest.approx(J)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-9)
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1)
    scale = np.random.default_rng(0).uniform(0.1, 50, size=(400, 1))
    np.testing.assert_array_equal(model.predict(X * scale), z)
    other = KMeans(5, init=X[:5], tol=0, metric="cosine").fit(X * scale)
    np.testing.assert_array_equal(other.labels_, z)
    assert model.score(X) == pytest.approx(-J)
    sparse_ = KMeans(5, init=X[:5], tol=0, metric="cosine").fit(sparse.csr_array(X))
    np.testing.assert_array_equal(sparse_.labels_, z)
    torch = pytest.importorskip("torch")
    tensor = KMeans(5, init=X[:5], tol=0, metric="cosine").fit(torch.asarray(X))
    np.testing.assert_array_equal(tensor.labels_.numpy(), z)


def test_directions_need_length(tmp_path):
    X = blobs(20, 4, 5)
    X[3] = 0
    with pytest.raises(ValueError, match="row 3 of X has length 0"):
        KMeans(2, metric="cosine").fit(X)
    with pytest.raises(ValueError, match="metric of KMeans must be one of"):
        KMeans(2, metric="manhattan").fit(X)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_fixed_rows_take_part_and_keep_their_label(seed):
    X, rng = blobs(80, 4, 5, seed=seed), np.random.default_rng(seed)
    held = np.arange(80) < 15
    z, w = rng.integers(0, 3, 80), np.ones(80)
    z[:3] = [0, 1, 2]
    C = np.array([X[held & (z == j)].mean(axis=0) for j in range(3)])
    free = (X[~held], w[~held], C)
    run = lloyd(*free, fixed=(X[held], w[held], z[held]), max_iter=50)
    D = C.copy()
    for _ in range(50):  # by the book
        z[~held] = oracle.assign(X[~held], D)
        D = oracle.means(X, w, z, D)
    np.testing.assert_allclose(run.state.centers, D, atol=1e-9)
    np.testing.assert_array_equal(run.state.labels, z[~held])
    assert run.state.objective == pytest.approx(oracle.objective(X, w, D, z))
    J = run.history["objective"]
    assert np.all(np.diff(J) <= 1e-9 * J[0])


FIT = """
import json, resource, sys
from pansophy.cluster import KMeans
from pansophy.core.arrays.decoded_rows import row_memory

def peak():  # MB; ru_maxrss begins with what the parent held
    try:
        with open("/proc/self/status") as file:
            return int(file.read().split("VmHWM:")[1].split()[0]) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

small, large = sys.argv[1:]
KMeans(2, random_state=0).fit(small)  # imports and compiled loops
before = peak()
with row_memory(20e6):  # of decoded rows that are kept
    model = KMeans(4, random_state=0).fit(large)
print(json.dumps({
    "grown": peak() - before,
    "inertia": model.inertia_,
    "centers": model.cluster_centers_[:, 0].tolist(),
}))
"""


def table(rng, n, d):
    side = rng.integers(0, 4, n)
    return pa.table({f"x{j}": rng.normal(size=n) + 10.0 * side for j in range(d)})


def test_fit_needs_less_memory_than_the_table(tmp_path):
    rng = np.random.default_rng(0)
    small, large = tmp_path / "small.parquet", tmp_path / "large.parquet"
    pq.write_table(table(rng, 2000, 4), small)
    plain = {"use_dictionary": False, "compression": "none"}
    n, d = 200_000, 128
    pq.write_table(table(rng, n, d), large, **plain)  # one row group
    megabytes = os.path.getsize(large) / 2**20
    assert megabytes > 190
    done = subprocess.run(
        [sys.executable, "-c", FIT, str(small), str(large)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "2"},  # each thread holds a block
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["grown"] < 0.65 * megabytes
    assert sorted(round(c) for c in told["centers"]) == [0, 10, 20, 30]
    assert told["inertia"] / (n * d) == pytest.approx(1, rel=0.01)


def test_objective_of_labels_of_centres_and_of_both():
    """The joint form is least over labels at the first, over centres at the second."""
    X = np.array([[1.0], [2.0], [9.0], [10.0]])
    C = np.array([[1.0], [7.0]])
    z = np.array([0, 1, 1, 1])
    assert kmeans_objective(X, C, labels=z) == 38
    assert kmeans_objective(X, labels=["a", "b", "b", "b"]) == 38  # 7 is the mean
    nearest = np.abs(X - C.T).argmin(axis=1)
    assert kmeans_objective(X, C, labels=nearest) == kmeans_objective(X, C) == 14
    w = np.array([1, 2, 3, 1])
    copies = np.repeat(np.arange(4), w)
    for how in ({"labels": z}, {"centers": C}, {"centers": C, "labels": z}):
        many = {k: v[copies] if k == "labels" else v for k, v in how.items()}
        want = kmeans_objective(X[copies], **many)
        assert kmeans_objective(X, sample_weight=w, **how) == pytest.approx(want)
    with pytest.raises(ValueError, match="centers, labels or both"):
        kmeans_objective(X)
    with pytest.raises(ValueError, match="from 0 to 1"):
        kmeans_objective(X, C, labels=[0, 1, 2, 1])


def test_verbose_prints_iterations_and_why_they_end(capsys):
    X = blobs(300)
    model = KMeans(4, random_state=0, verbose=1, tol=0).fit(X)
    said = capsys.readouterr().out
    assert "Initialization complete" in said
    lines = [line for line in said.splitlines() if line.startswith("Iteration")]
    assert len(lines) == model.n_iter_
    assert f"Iteration 0, inertia {model.history_['objective'][0]:.6g}." in lines
    assert f"Converged at iteration {model.n_iter_ - 1}: strict convergence." in said
    KMeans(4, random_state=0, verbose=2, tol=0).fit(X)
    assert capsys.readouterr().out.count("Iteration") == model.n_iter_
    KMeans(4, random_state=0, verbose=1, tol=1.0).fit(X)
    assert "within tolerance" in capsys.readouterr().out


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_more_centres_than_distinct_rows_converge_at_once(kind):
    """Where every row is at its centre, an empty cluster has nowhere to go."""
    X = np.array([[0.0, 0], [1, 1], [1, 1], [1, 0], [0, 1]])
    with pytest.warns(ConvergenceWarning, match="due to duplicate points in X"):
        model = KMeans(5, init=X).fit(kind(X))
    assert model.n_iter_ == 1 and model.inertia_ == 0


def test_bounds_of_one_cluster_are_warned_of():
    with pytest.warns(RuntimeWarning, match="doesn't make sense for a single cluster"):
        KMeans(1, algorithm="elkan").fit(blobs(50))

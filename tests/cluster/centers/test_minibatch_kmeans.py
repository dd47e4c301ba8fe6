"""Mini-batch and streaming k-means: running means, memory, tables, scikit-learn."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sklearn.cluster as peer
from scipy import sparse

from pansophy.cluster import KMeans, MiniBatchKMeans
from pansophy.cluster.centers import minibatch_kmeans
from pansophy.cluster.centers.minibatch_kmeans import minibatch_step, reassign_centers
from pansophy.core.arrays.rows import DatasetRows


def blobs(n=3000, d=4, k=5, gap=8.0, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=(n, d)) + gap * rng.normal(size=(k, d))[rng.integers(0, k, n)]
    )


def test_centres_are_the_means_of_all_rows_they_met():
    X, C = blobs(), blobs(5, seed=3)
    v, met = np.zeros(5), [[] for _ in range(5)]
    for B in np.array_split(X, 10):
        C, v, z, J = minibatch_step(B, np.ones(len(B)), C, v)
        for x, j in zip(B, z, strict=True):
            met[j].append(x)
        assert J >= 0
    for j in np.flatnonzero(v):
        assert v[j] == len(met[j])
        np.testing.assert_allclose(C[j], np.mean(met[j], axis=0))


def test_one_batch_of_everything_is_one_turn_of_lloyd():
    X = blobs()
    with pytest.warns(match="did not converge"):
        one = KMeans(5, init=X[:5], max_iter=1, tol=0).fit(X)
    model = MiniBatchKMeans(5, init=X[:5]).partial_fit(X)
    np.testing.assert_allclose(model.cluster_centers_, one.cluster_centers_)
    assert model.counts_.sum() == len(X)


def test_weights_are_repeated_rows_in_a_stream():
    X, rng = blobs(200), np.random.default_rng(0)
    w = rng.integers(0, 4, 200)
    a = MiniBatchKMeans(4, init=X[:4]).partial_fit(X, sample_weight=w)
    b = MiniBatchKMeans(4, init=X[:4]).partial_fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_)
    np.testing.assert_allclose(a.counts_, b.counts_)


def test_memory_of_a_stream_does_not_grow():
    model = MiniBatchKMeans(8, random_state=0)
    model.partial_fit(blobs(2000, 20, 8))
    peaks = []
    for round_ in range(3):
        tracemalloc.start()
        for s in range(10 if round_ else 2):
            model.partial_fit(blobs(2000, 20, 8, seed=s))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.2 * peaks[1]
    kept = sum(np.size(v) for v in vars(model).values() if isinstance(v, np.ndarray))
    assert kept <= 8 * 20 + 8 + 2000  # centres, counts, labels of the last batch
    assert model.n_steps_ == 23


@pytest.mark.parametrize("init", ["k-means++", "random", "farthest"])
def test_as_good_as_sklearns(init):
    X = blobs(20_000, 6, 12, gap=4.0)
    how = {"init": "k-means++" if init == "farthest" else init, "n_init": 3}
    fit = lambda cls, s, **how: cls(12, random_state=s, **how).fit(X)
    theirs = [fit(peer.MiniBatchKMeans, s, **how).inertia_ for s in range(10)]
    how["init"] = init
    ours = [fit(MiniBatchKMeans, s, **how).inertia_ for s in range(10)]
    spread = np.hypot(np.std(ours), np.std(theirs)) / np.sqrt(10)
    assert np.mean(ours) <= np.mean(theirs) + 2 * spread
    ours = fit(MiniBatchKMeans, 0, **how)
    assert ours.inertia_ == pytest.approx(-ours.score(X))
    np.testing.assert_array_equal(ours.labels_, ours.predict(X))
    assert len(ours.history_["objective"]) == ours.n_steps_


def test_table_is_read_in_batches(tmp_path):
    X = blobs(5000, 3, 4, gap=12)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(3)}), path)
    model = MiniBatchKMeans(4, batch_size=500, n_init=3, random_state=0).fit(path)
    best = KMeans(4, n_init=5, random_state=0).fit(X)
    assert model.inertia_ <= 1.05 * best.inertia_
    assert model.labels_.shape == (5000,)


def test_sparse_rows_and_tensors():
    X = blobs(2000, 8, 4) * (np.random.default_rng(0).random((2000, 8)) < 0.5)
    a = MiniBatchKMeans(4, init=X[:4], random_state=0).fit(X)
    b = MiniBatchKMeans(4, init=X[:4], random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_, atol=1e-9)
    torch = pytest.importorskip("torch")
    c = MiniBatchKMeans(4, init=X[:4], random_state=0).fit(torch.asarray(X))
    assert isinstance(c.cluster_centers_, torch.Tensor)
    np.testing.assert_allclose(a.cluster_centers_, c.cluster_centers_.numpy())


def test_starving_centres_are_moved_to_rows():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    C, v = np.array([[1.0], [500.0]]), np.array([100.0, 0.0])
    new, mass = reassign_centers(X, np.ones(4), C, v, 0.01, np.random.default_rng(0))
    assert new[0] == 1.0
    assert new[1] in X
    assert mass[1] == 100


def test_stopping():
    X = blobs()
    long = MiniBatchKMeans(5, max_iter=3, batch_size=300, max_no_improvement=None)
    assert long.set_params(random_state=0).fit(X).n_steps_ == 30
    assert long.n_iter_ == 3
    early = MiniBatchKMeans(5, batch_size=300, tol=0.5, random_state=0).fit(X)
    assert early.converged_
    assert early.n_steps_ < 30
    none = MiniBatchKMeans(5, compute_labels=False, random_state=0).fit(X)
    assert not hasattr(none, "labels_")


def test_a_start_needs_as_many_rows_as_clusters():
    with pytest.warns(RuntimeWarning, match="init_size=3 should be larger than n_clus"):
        MiniBatchKMeans(5, init_size=3, random_state=0).fit(blobs(200))


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"tol": 1e-2, "max_no_improvement": None}, "small centers change"),
        ({"tol": 0, "max_no_improvement": 5}, "lack of improvement in inertia"),
    ],
)
def test_verbose_says_why_the_fit_ended(how, why, capsys):
    MiniBatchKMeans(3, random_state=0, verbose=1, batch_size=50, **how).fit(blobs(500))
    assert f"Converged ({why}) at step" in capsys.readouterr().out


def sorted_table(path, n=20_000, k=8, d=5):
    """Rows that stand by cluster, as in a file sorted by a label; and the file."""
    rng = np.random.default_rng(4)
    z = np.sort(rng.integers(0, k, n))
    X = (3 * rng.standard_normal((k, d)))[z] + rng.standard_normal((n, d))
    table = pa.table({f"x{j}": X[:, j] for j in range(d)})
    pq.write_table(table, path, row_group_size=n // 8)
    return X


@pytest.mark.parametrize("n_init", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_file_with_ordered_rows_gives_what_memory_gives(tmp_path, n_init, weighted):
    path = tmp_path / "sorted.parquet"
    X = sorted_table(path)
    w = np.random.default_rng(0).integers(0, 3, len(X)) if weighted else None
    for seed in range(2):
        model = MiniBatchKMeans(8, n_init=n_init, random_state=seed)
        held = model.fit(X, sample_weight=w)
        read = MiniBatchKMeans(8, n_init=n_init, random_state=seed)
        read.fit(path, sample_weight=w)
        np.testing.assert_array_equal(read.cluster_centers_, held.cluster_centers_)
        np.testing.assert_array_equal(read.labels_, held.labels_)
        assert read.inertia_ == held.inertia_
        assert read.n_steps_ == held.n_steps_


def test_drawn_batches_do_not_depend_on_the_buffer(tmp_path, monkeypatch):
    path = tmp_path / "sorted.parquet"
    X = sorted_table(path, 4000)
    model = MiniBatchKMeans(8, batch_size=100, max_no_improvement=None, max_iter=2)
    held = model.set_params(random_state=0).fit(X).cluster_centers_
    monkeypatch.setattr(minibatch_kmeans, "FIRST_BYTES", 3 * 100 * 5 * 8)
    monkeypatch.setattr(minibatch_kmeans, "BUFFER_BYTES", 10 * 100 * 5 * 8)
    assert minibatch_kmeans.batches_of_a_pass(DatasetRows(path), 100) == (3, 10)
    np.testing.assert_array_equal(model.fit(path).cluster_centers_, held)

"""Rows on a cluster: the same bits, lost and added workers, functions that stay."""

import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pansophy.core.arrays import cluster_rows, rows
from pansophy.core.arrays.cluster_connection import (
    ClusterError,
    check_memory,
    check_worker_versions,
    connected_cluster,
    fit_versions,
    local_workers,
)
from pansophy.core.arrays.cluster_rows import ClusterRows
from pansophy.core.arrays.open_rows import open_rows
from pansophy.core.arrays.rows import Rows

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

N = 2003


@pytest.fixture(scope="module")
def client():
    options = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(n_workers=2, **options) as cluster:
        client = distributed.Client(cluster)
        yield client
        client.close()


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, 3))


@pytest.fixture
def parquet(X, tmp_path):
    path = tmp_path / "x.parquet"
    columns = {f"x{j}": X[:, j] for j in range(3)}
    pq.write_table(pa.table(columns), path, row_group_size=311)
    return path


def moments(X, *aligned):
    return X.sum(0), X.T @ X, *(float(a.sum()) for a in aligned)


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("block", [3, 10, 64, 500, N - 1])
def test_sums_have_the_bits_of_the_array(X, parquet, client, block):
    with connected_cluster(client):
        there = open_rows(parquet).with_aligned(X[:, 0], block=block)
    assert isinstance(there, ClusterRows)
    assert same(there.sum(moments), Rows(X, X[:, 0], block=block).sum(moments))
    assert there.passes == {"cluster": 1, "home": 0}
    np.testing.assert_array_equal(there.map(lambda x, _: x * 2), X * 2)


def test_partitions_of_any_length(X, client):
    da = pytest.importorskip("dask.array")
    whole = da.from_array(X, chunks=((1, 0, 700, 2, N - 703), (2, 1)))
    unknown = whole[whole[:, 0] > -np.inf]
    for source in (whole, unknown):
        there = open_rows(source)  # dask knows the client by itself
        assert isinstance(there, ClusterRows) and there.n == N
        assert same(
            there.with_aligned(block=9).sum(moments), Rows(X, block=9).sum(moments)
        )
        index = [N - 1, 0, 1, 1, 701, 703]
        np.testing.assert_array_equal(there.take(index), X[index])
        assert there.take([]).shape == (0, 3)
        with pytest.raises(IndexError, match="from 0 to 2002"):
            there.take([N])


def test_what_a_function_writes_comes_back(X, parquet, client):
    labels, weights = np.zeros(N, np.int32), np.ones(N)
    with connected_cluster(client):
        there = open_rows(parquet).with_aligned(labels, weights, None, block=100)

    def write(x, z, w, nothing):
        z[:] = x[:, 0] > 0
        return float(w.sum())

    assert sum(there.each(write)) == N
    np.testing.assert_array_equal(labels, X[:, 0] > 0)
    assert weights.sum() == N


def test_a_function_that_cannot_be_sent_runs_here(X, parquet, client):
    with connected_cluster(client):
        there = open_rows(parquet).with_aligned(block=100)
    lock = threading.Lock()

    def locked(x):
        with lock:
            return x.sum(0)

    right = Rows(X, block=100).sum(locked)
    np.testing.assert_array_equal(there.sum(locked), right)
    assert there.passes == {"cluster": 0, "home": 1}


def test_a_function_leaves_the_table_behind(X, parquet, client):
    with connected_cluster(client):
        there = open_rows(parquet).with_aligned(block=100)
    right = Rows(X, block=100).sum(lambda x: N + x.sum(0))
    np.testing.assert_array_equal(there.sum(lambda x: there.n + x.sum(0)), right)
    assert there.passes == {"cluster": 1, "home": 0}
    with pytest.raises(AttributeError):
        there.sum(lambda x: there.kept.rows)


def test_an_error_of_the_function_is_its_own(parquet, client):
    with connected_cluster(client):
        there = open_rows(parquet).with_aligned(block=100)

    def fails(x):
        raise ArithmeticError("no")

    with pytest.raises(ArithmeticError, match="no"):
        there.sum(fails)


def test_aligned_slices_are_sent_once(X, parquet, client, monkeypatch):
    monkeypatch.setattr(cluster_rows, "INLINE_BYTES", 10)
    with connected_cluster(client):
        there = open_rows(parquet).with_aligned(X[:, 1].copy(), block=100)
    first = there.sum(moments)
    sent = dict(there.scattered)
    assert sent and same(there.sum(moments), first)
    assert there.scattered == sent
    there.aligned[0][:] = 1.0
    assert there.sum(moments)[2] == N


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_lost_worker_and_an_added_one_change_nothing(X, parquet, monkeypatch):
    monkeypatch.setattr(cluster_rows, "INLINE_BYTES", 10)
    options = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(n_workers=2, **options) as cluster:
        client = distributed.Client(cluster, set_as_default=False)
        with connected_cluster(client):
            there = open_rows(parquet).with_aligned(X[:, 1].copy(), block=10)
            right = Rows(X, X[:, 1], block=10).sum(moments)
            assert same(there.sum(moments), right)
            lost = cluster.workers[0]
            cluster.sync(lost.close, nanny=False, executor_wait=False)
            assert same(there.sum(moments), right)
            cluster.scale(3)
            client.wait_for_workers(2, timeout=20)
            assert same(there.sum(moments), right)
        client.close()


def test_versions_of_workers_are_compared():
    class Client:
        def __init__(self, answer):
            self.answer = answer

        def run(self, function):
            return {"tcp://a:1": self.answer(function)}

    check_worker_versions(Client(lambda f: f()))
    with pytest.raises(ClusterError, match=r"a:1 has pansophy 9.9, this machine"):
        check_worker_versions(Client(lambda f: fit_versions() | {"pansophy": "9.9"}))

    def absent(function):
        raise ModuleNotFoundError("No module named 'pansophy'")

    with pytest.raises(ClusterError, match="install the same version"):
        check_worker_versions(Client(absent))


def test_rows_that_do_not_fit_are_refused_with_numbers(client):
    class Client:
        def scheduler_info(self, n_workers):
            return {"workers": {k: {"memory_limit": 10**9} for k in range(3)}}

    check_memory(Client(), 1e9, 1.3)
    with pytest.raises(MemoryError, match=r"2 GB of rows need 2.6 GB .* 3 workers"):
        check_memory(Client(), 2e9, 1.3)


def test_addresses_are_checked():
    assert local_workers("local:3") == 3
    with pytest.raises(ClusterError, match='write "local:4"'):
        local_workers("local:many")
    words = "No dask scheduler answers at nonsense"
    with pytest.raises(ClusterError, match=words), connected_cluster("nonsense://1"):
        pass


def test_workers_must_see_the_file(parquet, client, tmp_path):
    with connected_cluster(client):
        there = open_rows(parquet)
        limits = there.pieces[0]
    assert limits.start == 0
    few = rows.as_dataset(parquet)
    with pytest.raises(ValueError, match="do all workers see the same files"):
        cluster_rows.piece_of_dataset(few, ["x0"], "<f8", N - 1, N + 5, fit_versions())

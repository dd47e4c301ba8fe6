"""The connection to a dask cluster: what is refused, in one sentence each."""

from types import SimpleNamespace

import pytest

from pansophy.core.arrays import cluster_connection as connection


class ClientOfWorkers(SimpleNamespace):
    """A stand-in for dask's client: `versions` by worker, and memory limits."""

    def run(self, function):
        return self.versions

    def scheduler_info(self, n_workers):
        limits = enumerate(self.limits)
        return {"workers": {str(i): {"memory_limit": limit} for i, limit in limits}}


def test_workers_of_other_versions_are_named():
    same = connection.fit_versions()
    connection.check_worker_versions(ClientOfWorkers(versions={"tcp://a": same}))
    other = same | {"numpy": "1.0"}
    client = ClientOfWorkers(versions={"tcp://a": same, "tcp://b": other})
    with pytest.raises(connection.ClusterError, match=r"tcp://b has numpy 1\.0"):
        connection.check_worker_versions(client)
    without = {k: v for k, v in same.items() if k != "numba"}
    with pytest.raises(connection.ClusterError, match="numba of no version"):
        connection.check_worker_versions(ClientOfWorkers(versions={"a": without}))


def test_a_worker_without_the_package_is_told():
    class Broken(ClientOfWorkers):
        def run(self, function):
            raise ModuleNotFoundError("No module named\n'pansophy'")

    with pytest.raises(connection.ClusterError, match="No module named 'pansophy'"):
        connection.check_worker_versions(Broken())


def test_rows_that_do_not_fit_are_refused_with_the_numbers():
    client = ClientOfWorkers(limits=[1_000_000_000, 1_000_000_000])
    connection.check_memory(client, 1_000_000_000, copies=1)
    with pytest.raises(MemoryError, match=r"1\.3 GB .* 1\.2 GB"):
        connection.check_memory(client, 1_300_000_000, copies=1)
    unlimited = ClientOfWorkers(limits=[0])
    connection.check_memory(unlimited, 10**15, copies=1)


@pytest.mark.parametrize("text", ["local:0", "local:four", "local:-1"])
def test_a_number_of_workers_that_is_none_is_refused(text):
    with pytest.raises(connection.ClusterError, match="how many workers"):
        connection.local_workers(text)


def test_outside_of_a_cluster_there_is_no_client():
    assert connection.active_client([1.0, 2.0]) is None

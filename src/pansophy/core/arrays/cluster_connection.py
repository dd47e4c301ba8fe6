"""The dask cluster that fits use: its client, the versions on it and its memory.

    with pansophy.cluster("tcp://scheduler:8786"):
        KMeans(8).fit("/shared/rows/*.parquet")

"local:4" starts four worker processes on this machine for as long as the block lasts.
The block gives dask's client, which knows the address of the dashboard.
"""

import contextlib
import platform
from collections.abc import Iterator
from contextvars import ContextVar
from importlib import metadata

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")  # that decide the bits of a fit
CONNECT_SECONDS = 10
USABLE = 0.6  # share of the memory of a worker that dask fills before it spills

_client: ContextVar = ContextVar("cluster", default=None)


class ClusterError(ConnectionError):
    """The cluster cannot be reached, or broke; what was done is kept."""


@contextlib.contextmanager
def connected_cluster(cluster) -> Iterator:
    """Fit tables on a dask cluster inside; gives the client.

    Parameters
    ----------
    cluster : str, distributed.Client or a dask cluster
        The address of a scheduler, or "local:4" for four processes on this machine.
    """
    client, is_own = dask_client(cluster)
    try:
        check_worker_versions(client)
        if not client.nthreads():
            raise ClusterError("The cluster has no workers yet: start some first.")
        token = _client.set(client)
        try:
            yield client
        finally:
            _client.reset(token)
    finally:
        if is_own:
            client.close()


def dask_client(cluster) -> tuple:
    """A dask client, and whether it is ours to close."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterError(
            "A cluster needs an extra: pip install 'pansophy[scale]'."
        ) from error
    if isinstance(cluster, Client):
        return cluster, False
    if not isinstance(cluster, str):
        return Client(cluster), True  # LocalCluster and its kin
    if cluster == "local" or cluster.startswith("local:"):
        n_workers = local_workers(cluster)
        return Client(n_workers=n_workers, threads_per_worker=1), True
    try:
        return Client(cluster, timeout=CONNECT_SECONDS), True
    except Exception as error:  # of any kind, where another service listens
        raise ClusterError(f"No dask scheduler answers at {cluster}.") from error


def local_workers(text) -> int:
    """The number of workers in "local:4"; one for each core in "local".

    Examples
    --------
    >>> local_workers("local:4")
    4
    """
    from ..loops.threads import available_threads

    number = text.partition(":")[2]
    if not number:
        return available_threads()
    if not number.isdigit() or int(number) < 1:
        raise ClusterError(
            f'{text} does not say how many workers: write "local:4" for four.'
        )
    return int(number)


def active_client(source=None):
    """The client of `connected_cluster`, or that of dask for a dask collection."""
    client = _client.get()
    if client is None and type(source).__module__.startswith("dask"):
        try:
            from distributed import get_client
        except ImportError:
            return None
        with contextlib.suppress(ValueError):
            client = get_client()
    return client if client is not None and client.status == "running" else None


def fit_versions() -> dict[str, str]:
    """What decides the bits of a fit, with its version."""
    from ... import __version__

    found = {name: metadata.version(name) for name in LIBRARIES}
    return {"pansophy": __version__, "python": platform.python_version(), **found}


def check_worker_versions(client) -> None:
    """Refuse workers of different versions, whose fits would not be the same."""
    own_versions = fit_versions()
    try:
        versions_by_worker = client.run(fit_versions)
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        raise ClusterError(
            f"A worker has no pansophy that answers ({text}): install the same "
            "version on all machines."
        ) from error
    for address, worker_versions in versions_by_worker.items():
        check_versions(own_versions, worker_versions, f"the worker at {address}")


def check_versions(own_versions, worker_versions, who) -> None:
    """Raise ClusterError if a worker has different versions than this machine."""
    different = [
        name for name in own_versions if worker_versions.get(name) != own_versions[name]
    ]
    if different:
        name = different[0]
        raise ClusterError(
            f"{who} has {name} {worker_versions.get(name, 'of no version')}, this "
            f"machine {own_versions[name]}: install the same versions on all machines."
        )


def check_memory(client, n_bytes, copies) -> None:
    """Refuse rows that the workers cannot hold, with the numbers."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [w["memory_limit"] for w in workers]
    if not limits or not all(limits):
        return  # no limit is known
    usable = USABLE * sum(limits)
    needed = n_bytes * copies
    if needed > usable:
        raise MemoryError(
            f"{n_bytes / 1e9:.3g} GB of rows need {needed / 1e9:.3g} GB on the "
            f"cluster, whose {len(limits)} workers have {sum(limits) / 1e9:.3g} GB, "
            f"of which dask uses {usable / 1e9:.3g} GB before it writes to disk: add "
            "workers, or fit the file on one machine without the cluster."
        )

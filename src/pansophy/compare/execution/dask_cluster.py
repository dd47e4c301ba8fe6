"""Fits on a dask cluster, through joblib's dask backend.

The workload is written to files once, which are scattered to the machines of the
cluster. Each task there hands its fit to a worker process of that machine: the same
limits of time, memory and threads hold as here, and on processors of the same kind the
outcomes are the same bit for bit.
"""

import contextlib
import queue
import threading
import time
import uuid
from pathlib import Path

import joblib

from ...core.arrays.cluster_connection import (
    ClusterError,
    check_versions,
    check_worker_versions,
    dask_client,
)
from .. import resource_limits
from . import shared_store
from .plan import ActiveFit, FailureKind, FitOutcome, JobQueue, recorded_versions
from .worker_pool import POLL_SECONDS, WorkerPool, fit_on_workers

MAX_BREAKS = 5  # times that lost fits are handed out again
END_SECONDS = 10.0  # seconds that a machine has to end its fits


# --- at home -----------------------------------------------------------------------


def fit_on_cluster(work, job_queue, limits):
    """Outcomes as they come from the cluster, and now and then what is active."""
    from .trials import may_carry_state

    client, ours = dask_client(limits.cluster)
    here: queue.SimpleQueue = queue.SimpleQueue()
    active: dict[tuple[int, int], float] = {}
    returned: set[tuple[int, int]] = set()
    versions = recorded_versions()
    stop = threading.Event()
    key = uuid.uuid4().hex
    files = workload_files(work)
    try:
        check_worker_versions(client)
    except BaseException:
        if ours:
            client.close()
        raise
    plain = {"threads": limits.threads, "time_limit": limits.time_limit}
    plain["memory_limit"] = limits.memory_limit
    own = (m for m, k in enumerate(work.methods) if may_carry_state(k.estimator))
    plain["user_methods"] = tuple(own)

    def jobs():
        while not stop.is_set() and (job := job_queue.take()) is not None:
            returned.discard(job)
            active[job] = time.monotonic()
            yield joblib.delayed(fit_remotely)(files, key, job, plain, versions)

    def hand_out():
        with joblib.parallel_config("dask", client=client, scatter=[files]):
            pool = joblib.Parallel(
                n_jobs=-1, batch_size=1, return_as="generator_unordered"
            )
            for outcome in pool(jobs()):
                returned.add((outcome.method, outcome.fold))
                here.put(outcome)

    def feed():
        for attempt in range(MAX_BREAKS + 1):
            try:
                while job_queue and not stop.is_set():
                    hand_out()
                    # in a race what comes next depends on what has come back
                    while active and not stop.is_set():
                        time.sleep(POLL_SECONDS)
                here.put(None)
                return
            except ClusterError as error:
                here.put(error)
                return
            except BaseException as error:
                if attempt == MAX_BREAKS or stop.is_set():
                    here.put(error)
                    return
                # a worker that was killed has taken its fits with it; nobody waits
                for job in set(active) - returned:
                    active.pop(job, None)
                    job_queue.put_back(*job)

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    try:
        yield from collect_outcomes(here, active, job_queue)
    finally:
        stop.set()
        end_run(client, key)
        feeder.join(END_SECONDS)
        if ours:
            client.close()


def workload_files(work) -> dict[str, bytes]:
    """The files of a workload, by name."""
    with shared_store.store_folder() as folder:
        shared_store.write_workload(work, folder)
        return {p.name: p.read_bytes() for p in folder.iterdir()}


def end_run(client, key) -> None:
    """End the fits that are still at work.

    A machine that does not answer is not waited for.
    """

    def dismiss():
        with contextlib.suppress(Exception):
            client.run(dismiss_run, key)

    thread = threading.Thread(target=dismiss, daemon=True)
    thread.start()
    thread.join(END_SECONDS)


def collect_outcomes(here, active, job_queue):
    while True:
        try:
            result = here.get(timeout=POLL_SECONDS)
        except queue.Empty:
            yield tuple(
                ActiveFit(m, f, since) for (m, f), since in dict(active).items()
            )
            continue
        if result is None:
            return
        if isinstance(result, ClusterError):
            raise result
        if isinstance(result, BaseException):
            text = " ".join(str(result).split())[:200]
            raise ClusterError(f"The cluster broke: {text}") from result
        if job_queue.accepts(result):
            yield result
        # at work until it has been taken note of, which may open a gate of the race
        active.pop((result.method, result.fold), None)


# --- over there --------------------------------------------------------------------

_idle: dict[str, list] = {}  # key of a run -> pools of one that wait for work
_busy: dict[str, list] = {}
_places: dict[str, shared_store.StoreFolder] = {}
_over: set[str] = set()  # runs whose last tasks may still arrive
_lock = threading.Lock()


class RemoteLimits:
    """The part of `ExecutionLimits` that holds on the remote machine.

    `user_methods` are positions of the methods that are estimators of the user's.
    """

    def __init__(self, threads, time_limit, memory_limit, user_methods=()):
        self.threads, self.time_limit = threads, time_limit
        self.memory_limit, self.user_methods = memory_limit, user_methods


def fit_remotely(files, key, job, plain, versions) -> FitOutcome:
    """One fit, in a process of the machine that this runs on."""
    check_versions(versions, recorded_versions(), "a worker that joined later")
    pool = borrow_pool(files, key, RemoteLimits(**plain))
    over = FitOutcome(*job, failure="the run was over", kind=FailureKind.DIED)
    if pool is None:
        return over
    job_queue = JobQueue(job[0] + 1, 0)
    job_queue.left[job[0]] = {job[1]}
    try:
        return next(
            (e for e in fit_on_workers(pool, job_queue) if isinstance(e, FitOutcome)),
            over,
        )
    except RuntimeError as error:
        return FitOutcome(*job, failure=str(error), kind=FailureKind.DIED)
    finally:
        return_pool(pool, key)


def borrow_pool(files, key, limits) -> WorkerPool | None:
    """A pool of one for this run; None if the run is over."""
    with _lock:
        if key in _over:
            return None
        if key not in _places:
            _places[key] = shared_store.StoreFolder()
            for name, body in files.items():
                (Path(_places[key].name) / name).write_bytes(body)
        waiting = _idle.setdefault(key, [])
        pool = waiting.pop() if waiting else None
        if pool is None:
            share = resource_limits.default_memory(
                resource_limits.default_workers() or 1
            )
            memory = limits.memory_limit or share
            pool = WorkerPool(1, limits, memory, user_methods=limits.user_methods)
            pool.open_store(_places[key].name)
        elif pool.members[0].process.gone():
            pool.replace(pool.members[0])
        _busy.setdefault(key, []).append(pool)
    return pool


def return_pool(pool, key):
    with _lock:
        if pool in _busy.get(key, ()):
            _busy[key].remove(pool)
            if not pool.members:  # its worker was killed, and no other needed
                with contextlib.suppress(RuntimeError):
                    pool.members = [pool.start_worker()]
            if pool.members:
                _idle.setdefault(key, []).append(pool)
                return
    pool.close()  # the run is over


def dismiss_run(key) -> None:
    """End all processes and files of a run on this machine."""
    with _lock:
        _over.add(key)
        folder = _places.pop(key, None)
        pools = _idle.pop(key, []) + _busy.pop(key, [])
    for pool in pools:
        pool.close()
    if folder is not None:
        folder.cleanup()

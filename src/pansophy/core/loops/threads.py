"""Threads: how many a fit may use, and the one pool that all fits share.

Compiled loops are single-threaded functions that release the GIL; `run_tasks` runs
many of them on the pool. That keeps compile times short (`parallel=True` lengthens
them), works in forked and nested workers, and gives the same result for any number of
threads, because neither the tasks nor the order in which their results are combined
depends on it.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from functools import cache
from itertools import islice

import threadpoolctl

_local = threading.local()  # a worker of ours never starts workers of its own


def available_threads() -> int:
    """Cores this process may use: affinity, capped by OMP_NUM_THREADS if set.

    joblib's workers set that variable, so nested parallelism does not oversubscribe.
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        cores = os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    cores = min(cores, int(limit)) if limit.isdigit() and int(limit) else cores
    return max(1, min(cores, getattr(_local, "cap", cores)))


def usable_threads() -> int:
    """Threads that this thread may start: one inside a worker of the pool."""
    return 1 if getattr(_local, "worker", False) else available_threads()


@contextmanager
def limit_threads(n_jobs):
    """At most n_jobs threads inside, BLAS included; None for all, -2 for all but 1."""
    if n_jobs is None or n_jobs == -1:
        yield
        return
    cap = n_jobs if n_jobs > 0 else max(1, available_threads() + 1 + n_jobs)
    cap_before, _local.cap = getattr(_local, "cap", None), cap
    try:
        with _blas_controller(os.getpid()).limit(limits=cap, user_api="blas"):
            yield
    finally:
        if cap_before is None:
            del _local.cap
        else:
            _local.cap = cap_before


@cache
def _thread_pool(pid, n):
    # keyed by process: a pool does not survive a fork
    return ThreadPoolExecutor(
        n, thread_name_prefix="pansophy", initializer=_mark_as_worker
    )


def _mark_as_worker():
    _local.worker = True


@cache
def _blas_controller(pid):
    return threadpoolctl.ThreadpoolController()


@contextmanager
def single_blas():
    """BLAS on one thread inside, since our own threads take the cores."""
    with _blas_controller(os.getpid()).limit(limits=1, user_api="blas"):
        yield


def run_tasks(tasks: Iterable[Callable], *, blas: bool = False) -> Iterator:
    """Yield the results of the tasks in their order, computed a few at a time.

    At most `available_threads() + 1` results wait at any moment, which bounds memory.
    `blas` says that the tasks call BLAS, which is then kept to one thread each.
    """
    tasks = iter(tasks)
    head = list(islice(tasks, 2))
    n = 1 if len(head) < 2 or getattr(_local, "worker", False) else available_threads()
    if n == 1:
        for task in head:
            yield task()
        for task in tasks:
            yield task()
        return
    pool = _thread_pool(os.getpid(), n)
    with single_blas() if blas else nullcontext():
        waiting = [pool.submit(t) for t in head]
        waiting += [pool.submit(t) for t in islice(tasks, max(n - 1, 0))]
        try:
            while waiting:
                result = waiting.pop(0).result()
                for task in islice(tasks, 1):
                    waiting.append(pool.submit(task))
                yield result
        finally:
            running = [future for future in waiting if not future.cancel()]
            wait(running)  # no task outlives the call, whatever ended it


@contextmanager
def run_alongside(tasks):
    """Run tasks on other threads while the body runs; none inside a worker.

    A task that has not started when the body ends is never started, so the body must
    not depend on it. The body signals the tasks that have started to end.
    """
    if getattr(_local, "worker", False) or available_threads() == 1:
        yield
        return
    pool = _thread_pool(os.getpid(), available_threads())
    futures = [pool.submit(task) for task in tasks]
    try:
        yield
    finally:
        wait([future for future in futures if not future.cancel()])
    for future in futures:
        if not future.cancelled():
            future.result()

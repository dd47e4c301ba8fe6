"""Warm-up: compile or verify all loops for this machine, several processes at once.

Each process takes names from one queue and makes their usual calls; what it compiles
goes into the user's cache folder, where every other process finds it. A file in the
same folder says that a warm-up of this version of the loops was completed.
"""

import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed

from ..core.loops.completed_warm_up import mark_completed
from .usual_calls import CallReport, run_usual_calls, usual_names

DEMO = "pansophy demo"  # the name under which the main job is called


def warm_up(
    names=None, n_jobs: int | None = None, report: Callable | None = None
) -> list[CallReport]:
    """Make the usual calls of all public names, so that their loops are on disk.

    Parameters
    ----------
    names : list of str or None
        Dotted public names; None takes all, and the main job.
    n_jobs : int or None
        Number of processes; None takes one for each core.
    report : callable or None
        Called with each `CallReport` as it comes.

    Returns
    -------
    list of CallReport
        In the order in which they were done.

    Examples
    --------
    >>> from pansophy.testing import warm_up
    >>> (report,) = warm_up(["pansophy.linear_model.LinearRegression"], n_jobs=1)
    >>> report.name
    'pansophy.linear_model.LinearRegression'
    """
    from ..core.loops.threads import available_threads

    complete = names is None
    names = [DEMO, *usual_names()] if names is None else list(names)
    n_jobs = available_threads() if n_jobs is None else n_jobs
    reports = []
    for finished_report in _run_calls(names, n_jobs):
        reports.append(finished_report)
        if report is not None:
            report(finished_report)
    if complete:
        mark_completed()
    return reports


def _run_calls(names, n_jobs) -> Iterator[CallReport]:
    """Reports of the calls of all names, as they are done."""
    if n_jobs == 1:
        for name in names:
            yield _run_call(name)
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_jobs, mp_context=spawn) as pool:
        waiting = [pool.submit(_run_call, name) for name in names]
        try:
            for future in as_completed(waiting):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _run_call(name: str) -> CallReport:
    """The usual calls of a name, or the main job."""
    import threadpoolctl

    with threadpoolctl.threadpool_limits(1):  # BLAS; the processes share the cores
        return _run_demo() if name == DEMO else run_usual_calls(name)


def _run_demo() -> CallReport:
    """The main job on the bundled table, in a process of its own."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pansophy", "demo", "--out", f"{folder}/demo"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    return CallReport(DEMO, 0, time.perf_counter() - began)

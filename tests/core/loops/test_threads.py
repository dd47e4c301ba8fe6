"""One pool: results in order, few at a time, no nesting, nothing left running."""

import os
import threading
import time

import numpy as np
import pytest
import threadpoolctl

from pansophy.core.loops import threads


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setattr(threads, "available_threads", lambda: 2)


def test_count_respects_the_environment(monkeypatch):
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:  # not on macOS and Windows
        cores = os.cpu_count()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert threads.available_threads() == cores
    for told, want in [
        ("1", 1),
        ("1,4", 1),
        ("9999", cores),
        ("0", cores),
        ("x", cores),
    ]:
        monkeypatch.setenv("OMP_NUM_THREADS", told)
        assert threads.available_threads() == want


@pytest.mark.parametrize("n", [0, 1, 2, 3, 50])
def test_results_come_in_order(two, n):
    tasks = ((lambda i=i: (time.sleep(0.001 * (i % 3)), i)[1]) for i in range(n))
    assert list(threads.run_tasks(tasks)) == list(range(n))


def test_work_is_spread_over_threads(two):
    barrier = threading.Barrier(2, timeout=120)

    def task():
        barrier.wait()  # passes only if two tasks run at once
        return threading.get_ident()

    assert len(set(threads.run_tasks([task, task]))) == 2


def test_few_results_wait_at_any_moment(two):
    begun, seen = [], []
    tasks = ((lambda i=i: begun.append(i)) for i in range(40))
    for i, _ in enumerate(threads.run_tasks(tasks)):
        time.sleep(0.002)
        seen.append(len(begun) - i)
    assert max(seen) <= 2 + 2


def test_a_worker_starts_no_workers(two):
    inner = lambda: set(threads.run_tasks([threading.get_ident] * 5))
    for idents in threads.run_tasks([inner, inner, inner]):
        assert len(idents) == 1


def test_errors_come_through_and_nothing_is_left_running(two):
    running = threading.Event()
    finished = []

    def slow():
        running.set()
        time.sleep(0.2)
        finished.append(1)

    def fail():
        running.wait(120)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(threads.run_tasks([fail, slow, slow, slow, slow]))
    done = len(finished)
    time.sleep(0.3)
    assert len(finished) == done  # no task outlived the call


def test_leaving_early_stops_the_rest(two):
    begun = []
    results = threads.run_tasks((lambda i=i: begun.append(i)) for i in range(100))
    next(results)
    results.close()
    assert len(begun) < 10


def blas_threads():
    info = threadpoolctl.threadpool_info()
    return [pool["num_threads"] for pool in info if pool["user_api"] == "blas"]


def test_blas_is_single_threaded_inside(two):
    np.ones((4, 4)) @ np.ones((4, 4))
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        assert before and all(n == 2 for n in before)
        for inside in threads.run_tasks([blas_threads] * 4, blas=True):
            assert all(n == 1 for n in inside)
        assert blas_threads() == before


def test_limited(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = threads.available_threads()
    with threads.limit_threads(1):
        assert threads.available_threads() == 1
        with threads.limit_threads(None):
            assert threads.available_threads() == 1
    with threads.limit_threads(-1):
        assert threads.available_threads() == cores
    with threads.limit_threads(-2):
        assert threads.available_threads() == max(1, cores - 1)
    assert threads.available_threads() == cores


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_works_in_a_forked_child(two):
    list(threads.run_tasks([lambda: 1, lambda: 2]))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - runs in the child
        answer = sum(threads.run_tasks([lambda: 1, lambda: 2, lambda: 3]))
        os.write(write, str(answer).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with open(read, "rb") as answer:
        assert answer.read() == b"6"

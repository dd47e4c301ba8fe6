"""Processes: thread budgets, fork servers that ended are replaced."""

import os
import signal
import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from pansophy.compare import resource_limits
from pansophy.compare.execution import process_handles
from pansophy.compare.execution.background_call import call_in_background
from pansophy.compare.execution.plan import ExecutionLimits
from pansophy.compare.execution.process_handles import fork_server_ahead, server_ahead
from pansophy.compare.execution.worker_pool import WorkerPool
from tests.compare.faulty_estimators import Case, Mean, same


class Threads(RegressorMixin, BaseEstimator):
    """Predicts how many threads it may use."""

    def fit(self, X, y):
        import threadpoolctl

        from pansophy.core.loops import threads

        X @ X.T  # BLAS is loaded
        pools = [k["num_threads"] for k in threadpoolctl.threadpool_info()]
        self.most_ = max([threads.available_threads(), *pools])
        self.env_ = int(os.environ.get("OMP_NUM_THREADS", 0))
        self.hash_ = os.environ.get("PYTHONHASHSEED")
        return self

    def predict(self, X):
        return np.full(len(X), self.most_ + 100.0 * self.env_)


def test_thread_budget_and_plain_processes(monkeypatch):
    """Also where nothing can be forked: each worker is a Python of its own."""
    monkeypatch.setattr(process_handles, "CAN_FORK", False)
    found = Case({"threads": Threads(), "gone": Mean("vanishes")}, folds=2).run(
        workers=1
    )
    assert set(found["threads"].predictions) == {101.0}
    assert found["gone"].failure == "its process ended with exit code 3 in fold 1 of 2"


@pytest.mark.skipif(
    not process_handles.CAN_FORK, reason="workers are forked on Linux only"
)
def test_a_fork_server_that_ended_is_closed_before_the_next():
    pool = WorkerPool(1, ExecutionLimits(workers=1), float("inf"))
    first = pool.fork_server
    resource_limits.kill_process_group(first.process.pid)
    while not first.closed:
        time.sleep(0.01)
    pool.members.append(pool.start_worker())
    second = pool.fork_server
    assert second is not first and first.sock.fileno() == -1 and first.errors.closed
    pool.close()
    assert second.sock.fileno() == -1 and second.errors.closed


needs_fork = pytest.mark.skipif(
    not process_handles.CAN_FORK, reason="workers are forked on Linux only"
)


@needs_fork
def test_a_dead_server_is_replaced(monkeypatch):
    monkeypatch.setattr(process_handles, "_servers_ahead", [])
    with fork_server_ahead():
        process = server_ahead().process
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        case = Case(["ridge"], repeats=1, folds=2)
        assert same(case.run(workers=0), case.run(workers=2))
        assert call_in_background(len, "abc").result() == 3


@needs_fork
def test_the_server_ends_with_its_block(monkeypatch):
    monkeypatch.setattr(process_handles, "_servers_ahead", [])
    with pytest.raises(ZeroDivisionError), fork_server_ahead():  # noqa: PT012
        process = server_ahead().process
        raise ZeroDivisionError
    assert process.poll() is not None
    with fork_server_ahead(wanted=False):
        assert server_ahead() is None

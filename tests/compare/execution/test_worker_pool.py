"""Worker processes: same bits for any number, shared preparation, limits, fallback."""

import gc
import os
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge

from pansophy.compare import resource_limits
from pansophy.compare.execution import process_handles, shared_store
from pansophy.compare.execution.fit_fold import (
    PreparationCache,
    Workload,
    fit_context,
    fit_fold,
)
from pansophy.compare.execution.plan import (
    ExecutionLimits,
    FailureKind,
    FitOutcome,
    JobQueue,
)
from pansophy.compare.execution.worker_pool import WorkerPool
from pansophy.tables import MixedFrame
from tests.compare.faulty_estimators import Case, Mean, same, table


def words(n=90):
    rng = np.random.default_rng(1)
    x = rng.normal(size=n)
    x[::9] = np.nan
    kind = rng.choice(["u", "v", "w"], n)
    y = np.where(np.nan_to_num(x) + (kind == "u") + rng.normal(size=n) > 0.3, "a", "b")
    return pa.table({"x": x, "kind": kind, "y": y})


@pytest.mark.parametrize(
    "own",
    [
        ["logistic_regression", "naive_bayes"],
        pytest.param(None, marks=pytest.mark.slow),  # all there are
    ],
)
def test_any_number_of_workers_gives_the_same_bits(own):
    case = Case(own, repeats=2, folds=3, source=words())
    alone = case.run(workers=0)
    assert not any(t.failure for t in alone.values())
    three = case.run(workers=3)
    assert same(alone, three) and case.complete
    for name, t in three.items():  # models came over, and answer the same
        p, q = (m.predict_proba(case.data.frame) for m in (t.model, alone[name].model))
        assert np.array_equal(p, q), name


class Threads(RegressorMixin, BaseEstimator):
    """Predicts how many threads it may use."""

    def fit(self, X, y):
        import threadpoolctl

        from pansophy.core import threads

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


class Hoards(RegressorMixin, BaseEstimator):
    """Predicts how many fits its class remembers."""

    seen: list = []

    def fit(self, X, y):
        self.seen.append(y)
        self.many_ = len(self.seen)
        return self

    def predict(self, X):
        return np.full(len(X), float(self.many_))


def test_what_a_class_remembers_does_not_reach_the_next_fit():
    case = Case({"one": Hoards(), "ridge": Ridge(), "two": Hoards()}, folds=2)
    found = case.run(workers=1)
    for name in ("one", "two"):
        assert found[name].failure == ""
        assert set(found[name].predictions) == {1.0}
    assert same({"ridge": found["ridge"]}, {"ridge": case.run(workers=0)["ridge"]})


def test_without_processes_fits_run_here(monkeypatch):
    case = Case({"ridge": Ridge()})
    alone = case.run(workers=0)
    for wrong in (None, "/bin/false", "/nowhere/python"):
        monkeypatch.setattr(sys, "executable", wrong)
        with pytest.warns(UserWarning, match="Fits run in this process"):
            assert same(case.run(workers=2), alone)
            gc.collect()  # a socket or a file left open would be told here


@pytest.mark.skipif(not process_handles.CAN_FORK, reason="nurseries need Linux")
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


def test_workers_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (
        tmp_path / f"{shared_store.FOLDER_PREFIX}999999999-x"
    ).mkdir()  # of a process that was killed
    (tmp_path / f"{shared_store.FOLDER_PREFIX}{os.getpid()}-x").mkdir()
    threads = threading.active_count()
    Case({"ridge": Ridge()}, folds=2).run(workers=1)
    assert [p.name for p in tmp_path.iterdir()] == [
        f"{shared_store.FOLDER_PREFIX}{os.getpid()}-x"
    ]
    assert threading.active_count() <= threads + 2


def work_of(case):
    setting = fit_context(case.schema, case.split.folds, ExecutionLimits())
    return Workload(
        case.data,
        case.schema,
        case.metrics,
        case.split.folds,
        list(case.methods),
        setting,
    )


def test_a_stored_workload_is_read_back_the_same(tmp_path):
    case = Case({"ridge": Ridge()})
    texts = (
        pa.array(["a", None, "c"] * 20),
        pa.chunked_array([["x"] * 30, ["y"] * 30]),
    )
    data = type(case.data)(
        MixedFrame(
            case.data.frame.values,
            tuple(
                pa.chunked_array([t]) if isinstance(t, pa.Array) else t for t in texts
            ),
        ),
        case.data.y,
        np.arange(60.0),
        np.arange(60),
        None,
    )
    work = Workload(**{**vars(work_of(case)), "data": data})
    shared_store.write_workload(work, tmp_path)
    again = shared_store.read_workload(tmp_path)
    assert np.array_equal(again.data.frame.values, data.frame.values)
    assert not again.data.frame.values.flags.writeable
    assert [t.to_pylist() for t in again.data.frame.texts] == [
        t.to_pylist() for t in data.frame.texts
    ]
    assert again.data.time is None and np.array_equal(again.data.group, np.arange(60))
    assert all(
        np.array_equal(a, b)
        for f, g in zip(work.folds, again.folds)
        for a, b in zip(f, g)
    )
    assert again.schema == work.schema and again.setting == work.setting


def test_preparation_is_shared_within_a_fold_only():
    case = Case(["ridge", "lasso", "linear_regression"])
    work, cache = work_of(case), PreparationCache()
    names = [m.name for m in case.methods]
    alone = [fit_fold(work, m, 1, PreparationCache(0)) for m in range(len(names))]
    shared = [fit_fold(work, m, 1, cache) for m in range(len(names))]
    for a, b in zip(alone, shared):
        assert a.scores == b.scores and np.array_equal(a.predictions, b.predictions)
    kinds = len(cache.folds)
    assert kinds < len(names)
    fit_fold(work, names.index("ridge"), 2, cache)
    assert len(cache.folds) == kinds + 1
    small = PreparationCache(100)
    fit_fold(work, 1, 0, small)
    assert small.folds == {} and small.room == 100
    for ready in cache.folds.values():
        assert not ready.train.flags.writeable
        assert ready.fit_seconds > 0


def test_jobs_are_taken_cheap_methods_first_and_known_folds_first():
    jobs = JobQueue(2, 4)
    assert jobs.take() == (0, 0) and jobs.take({2, 3}) == (0, 2)
    jobs.close(FitOutcome(0, 2, failure="no", kind=FailureKind.ERROR))
    assert jobs.left[0] == {1}  # earlier folds still tell which one fails first
    assert jobs.is_needed(0, 1) and not jobs.is_needed(0, 3)
    assert jobs.take({7}) == (0, 1) and jobs.take() == (1, 0)
    jobs.put_back(1, 0)
    assert jobs.take() == (1, 0) and jobs
    jobs.drop(1)
    assert not jobs and jobs.take() is None


def test_limits_in_words_and_numbers():
    assert (
        resource_limits.private_memory(os.getpid()) > 1e6
        and resource_limits.private_memory(2**22 + 5) == 0
    )
    assert resource_limits.default_memory(2) > 0 and resource_limits.free_memory() > 1e8
    assert (
        resource_limits.describe_exit_code(-11)
        == "its process died with signal 11 (SIGSEGV)"
    )
    assert resource_limits.describe_exit_code(-9).endswith(
        "killed it, or memory ran out)"
    )
    assert resource_limits.describe_exit_code(3) == "its process ended with exit code 3"
    assert (
        resource_limits.format_bytes(5e8) == "500 MB"
        and resource_limits.format_bytes(2e9) == "2 GB"
    )
    with pytest.raises(ValueError, match="memory_limit must be at least 256 MB"):
        Case({"ridge": Ridge()}).run(workers=1, memory_limit=1e6)


def test_a_class_the_model_never_saw_has_probability_zero():
    case = Case({"logit": LogisticRegression()}, source=words())
    work = work_of(case)
    y = case.data.y
    train = np.flatnonzero(y == 0)[:10]
    folds = [(np.r_[train, np.flatnonzero(y == 1)[:10]], np.arange(40, 60))]
    three = type(case.schema)(**{**vars(case.schema), "classes": ("a", "b", "c")})
    work = Workload(**{**vars(work), "folds": folds, "schema": three})
    p = fit_fold(work, 1, 0, PreparationCache()).predictions
    assert p.shape == (20, 3) and np.all(p[:, 2] == 0)


def test_table_helper_is_fixed():
    assert table().equals(table())

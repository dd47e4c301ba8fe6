"""Background warm-up: begun only where loops may be missing, gone with its block."""

import os
import time
from dataclasses import replace

import numpy as np
import pytest

from pansophy.compare import compare
from pansophy.compare.execution import background_warm_up as background
from pansophy.compare.execution import process_handles, shared_store
from pansophy.compare.execution.plan import ExecutionLimits
from pansophy.compare.execution.trials import make_workload
from pansophy.core.loops import loop_cache
from pansophy.core.loops.completed_warm_up import completed_mark
from tests.compare.faulty_estimators import Case, Mean, gone

TWO_WORKERS = ExecutionLimits(workers=2)


def workload(methods, **settings):
    return make_workload(*Case(methods, **settings).parts, TWO_WORKERS)


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """A cache folder without loops, for which nothing is shipped."""
    monkeypatch.setenv("PANSOPHY_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")  # of the other process
    monkeypatch.setattr(loop_cache, "shipped_levels", tuple)  # of this one
    return tmp_path / "loops"


class FakeProcess:
    """Instead of another process: remembers the work that it was given."""

    def __init__(self, function, folder):
        self.work = shared_store.read_workload(folder)
        self.ended = 0
        self.stdin = self.stdout = open(os.devnull)  # noqa: SIM115

    def end(self):
        self.ended += 1


@pytest.fixture
def begun(monkeypatch):
    """The processes that were begun."""
    found = []

    def begin(function, folder):
        found.append(FakeProcess(function, folder))
        return found[-1]

    monkeypatch.setattr(background, "start_call", begin)
    return found


def stores_of_this_process():
    folder = shared_store.tempfile.gettempdir()
    name = f"{shared_store.FOLDER_PREFIX}{os.getpid()}-"
    return [n for n in os.listdir(folder) if n.startswith(name)]


@pytest.mark.parametrize("forked", [False, True])
def test_loops_are_stored_and_nothing_is_left_behind(empty_cache, forked):
    if forked and not process_handles.CAN_FORK:
        pytest.skip("workers are forked on Linux only")
    found = []
    start = background.start_call
    with (
        process_handles.fork_server_ahead(forked),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(
            background, "start_call", lambda *a: found.append(start(*a)) or found[-1]
        )
        with background.background_warm_up(workload(["lasso"]), TWO_WORKERS):
            end = time.monotonic() + 120
            while not any(empty_cache.glob("*.loop")) and time.monotonic() < end:
                time.sleep(0.05)
        (process,) = found
        assert process.gone() and gone(process.pid)
    assert any(empty_cache.glob("*.loop"))
    assert completed_mark("regression").exists()
    assert not stores_of_this_process()


def test_one_comparison_of_a_task_is_enough(empty_cache, begun):
    for _ in range(2):
        with background.background_warm_up(workload(["ridge"]), TWO_WORKERS):
            pass
    assert len(begun) == 1


@pytest.mark.parametrize(
    "limits", [{"workers": 0}, {"workers": 1}, {"workers": 2, "cluster": "tcp://x"}]
)
def test_not_where_fits_have_one_process_or_are_elsewhere(empty_cache, begun, limits):
    with background.background_warm_up(workload(["ridge"]), ExecutionLimits(**limits)):
        pass
    assert not begun


def test_an_interrupted_block_ends_the_process_and_leaves_no_mark(empty_cache, begun):
    with (
        pytest.raises(KeyboardInterrupt),
        background.background_warm_up(workload(["ridge"]), TWO_WORKERS),
    ):
        raise KeyboardInterrupt
    assert begun[0].ended == 1
    assert not completed_mark("regression").exists()
    assert not stores_of_this_process()


def test_estimators_of_the_user_are_not_fitted_in_advance():
    work = workload(["ridge"])
    work = replace(work, methods=work.methods + workload({"own": Mean()}).methods)
    few = background.with_few_rows(work)
    assert {"own", "ridge"} <= {m.name for m in work.methods}
    assert [m.name for m in few.methods] == ["ridge"]


def test_few_rows_are_those_of_the_first_fold():
    work = workload(["ridge"])
    few = background.with_few_rows(work)
    ((train, test),) = few.folds
    for rows, part in zip(work.folds[0], (train, test), strict=True):
        assert np.array_equal(few.data.y[part], work.data.y[rows])
    assert few.setting == work.setting


def test_rows_are_evenly_spaced():
    rows = np.arange(10_000)
    for n in (1, 200, 1000, 3000):
        found = background.evenly_spaced(rows, n)
        assert n / 2 < len(found) <= n
        assert len(np.unique(np.diff(found))) <= 1
    assert np.array_equal(background.evenly_spaced(rows[:7], 10), rows[:7])


def test_compare_explores_beside_it(begun, monkeypatch):
    monkeypatch.setattr(background, "loops_are_missing", lambda part: True)
    monkeypatch.setattr(background, "mark_completed", lambda part: None)
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=60), "b": rng.normal(size=60)}
    table["y"] = table["a"] + rng.normal(size=60)
    alone = compare(table, "y", methods=["ridge"], repeats=1, workers=0)
    assert not begun
    beside = compare(table, "y", methods=["ridge"], repeats=1, workers=2)
    (process,) = begun
    assert [m.name for m in process.work.methods] == ["ridge"]
    assert process.ended == 1
    assert beside.leaderboard[0].scores == alone.leaderboard[0].scores

"""The store that workers read from: nothing lost, nothing left behind."""

import threading

import numpy as np
import pyarrow as pa
from sklearn.linear_model import Ridge

from pansophy.compare.execution import shared_store
from pansophy.compare.execution.fit_fold import Workload
from pansophy.core.files import folder_lock
from pansophy.tables import MixedFrame
from tests.compare.execution.workloads import work_of
from tests.compare.faulty_estimators import Case


def test_workers_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    abandoned = tmp_path / f"{shared_store.FOLDER_PREFIX}999999999-x"
    abandoned.mkdir()  # of a process that was killed: nobody holds its lock
    (abandoned / folder_lock.LOCK_NAME).touch()
    other = shared_store.StoreFolder()
    threads = threading.active_count()
    Case({"ridge": Ridge()}, folds=2).run(workers=1)
    assert [str(p) for p in tmp_path.iterdir()] == [other.name]
    other.cleanup()
    assert not list(tmp_path.iterdir())
    assert threading.active_count() <= threads + 2


def test_the_live_store_of_another_machine_stays(tmp_path, monkeypatch):
    # its process is not alive here; only the lock says that it is in use
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    live = tmp_path / f"{shared_store.FOLDER_PREFIX}999999999-x"
    live.mkdir()
    (live / "work.pickle").write_bytes(b"work")
    with folder_lock.holding_folder(live), shared_store.store_folder():
        pass
    assert (live / "work.pickle").read_bytes() == b"work"
    with shared_store.store_folder():
        pass
    assert not live.exists()


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

"""The shared store: the data of all fits in files that workers map into memory.

Arrays are plain .npy files, texts an Arrow file; both are memory-mapped, so that there
is one copy for all workers. The rest is small and is a pickle made by us for our own
processes. A method that cannot be pickled becomes a text that says so, and none of the
others is affected.
"""

import contextlib
import os
import pickle
import shutil
import tempfile
from itertools import pairwise
from pathlib import Path

import joblib
import numpy as np
import pyarrow as pa

from ...core.files.folder_lock import LOCK_NAME, lock_folder
from ...tables import MixedFrame
from ..samples import Samples
from .fit_fold import Workload, error_line

STORED_ARRAYS = ("y", "weight", "group", "time")


FOLDER_PREFIX = "pansophy-store-"
DRAFT_PREFIX = "pansophy-draft-"  # of a store that is not locked yet


class StoreFolder:
    """A temporary folder that is locked as long as its process uses it.

    The lock says that the folder is in use to every process that sees it, in another
    container or on another machine too, where a number of a process would say nothing.
    """

    def __init__(self):
        draft = tempfile.mkdtemp(prefix=DRAFT_PREFIX)
        self.lock = None
        with contextlib.suppress(OSError):
            self.lock = lock_folder(draft)
        name = os.path.basename(draft).removeprefix(DRAFT_PREFIX)
        name = f"{FOLDER_PREFIX}{os.getpid()}-{name}"
        self.name = os.path.join(os.path.dirname(draft), name)
        os.rename(draft, self.name)  # whoever sees this name sees the lock

    def cleanup(self):
        """Remove the folder."""
        shutil.rmtree(self.name, ignore_errors=True)
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None


@contextlib.contextmanager
def store_folder():
    """A folder for the work; those that killed processes left behind are removed."""
    remove_abandoned_stores(tempfile.gettempdir())
    folder = StoreFolder()
    try:
        yield Path(folder.name)
    finally:
        folder.cleanup()


def remove_abandoned_stores(place) -> None:
    """Remove the stores that nobody holds any more, by their locks."""
    for old in Path(place).glob(f"{FOLDER_PREFIX}*"):
        if not (old / LOCK_NAME).is_file():
            continue  # nothing says whether it is in use
        with contextlib.suppress(OSError):
            lock = lock_folder(old)
            if lock is not None:
                shutil.rmtree(old, ignore_errors=True)
                os.close(lock)


def pickle_anything(value) -> bytes:
    """Bytes of anything, classes of a script and lambdas included."""
    wrapped = joblib.wrap_non_picklable_objects(value, keep_wrapper=False)
    return pickle.dumps(wrapped, protocol=5)


def pack_method(method) -> bytes | str:
    try:
        return pickle_anything(method)
    except Exception as error:
        return f"cannot be sent to a worker process: {error_line(error)}"


def unpack_method(stored):
    if isinstance(stored, str):
        return stored
    try:
        return pickle.loads(stored)
    except Exception as error:
        return f"cannot be read in a worker process: {error_line(error)}"


def write_workload(work, folder) -> None:
    """Put the work into a folder."""
    folder = Path(folder)
    data = work.data
    np.save(folder / "values.npy", np.ascontiguousarray(data.frame.values))
    for name in STORED_ARRAYS:
        if getattr(data, name) is not None:
            np.save(folder / f"{name}.npy", getattr(data, name))
    flat = [np.asarray(rows) for fold in work.folds for rows in fold]
    np.save(folder / "rows.npy", np.concatenate(flat) if flat else np.zeros(0, int))
    ends = np.cumsum([0, *map(len, flat)])
    if data.frame.texts:
        names = [str(i) for i in range(len(data.frame.texts))]
        table = pa.table(list(data.frame.texts), names)
        with pa.ipc.new_file(str(folder / "texts.arrow"), table.schema) as out:
            out.write_table(table.combine_chunks())
    rest = {
        "ends": ends,
        "schema": work.schema,
        "metrics": work.metrics,
        "methods": [pack_method(m) for m in work.methods],
        "setting": work.setting,
        "threads": work.threads,
    }
    (folder / "work.pickle").write_bytes(pickle_anything(rest))


def read_workload(folder) -> Workload:
    """The work in a folder, its arrays mapped read-only."""
    folder = Path(folder)
    rest = pickle.loads((folder / "work.pickle").read_bytes())
    mapped = lambda name: (
        np.load(path, mmap_mode="r", allow_pickle=False)
        if (path := folder / f"{name}.npy").exists()
        else None
    )
    texts = ()
    if (folder / "texts.arrow").exists():
        table = pa.ipc.open_file(pa.memory_map(str(folder / "texts.arrow"))).read_all()
        # one piece was written, so nothing is copied here
        texts = tuple(c.combine_chunks() for c in table.columns)
    values = mapped("values")
    ends = rest["ends"]
    rows = np.load(folder / "rows.npy", mmap_mode="r", allow_pickle=False)
    plain = lambda a: None if a is None else np.asarray(a)
    data = Samples(
        MixedFrame(plain(values), texts), *(plain(mapped(n)) for n in STORED_ARRAYS)
    )
    part = [np.asarray(rows[a:b]) for a, b in pairwise(ends)]
    return Workload(
        data,
        rest["schema"],
        rest["metrics"],
        list(zip(part[::2], part[1::2])),
        [unpack_method(m) for m in rest["methods"]],
        rest["setting"],
        rest["threads"],
    )

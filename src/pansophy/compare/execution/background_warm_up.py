"""Background warm-up: a worker fits all methods to a few rows while others explore.

The first call of a loop on a machine waits for the compiler, unless the package brought
the loop along (`core/loops/loop_cache.py`). Before the first fit one process explores
the table, for seconds, and for many more if it has to compile what it needs itself. In
the meantime another one fits the methods, in the order in which they will run, to a few
of their own rows. What it compiles lies in the user's cache folder when the workers ask
for it; its fits are thrown away. It is ended with the exploration, and the workers
compile what is left.

Each task has a mark of its own: the next comparison finds its loops compiled.
"""

import contextlib
from dataclasses import replace

import numpy as np

from ...core.loops.completed_warm_up import loops_are_missing, mark_completed
from .. import resource_limits
from . import shared_store
from .fit_fold import PreparationCache, Workload, fit_fold
from .process_handles import NoWorkers, SpawnedProcess, server_ahead
from .worker_process import FunctionCall, send_message

TRAINING_ROWS = 1000  # more than a column has bins: both views of a column are compiled
TEST_ROWS = 200


@contextlib.contextmanager
def background_warm_up(work: Workload, limits):
    """Compile the loops of the methods elsewhere, if any are missing, during a block.

    Parameters
    ----------
    work : Workload
        The fits that follow.
    limits : ExecutionLimits
        Nothing is begun where fits have one process, or are sent to a cluster.
    """
    workers = limits.workers
    if workers is None:
        workers = resource_limits.default_workers()
    part = work.schema.task
    if workers < 2 or limits.cluster is not None or not loops_are_missing(part):
        yield
        return
    with shared_store.store_folder() as folder:
        process = None
        with contextlib.suppress(NoWorkers, OSError):
            shared_store.write_workload(with_few_rows(work), folder)
            process = start_call(fit_every_method, str(folder))
        try:
            yield
        finally:
            if process is not None:
                process.end()
                process.stdin.close()
                process.stdout.close()
    mark_completed(part)


def with_few_rows(work: Workload) -> Workload:
    """The first fold of our own methods, on rows evenly spaced among its rows."""
    train, test = work.folds[0]
    parts = evenly_spaced(train, TRAINING_ROWS), evenly_spaced(test, TEST_ROWS)
    rows = np.concatenate(parts)
    cut = len(parts[0])
    return replace(
        work,
        data=work.data[rows],
        folds=[(np.arange(cut), np.arange(cut, len(rows)))],
        methods=[m for m in work.methods if m.path.startswith("pansophy.")],
    )


def evenly_spaced(rows, n):
    """At most n of the rows."""
    rows = np.asarray(rows)
    return rows[:: -(-len(rows) // n)]


def start_call(function, *arguments):
    """Begin a function call in another process; its result is not asked for."""
    server = server_ahead()
    process = SpawnedProcess(1) if server is None else server.fork()
    packed = shared_store.pickle_anything(arguments)
    with contextlib.suppress(OSError):  # it has gone already
        send_message(process.stdin, FunctionCall(function, packed))
    return process


def fit_every_method(folder: str) -> None:
    """Fit each method in a store to its fold; a failure will be told by a real fit."""
    work = shared_store.read_workload(folder)
    cache = PreparationCache()
    for m in range(len(work.methods)):
        fit_fold(work, m, 0, cache)

"""Worker pool for compiled loops that share their work through a queue.

A method gives two compiled functions: a coordinator that goes through the work and
publishes items in the shared queue (`_shared_queue.py`), and a worker that waits for
items. The coordinator also works on the items itself, so that the result depends
neither on the number of workers nor on when they start.
"""

import numpy as np

from . import _shared_queue as loops
from . import threads


def run_with_workers(coordinate, work, n_workers=None):
    """Run `coordinate(queue)` here and `work(queue, number)` in `n_workers` threads.

    Workers are numbered from 1. `n_workers` None is all available threads but one.
    Returns what `coordinate` returns.
    """
    n_workers = threads.available_threads() - 1 if n_workers is None else n_workers
    queue = np.zeros(loops.QUEUE_SIZE, np.int64)
    if n_workers < 1:
        return coordinate(queue)
    with threads.run_alongside(
        [lambda k=k: work(queue, k) for k in range(1, n_workers + 1)]
    ):
        try:
            return coordinate(queue)
        finally:
            loops.stop_workers(queue)

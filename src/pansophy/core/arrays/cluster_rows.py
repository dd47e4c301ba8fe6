"""Rows held by the workers of a dask cluster, and sums over their blocks.

The rows are cut into pieces of whole rows. Each worker reads its pieces once, from
shared storage or from the partitions of a dask collection, and keeps them decoded. A
pass over the rows sends a function to where the pieces are, with the slices of y,
weights and whatever else is aligned with the rows, and brings back what the function
gives for each block, in the order of the blocks:

    home      parameters, loop, stopping rule, arrays aligned with the rows
    workers   the rows; f(X_b, *aligned_b) for blocks b of global row numbers

Sums are added up in runs of `rows.RUN` blocks, where possible by the worker that
computed them, in the tree of `rows.RunningSum`: the sum has the same bits whichever
worker computes which block, how often, and in what order they answer. A block that
crosses the border of two pieces is computed where most of it is. What a lost worker
held is read and computed again; a worker that joins gets work like the others.

A function may write into aligned arrays; what changed comes back with its results.
Functions that cannot be sent run at home, on rows that are fetched for them.
"""

import hashlib
import itertools
import pickle
from collections import deque
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from ..loops import threads
from .cluster_connection import (
    ClusterError,
    check_memory,
    check_versions,
    fit_versions,
)
from .dask_rows import DaskRows, checked_partition
from .rows import (
    RUN,
    DatasetRows,
    RunningSum,
    slice_rows,
    sum_statistics,
)

PIECE_BYTES = 1 << 26  # of rows in a piece, at most
TASKS_PER_THREAD = 4  # so many that workers of unequal speed end together
COPIES = 1.3  # memory of the rows and of the blocks at work, in rows
FUNCTION_BYTES = 1 << 23  # of a pickled function beyond which it stays at home
INLINE_BYTES = 1 << 16  # of aligned slices that travel with their task
MAX_ATTEMPTS = 5  # times that a group is handed out whose worker was lost


class Piece(NamedTuple):
    """Rows start to stop, held by a worker."""

    start: int
    stop: int
    rows: Any  # future of an array


class Group(NamedTuple):
    """Consecutive blocks that one task computes."""

    limits: list  # of rows: one more than blocks
    pieces: list


class RowsElsewhere(NamedTuple):
    """What a function that was sent knows of the table from which it came."""

    n: int
    d: int
    dtype: np.dtype


class ClusterRows(DatasetRows):
    """Rows of a table on the workers of a cluster.

    Parameters
    ----------
    source : DatasetRows
        Rows of files that every worker can read, or of a dask collection.
    client : distributed.Client
    """

    def __init__(self, source: DatasetRows, client):
        self.source = source
        self.client = client
        self.columns = source.columns
        check_memory(client, source.n * source.d * source.dtype.itemsize, COPIES)
        self.pieces = _pinned_pieces(source, client)
        self.scattered: dict = {}  # digest of an aligned slice -> future
        self.passes = {"cluster": 0, "home": 0}  # how often each read all rows
        self._begin(source.n, source.dtype, source.aligned, source.block)

    def __reduce__(self):  # in a function that is sent: the rows stay where they are
        return RowsElsewhere, (self.n, self.d, self.dtype)

    def with_columns(self, columns):
        if list(columns) == list(self.columns):
            return self
        return ClusterRows(self.source.with_columns(columns), self.client)

    def reading_columns(self, first, stop):
        return self.with_aligned()  # the workers hold them, and send what is asked for

    @property
    def all_columns(self):
        return self.source.all_columns

    def column(self, name):
        return self.source.column(name)

    def _undecoded(self, start):
        """The pieces from row `start` on, fetched one ahead."""
        left = deque(p for p in self.pieces if p.stop > start)
        if left:
            self.passes["home"] += 1
        ahead: deque = deque()
        while left or ahead:
            while left and len(ahead) < 2:
                ahead.append(left.popleft())
            piece = ahead.popleft()
            X = _result_of_future(self.client, piece.rows)
            skip = max(0, start - piece.start)

            def decode(first, out, X=X, skip=skip):
                out[:] = X[skip + first : skip + first + len(out)]

            yield piece.stop - piece.start - skip, decode

    def take(self, index):
        index = np.asarray(index, np.intp)
        if len(index) and not 0 <= index.min() <= index.max() < self.n:
            raise IndexError(f"row numbers must be from 0 to {self.n - 1}.")
        found_rows = np.empty((len(index), self.d), self.dtype)
        places = np.searchsorted([p.stop for p in self.pieces], index, side="right")
        wanted = [(k, np.flatnonzero(places == k)) for k in np.unique(places)]
        futures = [
            self.client.submit(
                _rows_of_piece,
                self.pieces[k].rows,
                index[places_in_index] - self.pieces[k].start,
                pure=False,
            )
            for k, places_in_index in wanted
        ]
        for (_, places_in_index), future in zip(wanted, futures, strict=True):
            found_rows[places_in_index] = _result_of_future(self.client, future)
        return found_rows

    # -- passes over the blocks ----------------------------------------------------

    def each(self, function, *, blas=True):
        if self.n <= self.block or (sent := _pickled_function(function)) is None:
            yield from super().each(function, blas=blas)
            return
        self.passes["cluster"] += 1
        for group, answer in self._answers(sent, self._group_size(), False):
            results, changes = answer
            self._write_changes(group, changes)
            yield from results

    def sum(self, stats, *, blas=True):
        sent = _pickled_function(stats) if self.n > self.block else None
        size = self._group_size()
        if sent is None or size < RUN:
            return super().sum(stats, blas=blas)
        self.passes["cluster"] += 1
        total = RunningSum()
        for group, answer in self._answers(sent, RUN, True):
            part, changes = answer
            self._write_changes(group, changes)
            total.add(part, level=1 if len(group.limits) == RUN + 1 else 0)
        return total.result()

    def _group_size(self):
        """Blocks of a task: a run where there are many, less to occupy all workers."""
        n_blocks = -(-self.n // self.block)
        n_threads = max(1, sum(self.client.nthreads().values()))
        return max(1, min(RUN, n_blocks // (TASKS_PER_THREAD * n_threads)))

    def _groups(self, size):
        step = size * self.block
        k = 0
        for start in range(0, self.n, step):
            stop = min(start + step, self.n)
            limits = [*range(start, stop, self.block), stop]
            while self.pieces[k].stop <= start:
                k += 1
            last = k
            while self.pieces[last].stop < stop:
                last += 1
            yield Group(limits, self.pieces[k : last + 1])

    def _answers(self, sent, size, summed):
        """(group, answer) in order, a few groups at work at a time."""
        n_threads = max(1, sum(self.client.nthreads().values()))
        groups = self._groups(size)
        at_work: deque = deque()
        try:
            for group in groups:
                at_work.append((group, self._submit(sent, group, summed)))
                if len(at_work) > 2 * TASKS_PER_THREAD * n_threads:
                    yield self._answer(sent, summed, *at_work.popleft())
            while at_work:
                yield self._answer(sent, summed, *at_work.popleft())
        finally:
            for _, future in at_work:
                future.cancel()

    def _submit(self, sent, group, summed):
        cut = slice(group.limits[0], group.limits[-1])
        aligned = [self._sent_slice(slice_rows(a, cut)) for a in self.aligned]
        return self.client.submit(
            _results_of_group,
            sent,
            group.limits,
            [(p.start, p.stop) for p in group.pieces],
            [p.rows for p in group.pieces],
            aligned,
            summed,
            pure=False,
        )

    def _answer(self, sent, summed, group, future):
        for attempt in range(MAX_ATTEMPTS):
            try:
                return group, future.result()
            except Exception as error:
                if not _is_loss(error):
                    raise
                if attempt == MAX_ATTEMPTS - 1 or not self.client.nthreads():
                    raise _lost_workers_error(error) from error
            self.scattered.clear()  # some may have been on the lost worker
            future = self._submit(sent, group, summed)
        raise AssertionError("the loop returns or raises")

    def _sent_slice(self, a):
        """An aligned slice, or a future of it where it was sent before."""
        if a is None or a.nbytes <= INLINE_BYTES or a.dtype.hasobject:
            return a
        digest = hashlib.blake2b(np.ascontiguousarray(a), digest_size=16).digest()
        key = (digest, a.shape, a.dtype.str)
        if key not in self.scattered:
            if len(self.scattered) > 4 * len(self.pieces) * len(self.aligned) + 64:
                self.scattered.clear()
            self.scattered[key] = self.client.scatter(a, hash=False)
        return self.scattered[key]

    def _write_changes(self, group, changes):
        cut = slice(group.limits[0], group.limits[-1])
        for k, changed in changes.items():
            self.aligned[k][cut] = changed


# --- at home -----------------------------------------------------------------------


def _pickled_function(function):
    """A function as bytes that a worker can load; None where it has to stay here."""
    import cloudpickle

    try:
        sent = cloudpickle.dumps(function)
    except (TypeError, ValueError, AttributeError, pickle.PicklingError):
        return None
    return sent if len(sent) <= FUNCTION_BYTES else None


def _is_loss(error) -> bool:
    """Whether an error says that a worker was lost, and not that the fit failed."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    names = {"FutureCancelledError", "LostDependency"}
    kinds = (CancelledError, CommClosedError, KilledWorker)
    return isinstance(error, kinds) or type(error).__name__ in names


def _lost_workers_error(error) -> ClusterError:
    """The error of a cluster that lost the same work again and again."""
    text = " ".join(str(error).split())[:200]
    return ClusterError(f"The cluster lost its workers during the fit: {text}")


def _result_of_future(client, future):
    """The result of a future; ClusterError where its worker is lost for good."""
    for attempt in range(MAX_ATTEMPTS):
        try:
            return future.result()
        except Exception as error:
            if not _is_loss(error):
                raise
            if attempt == MAX_ATTEMPTS - 1:
                raise _lost_workers_error(error) from error
            client.retry([future])
    raise AssertionError("the loop returns or raises")


def _pinned_pieces(source, client) -> list[Piece]:
    """The rows of a table as futures that the workers hold."""
    versions = fit_versions()
    if isinstance(source, DaskRows):
        limits = list(zip(source.starts[:-1], source.starts[1:], strict=True))
        wanted = [i for i, (a, b) in enumerate(limits) if b > a]
        delayed = [source.delayed_rows(i) for i in wanted]
        futures = client.compute(delayed)
        return [
            Piece(
                int(limits[i][0]),
                int(limits[i][1]),
                client.submit(
                    _checked_piece,
                    future,
                    i,
                    int(limits[i][1] - limits[i][0]),
                    versions,
                    pure=False,
                ),
            )
            for i, future in zip(wanted, futures, strict=True)
        ]
    n_workers = max(1, len(client.nthreads()))
    row_bytes = source.d * source.dtype.itemsize
    rows = min(PIECE_BYTES // row_bytes, -(-source.n // (4 * n_workers)))
    rows = max(1, rows)
    columns = source.columns
    dtype = source.dtype.str
    pieces = []
    for start in range(0, source.n, rows):
        stop = min(start + rows, source.n)
        future = client.submit(
            piece_of_dataset,
            source.dataset,
            columns,
            dtype,
            start,
            stop,
            versions,
            pure=False,
        )
        pieces.append(Piece(start, stop, future))
    return pieces


# --- on the workers ----------------------------------------------------------------


def piece_of_dataset(dataset, columns, dtype, start, stop, versions):
    """Rows start to stop of a dataset, decoded."""
    check_versions(versions, fit_versions(), "a worker that joined later")
    rows = DatasetRows.__new__(DatasetRows)
    rows.dataset = dataset
    rows.columns = columns
    rows.d = len(columns)
    rows.dtype = np.dtype(dtype)
    rows.n = stop
    rows.block = 1 << 16
    decoded = np.empty((stop - start, rows.d), rows.dtype)
    n_decoded = 0
    for size, decode in rows._undecoded(start):
        m = min(size, len(decoded) - n_decoded)
        decode(0, decoded[n_decoded : n_decoded + m])
        n_decoded += m
        if n_decoded == len(decoded):
            return decoded
    raise ValueError(
        f"the table has {start + n_decoded} rows, but had at least {stop} when it was "
        "counted: do all workers see the same files?"
    )


def _checked_piece(X, i, size, versions):
    """A partition on a worker, whose versions and length are checked."""
    check_versions(versions, fit_versions(), "a worker that joined later")
    return checked_partition(X, i, size)


def _rows_of_piece(X, index):
    """Some rows of a piece."""
    return X[index]


def _results_of_group(function, limits, spans, pieces, aligned, summed):
    """The results of some blocks, or their sum, and the aligned slices that changed."""
    import cloudpickle

    function = cloudpickle.loads(function)
    first = limits[0]
    sent_arrays = aligned
    aligned = [None if a is None else np.array(a, order="K") for a in sent_arrays]
    results = []
    with _blas_on_one_thread():
        for start, stop in itertools.pairwise(limits):
            cut = slice(start - first, stop - first)
            X = _rows_between(spans, pieces, start, stop)
            results.append(function(X, *(slice_rows(a, cut) for a in aligned)))
    changes = {
        k: a
        for k, (a, sent_array) in enumerate(zip(aligned, sent_arrays, strict=True))
        if a is not None and not _have_same_bytes(a, sent_array)
    }
    return (sum_statistics(iter(results)) if summed else results), changes


def _blas_on_one_thread():
    """BLAS on one thread, which workers that dask starts have anyway."""
    return nullcontext() if threads.available_threads() == 1 else threads.single_blas()


def _rows_between(spans, pieces, start, stop):
    """Rows start to stop, a view of one piece or a copy of parts of several."""
    parts = []
    for (low, high), X in zip(spans, pieces, strict=True):
        if low < stop and high > start:
            parts.append(X[max(start, low) - low : min(stop, high) - low])
    if len(parts) > 1:
        return np.concatenate(parts)
    X = parts[0]
    return X if X.flags.writeable else X.copy()  # loops are compiled for arrays of both


def _have_same_bytes(a, b) -> bool:
    """Whether two arrays of one shape hold the same bytes, NaN included."""
    if a.dtype.hasobject:
        return True
    return a.tobytes() == np.asarray(b).tobytes()

"""The first rows of a table on disk, decoded once and kept for the next passes.

Decoding a file takes longer than most passes take over its rows, and an iterative fit
makes tens of them. As many rows as a budget holds are kept in one array, so a table
that fits into it is decoded once; of a larger one the rest is decoded in every pass.
The budget is a quarter of the memory that is free when the table is opened, or what
`row_memory` says.
"""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

import numpy as np

from ..free_memory import free_memory

SHARE = 0.25  # of the free memory, for the decoded rows of one table
UNKNOWN = 1 << 29  # bytes where the free memory is not known

_budget: ContextVar[float | None] = ContextVar("row_memory", default=None)


@contextlib.contextmanager
def row_memory(n_bytes: float) -> Iterator[None]:
    """Limit the memory for decoded rows of tables that are opened inside.

    Examples
    --------
    >>> with row_memory(2e9):
    ...     rows_budget()
    2000000000.0
    """
    if not n_bytes >= 0:
        raise ValueError(f"row_memory takes a number of bytes from 0, got {n_bytes!r}.")
    token = _budget.set(float(n_bytes))
    try:
        yield
    finally:
        _budget.reset(token)


def rows_budget() -> float:
    """Bytes of decoded rows that a table opened now may keep."""
    stated = _budget.get()
    if stated is not None:
        return stated
    known = [m for m in (free_memory(), memory_below_limits()) if m is not None]
    return SHARE * min(known) if known else float(UNKNOWN)


def memory_below_limits() -> float | None:
    """Bytes left below the limits set for the process; None without one."""
    try:
        import resource
    except ImportError:  # not on every platform
        return None
    limits = []
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        soft = resource.getrlimit(kind)[0]
        if soft != resource.RLIM_INFINITY:
            limits.append(soft)
    if not limits:
        return None
    import psutil

    return max(0.0, float(min(limits) - psutil.Process().memory_info().vms))


class DecodedRows:
    """An array for the first rows of n, filled by whoever decodes them first.

    Examples
    --------
    >>> with row_memory(2 * 8 * 3):  # two rows of three numbers
    ...     kept = DecodedRows(5, 3, np.dtype(float))
    >>> kept.room(0, 4).shape
    (2, 3)
    >>> kept.fill(2)
    >>> kept.n_filled, kept.room(2, 4)
    (2, None)
    """

    def __init__(self, n: int, d: int, dtype):
        self.n_filled = 0
        row_bytes = max(1, d) * np.dtype(dtype).itemsize
        m = int(min(n, rows_budget() // row_bytes))
        try:
            self.rows = np.empty((m, d), dtype)
        except MemoryError:  # less was free than it seemed
            self.rows = np.empty((0, d), dtype)

    def room(self, start: int, size: int):
        """Where rows from `start` on are to be decoded; None if they are not kept."""
        if start != self.n_filled or start >= len(self.rows):
            return None
        return self.rows[start : start + size]

    def fill(self, stop: int) -> None:
        """Take note that all rows before `stop` are there."""
        self.n_filled = max(self.n_filled, stop)

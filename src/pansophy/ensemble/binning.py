"""Binning of tables for boosting: one byte per value, from arrays or from files.

The bins of a column are made from all rows, or from SAMPLE_ROWS of them where there
are more. The sample depends on the number of rows only, not on what holds the table. A
value then goes into the bin whose limits it lies between, where limits are midway
between neighbouring values of different bins. So a file gives the same codes, and thus
the same trees, as its rows in memory; it is read twice, a block at a time.

A table is an array, a `DatasetRows`, or a pair of a `DatasetRows` and the numbers of
the rows of it that are used, in ascending order.
"""

from collections.abc import Iterator

import numpy as np

from ..core import threads
from ..core.rows import DatasetRows
from ..tree.input_encoding import clip_infinities, silent_float32_overflow
from ..tree.packed_forest import round_down_float32
from ..tree.prepared_columns import PreparedColumns, prepare_columns

SAMPLE_ROWS = 1 << 16  # rows that bins are made from
ROWS_PER_TASK = 1 << 13  # rows coded by a thread at a time


def number_of_rows(X) -> int:
    """The number of rows of a table."""
    return len(X[1]) if isinstance(X, tuple) else int(X.shape[0])


def float32_blocks(X) -> Iterator[np.ndarray]:
    """The rows of a table as float32 arrays, in order."""
    if not isinstance(X, (tuple, DatasetRows)):
        yield X
        return
    source, keep = X if isinstance(X, tuple) else (X, None)
    start = 0
    for (block,) in source.with_aligned().blocks():
        stop = start + len(block)
        if keep is not None:
            a, b = np.searchsorted(keep, (start, stop))
            block = block[keep[a:b] - start]
        yield check_float32(block)
        start = stop


def take_float32_rows(X, rows):
    """Some rows of a table as a float32 array."""
    if isinstance(X, tuple):
        X, rows = X[0], X[1][rows]
    return check_float32(X.take(rows)) if isinstance(X, DatasetRows) else X[rows]


def check_float32(block):
    """A block of a file as float32; NaN and infinity are allowed, overflow is not."""
    with silent_float32_overflow():
        rounded = block.astype(np.float32, copy=False)
    return clip_infinities(rounded, block)


def sample_for_bins(n):
    """Row numbers that bins are made from, in ascending order; None for all."""
    if n <= SAMPLE_ROWS:
        return None
    rng = np.random.default_rng(0)
    return np.sort(rng.choice(n, SAMPLE_ROWS, replace=False, shuffle=False))


def bin_columns(X, w, max_bins, forms) -> PreparedColumns:
    """The columns of a table as bytes."""
    n = number_of_rows(X)
    rows = sample_for_bins(n)
    if rows is None:
        table = (
            X if isinstance(X, np.ndarray) else np.concatenate(list(float32_blocks(X)))
        )
        return prepare_columns(table, w, max_bins, forms=forms, interleave=True)
    part = None if w is None else w[rows]
    return encode_rows(
        X,
        prepare_columns(
            take_float32_rows(X, rows), part, max_bins, forms=forms, interleave=True
        ),
    )


def encode_rows(X, bins: PreparedColumns) -> PreparedColumns:
    """All rows of a table coded by bins that were made from some of them."""
    from . import _binning as loops

    n = number_of_rows(X)
    d = len(bins.properties)
    tiles, _, width = bins.codes.shape
    codes = np.zeros((tiles, n, width), np.uint8)
    cuts = bin_upper_limits(bins)
    forms = bins.properties["form"]
    tops: list = []
    gaps: list = []
    at = 0

    def work(block, start):
        top, missing = np.zeros(d, np.int64), np.zeros(d, np.int64)
        loops.encode_block(block, cuts, forms, codes, start, top, missing)
        return top, missing

    for block in float32_blocks(X):
        tasks = (
            lambda a=a, b=block, s=at: work(b[a : a + ROWS_PER_TASK], s + a)
            for a in range(0, len(block), ROWS_PER_TASK)
        )
        for top, missing in threads.run_tasks(tasks):
            tops.append(top)
            gaps.append(missing)
        at += len(block)
    properties = bins.properties.copy()
    properties["has_missing"] = np.max(gaps, axis=0)
    properties["has_ties"] = 1
    properties["n_bins"] = np.where(
        forms, np.max(tops, axis=0) + 1, properties["n_bins"]
    )
    empty = np.empty((0, n))
    return PreparedColumns(
        empty.astype(np.float32), empty.astype(np.int32), codes, bins.edges, properties
    )


def bin_upper_limits(bins: PreparedColumns):
    """(d, 256) float32: the greatest value of each bin, inf for the last."""
    low, high = (bins.edges[:, k].astype(float) for k in range(2))
    cuts = np.full((len(bins.properties), 256), np.inf, np.float32)
    for f, count in enumerate(bins.properties["n_bins"]):
        middle = high[f, : count - 1] / 2 + low[f, 1:count] / 2
        cuts[f, : count - 1] = round_down_float32(middle)
    return cuts

"""Columns prepared for tree growth: as float32, sorted once or binned into bytes.

Single precision. Trees compare float32 numbers, as scikit-learn's do. Boosting takes
infinities for the extremes of float32; a finite number that float32 cannot hold is
refused.

Sorted or binned. A column with up to 255 distinct values becomes bytes, one bin per
value; so does any column if `max_bins` is given, with bins of about equal weight whose
limits fall between values. Any other column is kept as float32 with its rows in
ascending order, missing values last. Both keep every split that the data allow, except
between values that share a bin.

Large tables and files (`bin_columns`). The bins of a column are made from all rows, or
from SAMPLE_ROWS of them where there are more. The sample depends on the number of rows
only, not on what holds the table. A value then goes into the bin whose limits it lies
between, where limits are midway between neighbouring values of different bins. So a
file gives the same codes, and thus the same trees, as its rows in memory; it is read
twice, a block at a time. A table is here an array, a `DatasetRows`, or a pair of a
`DatasetRows` and the numbers of the rows of it that are used, in ascending order.

Shapes    X (n, d)   sample_weight (n,)
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from ...core.arrays.cluster_rows import ClusterRows
from ...core.arrays.rows import DatasetRows
from ...core.loops import threads
from ..storage.tree import round_down_float32
from . import _prepared_columns as loops
from ._structures import COLUMN, LANES

THREADED_VALUES = 1 << 17  # values from which columns are prepared by several threads
SAMPLE_ROWS = 1 << 16  # rows that bins are made from
ROWS_PER_TASK = 1 << 13  # rows coded by a thread at a time
COLUMNS_PER_TASK = 16  # columns at a time: a cache line of a row of X


# -- single precision ------------------------------------------------------------


def silent_float32_overflow():
    """No overflow warnings while X becomes float32: later checks report infinities."""
    return np.errstate(over="ignore", invalid="ignore")


@contextmanager
def training_rows_as_float32(X):
    """Training rows in float32; warns of a column of which nothing is left."""
    underflow: list = []
    flag = lambda *_: underflow.append(True)
    with np.errstate(over="ignore", invalid="ignore", under="call", call=flag):
        yield
    if not underflow:
        return
    table = check_array(
        X, dtype=np.float64, accept_sparse="csc", ensure_all_finite=False
    )
    table = table.toarray() if sp.issparse(table) else table
    lost = (table != 0).any(axis=0) & ~(table.astype(np.float32) != 0).any(axis=0)
    if lost.any():
        warnings.warn(
            f"column {np.flatnonzero(lost)[0]} of X holds only values that are 0 as "
            "float32, in which trees compare them: multiply it.",
            stacklevel=5,
        )


def clip_infinities(X, original):
    """float32 numbers with the extremes of float32 in the place of infinities.

    The order of the numbers stays, and all places between them are finite.
    `original` are the same numbers as float64, or a function that gives them: a finite
    one that float32 cannot hold is refused.
    """
    ends = np.fmin.reduce(X, axis=None), np.fmax.reduce(X, axis=None)
    if not np.isinf(ends).any():
        return X
    doubles = original() if callable(original) else original
    if np.isfinite(doubles[np.isinf(X)]).any():
        raise ValueError("Input X contains a value too large for float32.")
    most = np.finfo(np.float32).max
    return np.clip(X, -most, most)


# -- columns of an array ---------------------------------------------------------


class PreparedColumns(NamedTuple):
    """A table prepared once, from which any number of trees can be grown."""

    x: np.ndarray  # (lists, n) float32
    order: np.ndarray  # (lists, n) rows sorted by each listed column
    codes: np.ndarray  # (tiles, n, width) uint8: bytes of `width` columns, row by row
    edges: np.ndarray  # (bytes, 2, 256) least and greatest value of a bin
    properties: np.ndarray  # (d,) COLUMN


def prepare_columns(
    X,
    sample_weight=None,
    max_bins=None,
    as_bytes=True,
    forms=None,
    interleave=False,
    sort=True,
) -> PreparedColumns:
    """Prepare a table: sort every column once and choose its form.

    X is float32 with NaN for missing values, dense or sparse (spread out by blocks of
    columns), or a table on disk, read by blocks of columns. Bins divide
    `sample_weight` evenly. `forms` says by column how it is split (see
    `_structures.py`); one that is not ORDERED holds codes from 0 to 254, which are its
    bytes. `interleave` puts bytes of 8 columns side by side, for trees that look at all
    features of a node. Random thresholds need no order: without `sort` a column that is
    not cut into bins is kept as it is.
    """
    n, d = X.shape
    forms = np.zeros(d, np.int64) if forms is None else forms
    X = X.tocsc() if sp.issparse(X) else X
    sample_weight = np.empty(0) if sample_weight is None else sample_weight
    all_bytes = as_bytes and max_bins
    listed = (0 if all_bytes else d, n)
    x = np.empty(listed, np.float32)
    order = np.empty(listed if sort else (0, n), np.int32)
    codes = (
        empty_codes(d, n, interleave) if all_bytes else np.empty((0, n, 1), np.uint8)
    )
    width = codes.shape[2]

    def prepare(f0, f1):
        block = _columns_of_table(X, f0, f1)
        part = np.empty((f1 - f0, n), np.float32)
        loops.transpose_columns(block, part)
        results = []
        for f, column in enumerate(part, f0):
            view = codes[f // width, :, f % width] if all_bytes else None
            if sort or max_bins or forms[f]:
                rows, *about = prepare_column(
                    column, forms[f], sample_weight, max_bins, as_bytes, view
                )
            else:
                rows = None
                about = [bool(np.isnan(column).any()), True, None]
            if about[-1] is None:
                x[f] = column
                if rows is not None:
                    order[f] = rows
            results.append(about)
        return results

    step = COLUMNS_PER_TASK if n * d >= THREADED_VALUES else max(d, 1)
    tasks = [(lambda a=a: prepare(a, min(a + step, d))) for a in range(0, d, step)]
    results = [column for block in threads.run_tasks(tasks) for column in block]
    return assemble_columns(
        x, order, codes if all_bytes else None, results, forms, interleave
    )


def _columns_of_table(X, f0, f1) -> np.ndarray:
    """Columns f0 to f1 of a table as float32; of a file they alone are read."""
    if not isinstance(X, DatasetRows):
        block = X[:, f0:f1]
        return block.toarray() if sp.issparse(block) else block

    def cut(x):
        part = x[:, f0:f1] if x.shape[1] > f1 - f0 else x
        rounded = check_float32(part)
        if np.isinf(part).any():
            raise ValueError("Input X contains infinity.")
        return rounded

    return X.reading_columns(f0, f1).map(cut, blas=False)


def prepare_column(column, form, w, max_bins, as_bytes, codes):
    """Rows in order if needed; if values miss or repeat; codes, edges and bins or None.

    The codes are written into the array given, if one is.
    """
    n = len(column)
    rows = None
    codes = np.empty(n, np.uint8) if codes is None else codes
    edges = np.zeros((2, 256), np.float32)
    if form:
        edges[:] = np.arange(256)
        bins, missing = loops.category_codes(column, codes)
        return rows, missing, True, (codes, edges, bins)
    if max_bins and as_bytes and not len(w):
        values = np.sort(column)
    else:
        keys, rows = np.empty((2, n), np.uint32), np.empty((2, n), np.int32)
        counts = np.zeros((3, 1 << loops.DIGIT), np.int32)
        loops.sort_column(column.view(np.uint32), rows[0], *keys, rows[1], counts)
        rows = rows[0]
        values = column[rows]
    present, distinct = loops.count_present_and_distinct(values)
    packed = None
    if as_bytes and (distinct <= 255 or max_bins):
        most = max_bins or 255
        heavy = w[rows] if len(w) and distinct > most else w[:0]
        bins = loops.bin_edges(values, heavy, present, distinct, most, *edges)
        limits = np.full(256, np.inf, np.float32)
        limits[: bins - 1] = edges[1, : bins - 1]
        by_row = np.empty(n, np.uint8)  # in one piece: one kind of array to compile for
        loops.bin_codes(column, limits, by_row)
        codes[:] = by_row
        packed = codes, edges, bins
    return rows, present < n, distinct < present, packed


def empty_codes(b, n, interleave):
    """Room for the codes of b columns."""
    width = min(LANES, max(1, b)) if interleave else 1
    return np.zeros((-(-b // width), n, width), np.uint8)


def assemble_columns(x, order, codes, prepared, forms, interleave) -> PreparedColumns:
    """Put listed columns and bytes into arrays of their own."""
    packed = [(f, *p) for f, (_, _, p) in enumerate(prepared) if p is not None]
    listed = [f for f, (_, _, p) in enumerate(prepared) if p is None]
    properties = np.zeros(len(prepared), COLUMN)
    properties["form"] = forms
    properties["has_missing"] = [c[0] for c in prepared]
    properties["has_ties"] = [c[1] for c in prepared]
    properties["slot"][listed] = np.arange(len(listed))
    filled = codes is not None
    if packed and not filled:
        x, order = x[listed], order[listed] if len(order) else order
    if codes is None:
        codes = empty_codes(len(packed), x.shape[1], interleave)
    edges = np.empty((len(packed), 2, 256), np.float32)
    width = codes.shape[2]
    for j, (f, c, e, bins) in enumerate(packed):
        if not filled:
            codes[j // width, :, j % width] = c
        edges[j] = e
        properties["slot"][f] = -1 - j
        properties["n_bins"][f] = bins
    return PreparedColumns(x, order, codes, edges, properties)


# -- bins of large tables and files ----------------------------------------------


def bin_columns(X, w, max_bins, forms) -> PreparedColumns:
    """The columns of a table as bytes, from up to `max_bins` bins each."""
    n = number_of_rows(X)
    rows = sample_for_bins(n)
    if rows is None:
        table = (
            X if isinstance(X, np.ndarray) else np.concatenate(list(float32_blocks(X)))
        )
        return prepare_columns(table, w, max_bins, forms=forms, interleave=True)
    part = None if w is None else w[rows]
    return encode_by_bins(
        X,
        prepare_columns(
            take_float32_rows(X, rows), part, max_bins, forms=forms, interleave=True
        ),
    )


def sample_for_bins(n):
    """Row numbers that bins are made from, in ascending order; None for all."""
    if n <= SAMPLE_ROWS:
        return None
    rng = np.random.default_rng(0)
    return np.sort(rng.choice(n, SAMPLE_ROWS, replace=False, shuffle=False))


def encode_by_bins(X, bins: PreparedColumns) -> PreparedColumns:
    """All rows of a table coded by bins that were made from some of them."""
    n = number_of_rows(X)
    d = len(bins.properties)
    tiles, _, width = bins.codes.shape
    codes = np.zeros((tiles, n, width), np.uint8)
    limits = bin_upper_limits(bins)
    forms = bins.properties["form"]
    tops: list = []
    gaps: list = []
    n_coded = 0

    def work(block, start):
        top, missing = np.zeros(d, np.int64), np.zeros(d, np.int64)
        loops.encode_block(block, limits, forms, codes, start, top, missing)
        return top, missing, None

    def codes_on_threads():
        start = 0
        for block in float32_blocks(X):
            tasks = (
                lambda a=a, b=block, s=start: work(b[a : a + ROWS_PER_TASK], s + a)
                for a in range(0, len(block), ROWS_PER_TASK)
            )
            yield from threads.run_tasks(tasks)
            start += len(block)

    if isinstance(X, ClusterRows):  # workers code what they hold
        code = partial(_codes_of_block, limits=limits, forms=forms, width=width)
        parts = X.with_aligned().each(code, blas=False)
    else:
        parts = codes_on_threads()
    for top, missing, part in parts:
        if part is not None:
            codes[:, n_coded : n_coded + part.shape[1]] = part
            n_coded += part.shape[1]
        tops.append(top)
        gaps.append(missing)
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


def _codes_of_block(X, limits, forms, width):
    """By column the greatest code and if values are missing, and codes of a block."""
    d = X.shape[1]
    codes = np.zeros((-(-d // width), len(X), width), np.uint8)
    top, missing = np.zeros((2, d), np.int64)
    loops.encode_block(check_float32(X), limits, forms, codes, 0, top, missing)
    return top, missing, codes


def bin_upper_limits(bins: PreparedColumns):
    """(d, 256) float32: the greatest value that falls in each bin, inf for the last."""
    low, high = (bins.edges[:, k].astype(float) for k in range(2))
    cuts = np.full((len(bins.properties), 256), np.inf, np.float32)
    for f, count in enumerate(bins.properties["n_bins"]):
        middle = high[f, : count - 1] / 2 + low[f, 1:count] / 2
        cuts[f, : count - 1] = round_down_float32(middle)
    return cuts


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

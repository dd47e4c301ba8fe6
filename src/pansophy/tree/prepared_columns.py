"""Columns prepared for tree growth: sorted once, or binned into bytes.

A column with up to 255 distinct values becomes bytes, one bin per value; so does any
column if `max_bins` is given, with bins of about equal weight whose limits fall
between values. Any other column is kept as float32 with its rows in ascending order,
missing values last. Both keep every split that the data allow, except between values
that share a bin.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core import threads
from . import _prepared_columns as loops
from ._structures import COLUMN, LANES

THREADED_VALUES = 1 << 17  # values from which columns are prepared by several threads
COLUMNS_PER_TASK = 16  # columns at a time: a cache line of a row of X


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
    columns). Bins divide `sample_weight` evenly. `forms` says by column how it is split
    (see `_structures.py`); one that is not ORDERED holds codes from 0 to 254, which are
    its bytes. `interleave` puts bytes of 8 columns side by side, for trees that look
    at all features of a node. Random thresholds need no order: without `sort` a column
    that is not cut into bins is kept as it is.
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
        block = X[:, f0:f1]
        block = block.toarray() if sp.issparse(block) else block
        part = np.empty((f1 - f0, n), np.float32)
        loops.transpose_columns(block, part)
        found = []
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
            found.append(about)
        return found

    step = COLUMNS_PER_TASK if n * d >= THREADED_VALUES else max(d, 1)
    tasks = [(lambda a=a: prepare(a, min(a + step, d))) for a in range(0, d, step)]
    found = [column for block in threads.run_tasks(tasks) for column in block]
    return assemble_columns(
        x, order, codes if all_bytes else None, found, forms, interleave
    )


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
        begins = np.full(256, np.inf, np.float32)
        begins[: bins - 1] = edges[0, 1:bins]
        by_row = np.empty(n, np.uint8)  # in one piece: one kind of array to compile for
        loops.bin_codes(column, begins, bins, by_row)
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

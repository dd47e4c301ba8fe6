"""Columns of a table as trees see them: lists sorted once, or bytes.

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
from . import _columns as loops
from ._layout import BINS, MISSING, SLOT, TIES

SHARE = 1 << 17  # values from which columns are prepared by several threads
STEP = 16  # columns at a time: a cache line of a row of X


class Columns(NamedTuple):
    """A table prepared once, from which any number of trees can be grown."""

    x: np.ndarray  # (lists, n) float32
    order: np.ndarray  # (lists, n) rows sorted by each listed column
    codes: np.ndarray  # (bytes, n) uint8
    edges: np.ndarray  # (bytes, 2, 256) least and greatest value of a bin
    meta: np.ndarray  # (d, 5) see `_layout.py`


def columns(X, w=None, max_bins=None, as_bytes=True) -> Columns:
    """Sort every column once and choose its view.

    X is float32 with NaN for missing values, dense or sparse (spread out by blocks of
    columns). `w` are the weights that bins divide evenly.
    """
    n, d = X.shape
    X = X.tocsc() if sp.issparse(X) else X
    w = np.empty(0) if w is None else w
    x, order = np.empty((d, n), np.float32), np.empty((d, n), np.int32)

    def prepare(f0, f1):
        block = X[:, f0:f1]
        block = block.toarray() if sp.issparse(block) else block
        part = np.empty((f1 - f0, n), np.float32)
        loops.transpose(block, part)
        keys = np.empty((2, n), np.uint32)
        rows, found = np.empty((2, n), np.int32), []
        for f, column in enumerate(part, f0):
            loops.sort_column(column.view(np.uint32), rows[0], *keys, rows[1])
            present, distinct = loops.survey(column, rows[0])
            packed = None
            if as_bytes and (distinct <= 255 or max_bins):
                codes, edges = np.empty(n, np.uint8), np.zeros((2, 256), np.float32)
                most = max_bins or 255
                bins = loops.bin_column(
                    column, rows[0], w, present, distinct, most, codes, *edges
                )
                packed = codes, edges, bins
            else:
                x[f], order[f] = column, rows[0]
            found.append((present < n, distinct < present, packed))
        return found

    step = STEP if n * d >= SHARE else max(d, 1)
    tasks = [(lambda a=a: prepare(a, min(a + step, d))) for a in range(0, d, step)]
    found = [column for block in threads.run(tasks) for column in block]
    return assemble(x, order, found)


def assemble(x, order, found) -> Columns:
    """Put listed columns and bytes into arrays of their own."""
    packed = [(f, *p) for f, (_, _, p) in enumerate(found) if p is not None]
    listed = [f for f, (_, _, p) in enumerate(found) if p is None]
    meta = np.zeros((len(found), 5), np.int64)
    meta[:, MISSING] = [c[0] for c in found]
    meta[:, TIES] = [c[1] for c in found]
    meta[listed, SLOT] = np.arange(len(listed))
    if packed:
        x, order = x[listed], order[listed]
    codes = np.empty((len(packed), x.shape[1]), np.uint8)
    edges = np.empty((len(packed), 2, 256), np.float32)
    for j, (f, c, e, bins) in enumerate(packed):
        codes[j], edges[j] = c, e
        meta[f, SLOT], meta[f, BINS] = -1 - j, bins
    return Columns(x, order, codes, edges, meta)

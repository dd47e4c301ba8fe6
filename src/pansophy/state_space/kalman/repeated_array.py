"""Read-only arrays that store repeated rows once, such as converged covariances.

    out[t] = table[which[t]]                                                      (1)

The covariances of a filter whose matrices do not change converge after some dozens of
rows, and all later rows share one: written out for 100,000 rows of 20 states they would
take 320 MB. `RepeatedArray` keeps (1) as it is, reads like an array, and becomes one
where it must (`numpy.asarray`).

Shapes    table (m, ..)   which (n,)   out (n, ..)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

MAX_DENSE_BYTES = 1 << 22  # bytes up to which an array is written out anyway
WRITING_METHODS = {"fill", "put", "sort", "partition", "resize", "setfield", "setflags"}
READ_ONLY = "rows that repeat cannot be written to; take numpy.array(..) of them first."


@dataclass(eq=False, repr=False)
class RepeatedArray(NDArrayOperatorsMixin):
    """Rows of a table, some of them many times; to be read like an array.

    Indexing, arithmetic and every function and method of NumPy arrays give plain
    arrays, and only rows that are asked for are written out. It cannot be written to:
    take `numpy.array(out)` for that. Torch reads it with `torch.asarray`, and what
    asks for nothing but NumPy's own arrays (`torch.from_numpy`) is given
    `numpy.asarray(out)`.

    Parameters
    ----------
    table : array of shape (m, ...)
        The rows.
    which : array of shape (n,)
        Row of the table that row t is.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space.kalman.repeated_array import RepeatedArray
    >>> rows = RepeatedArray(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1, 1, 1]))
    >>> rows
    RepeatedArray(4 rows of shape (2,), 2 of them different)
    >>> rows[-1], rows[1:, 0], float(rows.sum())
    (array([3., 4.]), array([3., 3., 3.]), 24.0)
    >>> np.asarray(rows).shape
    (4, 2)
    """

    table: np.ndarray
    which: np.ndarray

    @property
    def shape(self) -> tuple:
        return (len(self.which), *self.table.shape[1:])

    @property
    def ndim(self) -> int:
        return self.table.ndim

    @property
    def dtype(self):
        return self.table.dtype

    def __len__(self):
        return len(self.which)

    def __iter__(self):
        return (self.table[i].copy() for i in self.which)

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("rows that repeat are an array only as a copy.")
        return np.take(self.table, self.which, 0).astype(
            dtype or self.dtype, copy=False
        )

    def __dlpack__(self, **more):
        return np.asarray(self).__dlpack__(**more)

    def __dlpack_device__(self):
        return np.asarray(self.table).__dlpack_device__()

    def __array_ufunc__(self, ufunc, method, *inputs, **more):
        written = inputs[:1] if method == "at" else more.get("out") or ()
        if any(isinstance(x, RepeatedArray) for x in written):
            raise TypeError(READ_ONLY)
        arrays = [np.asarray(x) if isinstance(x, RepeatedArray) else x for x in inputs]
        return getattr(ufunc, method)(*arrays, **more)

    def __getitem__(self, key):
        if isinstance(key, RepeatedArray):
            key = np.asarray(key)
        first, *rest = key if isinstance(key, tuple) else (key,)
        is_selection = isinstance(first, (list, np.ndarray)) and not rest
        if is_selection:  # but a mask of all the numbers picks no rows
            is_selection = np.ndim(first) == 1 or np.asarray(first).dtype != bool
        if not (is_selection or _is_basic_index(first)) or not all(
            map(_is_basic_index, rest)
        ):
            return np.asarray(self)[key]
        indices = np.asarray(self.which[first])
        return np.take(self.table[(slice(None), *rest)], indices, 0)

    def __setitem__(self, key, value):
        raise TypeError(READ_ONLY)

    def __bool__(self):
        return bool(np.asarray(self[:2]))  # as arrays answer: of one number only

    def __contains__(self, value):
        return value in self.table[np.unique(self.which)]

    def __getattr__(self, name) -> Any:
        if name.startswith("_") or name in ("table", "which"):
            raise AttributeError(name)
        if name in WRITING_METHODS:
            raise TypeError(READ_ONLY)
        array = np.asarray(self)
        array.flags.writeable = name not in ("flat", "flags")
        return getattr(array, name)

    def __repr__(self):
        return (
            f"RepeatedArray({len(self)} rows of shape {self.shape[1:]}, "
            f"{len(self.table)} of them different)"
        )


def _is_basic_index(index) -> bool:
    """Whether this picks rows, or within rows, without arrays of indices."""
    return isinstance(index, (int, np.integer, slice)) and not isinstance(index, bool)


def repeated_rows(rows, which, written):
    """rows[which] where row i is in use if which[i] = i: plain, or `RepeatedArray`.

    `written` writes a plain one: for what is small, or where few rows repeat.
    """
    used_rows = np.flatnonzero(which == np.arange(len(which)))
    if len(which) * rows[:1].nbytes <= MAX_DENSE_BYTES or 2 * len(used_rows) > len(
        which
    ):
        return written(rows, which)
    place = np.empty(len(which), np.int32)
    place[used_rows] = np.arange(len(used_rows))
    return RepeatedArray(rows[used_rows], place[which])

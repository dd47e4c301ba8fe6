"""Rows of a dask array or dataframe, read partition by partition on this machine.

Partitions may have any lengths, also none: where dask does not know them they are
counted first. Blocks go by the numbers of the rows and not by partitions, so that a fit
is the same however a table is cut.
"""

import numpy as np

from .cluster_connection import active_client
from .rows import DatasetRows


class DaskRows(DatasetRows):
    """Rows of a dask collection.

    Parameters
    ----------
    source : dask.array.Array or dask.dataframe.DataFrame
        Two-dimensional; columns of a dataframe are numbers or booleans.
    columns : list of str or None
        Columns that make up X, in order; None takes all.
    """

    def __init__(self, source, *aligned, columns=None, block=None, dtype=None):
        self.collection = source
        is_frame = hasattr(source, "columns")
        if is_frame:
            self.columns = _numeric_frame_columns(source, columns)
            self.parts = list(source[self.columns].to_delayed())
            kinds = [np.dtype(_float_kind(source.dtypes[c])) for c in self.columns]
        else:
            if source.ndim != 2:
                raise ValueError(
                    f"Expected 2D array, got {source.ndim}D array instead."
                )
            self.columns = [f"x{j}" for j in range(int(source.shape[1]))]
            if columns is not None and len(columns) == len(self.columns):
                self.columns = list(columns)
            source = source.rechunk({1: -1})
            self.parts = list(source.to_delayed().ravel())
            kinds = [np.dtype(_float_kind(source.dtype))]
        single = all(kind == np.float32 for kind in kinds)
        self.named = is_frame
        self.lengths = _partition_lengths(source, self.parts, is_frame)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(int)
        dtype = dtype or (np.float32 if single else np.float64)
        self._begin(self.starts[-1], dtype, aligned, block)

    def with_columns(self, columns):
        if list(columns) == list(self.columns):
            return self
        if not self.named:
            raise ValueError("a dask array has no names of columns.")
        return DaskRows(
            self.collection, columns=columns, block=self.block, dtype=self.dtype
        )

    def reading_columns(self, first, stop):
        return self.with_aligned()

    @property
    def all_columns(self):
        return list(self.collection.columns) if self.named else self.columns

    def column(self, name):
        if not self.named or name not in self.all_columns:
            raise ValueError(f"the table has no column named {name!r}.")
        values = np.asarray(computed_by_dask(self.collection[name]))
        is_text = values.dtype == object and all(isinstance(v, str) for v in values)
        return values.astype(str) if is_text else values

    def delayed_rows(self, i):
        """The rows of a partition as a delayed array of our dtype."""
        import dask

        return dask.delayed(_rows_of_partition)(self.parts[i], self.dtype)

    def _undecoded(self, start):
        for i, size in enumerate(self.lengths):
            if self.starts[i + 1] <= start or not size:
                continue
            skip = max(0, start - int(self.starts[i]))
            X = checked_partition(computed_by_dask(self.delayed_rows(i)), i, int(size))

            def decode(first, out, X=X, skip=skip):
                out[:] = X[skip + first : skip + first + len(out)]

            yield int(size) - skip, decode


def checked_partition(X, i, size):
    """The rows of a partition, of which there must be as many as were counted."""
    if len(X) != size:
        raise ValueError(
            f"partition {i} has {len(X)} rows, but had {size} when it was counted."
        )
    return X


def _rows_of_partition(part, dtype):
    """A partition as a C-ordered float array."""
    to_numpy = getattr(part, "to_numpy", None)
    X = to_numpy(dtype=dtype, na_value=np.nan) if to_numpy else np.asarray(part)
    return np.ascontiguousarray(X, dtype=dtype)


def _float_kind(dtype):
    """float32 for float32, else float64."""
    return np.float32 if str(dtype).lower() == "float32" else np.float64


def _partition_lengths(source, parts, is_frame) -> list[int]:
    """The number of rows of each partition, counted where it is not known."""
    import dask

    if not is_frame and not any(np.isnan(c) for c in source.chunks[0]):
        return [int(c) for c in source.chunks[0]]
    return [
        int(k) for k in computed_by_dask([dask.delayed(len)(part) for part in parts])
    ]


def computed_by_dask(collection):
    """What dask computes on the cluster in use, or with threads of this machine."""
    import dask

    client = active_client(collection)
    if client is None and isinstance(collection, list) and collection:
        client = active_client(collection[0])
    if client is not None and client.status == "running":
        return client.gather(client.compute(collection))
    return dask.compute(collection, scheduler="threads")[0]


def _numeric_frame_columns(frame, columns) -> list:
    """The given columns of a dataframe, or all; an error names one without numbers."""
    names = list(frame.columns) if columns is None else list(columns)
    for name in names:
        if name not in frame.columns:
            raise ValueError(f"the table has no column named {name!r}.")
        kind = frame.dtypes[name]
        if getattr(kind, "kind", "O") not in "fiub":
            raise ValueError(
                f"the table has columns that are not numbers: {name!r} ({kind}): "
                "choose columns, or turn them into numbers first."
            )
    return names

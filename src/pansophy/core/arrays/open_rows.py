"""One door for tables that are read in blocks, and for y and weights named in them.

`open_rows` makes `DatasetRows` of whatever names or holds a table that need not fit in
memory: a path, a pattern, a folder, a list of files, an Arrow dataset or reader, a lazy
frame of polars or narwhals, a dask array or dataframe. Inside `pansophy.cluster(...)`
the rows of files and of dask collections are held by the workers of the cluster.
"""

import os
import tempfile
import weakref
from pathlib import Path

import numpy as np

from .block_readers import reads_blocks
from .cluster_connection import active_client
from .rows import IN_MEMORY, DatasetRows, is_dask, is_dataset, is_in_memory


def open_rows(source, columns=None) -> DatasetRows:
    """The rows of a table of any kind; `DatasetRows` with other columns where asked.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = open_rows(pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]}), columns=["b"])
    >>> rows.shape, rows.take([1]).tolist()
    ((2, 1), [[4.0]])
    """
    if isinstance(source, DatasetRows):
        return source if columns is None else source.with_columns(columns)
    client = active_client(source)
    if is_dask(source):
        from .dask_rows import DaskRows

        rows: DatasetRows = DaskRows(source, columns=columns)
    elif is_lazy(source):
        rows = _spooled_rows(source, columns)
        client = None  # its file is on this machine
    else:
        rows = DatasetRows(source, columns=columns)
    if client is None or is_in_memory(source):
        return rows
    from .cluster_rows import ClusterRows

    return ClusterRows(rows, client)


def is_lazy(X) -> bool:
    """Whether X is a plan or a stream of rows: a lazy frame or an Arrow reader."""
    kind = type(X)
    if kind.__name__ == "LazyFrame":
        return kind.__module__.startswith(("polars", "narwhals"))
    return kind.__name__ == "RecordBatchReader"


def is_table_in_blocks(model, X) -> bool:
    """Whether a model reads X in blocks; a TypeError where it should and cannot."""
    if not (is_dataset(X) or is_lazy(X)):
        return False
    if reads_blocks(type(model)):
        return True
    if is_lazy(X) or is_in_memory(X):
        return False  # read as a data frame
    if is_dask(X) or type(model).__module__.startswith("pansophy."):
        raise TypeError(_file_refusal_text(model))
    return True  # a class of the user's, which may know what to do


def _file_refusal_text(model) -> str:
    """What a model says to a file that it cannot read in blocks."""
    name = type(model).__name__
    return (
        f"{name}: {IN_MEMORY} Methods that read files in blocks, such as Ridge, "
        "LogisticRegression, HistGradientBoostingClassifier, KMeans and PCA, are "
        "listed in docs/scale.md."
    )


def _spooled_rows(source, columns) -> DatasetRows:
    """Rows of a lazy frame or reader, written once to a temporary Parquet file."""
    import pyarrow as pa

    handle, name = tempfile.mkstemp(prefix="pansophy-rows-", suffix=".parquet")
    os.close(handle)
    path = Path(name)
    try:
        if isinstance(source, pa.RecordBatchReader):
            _write_batches(source, path)
        else:
            source.sink_parquet(str(path))
        rows = DatasetRows(path, columns=columns)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    weakref.finalize(rows.kept, path.unlink, missing_ok=True)  # copies share it
    return rows


def _write_batches(reader, path) -> None:
    """Write a stream of record batches as a Parquet file."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def columns_by_name(X, y=None, sample_weight=None) -> tuple:
    """X, y and weights, where y and weights may be names of columns of the table X.

    Columns that are named are not among those of X. Anything else stays as it is, but
    dask's collections for y and weights, which are computed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"a": [1.0, 2.0], "price": [3.0, 4.0]})
    >>> X, y, _ = columns_by_name(table, "price")
    >>> X.columns, y.tolist()
    (['a'], [3.0, 4.0])
    """
    names: dict[str, list[str]] = {}
    if isinstance(y, str):
        names["y"] = [y]
    elif isinstance(y, list) and _is_list_of_names(y):
        names["y"] = list(y)
    if isinstance(sample_weight, str):
        names["sample_weight"] = [sample_weight]
    if names and (is_dataset(X) or is_lazy(X)):
        X, y, sample_weight = _read_named_columns(X, names, y, sample_weight)
    return X, _computed_targets(y), _computed_targets(sample_weight)


def _is_list_of_names(y) -> bool:
    """Whether a list names columns, which are several targets, rather than labels."""
    return 0 < len(y) < 100 and all(isinstance(v, str) for v in y)


def _read_named_columns(X, names, y, sample_weight) -> tuple:
    """`columns_by_name` where some are named."""
    table = X if isinstance(X, DatasetRows) else None
    known = table.all_columns if table is not None else _table_columns(X)
    wanted = [name for group in names.values() for name in group]
    if "y" in names and isinstance(y, list) and not set(y) <= set(known):
        return X, y, sample_weight  # labels of a few rows
    for name in wanted:
        if name not in known:
            raise ValueError(f"the table has no column named {name!r}.")
    if table is not None:
        rest = [c for c in table.columns if c not in wanted]
    else:
        rest = [
            c
            for c in known
            if c not in wanted and not str(c).startswith("__index_level_")
        ]
    rows = open_rows(X, columns=rest)
    if "y" in names:
        parts = [rows.column(name) for name in names["y"]]
        y = parts[0] if isinstance(y, str) else np.column_stack(parts)
    if "sample_weight" in names:
        sample_weight = rows.column(sample_weight)
    return rows, y, sample_weight


def _table_columns(X) -> list:
    """The names of the columns of a table that is not open yet."""
    if is_dask(X):
        return list(getattr(X, "columns", ()))
    if type(X).__name__ == "LazyFrame":
        return list(X.collect_schema().names())
    if hasattr(X, "schema") and hasattr(X.schema, "names"):
        return list(X.schema.names)
    from .rows import as_dataset

    return list(as_dataset(X).schema.names)


def _computed_targets(y):
    """A dask collection as a NumPy array; anything else as it is."""
    if not is_dask(y):
        return y
    from .dask_rows import computed_by_dask

    return np.asarray(computed_by_dask(y))

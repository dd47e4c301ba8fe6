"""Reads files and dataframes of any kind as one Arrow table."""

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa

from ..core.arrays.codes import is_missing
from . import csv_dialect
from .column_values import TableError
from .text_file import read_text_file

NOTES = b"pansophy.notes"
PACKED = (".gz", ".zst", ".bz2", ".lz4", ".zstd", ".gzip")
MAX_PIPE = 64 << 30  # bytes that a pipe may give
PIPE_PART = 1 << 20  # bytes copied at a time
FORMATS = {
    ".parquet": "parquet", ".pq": "parquet", ".feather": "arrow", ".arrow": "arrow",
    ".ipc": "arrow", ".jsonl": "json", ".ndjson": "json", ".json": "json",
}  # fmt: skip


def read_table(source) -> pa.Table:
    """Read a file, a dataframe or a dict of columns as an Arrow table.

    File formats are recognised by name and first bytes: Parquet, Feather (Arrow), JSON
    lines (`.jsonl`, `.ndjson`, `.json`); all else is text with a line of names, whose
    separator, decimal mark and encoding are detected. Each may be compressed (`.gz`,
    `.zst`, `.bz2`). Dataframes of pandas, polars and other libraries that narwhals
    knows, Arrow tables, dicts of columns and lists of dicts are converted. Notes made
    while reading are returned by `reading_notes`.
    """
    if isinstance(source, (str, os.PathLike)):
        table = _read_file(Path(source))
    else:
        table = from_memory(source)
    return checked_table(table)


def reading_notes(table) -> list[str]:
    """Notes made while a table was read, such as a guessed encoding."""
    kept = (table.schema.metadata or {}).get(NOTES)
    return json.loads(kept) if kept else []


def with_note(table, notes) -> pa.Table:
    """The table with notes in its metadata, for `reading_notes`."""
    if not notes:
        return table
    kept = {**(table.schema.metadata or {}), NOTES: json.dumps(list(notes)).encode()}
    return table.replace_schema_metadata(kept)


def from_memory(source) -> pa.Table:
    """An Arrow table from objects in memory."""
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.RecordBatchReader):
        return source.read_all()
    if isinstance(source, dict):
        return _from_columns(source)
    if isinstance(source, list) and source and isinstance(source[0], dict):
        names = dict.fromkeys(key for row in source for key in row)
        return _from_columns({n: [row.get(n) for row in source] for n in names})
    return _table_from_frame(source)


def _from_columns(columns) -> pa.Table:
    """An Arrow table from a dict of columns."""
    columns_by_name = {}
    for name, values in columns.items():
        columns_by_name[str(name)] = _from_values(values, name)
    lengths = {len(v) for v in columns_by_name.values()}
    if len(lengths) > 1:
        raise TableError(f"The columns have different lengths: {sorted(lengths)}.")
    return pa.table(columns_by_name)


def _from_values(values, name):
    """An Arrow array of one column; values of mixed types become text."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if isinstance(values, range):
        values = list(values)
    values = _intervals_as_text(values)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError) as error:
        try:
            texts = [None if is_missing(v) else str(v) for v in values]
        except TypeError:
            kind = type(values).__name__
            raise TableError(f"Column {name!r} is a {kind}, not values.") from error
        return pa.array(texts, pa.string())


def _intervals_as_text(values):
    """pandas intervals as texts (in their order), periods as dates."""
    kind = getattr(values, "dtype", None)
    dtype_name = str(getattr(getattr(kind, "categories", None), "dtype", kind))
    if dtype_name.startswith("interval") and hasattr(kind, "categories"):
        return values.cat.rename_categories(lambda v: str(v))
    if dtype_name.startswith("interval"):
        return values.astype("str").where(values.notna(), None)
    return values.dt.to_timestamp() if dtype_name.startswith("period[") else values


def _table_from_frame(source) -> pa.Table:
    """An Arrow table from a dataframe of any library that narwhals knows."""
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(source)
    except DuplicateError as error:
        raise TableError(
            f"The table has several columns of one name: {' '.join(str(error).split())}"
        ) from error
    except TypeError as error:
        raise TableError(
            f"A {type(source).__name__} is not a table: pass a path, a dataframe or a "
            "dict of columns."
        ) from error
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not frame.implementation.is_pandas_like():
        return frame.to_arrow()
    native = nw.to_native(frame)  # column by column, since names may be numbers
    names = [str(n) for n in native.columns]
    arrays = [_from_values(native.iloc[:, j], n) for j, n in enumerate(names)]
    for level in native.index.names:  # an index that has a name is a column too
        if level is not None and str(level) not in names:
            values = native.index.get_level_values(level)
            names.append(str(level))
            arrays.append(_from_values(values, level))
    return pa.Table.from_arrays(arrays, names=names)


def format_of(path) -> str:
    """ "parquet", "arrow", "json" or "text", by name and first bytes."""
    name = Path(path)
    ending = name.with_suffix("").suffix if name.suffix.lower() in PACKED else ""
    ending = (ending or name.suffix).lower()
    try:
        with csv_dialect.open_bytes(path) as stream:
            first = stream.read(8)
    except (pa.ArrowException, OSError) as error:
        raise unreadable_file(path, error) from error
    if first.startswith(b"PAR1"):
        return "parquet"
    if first.startswith(b"ARROW1"):
        return "arrow"
    unnamed = "json" if first.lstrip().startswith(b'{"') else "text"
    return FORMATS.get(ending, unnamed)


def _check_file(path):
    """Raises TableError if a path is not a file with content."""
    if path.is_dir():
        raise TableError(f"{path} is a folder, not a table.")
    if not path.exists():
        raise TableError(f"There is no file {path}.")
    if path.is_char_device() or path.is_block_device():
        raise TableError(f"{path} is a device, not a table.")
    if path.is_file() and path.stat().st_size == 0:
        raise TableError(f"{path} is empty.")


@contextlib.contextmanager
def seekable_file(path):
    """The path of a file that can be read several times.

    A pipe (`<(cat table.csv)`, `/dev/stdin`, a named pipe) gives its bytes only once:
    they are copied to a temporary file, which is gone after the block.
    """
    _check_file(path)
    if path.is_file():
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="pansophy-", suffix=path.suffix) as copy:
        with path.open("rb") as pipe:
            _copy_pipe(pipe, copy, path)
        copy.flush()
        try:
            _check_file(Path(copy.name))
            yield Path(copy.name)
        except TableError as error:  # names the file that the user gave
            raise TableError(str(error).replace(copy.name, str(path))) from error


def _copy_pipe(pipe, copy, path) -> None:
    """Copy a pipe to a file, up to `MAX_PIPE` bytes and half of what the disk has."""
    max_size = min(MAX_PIPE, shutil.disk_usage(os.path.dirname(copy.name)).free // 2)
    size = 0
    while part := pipe.read(PIPE_PART):
        size += len(part)
        if size > max_size:
            raise TableError(
                f"{path} gives more than {max_size / 2**30:.3g} GB: write it to a "
                "file, which is read from where it is."
            )
        copy.write(part)


def _read_file(path) -> pa.Table:
    """Reads a file of any supported format, or a pipe."""
    with seekable_file(path) as file:
        return _read_seekable(file)


def _read_seekable(path) -> pa.Table:
    """Reads a file that can be read several times."""
    notes = ()
    try:
        kind = format_of(path)
        if kind == "parquet":
            import pyarrow.parquet

            table = pyarrow.parquet.ParquetFile(source_of(path)).read()
        elif kind == "arrow":
            table = arrow_reader(path).read_all()
        elif kind == "json":
            from .json_lines import read_json

            table = read_json(path)
        else:
            table, notes = read_text_file(path)
        if kind != "text":
            table.validate(full=True)  # a damaged file must not crash what comes later
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise unreadable_file(path, error) from error
    return with_note(table, notes)


def unreadable_file(path, error) -> TableError:
    first = (str(error).strip().splitlines() or ["it is damaged"])[0]
    return TableError(f"{path} cannot be read as a table: {first}")


def source_of(path):
    """A seekable source: the file, or its decompressed bytes."""
    stream = csv_dialect.open_bytes(path)
    if isinstance(stream, pa.CompressedInputStream):
        with stream:
            return pa.BufferReader(csv_dialect.unpack_all(stream, path))
    return stream


def arrow_reader(path):
    """The reader of a Feather or Arrow file, or of an Arrow stream."""
    import pyarrow.feather
    from pyarrow import ipc

    source = source_of(path)
    try:
        return ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
    try:
        return ipc.open_stream(source)
    except pa.ArrowInvalid:  # the first version of Feather
        table = pyarrow.feather.read_table(path)
        return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())


def with_unique_names(table) -> pa.Table:
    """The table with stripped, non-empty names and simple types; names must differ."""
    names = [n.strip() or f"column {i + 1}" for i, n in enumerate(table.column_names)]
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise TableError(f"The table has several columns named {twice!r}.")
    table = table if names == table.column_names else table.rename_columns(names)
    for j, kind in enumerate(table.schema.types):
        simple = _simpler_type(kind)
        if simple is not None:
            table = table.set_column(j, names[j], table.column(j).cast(simple))
    return table


def _simpler_type(kind) -> pa.DataType | None:
    """A basic type in place of one that Arrow hardly computes with; None if basic."""
    t = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    if t.is_string_view(kind):
        return pa.string()
    if t.is_float16(kind):
        return pa.float32()
    if t.is_run_end_encoded(kind):
        return kind.value_type
    return None


def checked_table(table) -> pa.Table:
    if table.num_columns == 0 or table.num_rows == 0:
        raise TableError("The table has no rows.")
    return with_unique_names(table)

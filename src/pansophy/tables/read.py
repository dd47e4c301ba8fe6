"""Tables in: files and dataframes of any kind become one Arrow table."""

import os
from pathlib import Path

import pyarrow as pa

from .values import TableError

SEPARATORS = ",;\t|"
MISSING = ["", "?", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None", "none"]


def read_table(source) -> pa.Table:
    """An Arrow table from a file, a dataframe or a dict of columns.

    Files are told apart by their names: `.parquet`, `.feather` and `.arrow`; all else
    is text with a header line, plain or compressed (`.csv`, `.tsv`, `.csv.gz`), whose
    separator is found out. pandas, polars, Arrow and whatever narwhals understands
    is taken as it is.
    """
    if isinstance(source, (str, os.PathLike)):
        table = read_file(Path(source))
    elif isinstance(source, pa.Table):
        table = source
    elif isinstance(source, dict):
        table = pa.table(source)
    else:
        table = from_frame(source)
    return checked(table)


def from_frame(source) -> pa.Table:
    import narwhals as nw

    try:
        frame = nw.from_native(source, eager_only=True)
    except TypeError as error:
        raise TableError(
            f"A {type(source).__name__} is not a table: pass a path, a dataframe or a "
            "dict of columns."
        ) from error
    return frame.to_arrow()


def read_file(path) -> pa.Table:
    if path.is_dir():
        raise TableError(f"{path} is a folder, not a table.")
    if not path.exists():
        raise TableError(f"There is no file {path}.")
    if path.stat().st_size == 0:
        raise TableError(f"{path} is empty.")
    try:
        if path.suffix in (".parquet", ".pq"):
            import pyarrow.parquet

            return pyarrow.parquet.read_table(path)
        if path.suffix in (".feather", ".arrow"):
            import pyarrow.feather

            return pyarrow.feather.read_table(path)
        return read_text(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        first = str(error).strip().splitlines()[0]
        raise TableError(f"{path} cannot be read as a table: {first}") from error


def read_text(path) -> pa.Table:
    from pyarrow import csv

    with pa.input_stream(str(path)) as stream:  # opens .gz and the like as well
        head = stream.read(1 << 16).split(b"\n")[0].decode("utf-8-sig")
    return csv.read_csv(
        pa.input_stream(str(path)),
        parse_options=csv.ParseOptions(
            delimiter=max(SEPARATORS, key=head.count), newlines_in_values=True
        ),
        convert_options=csv.ConvertOptions(
            null_values=MISSING, strings_can_be_null=True
        ),
    )


def checked(table) -> pa.Table:
    names = [n or f"column {i + 1}" for i, n in enumerate(table.column_names)]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise TableError(f"The table has several columns named {twice[0]!r}.")
    if table.num_columns == 0 or table.num_rows == 0:
        raise TableError("The table has no rows.")
    return table.rename_columns(names)

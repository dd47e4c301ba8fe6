"""Reads CSV and its relatives, whole or block by block.

Types are inferred over the whole file: a column is integer, floating, boolean, date or
time only if every value is; a single word makes it a text column (in which `roles` may
still find numbers, with that word as missing). Columns whose digits
begin with 0 (postal codes) stay texts.
"""

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from . import csv_dialect
from .column_values import TableError

MISSING = [
    "", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "null", "NULL", "None",
    "none", "<NA>", "NaT",
]  # fmt: skip
BLOCK = 4 << 20  # bytes read at a time
INT = pa.int64()
FLOAT = pa.float64()
TEXT = pa.string()
NEXT = {  # the type to try where one does not fit all values
    INT: FLOAT, FLOAT: TEXT, pa.bool_(): TEXT, pa.time32("s"): TEXT,
    pa.date32(): pa.timestamp("s"), pa.timestamp("s"): pa.timestamp("us"),
    pa.timestamp("us"): TEXT,
}  # fmt: skip
FIRST = (INT, FLOAT, pa.bool_(), pa.date32(), pa.timestamp("s"), pa.timestamp("us"),
         pa.time32("s"), TEXT)  # fmt: skip


def _parse_options(dialect):
    return csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=True)


def _convert_options(dialect, types, columns=None):
    return csv.ConvertOptions(
        null_values=MISSING,
        strings_can_be_null=True,
        decimal_point=dialect.decimal,
        column_types=types,
        include_columns=columns,
    )


def _read_options(dialect, block):
    encoding = "utf8" if dialect.encoding == "utf-8" else dialect.encoding
    return csv.ReadOptions(encoding=encoding, block_size=block, skip_rows=dialect.skip)


def read_text_file(path) -> tuple[pa.Table, tuple[str, ...]]:
    """Reads a text file: the table, and notes about its dialect."""
    dialect = csv_dialect.sniff_dialect(path)
    while True:
        _check_names(dialect.names, path)
        types = dict.fromkeys(dialect.codes, TEXT)
        try:
            with csv_dialect.open_bytes(path) as stream:
                table = csv.read_csv(
                    stream,
                    read_options=_read_options(dialect, BLOCK),
                    parse_options=_parse_options(dialect),
                    convert_options=_convert_options(dialect, types),
                )
        except pa.ArrowInvalid as error:
            retried = _retry_dialect(error, path, dialect)
            if retried is None:
                raise _ragged_line_message(error, path, dialect) from error
            dialect = retried
            continue
        binary = [t for t in table.schema.types if pa.types.is_binary(t)]
        retried = _western_dialect(path, dialect) if binary else None
        if retried is None:
            return table, dialect.notes
        dialect = retried


def _western_dialect(path, dialect):
    """The western dialect of a file that is not UTF-8 after all; None otherwise."""
    if dialect.encoding != "utf-8":
        return None
    with csv_dialect.open_bytes(path) as stream:
        result = "cp1252"
        while block := stream.read(BLOCK):
            if csv_dialect.fallback_encoding(block) == "latin-1":
                result = "latin-1"
                break
    return csv_dialect.sniff_dialect(path, result)


def _retry_dialect(error, path, dialect):
    if "UTF8" not in str(error).upper().replace("-", ""):
        return None
    return _western_dialect(path, dialect)


def _ragged_line_message(error, path, dialect) -> TableError:
    """Error about a line with too few or too many values, or that is too long."""
    if "straddl" in str(error):
        return _too_long_message(path)
    result = (
        csv_dialect.first_ragged(path, dialect) if "columns" in str(error) else None
    )
    if result is None:
        first = str(error).strip().splitlines()[0]
        return TableError(f"{path} cannot be read as a table: {first}")
    line, width = result
    names = len(dialect.names)
    mark = {"\t": "a tab"}.get(dialect.separator, repr(dialect.separator))
    values = "value" if width == 1 else "values"
    message = f"{path} cannot be read as a table: line {line} has {width} {values}"
    named = "1 name" if names == 1 else f"{names} names"
    first = f"line {dialect.skip + 1}" if dialect.skip else "the first line"
    return TableError(f"{message}, but {first} has {named} (separated by {mark}).")


def _too_long_message(path) -> TableError:
    """Error about a row that is longer than what is read at a time."""
    line = csv_dialect.first_long_line(path, BLOCK)
    size = f"{BLOCK >> 20} MB"
    if line is not None:
        return TableError(f"{path}, line {line} is longer than {size}.")
    return TableError(
        f"{path} has a value of more than {size} that goes over many lines: is a "
        "quotation mark missing?"
    )


def _check_names(names, path):
    clean = [n.strip() for n in names]
    twice = [n for n in clean if n and clean.count(n) > 1]
    if twice:
        raise TableError(
            f"The table has several columns named {twice[0]!r}; rename all but one."
        )


def text_blocks(path, columns=None):
    """Yields blocks of a text file as tables of strings, with the dialect.

    If a file turns out not to be UTF-8, the rest is read in a western encoding.
    """
    dialect = csv_dialect.sniff_dialect(path)
    rows_done = 0
    _check_names(dialect.names, path)
    try:
        for block in _plain_blocks(path, dialect, columns):
            rows_done += block.num_rows
            yield block, dialect
    except pa.ArrowInvalid as error:
        retried = _retry_dialect(error, path, dialect)
        if retried is None:
            raise _ragged_line_message(error, path, dialect) from error
        for block in _plain_blocks(path, retried, columns):
            if rows_done < block.num_rows:
                yield block.slice(rows_done), retried
            rows_done = max(0, rows_done - block.num_rows)


def _plain_blocks(path, dialect, columns):
    types = dict.fromkeys(dialect.names, TEXT)
    kept = None if columns is None else [dialect.names[j] for j in columns]
    with csv_dialect.open_bytes(path) as stream:
        reader = csv.open_csv(
            stream,
            read_options=_read_options(dialect, BLOCK),
            parse_options=_parse_options(dialect),
            convert_options=_convert_options(dialect, types, kept),
        )
        for batch in reader:
            yield pa.Table.from_batches([batch])


class Types:
    """Infers the types of text columns block by block."""

    def __init__(self, dialect):
        self.decimal = dialect.decimal
        self.found = [TEXT if n in dialect.codes else None for n in dialect.names]

    def see(self, table):
        """Widens the types so that they fit all values of a block."""
        for j, column in enumerate(table.columns):
            kind = self.found[j]
            if kind == TEXT or column.null_count == len(column):
                continue
            if kind is None:
                kind = next(k for k in FIRST if self.fits(column[:100], k))
            while not self.fits(column, kind):
                kind = NEXT[kind]
            self.found[j] = kind

    def fits(self, column, kind) -> bool:
        try:
            self.convert(column, kind)
        except pa.ArrowException:
            return False
        return True

    def convert(self, column, kind):
        if kind in (None, TEXT):
            return column.cast(pa.null()) if kind is None else column
        if kind == FLOAT and self.decimal == ",":
            column = pc.replace_substring(column, ",", ".", max_replacements=1)
        if pa.types.is_time(kind):
            column = pc.binary_join_element_wise("1970-01-01", column, " ")
            return column.cast(pa.timestamp("s")).cast(kind)
        try:
            return column.cast(kind)
        except pa.ArrowException:
            return pc.utf8_trim_whitespace(column).cast(kind)

    def apply(self, table) -> pa.Table:
        """The table with the types found."""
        columns = [
            pa.nulls(table.num_rows) if k is None else self.convert(c, k)
            for c, k in zip(table.columns, self.found, strict=True)
        ]
        return pa.table(columns, names=table.column_names)

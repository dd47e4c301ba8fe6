"""Tables out, batch by batch: CSV, TSV, Parquet, Feather and JSON lines, by name.

A file is written as `name.part` and renamed when it is whole, so that whatever
interrupts the writing leaves a whole file or none.

Texts that begin like a formula (=, @, or a sign before anything but a number) would
be run by a spreadsheet that opens a CSV or TSV file. In those formats such a cell gets
an apostrophe in front, which spreadsheets show as plain text; Parquet, Feather and
JSON are left as they are, since nothing runs them.
"""

import json
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ...core.files.atomic_files import replacing_file
from ...tables import TableError

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
FORMULA, NUMBER = "^[=@\t\r+-]", "^[+-][0-9 .,:()/-]*$"
ROW_GROUP = 2**17  # rows of a Parquet row group


def format_and_compression(path) -> tuple[str, str | None]:
    """(format, compression) of a file name."""
    ends = [s.lower() for s in Path(path).suffixes]
    squeeze = COMPRESSIONS.get(ends[-1]) if ends else None
    ends = ends[:-1] if squeeze else ends
    form = FORMATS.get(ends[-1]) if ends else None
    if form is None or (squeeze and form in ("parquet", "feather")):
        raise TableError(
            f"{path} does not say how to write it: end the name in .csv, .tsv, "
            ".parquet, .feather or .jsonl (text also with .gz or .zst)."
        )
    return form, squeeze


@contextmanager
def table_writer(target):
    """`write(table)` for a path, or for an open binary file, which gets CSV."""
    if hasattr(target, "write"):
        with _format_writer("csv", target) as write:
            yield write
        return
    target = Path(target)
    form, squeeze = format_and_compression(target)
    if target.is_dir() or not target.parent.is_dir():
        raise TableError(f"{target} cannot be written: its folder is not there.")
    with replacing_file(target) as draft, pa.OSFile(str(draft), "wb") as file:
        stream = pa.CompressedOutputStream(file, squeeze) if squeeze else file
        with _format_writer(form, stream) as write:
            yield write
        if squeeze:
            stream.close()


@contextmanager
def _format_writer(form, out):
    """`write(table)` onto an open file; the first table settles the types."""
    opened = []

    def write(table):
        if form in ("csv", "tsv"):
            table = _safe_for_spreadsheets(table)
        elif form == "jsonl":
            out.write(_json_lines(table))
            return
        if not opened:
            opened.append(WRITERS[form](out, table.schema))
        if form == "parquet":
            opened[0].write_table(table, row_group_size=ROW_GROUP)
        else:
            opened[0].write_table(table)

    try:
        yield write
    finally:
        for writer in opened:
            writer.close()


def _csv_writer_factory(delimiter):
    def make(out, schema):
        from pyarrow import csv

        options = csv.WriteOptions(delimiter=delimiter, quoting_style="needed")
        return csv.CSVWriter(out, schema, write_options=options)

    return make


def _parquet_writer(out, schema):
    from pyarrow import parquet

    return parquet.ParquetWriter(out, schema)


WRITERS = {
    "csv": _csv_writer_factory(","),
    "tsv": _csv_writer_factory("\t"),
    "parquet": _parquet_writer,
    "feather": lambda out, schema: pa.ipc.new_file(out, schema),
}


def _safe_for_spreadsheets(table) -> pa.Table:
    """A table for a text format: lists joined, formulas turned into text."""
    columns, names = [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_list(column.type):
            parts = column.cast(pa.list_(pa.string()))
            column = pc.binary_join(parts, " | ")
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = _escape_formulas(column)
        columns.append(column)
        names.append(_escape_formulas(pa.array([name]))[0].as_py())
    return pa.table(columns, names)


def _escape_formulas(column):
    bad = pc.and_(
        pc.match_substring_regex(column, FORMULA),
        pc.invert(pc.match_substring_regex(column, NUMBER)),
    )
    if not pc.any(bad).as_py():
        return column
    marked = pc.binary_join_element_wise(
        pa.scalar("'", column.type), column, pa.scalar("", column.type)
    )
    return pc.if_else(bad, marked, column)


def _json_lines(table) -> bytes:
    """One JSON object a row, written column by column."""
    if table.num_rows == 0:
        return b""
    parts = []
    for k, (name, column) in enumerate(zip(table.column_names, table.columns)):
        lead = ("{" if k == 0 else ", ") + json.dumps(name) + ": "
        parts += [pa.scalar(lead, pa.string()), _json_column(column)]
    joined = pc.binary_join_element_wise(*parts, pa.scalar("}\n"), "")
    return "".join(joined.to_pylist()).encode()


def _json_column(column):
    """Each value of a column as JSON."""
    kind = column.type
    null = pa.scalar("null")
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, kind))
        return pc.fill_null(column.cast(pa.string()), null)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return pc.fill_null(column.cast(pa.string()), null)
    if pa.types.is_nested(kind):
        texts = [json.dumps(v, default=str) for v in column.to_pylist()]
        return pa.array(texts, pa.string())
    if not pa.types.is_dictionary(kind):
        column = column.dictionary_encode()  # each text is escaped once
    words = [json.dumps(v, default=str) for v in column.dictionary.to_pylist()]
    return pc.fill_null(pa.array(words, pa.string()).take(column.indices), null)

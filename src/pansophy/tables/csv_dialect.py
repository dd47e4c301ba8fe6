"""Detects the dialect of a text file: compression, encoding, separator, decimal mark.

The first part of the file is parsed with each separator (quotes respected); the one
that gives the most records the width of the first line wins, and among equals the one
with more columns. The decimal mark is a comma if the separator is not a comma, some
fields look like 1,5 and none like 1.5. Before the header there may be comment lines
(`# ...`) and the line by which spreadsheets declare their separator (`sep=;`).
"""

import csv
import re
from typing import NamedTuple

import pyarrow as pa

from ..core.free_memory import free_memory
from .column_values import TableError

HEAD = 1 << 18  # bytes examined
UNPACKED_PART = 1 << 24  # bytes unpacked at a time
RECORDS = 200
SEPARATORS = ",;\t|"
MAGIC = {
    b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2",
    b"\x04\x22\x4d\x18": "lz4",
}  # fmt: skip
KINDS = {
    b"PK\x03\x04": "a zip archive or a spreadsheet; save its table as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet; save its table as CSV",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\x7fELF": "a program",
    b"SQLite format 3": "a database",
    b"\x80\x04": "a pickle",
}
MARKUP = {b"<!doctype": "a web page", b"<html": "a web page", b"<?xml": "an XML file"}
DECLARED = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)  # by a spreadsheet
COMMA = re.compile(r"[-+]?\d+,\d+")
POINT = re.compile(r"[-+]?\d*\.\d+")


class Dialect(NamedTuple):
    """Encoding, separator and column names of a text file."""

    names: tuple[str, ...]  # as they stand in the first line
    separator: str
    decimal: str
    encoding: str
    codes: tuple[str, ...]  # columns whose digits begin with 0: texts, not numbers
    notes: tuple[str, ...] = ()
    skip: int = 0  # lines before that of the names


def open_bytes(path):
    """Opens a file for reading bytes; decompresses it by its magic number."""
    with open(path, "rb") as file:
        first = file.read(4)
    for magic, name in MAGIC.items():
        if first.startswith(magic):
            return pa.CompressedInputStream(pa.OSFile(str(path)), name)
    return pa.OSFile(str(path))


def unpack_all(stream, path, limit=None) -> bytes:
    """The bytes of a stream, unless they would take more than half of the free memory.

    What is packed may unpack to a thousand times its size.
    """
    limit = memory_budget() if limit is None else limit
    parts = []
    size = 0
    while part := stream.read(UNPACKED_PART):
        size += len(part)
        if size > limit:
            raise_too_large(path, limit)
        parts.append(part)
    return b"".join(parts)


def memory_budget() -> float:
    """Bytes of a file that may be held in memory while it is read."""
    free = free_memory()
    return float("inf") if free is None else free / 2


def raise_too_large(path, limit):
    raise TableError(
        f"{path} holds more than {limit / 2**30:.3g} GB when it is unpacked, half "
        "of the memory that is free."
    )


def _head_of(path) -> bytes:
    with open_bytes(path) as stream:
        return stream.read(HEAD)


def refuse_binary(head, path):
    """Raises TableError if the bytes are not text."""
    for magic, kind in KINDS.items():
        if head.startswith(magic):
            raise TableError(f"{path} is {kind}.")
    first = head[:200].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for magic, kind in MARKUP.items():
        if first.startswith(magic):
            raise TableError(f"{path} is {kind}, not a table of text.")
    strange = sum(b < 9 or 13 < b < 32 for b in head[:4096])
    if strange > 0.02 * min(len(head), 4096) or b"\0" in head:
        raise TableError(f"{path} is a binary file, not a table of text.")


def _encoding_of(head) -> str:
    """Encoding by the byte order mark, else UTF-8 if the head decodes, else western."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        head[:-4].decode() if len(head) == HEAD else head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 8 or len(head) < HEAD:
            return fallback_encoding(head)
    return "utf-8"


def fallback_encoding(head) -> str:
    """cp1252 if the head decodes as that, else latin-1."""
    try:
        head.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def sniff_dialect(path, encoding=None) -> Dialect:
    """Detects the dialect of a text file from its first part."""
    head = _head_of(path)
    encoding_used = encoding or _encoding_of(head)
    if encoding_used != "utf-16":
        refuse_binary(head, path)
    codec = "utf-8-sig" if encoding_used == "utf-8" else encoding_used
    text = head.decode(codec, errors="replace")
    if not text.strip():
        raise TableError(f"{path} is empty.")
    cut = len(head) == HEAD  # then the last line may be half a line
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    skip, declared = _preamble_length(text)
    text = "\n".join(text.split("\n")[skip:]).lstrip("\n")
    tried = {s: _records_of(text, s, cut) for s in declared or SEPARATORS}
    separator = max(tried, key=lambda s: _record_width_consistency(tried[s]))
    records = tried[separator]
    notes = []
    if skip and not declared:
        lines = "1 line" if skip == 1 else f"{skip} lines"
        notes.append(f"{lines} of comment at the beginning of {path} were left out.")
    if encoding_used not in ("utf-8", "utf-16"):
        notes.append(f"{path} is not UTF-8 text; it was read as {encoding_used}.")
    names = records[0]
    if len(names) > 1 and all(re.fullmatch(r"[-+\d.,]+", n.strip()) for n in names):
        notes.append(
            f"The first line of {path} looks like values, not names: put a line of "
            "names before it, or it is no row of the table."
        )
    return Dialect(
        tuple(names),
        separator,
        decimal=_decimal_of(records, separator),
        encoding=encoding_used,
        codes=_columns_with_leading_zeros(records),
        notes=tuple(notes),
        skip=skip,
    )


def _preamble_length(text) -> tuple[int, str]:
    """Number of lines before the header, and the separator they declare, if any.

    A last comment line with as many fields as the next line is the header.
    """
    lines = text.split("\n")
    if declared := DECLARED.fullmatch(lines[0]):
        return 1, declared[1]
    k = next((i for i, v in enumerate(lines) if v.strip() and v[0] != "#"), 0)
    if k == 0 or not any(v.startswith("#") for v in lines[:k]):
        return 0, ""
    last = max(i for i, v in enumerate(lines[:k]) if v.startswith("#"))
    width = lambda line, s: len(next(csv.reader([line], delimiter=s), []))
    named = any(width(lines[last], s) == width(lines[k], s) > 1 for s in SEPARATORS)
    return (last if named else k), ""


def _records_of(text, separator, cut) -> list[list[str]]:
    """The first records of a text; the last is dropped if the text was cut."""
    results = []
    lines = ((line + "\n") for line in text.split("\n"))
    reader = csv.reader(lines, delimiter=separator)
    try:
        for record in reader:
            if record:
                results.append(record)
            if len(results) > RECORDS:
                return results
    except csv.Error:
        pass
    return results[:-1] if cut and len(results) > 1 else results or [[""]]


def _record_width_consistency(records) -> tuple[float, int]:
    """Share of records as wide as the first, and the width of the first."""
    width = len(records[0])
    if width == 1:
        return 0.0, 1
    return sum(len(r) == width for r in records) / len(records), width


def _decimal_of(records, separator) -> str:
    """The decimal mark: a comma if fields have decimal commas and no points."""
    if separator == ",":
        return "."
    fields = [f.strip() for r in records[1:] for f in r]
    commas = sum(COMMA.fullmatch(f) is not None for f in fields)
    points = sum(POINT.fullmatch(f) is not None for f in fields)
    return "," if commas and not points else "."


def _columns_with_leading_zeros(records) -> tuple[str, ...]:
    """Names of columns with digits that begin with 0."""
    width = len(records[0])
    full_rows = [r for r in records[1:] if len(r) == width]
    return tuple(
        name
        for j, name in enumerate(records[0])
        if any(re.fullmatch(r"0\d+", r[j].strip()) for r in full_rows)
    )


def first_long_line(path, longest) -> int | None:
    """Number of the first line of more than `longest` bytes; None if there is none."""
    with open_bytes(path) as stream:
        line, length = 1, 0
        while part := stream.read(UNPACKED_PART):
            first, *rest = part.split(b"\n")
            if length + len(first) > longest:
                return line
            for piece in rest:
                line += 1
                if len(piece) > longest:
                    return line
            length = len(rest[-1]) if rest else length + len(first)
    return None


def first_ragged(path, dialect) -> tuple[int, int] | None:
    """Line number and width of the first record of another width than the header."""
    import io

    codec = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
    with open_bytes(path) as stream:
        text = io.TextIOWrapper(stream, encoding=codec, errors="replace", newline="")
        for _ in range(dialect.skip):
            next(text)
        reader = csv.reader(text, delimiter=dialect.separator)
        line = 1 + dialect.skip
        try:
            for record in reader:
                if record and len(record) != len(dialect.names):
                    return line, len(record)
                line = reader.line_num + 1 + dialect.skip
        except csv.Error:
            return line, 0
    return None

"""JSON lines: one object a row, in any order of keys; also one list of objects.

Parsers are recursive, and some overflow the stack of the process on a value that is
nested very deeply; so the depth is found before a line is parsed.
"""

import io
import json
import re

import numpy as np
import pyarrow as pa
from pyarrow import json as arrow_json

from . import csv_dialect
from .column_values import TableError

LINES = 1 << 23  # bytes of lines read at a time
MAX_LINE = 1 << 26  # bytes of a line
NAMED_LINES = 2000  # lines of a block in which names are counted
MIN_FILLED = 50  # values of a table for each that is there, at most
MAX_EMPTY = 2_000_000  # values up to which a table may be as empty as it likes
DEEPEST = 64  # levels of nesting in a row
BRACKETS = np.zeros(256, np.int8)
BRACKETS[list(b"[{")] = 1
BRACKETS[list(b"]}")] = -1
NAME = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:')
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


def read_json(path) -> pa.Table:
    """Reads a JSON file as a table, with types inferred over all rows."""
    blocks = list(json_blocks(path))
    if not blocks:
        raise TableError(f"{path} is empty.")
    schema = unify_schemas([b.schema for b in blocks])
    table = pa.concat_tables([cast_block(b, schema) for b in blocks])
    if table.num_rows == 1 and all(pa.types.is_nested(t) for t in schema.types):
        raise TableError(
            f"{path} holds one object of whole columns; write one object a row instead "
            "(pandas: to_json(path, orient='records', lines=True))."
        )
    return table


def json_blocks(path):
    """Yields tables of some lines each; types may differ between blocks."""
    with csv_dialect.open_bytes(path) as stream:
        head = stream.read(1 << 12)
        csv_dialect.refuse_binary(head, path)
        if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            yield _one_list(head + csv_dialect.unpack_all(stream, path), path)
            return
        limit = csv_dialect.memory_budget()
        size = 0
        rest = head.removeprefix(b"\xef\xbb\xbf")
        line = 1
        while True:
            chunk = stream.read(LINES)
            size += len(chunk)
            if size > limit:
                csv_dialect.raise_too_large(path, limit)
            if len(rest) > MAX_LINE:
                raise TableError(
                    f"{path}, line {line} is longer than {MAX_LINE >> 20} MB."
                )
            lines, _, tail = (
                (rest + chunk).rpartition(b"\n") if chunk else (rest, b"", b"")
            )
            if lines.strip():
                yield _parse_block(lines, path, line)
            line += lines.count(b"\n") + 1
            if not chunk:
                return
            rest = tail


def _one_list(text, path) -> pa.Table:
    _refuse_deep_nesting(text.replace(b"\n", b" "), path, 1)
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise TableError(f"{path} is not JSON: {error}") from error
    return _from_rows(rows, path)


def _refuse_deep_nesting(lines, path, first_line):
    """Raises TableError if a value is nested more than DEEPEST levels.

    The depth is counted without regard to strings first; only lines that seem too deep
    are looked at again without their strings.
    """
    n_lines = lines.count(b"\n") + 1
    if lines.count(b"{") + lines.count(b"[") <= n_lines + DEEPEST - 1:
        return  # flat objects, and too few brackets beside them
    signs = BRACKETS[np.frombuffer(lines, np.uint8)]
    depth = np.cumsum(signs, dtype=np.int32)
    if depth.max(initial=0) - depth.min(initial=0) <= DEEPEST:
        return
    for i, line in enumerate(lines.split(b"\n")):
        if line.count(b"{") + line.count(b"[") <= DEEPEST:
            continue
        bare = np.frombuffer(STRING.sub(b"", line), np.uint8)
        deepest = np.cumsum(BRACKETS[bare], dtype=np.int32).max(initial=0)
        if deepest > DEEPEST:
            raise TableError(
                f"{path}, line {first_line + i} is nested {deepest} levels deep; a row "
                f"may have {DEEPEST}."
            )


def _refuse_other_names_in_each_line(lines, path):
    """Raises TableError if lines have hardly a name in common.

    A table of n lines with a new name in each has n^2 values. Names are counted in
    lines spread evenly over the block.
    """
    n_lines = lines.count(b"\n") + 1
    names: set[bytes] = set()
    n_names = n_looked_at = 0
    for text in lines.split(b"\n")[:: max(1, n_lines // NAMED_LINES)]:
        line_names = NAME.findall(text)
        names.update(line_names)
        n_names += len(line_names)
        n_looked_at += 1
    _refuse_nearly_empty_table(len(names), n_names, n_looked_at, n_lines, path)


def _refuse_nearly_empty_table(n_columns, n_values, n_looked_at, n_rows, path):
    """Raises TableError for rows with hardly a name in common."""
    few_in_common = n_columns * n_looked_at > MIN_FILLED * max(n_values, 1)
    if few_in_common and n_columns * n_rows > MAX_EMPTY:
        raise TableError(
            f"The rows of {path} have hardly a name in common: {n_columns} names in "
            f"{n_looked_at} rows. Write a row as one object with a value for each "
            "column."
        )


def _parse_block(lines, path, line) -> pa.Table:
    """Parses lines as a table; by Python where Arrow fails (values of mixed types)."""
    _refuse_deep_nesting(lines, path, line)
    _refuse_other_names_in_each_line(lines, path)
    try:
        return arrow_json.read_json(
            io.BytesIO(lines),
            read_options=arrow_json.ReadOptions(block_size=len(lines) + 1),
        )
    except pa.ArrowException:
        pass
    rows = []
    for i, text in enumerate(lines.split(b"\n")):
        if not text.strip():
            continue
        try:
            rows.append(json.loads(text))
        except ValueError as error:
            raise TableError(f"{path}, line {line + i} is not JSON: {error}") from error
        if not isinstance(rows[-1], dict):
            raise TableError(f"{path}, line {line + i} is not an object of columns.")
    return _from_rows(rows, path)


def _from_rows(rows, path) -> pa.Table:
    from .read import from_memory

    if not rows or not all(isinstance(r, dict) for r in rows):
        raise TableError(f"{path} is not a list of objects of columns.")
    n_columns = len(set().union(*rows))
    n_values = sum(map(len, rows))
    _refuse_nearly_empty_table(n_columns, n_values, len(rows), len(rows), path)
    return from_memory(rows)


def unify_schemas(schemas) -> pa.Schema:
    """A common type for each column of all blocks; text if there is no other."""
    kinds: dict[str, pa.DataType] = {}
    for schema in schemas:
        for field in schema:
            kinds[field.name] = _wider_type(
                kinds.get(field.name, pa.null()), field.type
            )
    return pa.schema(list(kinds.items()))


def _wider_type(a, b) -> pa.DataType:
    """The narrowest type that holds the values of both."""
    if a == b or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):
        return b
    try:
        schema = pa.unify_schemas(
            [pa.schema([("c", a)]), pa.schema([("c", b)])], promote_options="permissive"
        )
        return schema.field("c").type
    except pa.ArrowException:
        return pa.string()


def cast_block(table, schema) -> pa.Table:
    """A block cast to the common schema, with nulls for absent columns."""
    columns = []
    for field in schema:
        if field.name not in table.column_names:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table.column(field.name)
        try:
            columns.append(column.cast(field.type))
        except pa.ArrowException:
            texts = [None if v is None else str(v) for v in column.to_pylist()]
            columns.append(pa.array(texts, pa.string()).cast(field.type))
    return pa.table(columns, schema=schema)

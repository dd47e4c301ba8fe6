"""Tables larger than memory: batches, row counts and random samples.

Types of text files are decided once for all batches, by a first pass over the file
(`text_file.Types`). With a schema no such pass is needed: texts stay texts, and
`Schema.frame` reads them as the schema says.

`sample_table_rows` gives every row an independent uniform key and keeps the rows with
the k smallest: all sets of k rows are equally likely, in one pass, with O(k) memory,
and the rows drawn depend on the seed alone, not on the sizes of batches.
"""

import contextlib
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..params import check_count
from . import read
from .column_values import TableError
from .json_lines import cast_block, json_blocks, unify_schemas
from .text_file import Types, text_blocks

SIZE = 65536  # rows of a batch
SPARE = 10000  # rows beyond twice the sample that are held before some are dropped


def table_batches(source, size=SIZE, *, schema=None):
    """Iterate over a table as Arrow tables of at most `size` rows and equal types.

    Parameters
    ----------
    source : path, dataframe, Arrow table, dataset or reader
        As for `read_table`; files are streamed.
    size : int
        Rows of a batch; the last one may be smaller.
    schema : Schema or None
        Where the batches go to `schema.frame`, text files need one pass instead of two.
    """
    size = check_count("size", size)
    blocks = _rechunk(_typed_tables(source, schema), size)
    first = next(blocks, None)
    if first is None:
        raise TableError("The table has no rows.")
    yield first
    yield from blocks


def count_table_rows(source) -> int:
    """Count the rows of a table without loading a file into memory."""
    if not _is_path(source):
        return sum(t.num_rows for t in _typed_tables(source))
    with read.seekable_file(Path(source)) as path:
        if read.format_of(path) == "text":
            blocks = _guarded_blocks(text_blocks(path, columns=[0]), path)
            return sum(block.num_rows for block, _ in blocks)
        columns = [] if read.format_of(path) == "parquet" else None
        return sum(
            t.num_rows
            for t in _guarded_blocks(_file_tables(path, columns=columns), path)
        )


def column_names_of_file(path) -> list[str]:
    """Names of the columns of a file, of whose rows only the first are read."""
    with read.seekable_file(Path(path)) as path:
        if read.format_of(path) == "text":
            blocks = (block for block, _ in _guarded_blocks(text_blocks(path), path))
        else:
            blocks = _guarded_blocks(_file_tables(path), path)
        with contextlib.closing(blocks):
            return next(blocks).column_names


def sample_table_rows(source, rows, seed=0) -> pa.Table:
    """Draw rows uniformly without replacement; they keep their order.

    Parameters
    ----------
    source : as for `table_batches`
    rows : int
        How many; all of them if the table has fewer.
    seed : int
        The same seed draws the same rows, whatever the batches.
    """
    rows = check_count("rows", rows)
    if _is_path(source):
        with read.seekable_file(Path(source)) as path:
            if read.format_of(path) == "text":
                return read.checked_table(_sample_text(path, rows, seed))
            return _sample_tables(_typed_tables(path), rows, seed)
    return _sample_tables(_typed_tables(source), rows, seed)


def _sample_tables(tables, rows, seed) -> pa.Table:
    """A random sample of the rows of tables with the same types."""
    reservoir = Reservoir(rows, seed)
    for table in tables:
        reservoir.add(table)
    return read.checked_table(reservoir.drawn())


def _sample_text(path, rows, seed) -> pa.Table:
    """A random sample of a text file, with types inferred over all rows."""
    reservoir = Reservoir(rows, seed)
    types = None
    notes = ()
    for block, dialect in _guarded_blocks(text_blocks(path), path):
        types = types or Types(dialect)
        notes = dialect.notes
        types.see(block)
        reservoir.add(block)
    if types is None:
        raise TableError("The table has no rows.")
    return read.with_note(types.apply(reservoir.drawn()), notes)


class Reservoir:
    """Reservoir of the rows with the k smallest random keys so far."""

    def __init__(self, k, seed):
        self.k = k
        self.rng = np.random.default_rng(seed)
        self.seen = 0
        self.limit = 1.0
        self.keys = []
        self.places = []
        self.tables = []

    def add(self, table):
        keys = self.rng.random(table.num_rows)
        near = np.flatnonzero(keys < self.limit)
        if len(near):
            self.keys.append(keys[near])
            self.places.append(near + self.seen)
            self.tables.append(table.take(pa.array(near)))
        self.seen += table.num_rows
        if sum(map(len, self.keys)) > 2 * self.k + SPARE:
            self.prune()

    def prune(self):
        keys, places = np.concatenate(self.keys), np.concatenate(self.places)
        if len(keys) > self.k:
            best = np.sort(np.argpartition(keys, self.k - 1)[: self.k])
            rows = pa.concat_tables(self.tables).take(pa.array(best))
            self.keys = [keys[best]]
            self.places = [places[best]]
            self.tables = [rows.combine_chunks()]
            self.limit = float(keys[best].max())

    def drawn(self) -> pa.Table:
        if not self.tables:
            raise TableError("The table has no rows.")
        self.prune()
        return pa.concat_tables(self.tables).combine_chunks()


def _is_path(source) -> bool:
    return isinstance(source, (str, os.PathLike))


def _guarded_blocks(blocks, path):
    """Yields blocks of a file; raises TableError where it cannot be read."""
    try:
        yield from blocks
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise read.unreadable_file(path, error) from error


def _typed_tables(source, schema=None):
    """Yields the tables of a source, all with the same types."""
    if _is_path(source):
        with read.seekable_file(Path(source)) as path:
            yield from _guarded_blocks(_file_tables(path, schema), path)
    elif hasattr(source, "to_batches") and not isinstance(source, pa.Table):
        for batch in source.to_batches():  # a dataset
            yield read.with_unique_names(pa.Table.from_batches([batch]))
    elif isinstance(source, pa.RecordBatchReader):
        for batch in source:
            yield read.with_unique_names(pa.Table.from_batches([batch]))
    else:
        yield read.read_table(source)


def _file_tables(path, schema=None, columns=None):
    """Yields the tables of a file of any supported format."""
    kind = read.format_of(path)
    if kind == "parquet":
        import pyarrow.parquet

        file = pyarrow.parquet.ParquetFile(read.source_of(path))
        for batch in file.iter_batches(batch_size=SIZE, columns=columns):
            yield _validated_batch(batch)
    elif kind == "arrow":
        reader = read.arrow_reader(path)
        stored = getattr(reader, "num_record_batches", None)
        parts = reader if stored is None else map(reader.get_batch, range(stored))
        for batch in parts:
            yield _validated_batch(batch)
    elif kind == "json":
        schema_of_all = unify_schemas([block.schema for block in json_blocks(path)])
        for block in json_blocks(path):
            block.validate(full=True)
            yield read.with_unique_names(cast_block(block, schema_of_all))
    else:
        yield from _text_tables(path, schema)


def _validated_batch(batch) -> pa.Table:
    """A batch of a file as a table, after a check for damage."""
    batch.validate(full=True)
    return read.with_unique_names(pa.Table.from_batches([batch]))


def _text_tables(path, schema):
    """Yields blocks of a text file: two passes, or one with a schema."""
    if schema is not None:
        for block, dialect in text_blocks(path):
            block = read.with_unique_names(block)
            if dialect.decimal == ",":
                block = _decimal_commas_to_points(block, schema)
            yield block
        return
    types: Types | None = None
    for block, dialect in text_blocks(path):
        types = types or Types(dialect)
        types.see(block)
    if types is not None:
        for block, _ in text_blocks(path):
            yield read.with_unique_names(types.apply(block))


def _decimal_commas_to_points(table, schema) -> pa.Table:
    """Replaces decimal commas by points in columns of plain numbers."""
    plain = {
        c.name for c in schema.used if c.role in ("number", "angle") and not c.form
    }
    if not schema.form:
        plain |= set(schema.targets)
    columns = [
        pc.replace_substring(c, ",", ".", max_replacements=1)
        if n.strip() in plain
        else c
        for n, c in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.table(columns, names=table.column_names)


def _rechunk(tables, size):
    """Yields tables of exactly `size` rows, except for the last."""
    held = []
    n = 0
    for table in tables:
        held.append(table)
        n += table.num_rows
        if n < size:
            continue
        joined = pa.concat_tables(held) if len(held) > 1 else held[0]
        start = 0
        while n - start >= size:
            yield joined.slice(start, size)
            start += size
        held = [joined.slice(start)] if start < n else []
        n -= start
    if n:
        yield pa.concat_tables(held) if len(held) > 1 else held[0]

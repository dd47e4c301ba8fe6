"""From what the user hands over to the rows of a comparison.

A file or dataframe becomes a table, a table larger than `max_rows` a sample of its
rows; roles of columns are read off it or off a schema file; rows without a known
target, of weight 0, and of a class with no other row are left out and counted.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..tables import Schema, TableError, count, infer, known_rows, read_table, sample
from ..tables import notes as reading_notes
from ..tables.schema import some_weight
from ..tables.targets import names_of, need
from .samples import Samples, fill_empty_labels

LARGE_FILE = 50_000_000  # bytes of a file above which its rows are counted first


class LoadedDataset(NamedTuple):
    """The rows, what they mean, and what was done to them."""

    source: Any  # as the user gave it
    table: pa.Table
    schema: Schema
    data: Samples
    notes: list[str]
    sampled: int = 0  # rows of the whole table, if these are a sample


def load_dataset(
    source, target, *, schema=None, max_rows=None, seed=0, **asked
) -> LoadedDataset:
    """Read, name and select the rows; `asked` goes to `tables.infer`."""
    table, sampled = read_or_sample(source, max_rows, seed)
    notes = list(reading_notes(table))
    if sampled:
        notes.append(
            f"The table has {sampled:,} rows; methods are compared on "
            f"{table.num_rows:,} of them, drawn at random."
        )
    if schema is None:
        find = lambda t: infer(t, target, **asked)
    else:
        find = lambda t: schema_from_file(schema, t, target, asked)
    first = find(table)
    table = drop_unknown_targets(table, first, notes)
    table = drop_zero_weights(table, first, notes)
    schema = find(table)
    table, schema = drop_single_row_classes(table, schema, find, notes)
    notes += [
        f"{c.name!r} left out: {c.why}."
        for c in schema.columns
        if c.role in ("id", "constant", "other")
    ]
    data = Samples(
        schema.frame(table),
        schema.goal(table),
        schema.weights(table),
        schema.groups(table),
        schema.times(table),
    )
    return LoadedDataset(source, table, schema, data, notes, sampled)


def read_or_sample(source, max_rows, seed) -> tuple[pa.Table, int]:
    """The table and 0, or a sample and the number of rows it stands for."""
    path = isinstance(source, str | os.PathLike)
    large = path and Path(source).is_file() and Path(source).stat().st_size > LARGE_FILE
    if max_rows is not None and large:
        total = count(source)
        if total > max_rows:
            return sample(source, max_rows, seed), total
    table = read_table(source)
    if max_rows is not None and table.num_rows > max_rows:
        return sample(table, max_rows, seed), table.num_rows
    return table, 0


def schema_from_file(schema, table, target, asked) -> Schema:
    """A schema as given, or read from its file; nothing asked may speak against it."""
    found = schema if isinstance(schema, Schema) else Schema.read(schema, table)
    wanted = names_of(target)
    if wanted and wanted not in ([found.target], list(found.targets)):
        raise TableError(
            f"The schema is for the target {found.target!r}, not {', '.join(wanted)!r}."
        )
    said = {k: getattr(found, k) for k in ("task", "group", "time", "weight")}
    said |= {f"role of {c.name!r}": c.role for c in found.columns}
    told = {k: v for k, v in asked.items() if k in said and v not in (None, "auto")}
    told |= {f"role of {n!r}": r for n, r in (asked.get("roles") or {}).items()}
    told |= {f"role of {n!r}": "ignore" for n in names_of(asked.get("ignore") or ())}
    for what, value in told.items():
        if said.get(what) != value:
            raise TableError(
                f"The schema says {said.get(what)!r} for the {what}, not {value!r}: "
                "change it there."
            )
    return found


def drop_unknown_targets(table, schema, notes) -> pa.Table:
    """The rows in which the target is known."""
    need(table, schema.targets)
    table, given = fill_empty_labels(table, schema), table
    if table is not given:
        bare = given.column(schema.target).null_count
        told = f"{bare:,} rows" if bare > 1 else "One row"
        notes.append(f"{told} with an empty {schema.target!r}: taken as no label.")
    known = known_rows(table, schema.targets)
    if known.all():
        return table
    if not known.any():
        raise TableError(f"Column {schema.target!r} is empty.")
    notes.append(
        f"{int((~known).sum())} rows without a known {schema.target!r} left out."
    )
    return table.filter(pa.array(known))


def drop_zero_weights(table, schema, notes) -> pa.Table:
    """The rows that count: one of weight 0 is as good as not there."""
    w = some_weight(schema, table)
    if w is None or w.all():
        return table
    notes.append(f"{int((w == 0).sum())} rows left out: their {schema.weight!r} is 0.")
    return table.filter(pa.array(w > 0))


def drop_single_row_classes(table, schema, find, notes) -> tuple[pa.Table, Schema]:
    """Without classes of a single row, which cannot be both learned and tested."""
    if schema.task != "classification":
        return table, schema
    y = schema.goal(table)
    rows = np.bincount(y, minlength=len(schema.classes))
    alone = rows[y] < 2
    if not alone.any():
        return table, schema
    notes.append(f"{int(alone.sum())} rows left out: the only ones of their class.")
    if (rows >= 2).sum() < 2:
        raise TableError(
            f"Only {int((rows >= 2).sum())} classes of {schema.target!r} have more "
            "than one row; two are needed."
        )
    table = table.filter(pa.array(~alone))
    return table, find(table)

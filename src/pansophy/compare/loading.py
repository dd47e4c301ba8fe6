"""Loading: a file or dataframe becomes the rows of a comparison.

A file or dataframe becomes a table; a table larger than `max_rows` becomes a sample of
its rows. The roles of columns are inferred or read from a schema file. Rows without a
known target, of weight 0, and of a class with no other row are left out and counted.

A row of a frequency table stands for as many rows as its weight says. Such weights are
whole numbers; the rows are repeated, so that folds part them, tests and intervals count
them, and methods that take no weights can be tried, exactly as if the table had one row
for each.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..tables import (
    Schema,
    TableError,
    count_table_rows,
    infer_schema,
    known_rows,
    read_table,
    reading_notes,
    sample_table_rows,
)
from ..tables.column_values import column_as_texts
from ..tables.schema import some_weight
from ..tables.targets import (
    as_name_list,
    require_columns,
    target_as_arrow,
    with_positive,
)
from .samples import Samples, fill_empty_labels

DESIGN_ROWS = 50_000  # among which dependent rows are looked for
MAX_REPEATED_ROWS = 10_000_000  # that a frequency table may stand for
LARGE_FILE = 50_000_000  # bytes of a file above which its rows are counted first
EXCLUDED_ROLES = ("id", "constant", "other")  # of columns that no method sees


class LoadedDataset(NamedTuple):
    """The rows, what they mean, and what was done to them."""

    source: Any  # as the user gave it
    table: pa.Table
    schema: Schema
    data: Samples
    notes: list[str]
    sampled: int = 0  # rows of the whole table, if these are a sample
    cells: pa.Table | None = None  # of a frequency table, before rows were repeated
    design: Any = None  # `dependent_rows.RowDesign` of the folds, if it was found


def load_dataset(source, options) -> LoadedDataset:
    """Read the table, find the roles of its columns and select the rows.

    Parameters
    ----------
    source : path, dataframe, Arrow table or dict of columns
        See `table_and_target` for arrays.
    options : Options
    """
    table, sampled = read_or_sample(source, options.max_rows, options.random_state)
    notes = list(reading_notes(table))
    options, design = with_found_design(table, options, in_order=not sampled)
    table, options = with_joined_group(table, options)
    table, options = with_row_order(table, options)
    if sampled:
        notes.append(
            f"The table has {sampled:,} rows; methods are compared on "
            f"{table.num_rows:,} of them, drawn at random."
        )
    first = find_schema(table, options)
    table = drop_unknown_targets(table, first, notes)
    table = drop_zero_weights(table, first, notes)
    cells = None
    if not sampled and counts_rows(first, table, options):
        cells, table = table, repeat_rows(table, some_weight(first, table))
        notes.append(
            f"{first.weight!r} counts rows: {count_rows(cells.num_rows)} stand for "
            f"{table.num_rows:,}, each of which is a row of its own in folds, tests "
            "and intervals (--no-counts takes it as a weight)."
        )
    schema = find_schema(table, options)
    table, schema = drop_single_row_classes(table, schema, options, notes)
    data = Samples(
        schema.frame(table),
        schema.target_values(table),
        schema.weights(table) if cells is None else None,
        schema.groups(table),
        schema.times(table),
    )
    return LoadedDataset(source, table, schema, data, notes, sampled, cells, design)


def with_found_design(table, options, in_order=True):
    """Options with what rows certainly are, and the design that was found.

    That is a group, a time, or the duration of a time to an event, which is left out.
    Nothing is looked for where the design is given, or rows are said to be independent.
    `in_order` says whether rows are as in the file, and not a sample.
    """
    from ..diagnose.data.columns import table_view
    from ..diagnose.data.dependent_rows import ROW_ORDER, RowDesign, find_design
    from ..diagnose.leakage.target_columns import target_columns_of

    given = options.group or options.time or options.schema is not None
    names = as_name_list(options.target)
    known = all(name in table.column_names for name in names)
    if given or options.independent or not known:
        return options, None
    left = set(as_name_list(options.ignore or ())) | {options.weight}
    part = table.slice(0, DESIGN_ROWS)  # rows of one person often stand together
    view = table_view(part.drop_columns([n for n in left if n in part.column_names]))
    task = None if options.task in ("auto", "ordinal") else options.task
    design = find_design(view, target_columns_of(view, names, task))
    event = design.event if design.event and design.event.certain else None
    if event is not None and event.duration in (options.roles or {}):
        event = None  # asked for by its role
    entity = design.entity
    if entity is not None and any(table.column(n).null_count for n in entity.columns):
        entity = None  # it is not known whose each row is
    design = design._replace(event=event, entity=entity)
    if event is not None:
        ignore = [*as_name_list(options.ignore or ()), event.duration]
        options = replace(options, ignore=ignore)
    by_place = design.time is not None and design.time.column == ROW_ORDER
    if by_place and (options.weight or not in_order):
        design = design._replace(time=None)
    if design.time is not None:
        options = replace(options, time=design.time.column)
    elif entity is not None:
        options = replace(options, group=",".join(entity.columns))
    return options, None if design == RowDesign() else design


def with_joined_group(table, options):
    """The table with a column for a group that is named by several, `site,patient`.

    It is called as they are named together, unless the table has such a column.
    """
    group = options.group
    if options.schema is not None:
        group = given_schema(options).group
    if not isinstance(group, str) or group in table.column_names:
        return table, options
    names = [name.strip() for name in group.split(",")]
    if len(names) < 2 or not all(name in table.column_names for name in names):
        return table, options
    columns = [column_as_texts(table.column(name), name) for name in names]
    for name, column in zip(names, columns, strict=True):
        if column.null_count:
            raise TableError(f"Group {name!r} is missing in {column.null_count} rows.")
    joined = pc.binary_join_element_wise(*columns, ",")
    name = ",".join(names)
    if options.schema is None:
        options = replace(options, group=name)
    return table.append_column(name, joined), options


def with_row_order(table, options):
    """The table with a column of row numbers, if rows are ordered by their place.

    It only orders them and is no input, since new rows have no place.
    """
    from ..diagnose.data.dependent_rows import ROW_ORDER

    time = options.time
    if options.schema is not None:
        time = given_schema(options).time
    if time != ROW_ORDER or ROW_ORDER in table.column_names:
        return table, options
    if options.schema is None:
        options = replace(options, roles={**(options.roles or {}), ROW_ORDER: "ignore"})
    return table.append_column(ROW_ORDER, pa.array(range(table.num_rows))), options


def given_schema(options, table=None) -> Schema:
    """The schema of the options, read from its file where it is one."""
    given = options.schema
    return given if isinstance(given, Schema) else Schema.read(given, table)


def counts_rows(schema, table, options) -> bool:
    """Whether the weights say how many rows each row of a table stands for.

    They do by default if all are whole numbers, some above 1, and the rows that they
    stand for are few enough to be repeated.
    """
    w = some_weight(schema, table)
    if w is None:
        if options.counts:
            raise TableError("counts needs a column of weights; name one (--weight).")
        return False
    whole = bool(np.all(w == np.floor(w)))
    total = float(w.sum())
    if options.counts:
        if not whole:
            row = int(np.flatnonzero(w != np.floor(w))[0]) + 1
            raise TableError(
                f"{schema.weight!r} cannot count rows: it is {w[row - 1]:g} in row "
                f"{row}."
            )
        if total > MAX_REPEATED_ROWS:
            raise TableError(
                f"{schema.weight!r} stands for {total:,.0f} rows; at most "
                f"{MAX_REPEATED_ROWS:,} can be repeated."
            )
        return True
    few = total <= min(options.max_rows or MAX_REPEATED_ROWS, MAX_REPEATED_ROWS)
    return options.counts is None and whole and few and bool(np.any(w > 1))


def repeat_rows(table, counts) -> pa.Table:
    """Every row of a table as often as its count says."""
    rows = np.repeat(np.arange(table.num_rows), np.asarray(counts).astype(int))
    return table.take(pa.array(rows))


def table_and_target(table, target) -> tuple[Any, Any]:
    """A table that `read_table` reads, and the name of the target in it.

    X and y as two arrays, or a frame and a column of its length, become one table.
    """
    if is_array(table):
        table = array_columns(table)
    elif isinstance(table, list | tuple) and table and isinstance(table[0], dict):
        table = pa.Table.from_pylist(list(table))
    if not is_target_values(target, table):
        return table, target
    name = str(getattr(target, "name", None) or "target")
    y = np.asarray(target) if not hasattr(target, "dtype") else target
    if np.ndim(y) == 2 and np.shape(y)[1] == 1:
        y = np.asarray(y)[:, 0]
    X = read_table(table)
    if np.ndim(y) != 1:
        raise TableError(
            f"y must have one value for each row, got the shape {np.shape(y)}; several "
            "labels are named columns of the table."
        )
    if len(y) != X.num_rows:
        raise TableError(f"X has {X.num_rows} rows, but y has {len(y)}.")
    if name in X.column_names:
        if name != "target":
            raise TableError(f"Column {name!r} is in X and is the target as well.")
        name = "target (y)"
    column = target_as_arrow(y, name)
    return X.append_column(name, column), name


def is_array(value) -> bool:
    """Whether inputs come without names: a NumPy array, or rows as lists."""
    if isinstance(value, np.ndarray):
        return value.dtype.names is None
    rows = isinstance(value, list | tuple) and len(value) > 0
    return rows and isinstance(value[0], list | tuple | np.ndarray)


def array_columns(X) -> pa.Table:
    """An array (n, d) as a table of columns x0, x1, ..."""
    try:
        X = np.asarray(X)
    except ValueError as error:
        raise TableError("Rows of X have different lengths.") from error
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2:
        raise TableError(f"X must have rows and columns, got the shape {X.shape}.")
    return pa.table(
        {f"x{j}": target_as_arrow(X[:, j], f"x{j}") for j in range(X.shape[1])}
    )


def is_target_values(target, table) -> bool:
    """Whether a target is given by its values rather than by name.

    A list of texts as long as the table, which are no columns of it, holds values.
    """
    if target is None or isinstance(target, str | int | np.integer):
        return False
    if not isinstance(target, list | tuple):
        return hasattr(target, "__len__")
    if not all(isinstance(v, str) for v in target):
        return True
    if len(target) < 2 or isinstance(table, str | os.PathLike):
        return False
    rows = read_table(table)
    return len(target) == rows.num_rows and not set(target) <= set(rows.column_names)


def find_schema(table, options) -> Schema:
    """The schema of the options, or the roles inferred from the table."""
    if options.schema is not None:
        return check_given_schema(table, options)
    return infer_schema(
        table,
        options.target,
        task=options.task,
        group=options.group,
        time=options.time,
        weight=options.weight,
        roles=options.roles,
        ignore=options.ignore or (),
        positive=options.positive,
    )


def read_or_sample(source, max_rows, seed) -> tuple[pa.Table, int]:
    """The table and 0, or a sample and the number of rows it stands for."""
    path = isinstance(source, str | os.PathLike)
    large = path and Path(source).is_file() and Path(source).stat().st_size > LARGE_FILE
    if max_rows is not None and large:
        total = count_table_rows(source)
        if total > max_rows:
            return sample_table_rows(source, max_rows, seed), total
    table = read_table(source)
    if max_rows is not None and table.num_rows > max_rows:
        return sample_table_rows(table, max_rows, seed), table.num_rows
    return table, 0


def check_given_schema(table, options) -> Schema:
    """A schema as given, or read from its file; no option may contradict it."""
    schema = given_schema(options, table)
    targets = as_name_list(options.target)
    if targets and targets not in ([schema.target], list(schema.targets)):
        raise TableError(
            f"The schema is for the target {schema.target!r}, not "
            f"{', '.join(targets)!r}."
        )
    stated, wanted = {}, {}
    for name in ("task", "group", "time", "weight"):
        stated[name] = getattr(schema, name)
        if name == "task" and schema.ordered:
            stated[name] = "ordinal"
        if getattr(options, name) not in (None, "auto"):
            wanted[name] = getattr(options, name)
    stated |= {f"role of {c.name!r}": c.role for c in schema.columns}
    wanted |= {f"role of {n!r}": r for n, r in (options.roles or {}).items()}
    wanted |= {f"role of {n!r}": "ignore" for n in as_name_list(options.ignore or ())}
    for what, value in wanted.items():
        if stated.get(what) != value:
            raise TableError(
                f"The schema says {stated.get(what)!r} for the {what}, not {value!r}: "
                "change it there."
            )
    if options.positive is not None:
        classes = with_positive(schema.classes, options.positive, schema.target)
        schema = replace(schema, classes=classes)
    return schema


def count_rows(n) -> str:
    """`One row`, or how many rows, to begin a note with."""
    return "One row" if n == 1 else f"{int(n):,} rows"


def drop_unknown_targets(table, schema, notes) -> pa.Table:
    """The rows in which the target is known."""
    require_columns(table, schema.targets)
    original = table
    table = fill_empty_labels(table, schema)
    if table is not original:
        rows = count_rows(original.column(schema.target).null_count)
        notes.append(f"{rows} with an empty {schema.target!r}: taken as no label.")
    known = known_rows(table, schema.targets)
    if known.all():
        return table
    if not known.any():
        raise TableError(f"Column {schema.target!r} is empty.")
    rows = count_rows((~known).sum())
    notes.append(f"{rows} without a known {schema.target!r} left out.")
    return table.filter(pa.array(known))


def drop_zero_weights(table, schema, notes) -> pa.Table:
    """The rows that count: one of weight 0 is as good as not there."""
    w = some_weight(schema, table)
    if w is None or w.all():
        return table
    rows = count_rows((w == 0).sum())
    notes.append(f"{rows} left out: {schema.weight!r} is 0.")
    return table.filter(pa.array(w > 0))


def drop_single_row_classes(table, schema, options, notes) -> tuple[pa.Table, Schema]:
    """Without classes of a single row, which cannot be both learned and tested."""
    if schema.task != "classification":
        return table, schema
    y = schema.target_values(table)
    rows = np.bincount(y, minlength=len(schema.classes))
    alone = rows[y] < 2
    if not alone.any():
        return table, schema
    each = "" if alone.sum() == 1 else "each "
    notes.append(
        f"{count_rows(alone.sum())} left out: {each}the only one of its class."
    )
    several = int((rows >= 2).sum())
    if several < 2:
        n = len(y)
        seen = f"{schema.target!r} has {len(rows)} different values in {n} rows"
        classes = "no value is" if several == 0 else "one value is"
        hint = ""
        if all(isinstance(c, int | float) for c in schema.classes):
            hint = "; ask for task='regression' if they are amounts"
        raise TableError(
            f"{seen}, of which {classes} in more than one row: two classes of two or "
            f"more rows are needed{hint}."
        )
    table = table.filter(pa.array(~alone))
    return table, find_schema(table, options)

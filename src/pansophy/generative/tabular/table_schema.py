"""Types of the columns of a table: read from training rows, given to synthetic ones.

A type is kept as the name that its library has for it ("Int64", "timestamp[us]",
"Date"), so that it can be saved as text. Names that are not known here are left alone:
the column then has the type that its values make. Columns of pandas with categories
keep all of them and their order, those that no row has included.

Dates and durations come as NumPy values in UTC; zones are put back, and a column of
`datetime.date` has such objects again.
"""

import datetime
import re
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np

from ...persist.saved_state import saved_state

LIBRARIES = ("array", "pandas", "polars", "pyarrow")
POLARS_NAMES = (
    "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64",
    "Float32", "Float64", "Boolean", "String", "Categorical", "Date",
)  # fmt: skip
ARRAY_KINDS = "biuf"  # of arrays whose type samples have, too


def are_values(values) -> bool:
    """Whether this is a list of values that a column may hold or be named by."""
    return type(values) is list and all(isinstance(v, Hashable) for v in values)


def _is_sound_type(kind) -> bool:
    """Whether a type of a loaded file can be given to a column."""
    return (
        type(kind.name) is str
        and type(kind.ordered) is bool
        and are_values(kind.categories)
        and len(set(kind.categories)) == len(kind.categories)
    )


@saved_state(check=_is_sound_type)
class ColumnType(NamedTuple):
    """The type of a column in the words of its library."""

    name: str = ""  # empty: not known
    categories: list = []  # of pandas, in their order
    ordered: bool = False


def table_library(table, names) -> str:
    """Library of a table: "array", "pandas", "polars" or "pyarrow"."""
    if names is None:
        return "array"
    top = type(table).__module__.split(".")[0]
    return top if top in ("pandas", "polars") else "pyarrow"


def column_type(table, j, library) -> ColumnType:
    """The type of column j."""
    if library == "array":
        kind = getattr(getattr(table, "dtype", None), "kind", "O")
        return ColumnType(str(table.dtype) if kind in ARRAY_KINDS else "")
    if library == "pyarrow":
        return ColumnType(str(table.schema.types[j]))
    dtype = list(table.dtypes)[j]
    if library == "pandas" and str(dtype) == "object":
        known = table.iloc[:, j].dropna()
        days = len(known) and all(type(v) is datetime.date for v in known)
        return ColumnType("datetime.date" if days else "object")
    if library == "pandas" and hasattr(dtype, "categories"):
        listed = dtype.categories.tolist()
        return ColumnType("category", listed, bool(dtype.ordered))
    return ColumnType(str(dtype))


def array_of_columns(columns, types) -> np.ndarray:
    """Columns side by side, in the type of the training array if they fit into it."""
    numbers = all(c.dtype.kind in ARRAY_KINDS for c in columns)
    if not numbers:
        table = np.empty((len(columns[0]), len(columns)), dtype=object)
        for j, column in enumerate(columns):
            table[:, j] = column
        return table
    table = np.stack(columns, axis=1)
    name = types[0].name
    holds = name and (np.dtype(name).kind == "f" or not np.isnan(table).any())
    return table.astype(name) if holds else table


def table_of_columns(named: dict, types, library: str) -> Any:
    """Columns by their names as a table of a library, each in its type."""
    if library == "pandas":
        import pandas as pd

        frame = pd.DataFrame(named)
        for name, kind in zip(named, types):
            frame[name] = _pandas_column(frame[name], kind)
        return frame
    listed = {k: v.tolist() if v.dtype == object else v for k, v in named.items()}
    if library == "polars":
        import polars as pl

        frame = pl.DataFrame(listed)
        casts = [_polars_column(pl, name, kind) for name, kind in zip(named, types)]
        return frame.with_columns([c for c in casts if c is not None])
    import pyarrow as pa

    columns = zip(listed.items(), types)
    return pa.table({name: _arrow_column(pa, v, kind) for (name, v), kind in columns})


def _pandas_column(column, kind: ColumnType):
    """A series in its type; as it is where the type cannot hold what is missing."""
    import pandas as pd

    if not kind.name or kind.name == "object":
        return column
    if kind.name == "datetime.date":
        return column.dt.date if column.dtype.kind == "M" else column
    if kind.categories:
        return column.astype(pd.CategoricalDtype(kind.categories, kind.ordered))
    try:
        dtype = pd.api.types.pandas_dtype(kind.name)
    except TypeError:  # a type of a library that is not here
        return column
    if isinstance(dtype, pd.DatetimeTZDtype):
        return column.dt.tz_localize("UTC").astype(dtype)
    numpy_only = isinstance(dtype, np.dtype) and dtype.kind in "biu"
    if numpy_only and column.isna().any():
        return column
    return column.astype(dtype)


def _polars_column(pl, name, kind: ColumnType):
    """An expression that casts a column; None where the type is not known."""
    if kind.name in POLARS_NAMES:
        return pl.col(name).cast(getattr(pl, kind.name))
    unit = re.search(r"time_unit='(\w+)'", kind.name)
    if kind.name.startswith("Duration") and unit:
        return pl.col(name).cast(pl.Duration(unit[1]))
    if kind.name.startswith("Datetime") and unit:
        expression = pl.col(name).cast(pl.Datetime(unit[1]))
        zone = re.search(r"time_zone='([\w/+-]+)'", kind.name)
        if zone is None:
            return expression
        return expression.dt.replace_time_zone("UTC").dt.convert_time_zone(zone[1])
    return None


def _arrow_column(pa, values, kind: ColumnType):
    """An Arrow array in its type, as far as it is known."""
    column = pa.array(values, from_pandas=True)
    if kind.name.startswith("dictionary"):
        return column.dictionary_encode()
    zone = re.fullmatch(r"timestamp\[(\w+), tz=([\w/+-]+)\]", kind.name)
    try:
        dtype = (
            pa.type_for_alias(kind.name)
            if zone is None
            else pa.timestamp(zone[1], tz=zone[2])
        )
        return column.cast(dtype, safe=False)
    except (ValueError, pa.ArrowNotImplementedError):  # a type without such a name
        return column

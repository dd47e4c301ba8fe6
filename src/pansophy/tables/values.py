"""Columns of a table as arrays: numbers, texts, codes of levels."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class TableError(ValueError):
    """A table cannot be read, or does not fit what is asked of it."""


def is_number(kind) -> bool:
    t = pa.types
    return t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind)


def is_text(kind) -> bool:
    t = pa.types
    if t.is_dictionary(kind):
        kind = kind.value_type
    return t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind)


def numbers(column, name) -> np.ndarray:
    """A column as float64, missing as NaN; infinite counts as missing."""
    kind = column.type
    t = pa.types
    if t.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if t.is_date(kind):
        column = column.cast(pa.date32()).cast(pa.int32())
    elif t.is_timestamp(kind) or t.is_time(kind) or t.is_duration(kind):
        column = column.cast(pa.int64())
    elif t.is_boolean(kind):
        column = column.cast(pa.int8())
    try:
        values = column.cast(pa.float64(), safe=False)
    except pa.ArrowException as error:
        bad = first_not_number(column)
        raise TableError(
            f"Column {name!r} should hold numbers, but has {bad}."
        ) from error
    out = np.array(values.to_numpy(), dtype=np.float64)
    out[~np.isfinite(out)] = np.nan
    return out


def first_not_number(column) -> str:
    if not is_text(column.type):
        return f"values of type {column.type}"
    for value in column.to_pylist():
        try:
            float(value or 0)
        except ValueError:
            return repr(value)
    return "text"


def texts(column, name) -> pa.ChunkedArray:
    """A column as strings."""
    try:
        if pa.types.is_floating(column.type):  # 3.0 where training had 3
            whole = pc.all(pc.equal(pc.floor(column), column)).as_py()
            column = column.cast(pa.int64()) if whole is not False else column
        return column.cast(pa.string())
    except pa.ArrowException as error:
        raise TableError(
            f"Column {name!r} should hold categories, but has values of type "
            f"{column.type}."
        ) from error


def codes(column, levels, name) -> np.ndarray:
    """Positions in `levels`; -1 for a level never seen, NaN for missing."""
    values = texts(column, name)
    found = pc.index_in(values, value_set=pa.array(levels, pa.string()))
    out = np.array(pc.fill_null(found, -1).to_numpy(), dtype=np.float64)
    out[pc.is_null(values).to_numpy()] = np.nan
    return out

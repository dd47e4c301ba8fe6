"""Columns of an Arrow table as NumPy arrays: floats, seconds, texts, level codes."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..core.arrays.codes import without_dictionary
from . import number_formats

YES = ("yes", "y", "true", "t", "on", "1", "1.0")
HUGE = 1e150  # larger numbers count as missing
TINY = 1e-150  # targets must vary by more than this
NO = ("no", "n", "false", "f", "off", "0", "0.0")


class TableError(ValueError):
    """A table that cannot be read, or does not fit the schema or the request."""


def is_numeric_type(kind) -> bool:
    """Whether an Arrow type is integer, floating or decimal."""
    t = pa.types
    return t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind)


def is_text(kind) -> bool:
    """Whether an Arrow type is text, or a dictionary of texts."""
    t = pa.types
    if t.is_dictionary(kind):
        kind = kind.value_type
    return t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind)


def is_date(kind) -> bool:
    return pa.types.is_date(kind) or pa.types.is_timestamp(kind)


def column_as_floats(column, name, form="", missing=()) -> np.ndarray:
    """A column as float64: dates and times in seconds, missing and infinite as NaN.

    Numbers beyond HUGE are NaN too, since their squares would overflow. Texts are
    parsed by `form` (see `number_formats`); the words in `missing` count as missing.
    """
    column = without_dictionary(column)
    kind = column.type
    t = pa.types
    if t.is_null(kind):
        return np.full(len(column), np.nan)
    if is_text(kind):
        return _from_text(column, name, form, missing)
    if number_formats.is_date_form(form) and (
        is_numeric_type(kind) or t.is_boolean(kind)
    ):
        return _from_text(column.cast(pa.string()), name, form, missing)
    per_second = 1.0
    if t.is_date(kind):
        column = column.cast(pa.date32()).cast(pa.int32())
        per_second = 1 / 86400
    elif t.is_timestamp(kind) or t.is_duration(kind) or t.is_time(kind):
        per_second = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        column = column.cast(pa.int64() if kind.bit_width == 64 else pa.int32())
    elif t.is_boolean(kind):
        column = column.cast(pa.int8())
    try:
        values = column.cast(pa.float64(), safe=False)
    except pa.ArrowException as error:
        raise TableError(
            f"Column {name!r} should hold numbers, but has values of type {kind}."
        ) from error
    numbers = arrow_to_numpy(values)
    if per_second != 1:
        numbers /= per_second
    numbers[~(np.abs(numbers) <= HUGE)] = np.nan
    return numbers


def count_not_finite(column) -> int:
    """Number of values of a column that are null, NaN or infinite."""
    column = without_dictionary(column)
    if not pa.types.is_floating(column.type):
        return column.null_count
    finite = pc.sum(pc.is_finite(column)).as_py() or 0
    return len(column) - finite


def arrow_to_numpy(values) -> np.ndarray:
    """A float column as a writable NumPy array."""
    if isinstance(values, pa.ChunkedArray) and values.num_chunks == 1:
        values = values.chunk(0)
    if isinstance(values, pa.Array):
        return np.array(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    return np.array(values.to_numpy(), dtype=np.float64)


def _from_text(column, name, form, missing) -> np.ndarray:
    """Numbers or dates parsed from a text column."""
    column = column.cast(pa.string())
    if missing:
        gone = pc.is_in(column, value_set=pa.array(list(missing), pa.string()))
        column = pc.if_else(gone, None, column)
    read = number_formats.format_reader(form)
    result = read(column, form)
    lost = pc.and_(pc.is_null(result), pc.is_valid(column))
    if pc.any(lost).as_py():
        bad = column.filter(lost)[0].as_py()
        if number_formats.is_blank(bad):  # only now, as it costs a pass
            blank = pc.equal(pc.utf8_trim_whitespace(column), "")
            return _from_text(pc.if_else(blank, None, column), name, form, missing)
        like = f" written like {form}" if form not in ("", "1.5") else ""
        kind = {
            number_formats.read_dates: f"dates ({form})",
            number_formats.read_clock: "times of the day",
        }.get(read, f"numbers{like}")
        raise TableError(f"Column {name!r} should hold {kind}, but has {bad!r}.")
    numbers = arrow_to_numpy(result.cast(pa.float64(), safe=False))
    numbers[~(np.abs(numbers) <= HUGE)] = np.nan
    return numbers


def column_as_texts(column, name) -> pa.ChunkedArray:
    """A column as strings; 3 and 3.0 both become "3"."""
    try:
        column = without_dictionary(column)
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.float64())
        return column.cast(pa.string())  # 3.0 becomes "3", as 3 does
    except pa.ArrowException as error:
        raise TableError(
            f"Column {name!r} should hold categories, but has values of type "
            f"{column.type}."
        ) from error


def level_codes(column, levels, name) -> np.ndarray:
    """Codes of a column in `levels`; -1 for an unknown level, NaN for missing."""
    values = column_as_texts(column, name)
    result = pc.index_in(values, value_set=pa.array(levels, pa.string()))
    codes = arrow_to_numpy(pc.fill_null(result, -1).cast(pa.float64()))
    if values.null_count:
        codes[pc.is_null(values).to_numpy(zero_copy_only=False)] = np.nan
    return codes


def column_as_booleans(column, name) -> np.ndarray:
    """A column of yes/no, true/false or 1/0 as integers 1 and 0."""
    answers = pc.utf8_lower(pc.utf8_trim_whitespace(column_as_texts(column, name)))
    yes = pc.is_in(answers, value_set=pa.array(YES)).to_numpy(zero_copy_only=False)
    is_no = pc.is_in(answers, value_set=pa.array(NO)).to_numpy(zero_copy_only=False)
    bad = np.flatnonzero(~(yes | is_no))
    if len(bad):
        value = column[int(bad[0])].as_py()
        content = "a missing value" if value is None else repr(value)
        raise TableError(
            f"Label {name!r} should be 0 or 1, yes or no, but has {content}."
        )
    return yes.astype(np.int64)

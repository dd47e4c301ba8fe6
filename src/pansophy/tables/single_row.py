"""Fast reader of a few rows, value by value, as a server needs for each request.

The same frame as `Schema.frame` makes of many rows, without the cost of an Arrow call
for each column. Values that are not plain Python values of the expected type are
converted by Arrow.
"""

import math
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache

import numpy as np
import pyarrow as pa

from . import column_values, number_formats
from .mixed_frame import MixedFrame
from .roles import column_format

HUGE = column_values.HUGE
EPOCH = datetime(1970, 1, 1)
FIRST = date(1970, 1, 1).toordinal()
NAN = math.nan


@lru_cache(maxsize=1024)
def level_positions(levels) -> dict[str, int]:
    """Positions of levels, cached between requests."""
    return {level: i for i, level in enumerate(levels)}


def frame_from_values(used, columns) -> MixedFrame:
    """A MixedFrame from lists of Python values by column name."""
    plain = [c for c in used if c.role != "text"]
    n = len(columns[used[0].name])
    X = np.empty((n, len(plain)))
    for j, c in enumerate(plain):
        if c.role in ("category", "ordinal"):
            place = level_positions(c.levels)
            for i, v in enumerate(columns[c.name]):
                X[i, j] = (
                    place.get(v, -1) if type(v) is str else level_code(v, c, place)
                )
        else:
            plain_number = float if c.role != "date" else None
            for i, v in enumerate(columns[c.name]):
                kind = type(v)
                if kind is plain_number and -HUGE <= v <= HUGE:
                    X[i, j] = v
                else:
                    X[i, j] = number_from_value(v, kind, c)
    texts = [c for c in used if c.role == "text"]
    text_columns = [
        column_values.column_as_texts(
            pa.array(columns[c.name], from_pandas=True), c.name
        )
        for c in texts
    ]
    return MixedFrame(X, tuple(text_columns))


def level_code(value, c, place) -> float:
    """Code of a level that is not a text."""
    if value is None or value != value:
        return NAN
    if type(value) is int:
        return place.get(str(value), -1)
    return column_values.level_codes(
        pa.chunked_array([_one_value_array(value, c)]), c.levels, c.name
    )[0]


def number_from_value(value, kind, c) -> float:
    """A value of a number, date or angle column as a float."""
    if value is None:
        return NAN
    if kind is str:
        result = (
            None
            if value in c.missing
            else number_formats.parse_value(value, column_format(c))
        )
        if result is not None:
            return result if -HUGE <= result <= HUGE else NAN
    elif kind in (int, bool, float):
        if c.role != "date" and kind is not float:
            return float(value) if -HUGE <= value <= HUGE else NAN
        if value != value or (c.role != "date" and kind is float):
            return NAN  # infinite, HUGE, or NaN
    elif kind is datetime:
        if value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return (value - EPOCH) / timedelta(seconds=1)
    elif kind is date:
        return (value.toordinal() - FIRST) * 86400.0
    elif kind is time and value.tzinfo is None:
        seconds = value.hour * 3600 + value.minute * 60 + value.second
        return seconds + value.microsecond / 1e6
    column = pa.chunked_array([_one_value_array(value, c)])
    return column_values.column_as_floats(column, c.name, column_format(c), c.missing)[
        0
    ]


def _one_value_array(value, c) -> pa.Array:
    """One value as an Arrow array."""
    try:
        return pa.array([value], from_pandas=True)
    except (pa.ArrowException, TypeError) as error:
        raise column_values.TableError(
            f"Column {c.name!r} has a {type(value).__name__}, which is no {c.role}."
        ) from error

"""Tables of mixed columns as arrays of numbers, and back.

A column of many different numbers is mapped to normal scores by its own quantiles,

    z = Phi^-1(F(x)),   x = F^-1(Phi(z))                                          (1)

F being the distribution of the training rows, linear between 1001 quantiles; a
value that many rows share has the middle of its steps. So skewed columns, columns with
atoms and outliers all become roughly normal, and what comes back has the range, the
decimals and the atoms of the column, times the unit (seconds, minutes). Where values
are missing, a second column says so.

Whole numbers that never repeat although chance would repeat them are keys, such as
numbers of orders: what comes back has no repeats either. Of n numbers drawn from R the
expected number of equal pairs is at least n (n - 1) / (2 R), whatever their
distribution; from ten on no repeat is no chance (e^-10).

All other columns (text, categories, booleans, numbers of few values) become the number
of their level; a missing value is a level of its own. Dates and durations are numbers
of days. Columns come back in the types they had (`table_schema`).

Shapes    table (n, columns)   array (n, encoded columns)
"""

import datetime
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from ...core.arrays.codes import as_column, encode_values, missing_mask
from ...core.arrays.frames import column_names, column_reader
from ...core.arrays.labels import plain_numbers
from ...persist.saved_state import Each, FloatArray, Part, Whole, saved_state
from .table_schema import (
    LIBRARIES,
    ColumnType,
    are_values,
    array_of_columns,
    column_type,
    table_library,
    table_of_columns,
)

FEW_VALUES = 10  # numbers of at most so many values are levels
N_QUANTILES = 1001
MOST_DECIMALS = 6
EXPECTED_PAIRS = 10  # equal ones, from which a column without any is a key
NARROW_TYPES = ("int8", "uint8", "int16", "uint16")  # that run out of numbers
MOST_ROWS = 1 << 53  # so that a share of them is above 0
NUMBER_KINDS = ("number", "date", "duration")
DAY = np.timedelta64(1, "D")
# days, hours, minutes, seconds and thousandths of them in microseconds
UNITS = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1_000)


def _is_sound_column(column) -> bool:
    """Whether a column of a loaded file can encode and decode."""
    flags = column.some_missing, column.is_key
    if any(type(flag) is not bool for flag in flags) or not are_values(column.levels):
        return False
    if column.kind == "level":
        return len(column.levels) > 0
    ascending = np.all(column.knots[1:] >= column.knots[:-1])
    return column.kind in NUMBER_KINDS and len(column.knots) > 0 and bool(ascending)


@saved_state(
    knots=FloatArray(None, finite=True),
    dtype=Part(ColumnType),
    decimals=Whole(-1, MOST_DECIMALS),
    unit=Whole(1, UNITS[0]),
    n_rows=Whole(1, MOST_ROWS),
    check=_is_sound_column,
)
class TableColumn(NamedTuple):
    """Facts learned about a column from the training rows."""

    name: Any
    kind: str  # "number", "date", "duration" or "level"
    dtype: ColumnType
    levels: list  # values of a column of levels; the last is None if some are missing
    knots: np.ndarray  # quantiles of a column of numbers, evenly spaced
    decimals: int  # of the numbers; -1: as many as floating point has
    some_missing: bool
    n_rows: int
    unit: int = 1  # microseconds of which times are whole multiples
    is_key: bool = False  # whole numbers that never repeat

    @property
    def width(self) -> int:
        """Encoded columns."""
        return 1 + (self.kind != "level" and self.some_missing)

    def encode(self, values) -> np.ndarray:
        """A column as numbers (n, width)."""
        if self.kind == "level":
            return self._level_codes(values)[:, None]
        x = as_numbers(values)
        if x is None:
            raise ValueError(
                f"column {self.name!r} held numbers in training, and now other values."
            )
        missing = np.isnan(x)
        if missing.any() and not self.some_missing:
            raise ValueError(
                f"column {self.name!r} has missing values, but had none in training."
            )
        z = np.where(missing, 0.0, self.normal_scores(np.where(missing, 0.0, x)))
        return (
            np.stack([z, missing.astype(float)], 1) if self.some_missing else z[:, None]
        )

    def decode(self, encoded) -> np.ndarray:
        """A column of the table from its numbers (n, width)."""
        if self.kind == "level":
            places = np.clip(np.rint(encoded[:, 0]), 0, len(self.levels) - 1)
            levels = np.empty(len(self.levels), dtype=object)
            levels[:] = self.levels
            return levels[places.astype(int)]
        q = np.linspace(0, 1, len(self.knots))
        x = np.interp(ndtr(encoded[:, 0]), q, self.knots)
        if self.kind != "number":
            x = np.rint(x * (UNITS[0] / self.unit)) / (UNITS[0] / self.unit)
        elif self.decimals >= 0:
            x = np.round(x, self.decimals)
        if self.some_missing:
            x = np.where(encoded[:, 1] > 0.5, np.nan, x)
        if self.is_key:
            is_known = ~np.isnan(x)
            x[is_known] = without_repeats(x[is_known], self.knots[0], self.knots[-1])
        return x if self.kind == "number" else _as_times(x, self.kind)

    def normal_scores(self, x) -> np.ndarray:
        """z of eq. (1)."""
        v = self.knots
        if len(v) < 2:
            return np.zeros(len(x))
        q = np.linspace(0, 1, len(v))
        left, right = np.searchsorted(v, x, "left"), np.searchsorted(v, x, "right")
        last = len(v) - 1
        atom = (q[np.minimum(left, last)] + q[np.clip(right - 1, 0, last)]) / 2
        p = np.where(right > left, atom, np.interp(x, v, q))
        edge = 0.5 / self.n_rows  # the extremes of n rows are not infinitely far
        return ndtri(np.clip(p, edge, 1 - edge))

    def _level_codes(self, values):
        place = {level: float(i) for i, level in enumerate(self.levels)}
        values = as_column(values)
        missing = missing_mask(values)
        codes = np.empty(len(values))
        for i, (value, gone) in enumerate(zip(values.tolist(), missing)):
            code = place.get(None if gone else value)
            if code is None:
                shown = "a missing value" if gone else repr(value)
                raise ValueError(
                    f"column {self.name!r} holds {shown}, which training rows did not."
                )
            codes[i] = code
        return codes


def _is_sound_codec(codec) -> bool:
    """Whether a codec of a loaded file is of a known library and has named columns."""
    names = [c.name for c in codec.columns]
    return codec.library in LIBRARIES and bool(names) and are_values(names)


@saved_state(columns=Each(Part(TableColumn)), check=_is_sound_codec)
class TableCodec(NamedTuple):
    """The columns of a table, and what kind of table it was."""

    columns: list[TableColumn]
    library: str  # "pandas", "polars", "pyarrow" or "array"

    def encode(self, table) -> np.ndarray:
        """A table as numbers: (n, encoded columns)."""
        read = column_reader(table)
        parts = [c.encode(read(j)) for j, c in enumerate(self.columns)]
        return np.concatenate(parts, axis=1)

    def decode(self, encoded) -> Any:
        """A table of the library of the training table."""
        ends = np.cumsum([c.width for c in self.columns])
        parts = np.split(np.asarray(encoded, float), ends[:-1], axis=1)
        values = [c.decode(part) for c, part in zip(self.columns, parts)]
        values = [plain_numbers(v) for v in values]
        types = [c.dtype for c in self.columns]
        if self.library == "array":
            numbers = [as_numbers(v) if v.dtype == object else v for v in values]
            pairs = zip(values, numbers)
            return array_of_columns([v if x is None else x for v, x in pairs], types)
        named = {c.name: v for c, v in zip(self.columns, values)}
        return table_of_columns(named, types, self.library)

    @property
    def places(self) -> list[int]:
        """The first encoded column of each column."""
        widths = [c.width for c in self.columns]
        return np.cumsum([0, *widths])[:-1].tolist()


def as_numbers(values):
    """A column as float64, NaN where missing, times in days; None if it is text."""
    values = plain_numbers(as_column(values))
    kind = values.dtype.kind
    if kind in "mM":
        past = values if kind == "m" else values - np.datetime64(0, "us")
        return np.where(np.isnat(values), np.nan, past / DAY)
    if kind in "iuf":
        return values.astype(float)
    if kind != "O":
        return None
    missing = missing_mask(values)
    known = values[~missing].tolist()
    if not known or any(isinstance(v, (bool, str)) for v in known):
        return None
    kind = _kind_of_numbers(values)
    if kind != "number":
        unit = "datetime64[us]" if kind == "date" else "timedelta64[us]"
        times = [None if m else _in_utc(v) for m, v in zip(missing, values)]
        return as_numbers(np.array(times, unit))
    try:
        return np.array([np.nan if m else float(v) for m, v in zip(missing, values)])
    except (TypeError, ValueError):
        return None


def _in_utc(value):
    """A time without its zone, which is UTC then; other values as they are."""
    if getattr(value, "tzinfo", None) is None:
        return value
    return value.astimezone(datetime.UTC).replace(tzinfo=None)


def _as_times(days, kind) -> np.ndarray:
    """Days as dates since 1970 or as durations, NaT where NaN."""
    gone = np.isnan(days)
    micros = np.rint(np.where(gone, 0, days) * 86_400e6).astype("int64")
    unit = "datetime64[us]" if kind == "date" else "timedelta64[us]"
    times = micros.astype(unit)
    times[gone] = "NaT"
    return times


def _kind_of_numbers(values) -> str:
    """Kind of the numbers of a column: "date", "duration" or "number"."""
    values = as_column(values)
    if values.dtype.kind in "mM":
        return "date" if values.dtype.kind == "M" else "duration"
    if values.dtype.kind != "O":
        return "number"
    known = values[~missing_mask(values)].tolist()
    for kind, python_type in (
        ("date", datetime.date),
        ("duration", datetime.timedelta),
    ):
        if known and all(isinstance(v, python_type) for v in known):
            return kind
    return "number"


def count_decimals(x) -> int:
    """Fewest decimals that hold all numbers; -1 if it takes more than six."""
    for decimals in range(MOST_DECIMALS + 1):
        if np.allclose(np.round(x, decimals), x, rtol=1e-12, atol=0):
            return decimals
    return -1


def unit_of_times(days) -> int:
    """The largest unit, in microseconds, of which all times are whole multiples.

    Examples
    --------
    >>> unit_of_times(np.array([1 / 24, 0.5]))  # whole hours
    3600000000
    """
    micros = np.rint(days * UNITS[0]).astype(np.int64)
    return next((unit for unit in UNITS if not (micros % unit).any()), 1)


def _is_key_column(x, name) -> bool:
    """Whether numbers, of a type of this name, are whole and never repeat by design."""
    n = len(x)
    if name.lower() in NARROW_TYPES or not (x % 1 == 0).all():
        return False
    pairs = n * (n - 1) / (2 * (np.ptp(x) + 1))
    return pairs >= EXPECTED_PAIRS and len(np.unique(x)) == n


def without_repeats(x, low, high) -> np.ndarray:
    """Whole numbers near x, in the order of x, without repeats.

    They stay from `low` to `high` if there is room, and go on above it if not.

    Examples
    --------
    >>> without_repeats(np.array([4.0, 2, 2, 4]), 1, 4)
    array([3., 1., 2., 4.])
    """
    order = np.argsort(x, kind="stable")
    steps = np.arange(len(x))
    # y_i >= x_i and y_i >= y_(i-1) + 1: a running maximum of x_i - i
    y = np.maximum.accumulate(x[order] - steps) + steps
    if len(x) <= high - low + 1:
        y = np.minimum(y, high - steps[::-1])
    out = np.empty_like(y)
    out[order] = y
    return out


def smoothed_quantiles(x, w=None) -> np.ndarray:
    """Quantiles of weighted numbers, flat at atoms and linear between single values.

    A value of weight c holds the mass c less that of the lightest value, half of which
    is on each side; without repeated values that is linear interpolation.
    """
    values, place = np.unique(x, return_inverse=True)
    mass = np.bincount(place, w)
    half = mass[mass > 0].min() / 2
    ends = np.cumsum(mass)
    levels = np.stack([ends - mass + half, ends - half], axis=1).ravel() / ends[-1]
    q = np.linspace(0, 1, N_QUANTILES)
    return np.interp(q, levels, np.repeat(values, 2))


def _learn_column(name, values, dtype, w) -> TableColumn:
    """Learn kind, scale and levels of one column from the training rows."""
    n = len(values)
    x = as_numbers(values)
    no_values = np.zeros(0)
    if x is not None:
        if np.isinf(x).any():
            raise ValueError(f"column {name!r} of X contains infinity.")
        gone = np.isnan(x)
        known = x[~gone]
        distinct = np.unique(known)
        if len(distinct) > FEW_VALUES:
            knots = smoothed_quantiles(known, None if w is None else w[~gone])
            kind = _kind_of_numbers(values)
            is_number = kind == "number"
            unit = 1 if is_number else unit_of_times(known)
            # a weight is a number of equal rows
            has_unit_weights = w is None or bool((w[~gone] == 1).all())
            is_key = (
                is_number and has_unit_weights and _is_key_column(known, dtype.name)
            )
            decimals = count_decimals(known)
            has_gaps = bool(gone.any())
            return TableColumn(
                name, kind, dtype, [], knots, decimals, has_gaps, n, unit, is_key
            )
    codes, levels = encode_values(values)
    listed = levels.tolist()
    if x is None and len(listed) > max(50, n // 2):
        raise ValueError(
            f"column {name!r} has {len(listed)} different values in {n} rows: it looks "
            "like an identifier or free text. Drop it."
        )
    if (codes < 0).any():
        listed = [*listed, None]
    return TableColumn(
        name, "level", dtype, listed, no_values, -1, bool((codes < 0).any()), n
    )


def learn_table_codec(table, w=None) -> TableCodec:
    """Read the columns of a training table: array, data frame or Arrow table.

    `w` are weights above 0, or None.
    """
    names = column_names(table)
    read = column_reader(table)
    library = table_library(table, names)
    width = len(names) if names is not None else np.shape(table)[1]
    if not width:
        raise ValueError("X has no columns.")
    columns = []
    for j in range(width):
        name = j if names is None else names[j]
        dtype = column_type(table, j, library)
        columns.append(_learn_column(name, as_column(read(j)), dtype, w))
    return TableCodec(columns, library)

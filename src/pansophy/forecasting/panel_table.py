"""Reading of a panel from a table with a row for each series and stamp.

Dates are read as `tables` reads them, and in three forms more: 2024-W05 (the Monday of
a week of ISO 8601) or 2024-W05-3 (its Wednesday), 2024Q1 or Q1 2024 (the first day of a
quarter), and 2024-03, 03/2024 or Mar 2024 (of a month). Whole numbers are steps, unless
all of them are months such as 202403, or days such as 20240315. Stamps with a zone are
taken at their local time if they are days, so that a change of the clock does not shift
them, and else as UTC.
"""

import calendar
import re
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..core.arrays.codes import without_dictionary
from ..core.arrays.ragged import Ragged
from ..core.plain_text import counted_noun
from ..tables import read_table
from ..tables.column_values import (
    TableError,
    column_as_floats,
    is_date,
    is_numeric_type,
    is_text,
)
from ..tables.number_formats import find_date, find_number, is_date_form
from .frequency import DAY, FREE_DAY, Frequency
from .panel import (
    EXAMPLES,
    Panel,
    PanelFindings,
    StampReading,
    common_frequency,
    ragged_range,
)

WEEK = re.compile(r"(\d{4})-?W(\d{2})(?:-?([1-7]))?", re.ASCII)
QUARTER = re.compile(r"(\d{4})[- ]?Q([1-4])", re.ASCII)
QUARTER_FIRST = re.compile(r"Q([1-4])[-/ ]?(\d{4})", re.ASCII)
MONTH = re.compile(r"(\d{4})[-/M](\d{1,2})", re.ASCII)
MONTH_FIRST = re.compile(r"(\d{1,2})[-/](\d{4})", re.ASCII)
MONTH_NAME = re.compile(r"([A-Z][a-z]{2,8})\.?[- ](\d{4})", re.ASCII)
YEAR_LAST = (QUARTER_FIRST, MONTH_FIRST, MONTH_NAME)
CALENDAR = (WEEK, QUARTER, MONTH, *YEAR_LAST)
MOST_OFF_GRID = 0.5  # share of stamps between grid points beyond which there is no grid
WITH_OFFSET = re.compile(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)"
    r"\s?(Z|[+-]\d\d:?\d\d)",
    re.ASCII,
)
FIRST_YEAR, LAST_YEAR = 1900, 2099  # of months and days written as whole numbers
SHORT = 5  # values


def read_panel(cls, source, time, target, series, known, frequency, merge) -> Panel:
    """See `Panel.from_table`."""
    table = read_table(source)
    series, known = list(series), list(known)
    _check_table_columns(table, [time, target, *series, *known])
    if table.num_rows == 0:
        raise TableError("The table has no rows.")
    if merge not in (None, "sum", "mean"):
        raise ValueError(f"merge must be 'sum', 'mean' or None, got {merge!r}.")
    counts_steps = isinstance(frequency, Frequency) and not frequency.has_dates
    stamps, has_dates, reading = _stamp_column(table[time], time, counts_steps)
    _refuse_missing_stamps(stamps, time)
    y, number_form = _target_column(table[target], target)
    X = np.column_stack([_numbers_of_column(table[c], c)[0] for c in known] or [[]])
    codes, keys = _series_codes(table, series)
    names = np.array(["/".join(map(str, k)) for k in zip(*keys.values())])
    odd = ()
    grid = frequency
    if grid is None:
        grid, odd = common_frequency(stamps, codes, names, has_dates)
    if not isinstance(grid, Frequency):
        raise ValueError("frequency must be a Frequency or None.")
    is_off_grid = grid.off_grid(stamps)
    if frequency is None and is_off_grid.mean() > MOST_OFF_GRID:
        raise TableError(
            f"{is_off_grid.sum():,} of {len(is_off_grid):,} stamps in {time!r} do not "
            f"fit one grid ({grid.name} is the nearest): sum the rows up by day, week "
            "or month, or write fiscal months as 2024-01."
        )
    ordinals = grid.ordinals(stamps)
    findings = PanelFindings(
        rows=len(y),
        series=len(names),
        off_grid=int(is_off_grid.sum()),
        off_grid_examples=tuple(
            stamp_text(s, has_dates)
            for s in stamps[np.flatnonzero(is_off_grid)[:EXAMPLES]]
        ),
        reading=reading,
        number_form=number_form,
        other_frequency=odd,
        free_days=grid.unit == "month" and grid.anchor % 100 == FREE_DAY,
    )
    order = np.lexsort([ordinals, codes])
    rows = GridRows(
        codes[order], ordinals[order], y[order], X[order] if known else None
    )
    rows, merged = rows.merged(merge, names, grid, time, bool(is_off_grid.any()))
    findings = findings._replace(merged=merged)
    return rows.panel(cls, names, keys, grid, tuple(known), findings)


def _check_table_columns(table, names):
    for name in names:
        if name not in table.column_names:
            raise TableError(
                f"There is no column {name!r}; the table has "
                f"{', '.join(map(repr, table.column_names))}."
            )
    if len(set(names)) < len(names):
        raise ValueError("time, target, series and known must be different columns.")


def _stamp_column(
    column, name, counts_steps=False
) -> tuple[np.ndarray, bool, StampReading]:
    """Stamps of rows, whether they are dates, and how they were read."""
    column = without_dictionary(column)
    if is_numeric_type(column.type):
        values = column_as_floats(column, name)
        if (values[np.isfinite(values)] % 1 != 0).any():
            raise TableError(
                f"Column {name!r} must hold dates or whole numbers, not fractions."
            )
        days, reading = _calendar_numbers(values)
        if days is not None and not counts_steps:
            return days, True, reading
        return values, False, ""
    if is_date(column.type):
        zone = getattr(column.type, "tz", None)
        if zone:
            local = pc.local_timestamp(column)
            seconds = column_as_floats(local, name)
            known = seconds[np.isfinite(seconds)]
            if np.all(known % DAY == 0):
                return seconds, True, "local"
            seconds = column_as_floats(column, name)
            days = _local_days(seconds)
            if days is not None:
                return days, True, "local"
            return seconds, True, "UTC"
        return column_as_floats(column, name), True, ""
    if not is_text(column.type):
        raise TableError(f"Column {name!r} must hold dates, not {column.type}.")
    texts = pc.utf8_trim_whitespace(column.cast(pa.string()))
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    written = texts.to_pylist()
    stamps, reading = calendar_stamps(written)
    if stamps is not None:
        return stamps, True, reading
    zoned, reading = _zoned_stamps(written)
    if zoned is not None:
        return zoned, True, reading
    known_texts = texts.drop_null()
    form = find_date(known_texts.combine_chunks()) if len(known_texts) else None
    if form is None or not is_date_form(form.form):
        raise TableError(
            f"Column {name!r} must hold dates, such as 2024-03-15, 2024-W11, 2024-03 "
            f"or 2024Q1, or whole numbers{_not_a_date(known_texts.to_pylist())}."
        )
    return column_as_floats(texts, name, form.form), True, ""


def _not_a_date(texts) -> str:
    """The first of some texts that is no date, where the first of all is one."""
    if not texts:
        return "; it is empty"
    for text in texts:
        single = pa.array([text])
        form_alone = find_date(single)
        is_calendar = calendar_stamps([text])[0] is not None
        if not is_calendar and (
            form_alone is None or not is_date_form(form_alone.form)
        ):
            return f", but has {text!r}"
    return ", all of them written alike"


def calendar_stamps(texts) -> tuple[np.ndarray | None, StampReading]:
    """Seconds of texts such as 2024-W05, 2024Q1 and 2024-03; None if one is not."""
    first = next((t for t in texts if t), "")
    pattern = next((p for p in CALENDAR if p.fullmatch(first)), None)
    if pattern is None:
        return None, ""
    days_named = False
    out = np.full(len(texts), np.nan)
    for i, text in enumerate(texts):
        if not text:
            continue
        match = pattern.fullmatch(text)
        if match is None:
            return None, ""
        year, part = _calendar_parts(match, pattern)
        if pattern is WEEK:
            days_named = days_named or bool(match[3])
            try:
                monday = date.fromisocalendar(year, part, int(match[3] or 1))
            except ValueError:  # a week that the year does not have
                return None, ""
            day = monday.toordinal() - date(1970, 1, 1).toordinal()
        elif not 1 <= part <= 12:
            return None, ""
        else:
            month = 12 * (year - 1970) + (
                3 * part - 3 if pattern in (QUARTER, QUARTER_FIRST) else part - 1
            )
            day = np.datetime64(month, "M").astype("M8[D]").astype(int)
        out[i] = float(day) * DAY
    if pattern is not WEEK or days_named:
        return out, ""
    return out, "weeks"


def _calendar_parts(match, pattern) -> tuple[int, int]:
    """The year, and the number of its week, quarter or month; 0 for no month."""
    if pattern not in YEAR_LAST:
        return int(match[1]), int(match[2])
    if pattern is MONTH_NAME:
        names = [n.lower() for n in calendar.month_name]
        short = [n[:3] for n in names]
        word = match[1].lower()
        numbers = names if word in names else short
        return int(match[2]), numbers.index(word) if word in numbers else 0
    return int(match[2]), int(match[1])


def _calendar_numbers(values) -> tuple[np.ndarray | None, StampReading]:
    """Seconds of whole numbers that are all days or months, as 20240315 or 202403."""
    known = values[np.isfinite(values)]
    if not len(known):
        return None, ""
    numbers = known.astype(np.int64)
    low = numbers.min()
    high = numbers.max()
    if low > FIRST_YEAR * 100 and high < (LAST_YEAR + 1) * 100:
        years = numbers // 100
        months = numbers % 100
        days = np.ones_like(numbers)
        reading = "month numbers"
    elif low > FIRST_YEAR * 10_000 and high < (LAST_YEAR + 1) * 10_000:
        years = numbers // 10_000
        months = numbers // 100 % 100
        days = numbers % 100
        reading = "day numbers"
    else:
        return None, ""
    if (months < 1).any() or (months > 12).any():
        return None, ""
    month = (12 * (years - 1970) + months - 1).astype("M8[M]")
    last = ((month + 1).astype("M8[D]") - month.astype("M8[D]")).astype(np.int64)
    if (days < 1).any() or (days > last).any():
        return None, ""
    out = np.full(len(values), np.nan)
    since_1970 = month.astype("M8[D]").astype(np.int64) + days - 1
    out[np.isfinite(values)] = since_1970 * float(DAY)
    return out, reading


def _local_days(seconds) -> np.ndarray | None:
    """The local days that stamps in UTC begin; None if they are no such days.

    Midnights of one place come at one hour of UTC, or at two an hour apart where the
    clock changes. Near noon it cannot be told whether the day before or after is meant.
    """
    known = seconds[np.isfinite(seconds)]
    hours = np.unique(known % DAY)
    if len(known) < 2 or len(hours) > 2 or hours[-1] - hours[0] not in (0, 3600):
        return None
    if (
        np.median(np.abs(np.diff(known))) < DAY - 3600
        or ((hours > 10 * 3600) & (hours < 13 * 3600)).any()
    ):
        return None
    return np.round(seconds / DAY) * DAY


def _zoned_stamps(texts) -> tuple[np.ndarray | None, StampReading]:
    """Seconds of texts such as 2024-03-31T00:00:00+02:00; None if one is not.

    Days are those of the local clock, whatever the offset; all else is UTC.
    """
    first = next((t for t in texts if t), "")
    if WITH_OFFSET.fullmatch(first) is None:
        return None, ""
    local = np.full(len(texts), np.nan)
    offsets = np.zeros(len(texts))
    for i, text in enumerate(texts):
        if not text:
            continue
        match = WITH_OFFSET.fullmatch(text)
        if match is None:
            return None, ""
        try:
            stamp = np.datetime64(match[1].replace(" ", "T"), "us").astype(np.int64)
        except ValueError:
            return None, ""
        local[i] = stamp / 1e6
        if match[2] != "Z":
            hours = int(match[2][1:3])
            minutes = int(match[2][-2:])
            sign = -1 if match[2][0] == "-" else 1
            offsets[i] = sign * (3600 * hours + 60 * minutes)
    if np.all(local[np.isfinite(local)] % DAY == 0):
        return local, "local"
    return local - offsets, "UTC"


def _refuse_missing_stamps(stamps, name):
    gone = np.flatnonzero(~np.isfinite(stamps))
    if len(gone):
        listed = ", ".join(str(i + 1) for i in gone[:EXAMPLES])
        verb = "has" if len(gone) == 1 else "have"
        raise TableError(
            f"{counted_noun(len(gone), 'row')} {verb} no {name!r}, such as row "
            f"{listed}: fill it or leave them out."
        )


def _target_column(column, name) -> tuple[np.ndarray, str]:
    """The values to forecast, and how they are written."""
    column = without_dictionary(column)
    kind = column.type
    if not (
        is_numeric_type(kind)
        or pa.types.is_boolean(kind)
        or is_text(kind)
        or pa.types.is_null(kind)
    ):
        raise TableError(f"Column {name!r} must hold numbers, not {kind}.")
    return _numbers_of_column(column, name)


def _numbers_of_column(column, name) -> tuple[np.ndarray, str]:
    """A column as floats, and how its numbers are written, "" if as numbers are.

    Of texts the form is found as `compare` finds it: 1.234,5 or $1,234, with at most a
    few words that count as missing.
    """
    column = without_dictionary(column)
    if not is_text(column.type):
        return column_as_floats(column, name), ""
    texts = pc.utf8_trim_whitespace(column.cast(pa.string()))
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    known_texts = texts.drop_null()
    form = find_number(known_texts.combine_chunks()) if len(known_texts) else None
    if form is None:
        return column_as_floats(texts, name), ""
    values = column_as_floats(texts, name, form.form, form.missing)
    return values, "" if form.why == "numbers" else form.why


def _series_codes(table, series) -> tuple[np.ndarray, dict]:
    """The series of each row, in order of appearance, and the keys of the series."""
    if not series:
        return np.zeros(table.num_rows, np.int64), {"series": np.zeros(1, np.int64)}
    code = np.zeros(table.num_rows, np.int64)
    for name in series:
        column = without_dictionary(table[name])
        if column.null_count:
            raise TableError(f"Column {name!r} names the series and must not be empty.")
        _, part = np.unique(np.asarray(column.to_pylist()), return_inverse=True)
        code = code * (part.max(initial=0) + 1) + part.ravel()
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    rows = first[order]
    keys = {
        name: np.asarray(
            without_dictionary(table[name]).take(pa.array(rows)).to_pylist()
        )
        for name in series
    }
    return rank[inverse.ravel()], keys


def stamp_text(stamp, has_dates) -> str:
    if not has_dates:
        return str(int(stamp))
    text = str(np.datetime64(int(stamp), "s"))
    return text.removesuffix("T00:00:00").replace("T", " ")


class GridRows:
    """Rows in order of series and grid point."""

    def __init__(self, codes, ordinals, y, X):
        self.codes = codes
        self.ordinals = ordinals
        self.y = y
        self.X = X

    def merged(
        self, merge, names, grid, time, off_grid=False
    ) -> tuple["GridRows", int]:
        """Rows with one row a grid point, and how many were merged."""
        is_repeated = (np.diff(self.codes) == 0) & (np.diff(self.ordinals) == 0)
        if not is_repeated.any():
            return self, 0
        if merge is None:
            places = np.flatnonzero(is_repeated)[:EXAMPLES]
            listed = "; ".join(
                stamp_text(stamp, grid.has_dates)
                + (f" of {names[self.codes[i]]}" if len(names) > 1 else "")
                for i, stamp in zip(places, grid.stamps(self.ordinals[places]))
            )
            is_one = bool(is_repeated.sum() == 1)
            if off_grid:
                verb = f"fall{'s' * is_one}"
                shared = f"{verb} on the same point of the grid ({grid.name}) as"
            else:
                verb = f"share{'s' * is_one} {'its' if is_one else 'their'}"
                shared = f"{verb} {time!r} with"
            raise TableError(
                f"{counted_noun(is_repeated.sum(), 'row')} {shared} another row of the "
                f"same series: {listed}. Name the columns that tell the series apart, "
                "or merge them with merge='sum' or merge='mean' (--merge)."
            )
        group = np.r_[0, np.cumsum(~is_repeated)]
        begins = np.r_[0, np.flatnonzero(~is_repeated) + 1]
        n_known = np.bincount(group, ~np.isnan(self.y))
        total = np.bincount(group, np.nan_to_num(self.y))
        y = np.where(n_known > 0, total, np.nan)
        if merge == "mean":
            y = y / np.maximum(n_known, 1)
        X = None if self.X is None else self.X[begins]
        rows = GridRows(self.codes[begins], self.ordinals[begins], y, X)
        return rows, len(self.y) - len(y)

    def panel(self, cls, names, keys, grid, known_names, findings) -> Panel:
        """The rows on their grid."""
        S = len(names)
        first = np.searchsorted(self.codes, np.arange(S))
        last = np.searchsorted(self.codes, np.arange(S), side="right") - 1
        start = self.ordinals[first]
        spans = self.ordinals[last] - start + 1
        if spans.sum() > 1000 * max(len(self.y), 1000):
            raise TableError(
                f"the grid ({grid.name}) would have {spans.sum():,} points for "
                f"{len(self.y):,} rows: are the dates right?"
            )
        offsets = np.r_[0, np.cumsum(spans)]
        place = offsets[self.codes] + self.ordinals - start[self.codes]
        values = np.full(offsets[-1], np.nan)
        values[place] = self.y
        has_row = np.zeros(offsets[-1], dtype=bool)
        has_row[place] = True
        lengths = last_value_lengths(values, offsets)
        rows = ragged_range(offsets[:-1], lengths)
        known = None
        tail = spans - lengths
        if self.X is not None:
            X = np.full((offsets[-1], self.X.shape[1]), np.nan)
            X[place] = self.X
            _refuse_missing_known(X, has_row, known_names)
            known = Ragged(X, offsets)
            findings = findings._replace(known_filled=int((~has_row).sum()))
        inside = np.zeros(offsets[-1], dtype=bool)
        inside[rows] = True
        gaps = np.bincount(np.repeat(np.arange(S), spans), inside & ~has_row, S)
        ends = start + lengths
        findings = findings._replace(
            gaps=int(gaps.sum()),
            series_with_gaps=int((gaps > 0).sum()),
            missing_values=int((np.isnan(values) & inside & has_row).sum()),
            future_rows=int(tail.sum()) if known is not None else 0,
            cut_rows=int((has_row & ~inside).sum()) if known is None else 0,
            uneven_ends=int((ends < ends.max()).sum()),
            short=int((lengths < SHORT).sum()),
        )
        series = Ragged(values[rows], np.r_[0, np.cumsum(lengths)])
        if known is not None and np.isnan(known.values).any():
            known = Ragged(_forward_filled(known), offsets)
        return cls(series, start, grid, keys, known, known_names, findings)


def last_value_lengths(values, offsets) -> np.ndarray:
    """The length of each series up to its last value; all of it if it has none."""
    place = np.where(np.isnan(values), -1, np.arange(len(values)))
    last = np.maximum.reduceat(place, offsets[:-1])
    lengths = np.diff(offsets)
    return np.where(last >= 0, last - offsets[:-1] + 1, lengths)


def _refuse_missing_known(X, has_row, names):
    gone = np.isnan(X) & has_row[:, None]
    if gone.any():
        column = int(np.argmax(gone.any(axis=0)))
        raise TableError(
            f"Known column {names[column]!r} has {int(gone[:, column].sum())} empty or "
            "infinite entries: fill them, or do not name it."
        )


def _forward_filled(known) -> np.ndarray:
    """Covariates with the value before where a grid point has no row."""
    X = known.values.copy()
    begins = np.repeat(known.offsets[:-1], known.lengths)
    is_known = ~np.isnan(X[:, 0])
    place = np.maximum.accumulate(np.where(is_known, np.arange(len(X)), -1))
    return X[np.maximum(place, begins)]

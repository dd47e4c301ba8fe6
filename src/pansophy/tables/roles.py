"""Infers the role of each input column, with the reason.

Used: *number*; *category* (levels without order); *ordinal* (levels with one); *date*
(seconds since 1970); *angle* (a cyclic number: bearings, hours of the day, months);
*text*. Left out: *id* (a name for each row), *constant*, *other* (lists, bytes). A user
may also set *ignore*; *group* and *weight* are given by name.
"""

import math
import re
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import column_values, number_formats
from .column_values import TableError
from .ordinal_levels import order_of

USED = ("number", "category", "ordinal", "date", "text", "angle")
WORD = re.compile(r"\b[^\W\d_]{3,}\b")
UNUSED = ("id", "constant", "other", "ignore", "group", "weight")
ID_NAME = re.compile(
    r"(^|[_\s.-])(id|uuid|guid|index|key)$|[a-z](Id|ID)$", re.IGNORECASE
)
THING = re.compile(
    r"(^|[_\s.-])(id|uuid|guid|zip|zip[_\s-]?code|post(al)?[_\s-]?code|plz)$|[a-z](Id|ID)$",
    re.IGNORECASE,
)
RATING = re.compile(r"rating|stars|likert|satisfaction|quality|grade", re.IGNORECASE)
DAY_NAME = re.compile(r"(^|[_\s.-])(date|day|ymd|yyyymmdd)($|[_\s.-])", re.IGNORECASE)
MOMENT = re.compile(
    r"(^|[_\s.-])(date|time|datetime|timestamp|epoch|unix|ts|at)($|[_\s.-])",
    re.IGNORECASE,
)
CLOCKED = re.compile(  # what counts time rather than rows
    r"(^|[_\s.-])(year|yr|time|t|quarter|month|week|day|date|hour|minute|second|period)s?"
    r"($|[_\s.-])",
    re.IGNORECASE,
)
ANGLE_NAME = re.compile(
    r"(^|[_\s.-])(angle|bearing|heading|azimuth|wind[_\s-]?dir(ection)?|wdir|direction)"
    r"($|[_\s.-])",
    re.IGNORECASE,
)
CYCLES = [  # last words of a name, first and last value, period
    (r"hour|hr|hour[_\s]?of[_\s]?day", 0, 24, 24.0),
    (r"month|mnth|month[_\s]?of[_\s]?year", 1, 12, 12.0),
    (r"weekday|dow|day[_\s]?of[_\s]?(the[_\s]?)?week", 0, 7, 7.0),
    (r"doy|yday|day[_\s]?of[_\s]?(the[_\s]?)?year", 1, 366, 365.25),
    (r"minute", 0, 60, 60.0),
]
DAY = 86400.0
SINCE = {"epoch": "seconds since 1970", "epoch ms": "milliseconds since 1970"}


class Column(NamedTuple):
    """Role of one input column, the reason, and how to read its values."""

    name: str
    role: str
    why: str
    levels: tuple[str, ...] = ()  # of a category; of an ordinal, in order
    period: float = 0.0  # of an angle
    form: str = ""  # of numbers or dates written as text; see `number_formats`
    missing: tuple[str, ...] = ()  # words that count as missing
    boolean: bool = False  # a number whose values were true or false


def column_format(c) -> str:
    """The form by which texts of a column are parsed; dates are ISO by default."""
    if c.form or c.role not in ("date", "angle"):
        return c.form
    if c.role == "date":
        return "ISO"
    return "clock" if c.period == DAY else ""


def find_role(column, name) -> Column:
    """Infer the role of one input column."""
    kind = column.type
    t = pa.types
    value = kind.value_type if t.is_dictionary(kind) else kind
    if t.is_nested(value) or t.is_binary(value) or t.is_large_binary(value):
        return Column(name, "other", f"values of type {kind}")
    present = column.drop_null()
    if t.is_floating(kind):
        present = present.filter(pc.is_finite(present))
    if len(present) == 0:
        return Column(name, "constant", "all values are missing")
    if t.is_dictionary(kind) and kind.ordered:
        return Column(name, "ordinal", "an ordered category", ordered_levels(column))
    present = column_values.without_dictionary(present)
    if column_values.is_text(kind):
        return _text_role(
            column_values.column_as_texts(present, name), len(column), name
        )
    if t.is_dictionary(kind):
        levels = _sorted_levels(column_values.column_as_texts(present, name))
        return Column(name, "category", f"{len(levels)} levels", levels)
    if t.is_floating(kind) and _has_fractions(present):
        return _fraction_role(present, name)
    distinct = pc.unique(present)
    if len(distinct) == 1 and len(present) == len(column):
        return Column(name, "constant", "one value throughout")
    if column_values.is_date(kind):
        return Column(name, "date", "dates")
    if t.is_time(kind):
        return Column(name, "angle", "times of the day", period=DAY)
    if t.is_boolean(kind):
        return Column(name, "number", "true or false", boolean=True)
    if t.is_duration(kind):
        return Column(name, "number", "lengths of time, in seconds")
    if not column_values.is_numeric_type(kind):
        return Column(name, "other", f"values of type {kind}")
    return _number_role(present, distinct, len(column), name)


def _has_fractions(present) -> bool:
    """Whether a column varies and has values that are not whole numbers."""
    for part in (present[:1000], present):
        x = np.asarray(part.to_numpy(), dtype=float)
        if np.any(x != np.floor(x)):
            return len(pc.unique(present[:1000])) > 1
    return False


def _fraction_role(present, name) -> Column:
    """Role of a column of numbers with fractions."""
    ends = pc.min_max(present)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if epoch := MOMENT.search(name) and number_formats.epoch_of(low, high):
        return Column(name, "date", SINCE[epoch], form=epoch)
    cycle = _period_of(name, low, high, False, 100)
    if cycle:
        return Column(name, "angle", f"comes back after {cycle:.6g}", period=cycle)
    return Column(name, "number", "numbers")


def ordered_levels(column) -> tuple[str, ...]:
    chunk = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return tuple(str(v) for v in chunk.dictionary.to_pylist())


def _number_role(present, found, n, name) -> Column:
    """Role of a column of whole numbers, from its values and distinct values."""
    distinct = np.asarray(found.cast(pa.float64(), safe=False).to_numpy())
    low = distinct.min()
    high = distinct.max()
    is_whole = np.all(distinct == np.floor(distinct))
    if is_whole and n > 20 and len(found) == n:
        steps = np.diff(np.asarray(present.to_numpy(), dtype=float))
        rows = np.all(steps == 1) and not CLOCKED.search(name)
        if ID_NAME.search(name) or rows:
            return Column(name, "id", "a different whole number in every row")
    if is_whole and THING.search(name) and len(found) < n / 2:
        levels = _sorted_levels(
            column_values.column_as_texts(pa.chunked_array([found]), name)
        )
        return Column(name, "category", f"{len(levels)} codes that name things", levels)
    if is_whole and DAY_NAME.search(name) and low >= 19000101 and high < 21000101:
        days = column_values.column_as_texts(pa.chunked_array([found]), name)
        if number_formats.all_match_date_format(days, "%Y%m%d"):
            return Column(name, "date", "dates as year, month, day", form="%Y%m%d")
    if epoch := MOMENT.search(name) and number_formats.epoch_of(low, high):
        return Column(name, "date", SINCE[epoch], form=epoch)
    cycle = _period_of(name, low, high, is_whole, len(found))
    if cycle:
        return Column(name, "angle", f"comes back after {cycle:.6g}", period=cycle)
    if (
        is_whole
        and RATING.search(name)
        and 2 < len(found) <= 10
        and low >= 0
        and high < 11
    ):
        levels = tuple(str(int(v)) for v in np.sort(distinct))
        return Column(
            name, "ordinal", f"a scale from {int(low)} to {int(high)}", levels
        )
    return Column(name, "number", "numbers")


def _period_of(name, low, high, whole, count) -> float:
    """The period of a cyclic column, by its name and range; 0 if it has none."""
    for words, first, last, period in CYCLES:
        if re.search(rf"(^|[_\s.-])({words})$", name, re.IGNORECASE):
            wide = high - low > 0.45 * (last - first) and count > 3
            return period if whole and first <= low and high <= last and wide else 0.0
    if ANGLE_NAME.search(name):
        circle = 2 * math.pi
        starts = ((0, circle), (-math.pi, circle), (0, 360.0), (-180, 360.0))
        for start, period in starts:
            if start <= low and high <= start + period * (1 + 1e-6):
                return period if high - low > period / 2 else 0.0
    return 0.0


def _text_role(present, n, name) -> Column:
    """Role of a column of texts (without nulls) in a table of n rows."""
    counts = pc.value_counts(present)
    distinct = counts.field("values")
    if len(distinct) == 1 and len(present) == n:
        return Column(name, "constant", "one value throughout")
    kept = pa.chunked_array([distinct])
    number = number_formats.find_number(kept)
    if number and not (number.form == "1.5" and _few_whole_numbers(kept)):
        return _read_as_number(present, number, n, name)
    date = number_formats.find_date(kept)
    if date:
        return Column(name, "date", date.why, form=date.form)
    clock = number_formats.find_clock(kept)
    if clock:
        return Column(name, "angle", clock.why, period=DAY, form=clock.form)
    spoken = np.mean([len(v.split()) for v in distinct[:1000].to_pylist()])
    if len(distinct) > 20 and len(distinct) > 0.5 * len(present):
        if spoken >= 3:
            return Column(name, "text", f"free text ({spoken:.0f} words a row)")
        if spoken >= 1.5 and _words_repeat(distinct):
            return Column(name, "text", "names whose words occur in many rows")
        return Column(name, "id", f"{len(distinct)} different values in {n} rows")
    if len(distinct) > 50 and spoken >= 5:
        return Column(name, "text", f"free text ({spoken:.0f} words a row)")
    levels = distinct.to_pylist()
    scale = order_of(levels, name)
    if scale:
        return Column(name, "ordinal", " < ".join(scale), tuple(scale))
    if {v.strip().lower() for v in levels} <= {"yes", "no", "y", "n"}:
        return Column(name, "category", "yes or no", tuple(sorted(levels)))
    return Column(name, "category", f"{len(levels)} levels", tuple(sorted(levels)))


def _few_whole_numbers(texts) -> bool:
    """Whether texts are a few distinct whole numbers, which are kept as categories."""
    digits = pc.all(pc.match_substring_regex(texts, r"^\s*\d+\s*$")).as_py()
    return digits and len(texts) <= 20


def _read_as_number(present, number, n, name) -> Column:
    """Role of a column of numbers written as text."""
    x = column_values.column_as_floats(present, name, number.form, number.missing)
    known = pa.chunked_array([pa.array(x[~np.isnan(x)])])
    role = _number_role(known, pc.unique(known), n, name)
    if role.role not in ("number", "angle"):
        if number.form == "1.5":
            return role
        role = Column(name, "number", "")
    return role._replace(why=number.why, form=number.form, missing=number.missing)


def _sorted_levels(column) -> tuple[str, ...]:
    """Levels sorted as numbers if they all are, else as texts."""
    levels = pc.unique(column.drop_null()).to_pylist()
    try:
        return tuple(sorted(levels, key=float))
    except ValueError:
        return tuple(sorted(levels))


def _words_repeat(distinct) -> bool:
    """Whether most of the different texts share words, such as the makes of cars."""
    texts = distinct[:5000].to_pylist()
    counts: dict[str, int] = {}
    rows = [set(WORD.findall(v.lower())) for v in texts]
    for words in rows:
        for w in words:
            counts[w] = counts.get(w, 0) + 1
    min_count = max(3, len(texts) // 50)
    shared = sum(any(counts[w] >= min_count for w in words) for words in rows)
    return shared >= len(texts) / 2


def as_role(column, name, role) -> Column:
    """A column in the role that the user asked for.

    A list of levels instead of a role makes an ordinal of them, in that order.
    """
    if isinstance(role, (list, tuple)):
        levels = tuple(str(v) for v in role)
        if len(levels) < 2 or len(set(levels)) < len(levels):
            raise TableError(f"Column {name!r} needs two or more different levels.")
        return Column(name, "ordinal", "as asked", levels)
    if role not in USED + UNUSED:
        listed = ", ".join(USED + ("id", "ignore"))
        raise TableError(f"{role!r} is not a role of column {name!r}: take {listed}.")
    result = find_role(column, name)
    if role == result.role or role in UNUSED:
        return result._replace(role=role, why="as asked")
    requested = Column(name, role, "as asked", boolean=result.boolean)
    if role in ("category", "ordinal"):
        levels = result.levels or _sorted_levels(
            column_values.column_as_texts(column, name)
        )
        if role == "ordinal":
            levels = tuple(order_of(list(levels), name) or levels)
        return requested._replace(levels=levels)
    if role == "text":
        column_values.column_as_texts(column, name)
        return requested
    return _numeric_format(column, requested, result)


def _numeric_format(column, requested, found) -> Column:
    """A column requested as number, date or angle, with its form and period."""
    requested = requested._replace(boolean=found.boolean and requested.role == "number")
    present = column_values.without_dictionary(column.drop_null())
    if column_values.is_text(column.type) and len(present):
        find = (
            number_formats.find_date
            if requested.role == "date"
            else number_formats.find_number
        )
        detected = find(column_values.column_as_texts(present, requested.name))
        if detected:
            requested = requested._replace(form=detected.form, missing=detected.missing)
    x = column_values.column_as_floats(
        column, requested.name, requested.form, requested.missing
    )
    if requested.role == "angle":
        width = np.nanmax(x) - np.nanmin(x) if np.isfinite(x).any() else 0.0
        period = found.period or (2 * math.pi if width <= 2 * math.pi else 360.0)
        requested = requested._replace(period=period)
    return requested

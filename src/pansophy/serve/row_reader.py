"""Reads the rows of a request into a frame; errors name the row and the column.

One row takes microseconds: no table is made on the way. The rules are those of the
OpenAPI document (`types`): numbers are numbers, levels are texts or numbers, dates are
ISO texts or texts as in the training table, null is missing; a column that was never
missing in training must be given; columns that the training table did not have are
refused. Levels that were not in training pass, and a note says so.
"""

import difflib
import math
import reprlib
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..compare.model.training_reference import never_missing
from ..tables import MixedFrame, TableError, single_row
from ..tables.column_values import HUGE
from ..tables.number_formats import EPOCHS
from ..tables.roles import column_format

MAX_PROBLEMS = 20  # problems named in one answer
MAX_NOTES = 50  # notes in one answer
MAX_WRITTEN = 100  # letters of a number or date that is written as text
MAX_HINTS = 3  # of them with a guess at what was meant
MAX_NAME = 100  # letters of a name that is guessed at
MAX_COMPARED = 200  # columns that a name is compared with
NAN = math.nan
ABSENT = object()


class RowProblem(NamedTuple):
    """Problem of one row; rows count from 1."""

    row: int
    column: str | None
    problem: str


class RowsRejected(ValueError):  # noqa: N818 - an answer, not a failure
    """Rows that do not fit the schema."""

    def __init__(self, problems):
        self.problems = problems[:MAX_PROBLEMS]
        first = self.problems[0]
        more = len(problems) - 1
        text = f"Row {first.row}: {first.problem}"
        word = "problem" if more == 1 else "problems"
        super().__init__(text + (f" ({more} more {word})" if more else ""))


class RequestRows(NamedTuple):
    """Rows that were read: values and texts of a frame, and notes."""

    values: list[list[Any]]
    texts: list[list]  # by text column
    notes: list[str]

    def frame(self) -> MixedFrame:
        texts = tuple(pa.array(t, pa.string()) for t in self.texts)
        return MixedFrame(np.array(self.values, dtype=np.float64), texts)


class InputColumn(NamedTuple):
    """Reader of one column."""

    column: Any
    read: Any  # value -> float (or text), raising ValueError with what it should be
    required: bool
    text: bool


class RowReader:
    """Reads rows for one model."""

    def __init__(self, model):
        schema = model.schema
        self.inputs = [
            InputColumn(
                c, value_reader(c), never_missing(model.reference, c), c.role == "text"
            )
            for c in schema.used
        ]
        self.fast = [(i.column.name, i.read, i.required, i.text) for i in self.inputs]
        self.names = [i.column.name for i in self.inputs]
        self.lower = {name.lower(): name for name in self.names}
        # columns of the training table that are not used, and the target, may be sent
        self.known = {c.name for c in schema.columns} | set(schema.targets)
        self.known |= {n for n in (schema.group, schema.time, schema.weight) if n}
        self.n_texts = sum(i.text for i in self.inputs)
        self.levels = {c.name for c in schema.used if c.role in ("category", "ordinal")}

    def read(self, items) -> RequestRows:
        """Rows of a frame; raises Rejected."""
        problems: list[RowProblem] = []
        notes: dict[str, None] = {}
        values = []
        texts = [[] for _ in range(self.n_texts)]
        for i, item in enumerate(items):
            if type(item) is not dict:
                problems.append(RowProblem(i + 1, None, "a row must be a JSON object."))
            else:
                values.append(self._row(i, item, texts, notes, problems))
            if len(problems) > MAX_PROBLEMS:
                break
        if problems:
            raise RowsRejected(problems)
        return RequestRows(values, texts, list(notes))

    def _row(self, i, item, texts, notes, problems):
        out = []
        t = 0
        seen = 0
        for name, read, required, text in self.fast:
            value = item.get(name, ABSENT)
            if value is ABSENT:
                if required:
                    problems.append(RowProblem(i + 1, name, f"{name!r} is not given."))
                value = None
            else:
                seen += 1
                if value is None and required:
                    notes[f"{name!r} was never missing in training."] = None
            try:
                got = (None if text else NAN) if value is None else read(value)
            except ValueError as error:
                message = f"{name!r} should be {error}, got {short_value(value)}."
                problems.append(RowProblem(i + 1, name, message))
                got = None if text else NAN
            if text:
                texts[t].append(got)
                t += 1
            else:
                out.append(got)
                if got == -1.0 and name in self.levels and len(notes) < MAX_NOTES:
                    level = f"{short_value(value)} of {name!r}"
                    note = f"{level} was not in training; it counts as unknown."
                    notes[note] = None
        if seen < len(item):
            problems += self._unknown(i, item, len(problems))
        return out

    def _unknown(self, i, item, n_problems):
        """Problems for keys that are no column: few, and few of them with a hint."""
        unknown = (name for name in item if name not in self.known)
        for k, name in enumerate(islice(unknown, MAX_PROBLEMS + 1)):
            hint = self._hint(name) if n_problems + k < MAX_HINTS else "."
            text = f"there is no column {short_value(name)}{hint}"
            yield RowProblem(i + 1, name[:MAX_NAME], text)

    def _hint(self, name) -> str:
        """The column that was meant, as far as it can be found with little work."""
        if len(name) > MAX_NAME:
            return "."
        near = self.lower.get(name.lower())
        if near is None:
            some = self.names[:MAX_COMPARED]
            near = next(iter(difflib.get_close_matches(name, some, 1)), None)
        return "." if near is None else f"; did you mean {near!r}?"


def short_value(value) -> str:
    if type(value) is int and abs(value) >= 2**64:
        return "a very long number"
    if type(value) in (list, dict):
        return reprlib.repr(value)[:60]  # looks at a few of its values only
    text = repr(value[:60] if type(value) is str else value)
    return text if len(text) <= 60 else text[:57] + "..."


def value_reader(column):
    """value -> number (code, seconds) or text, by the role of a column.

    What JSON value is allowed is decided here, what it means by `tables.single_row`, as
    for any other table.
    """
    role = column.role
    if role == "text":
        return text_from_json
    if role in ("category", "ordinal"):
        return level_reader(column)
    if role == "date":
        return date_reader(column)
    form = column_format(column)
    if form:
        example = "a time such as 23:59:59" if form == "clock" else "a number"
        return written_reader(column, f"{example}, or written as in training")
    if column.boolean:
        return lambda v: float(v) if type(v) is bool else number_from_json(v)
    return number_from_json


def number_from_json(value) -> float:
    if type(value) is float or type(value) is int:
        try:
            number = float(value)
        except OverflowError:
            raise ValueError("a number that is not that large") from None
        if -HUGE <= number <= HUGE:
            return number
        if math.isfinite(number):
            raise ValueError("a number that is not that large")
        raise ValueError("a finite number (null if it is missing)")
    raise ValueError("a number")


def text_from_json(value) -> str:
    if type(value) is str:
        return value
    raise ValueError("a text")


def level_reader(column):
    place = single_row.level_positions(column.levels)

    def read(value):
        if type(value) is str:
            return float(place.get(value, -1))
        plain = type(value) is bool or (
            type(value) in (int, float) and -(2**63) <= value < 2**63
        )
        if plain:
            return float(single_row.level_code(value, column, place))
        raise ValueError("a level (text or number)")

    return read


def written_reader(column, what):
    """Numbers that the training table had as text: read as they were there."""

    def read(value):
        if type(value) is not str:
            return number_from_json(value)
        return as_in_training(column, value, what)

    return read


def date_reader(column):
    """Seconds since 1970, of a text as in the training table or in ISO form."""
    iso = column._replace(form="")
    plain = (int, float) if column.form in EPOCHS else (int,)

    def read(value):
        if type(value) in plain and column.form:
            return as_in_training(column, value, f"a date ({column.form})")
        if type(value) is not str:
            raise ValueError("a date as text")
        try:
            return as_in_training(column, value, "")
        except ValueError:
            return as_in_training(iso, value, "a date such as 2024-12-31")

    return read


def as_in_training(column, value, what) -> float:
    if type(value) is str and len(value) > MAX_WRITTEN:
        raise ValueError(what)
    try:
        return float(single_row.number_from_value(value, type(value), column))
    except TableError:
        raise ValueError(what) from None

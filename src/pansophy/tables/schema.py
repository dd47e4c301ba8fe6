"""What each column is for, and whether the target is a class or a number.

Roles: *number* and *category* are used; *constant*, *id*, *text* and *other* are left
out, each with the reason. A target of strings or booleans, or of a few whole numbers,
is a class; fractions are never turned into classes unless asked.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import values
from .frame import Frame
from .values import TableError

FEW = 10  # whole-number targets with at most this many values are classes
USED = ("number", "category")
ID_NAME = re.compile(
    r"(^|[_\s.-])(id|uuid|guid|index|key)$|[a-z](Id|ID)$", re.IGNORECASE
)


class Column(NamedTuple):
    """One input column: its role, why, and its levels if it is a category."""

    name: str
    role: str
    why: str
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Schema:
    """The inputs and the target of a table, enough to read new rows the same way."""

    target: str  # several labels: their names, separated by commas
    task: str  # "classification", "regression", "count" or "multilabel"
    why: str
    columns: tuple[Column, ...]
    classes: tuple = ()
    labels: tuple[str, ...] = ()  # the target columns of a multilabel task
    group: str | None = None  # rows of one group stay in one fold
    time: str | None = None  # folds are cut along this column
    weight: str | None = None  # how often each row counts

    @property
    def used(self) -> list[Column]:
        return [c for c in self.columns if c.role in USED]

    @property
    def targets(self) -> tuple[str, ...]:
        return self.labels or (self.target,)

    def frame(self, table) -> Frame:
        """The used columns: numbers and codes in one matrix, texts apart."""
        missing = [c.name for c in self.used if c.name not in table.column_names]
        if missing:
            names = ", ".join(repr(m) for m in missing)
            word = "column" if len(missing) == 1 else "columns"
            raise TableError(f"The table lacks the {word} {names}.")
        plain = [c for c in self.used if c.role != "text"]
        X = np.empty((table.num_rows, len(plain)))
        for j, c in enumerate(plain):
            column = table.column(c.name)
            if c.role == "number":
                X[:, j] = values.numbers(column, c.name)
            else:
                X[:, j] = values.codes(column, c.levels, c.name)
        return Frame(X)

    def goal(self, table) -> np.ndarray:
        """y: numbers, or positions in the classes; the column has no nulls."""
        column = table.column(self.target)
        if self.task != "classification":
            return values.numbers(column, self.target)
        place = {c: i for i, c in enumerate(self.classes)}
        return np.array([place[v] for v in column.to_pylist()], dtype=np.int64)

    def extra(self, table) -> list[str]:
        """Columns of a table that nothing here knows."""
        known = {c.name for c in self.columns} | set(self.targets)
        return [n for n in table.column_names if n not in known]


def infer(table, target, task="auto") -> Schema:
    """Read the roles of all columns off a table."""
    if target not in table.column_names:
        near = ", ".join(table.column_names[:12])
        raise TableError(f"There is no column {target!r}; the table has {near}.")
    goal = table.column(target)
    found, why = find_task(goal, target) if task == "auto" else (task, "as asked")
    columns = [find_role(table.column(n), n) for n in table.column_names if n != target]
    classes = ()
    if found == "classification":
        classes = tuple(sorted(pc.unique(goal.drop_null()).to_pylist()))
        if len(classes) < 2:
            raise TableError(
                f"Column {target!r} has one value; there is nothing to learn."
            )
        if len(classes) > max(FEW, table.num_rows / 2):
            raise TableError(
                f"Column {target!r} has {len(classes)} different values in "
                f"{table.num_rows} rows, too many to be classes."
            )
    elif not values.is_number(goal.type):
        raise TableError(f"Column {target!r} holds {goal.type}, not numbers.")
    schema = Schema(target, found, why, tuple(columns), classes)
    if not schema.used:
        raise TableError("No column besides the target can be used.")
    return schema


def find_task(column, name) -> tuple[str, str]:
    """Class or number, with the reason."""
    kind = column.type
    if values.is_text(kind) or pa.types.is_boolean(kind):
        return (
            "classification",
            f"{name} holds {'text' if values.is_text(kind) else 'yes/no'}",
        )
    if not values.is_number(kind):
        raise TableError(f"Column {name!r} of type {kind} cannot be a target.")
    found = pc.unique(column.drop_null())
    if pa.types.is_integer(kind) and len(found) <= FEW:
        return "classification", f"{name} has {len(found)} whole-number values"
    if pa.types.is_integer(kind):
        return "regression", f"{name} has {len(found)} different whole numbers"
    return "regression", f"{name} holds numbers with fractions"


def find_role(column, name) -> Column:
    """What one input column is for."""
    kind, t = column.type, pa.types
    if t.is_nested(kind) or t.is_binary(kind) or t.is_large_binary(kind):
        return Column(name, "other", f"values of type {kind}")
    present = column.drop_null()
    if len(present) == 0:
        return Column(name, "constant", "all values are missing")
    if values.is_text(kind):
        return text_role(values.texts(present, name), len(column), name)
    found = pc.unique(present)
    if len(found) == 1 and len(present) == len(column):
        return Column(name, "constant", "one value throughout")
    if t.is_integer(kind) and len(column) > 20 and len(found) == len(column):
        steps = np.diff(np.asarray(present.to_numpy()))
        if ID_NAME.search(name) or np.all(steps == 1):
            return Column(name, "id", "a different whole number in every row")
    if t.is_temporal(kind):
        return Column(name, "number", "a date, used as a point in time")
    return Column(name, "number", "true or false" if t.is_boolean(kind) else "numbers")


def text_role(present, n, name) -> Column:
    counts = pc.value_counts(present)
    levels = counts.field("values").to_pylist()
    if len(levels) == 1 and len(present) == n:
        return Column(name, "constant", "one value throughout")
    if len(levels) > 20 and len(levels) > 0.5 * len(present):
        words = np.mean([len(v.split()) for v in levels[:1000]])
        if words >= 3:
            return Column(name, "text", f"free text ({words:.0f} words a row)")
        return Column(name, "id", f"{len(levels)} different values in {n} rows")
    return Column(name, "category", f"{len(levels)} levels", tuple(sorted(levels)))

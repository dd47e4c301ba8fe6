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

from . import tables
from .tables import TableError

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

    target: str
    task: str  # "classification" or "regression"
    why: str
    columns: tuple[Column, ...]
    classes: tuple = ()

    @property
    def used(self) -> list[Column]:
        return [c for c in self.columns if c.role in USED]

    def matrix(self, table) -> np.ndarray:
        """The used columns as one float matrix; categories as codes of levels."""
        missing = [c.name for c in self.used if c.name not in table.column_names]
        if missing:
            names = ", ".join(repr(m) for m in missing)
            word = "column" if len(missing) == 1 else "columns"
            raise TableError(f"The table lacks the {word} {names}.")
        X = np.empty((table.num_rows, len(self.used)))
        for j, c in enumerate(self.used):
            column = table.column(c.name)
            if c.role == "number":
                X[:, j] = tables.numbers(column, c.name)
            else:
                X[:, j] = tables.codes(column, c.levels, c.name)
        return X

    def extra(self, table) -> list[str]:
        """Columns of a table that nothing here knows."""
        known = {c.name for c in self.columns} | {self.target}
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
    elif not tables.is_number(goal.type):
        raise TableError(f"Column {target!r} holds {goal.type}, not numbers.")
    schema = Schema(target, found, why, tuple(columns), classes)
    if not schema.used:
        raise TableError("No column besides the target can be used.")
    return schema


def find_task(column, name) -> tuple[str, str]:
    """Class or number, with the reason."""
    kind = column.type
    if tables.is_text(kind) or pa.types.is_boolean(kind):
        return (
            "classification",
            f"{name} holds {'text' if tables.is_text(kind) else 'yes/no'}",
        )
    if not tables.is_number(kind):
        raise TableError(f"Column {name!r} of type {kind} cannot be a target.")
    values = pc.unique(column.drop_null())
    if pa.types.is_integer(kind) and len(values) <= FEW:
        return "classification", f"{name} has {len(values)} whole-number values"
    if pa.types.is_integer(kind):
        return "regression", f"{name} has {len(values)} different whole numbers"
    return "regression", f"{name} holds numbers with fractions"


def find_role(column, name) -> Column:
    """What one input column is for."""
    kind, t = column.type, pa.types
    if t.is_nested(kind) or t.is_binary(kind) or t.is_large_binary(kind):
        return Column(name, "other", f"values of type {kind}")
    present = column.drop_null()
    if len(present) == 0:
        return Column(name, "constant", "all values are missing")
    if tables.is_text(kind):
        return text_role(tables.texts(present, name), len(column), name)
    values = pc.unique(present)
    if len(values) == 1 and len(present) == len(column):
        return Column(name, "constant", "one value throughout")
    if t.is_integer(kind) and len(column) > 20 and len(values) == len(column):
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


def target_values(column, schema) -> np.ndarray:
    """y as numbers, or as positions in the classes; the column has no nulls."""
    if schema.task == "regression":
        return tables.numbers(column, schema.target)
    place = {c: i for i, c in enumerate(schema.classes)}
    return np.array([place[v] for v in column.to_pylist()], dtype=np.int64)


def alarms(X, y, schema) -> list[str]:
    """Signs of a leak: repeated rows, columns that copy the target."""
    notes = []
    whole = np.ascontiguousarray(np.nan_to_num(np.column_stack([X, y]), nan=-9e99))
    distinct = len(np.unique(whole.view(f"V{whole.strides[0]}")))
    if distinct < len(X):
        notes.append(
            f"{len(X) - distinct} rows repeat another row; copies in both the training "
            "and the test part of a fold make scores look better than they are."
        )
    for j, c in enumerate(schema.used):
        seen = ~np.isnan(X[:, j])
        x, goal = X[seen, j], y[seen]
        if len(x) < 20 or np.ptp(x) == 0 or np.ptp(goal) == 0:
            continue
        if c.role == "number":
            copies = abs(np.corrcoef(x, goal)[0, 1]) > 0.9999
        else:
            pairs = len(np.unique(np.column_stack([x, goal]), axis=0))
            copies = pairs == len(np.unique(x)) == len(np.unique(goal))
        if copies:
            notes.append(
                f"{c.name!r} looks like a copy of the target {schema.target!r}."
            )
    return notes

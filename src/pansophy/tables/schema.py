"""Schema: the inputs and the target of a table, enough to read new rows the same way.

`infer_schema` reads a `Schema` off a table (roles of columns by `roles`, the task by
`targets`), the user may change it, in Python or in a file (`schema_file`), and from
then on the schema alone decides how a table becomes a `Frame` and an answer y.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from . import column_values, targets
from .column_values import TableError
from .mixed_frame import MixedFrame
from .roles import USED, Column, as_role, column_format, find_role
from .single_row import short_frame
from .targets import require_columns, unknown_column_message

SHORT = 32  # rows that are read one by one
BLOCK = 4096


@dataclass(frozen=True)
class Schema:
    """Roles of all columns, the task, and what groups, orders and weighs the rows."""

    target: str  # several labels: their names, separated by commas; "" without one
    task: str  # "classification", "regression", "count", "multilabel", "unsupervised"
    why: str
    columns: tuple[Column, ...]
    classes: tuple = ()
    labels: tuple[str, ...] = ()  # of a multilabel task
    group: str | None = None  # rows of one group stay in one fold
    time: str | None = None  # folds are cut along this column
    weight: str | None = None  # how often each row counts
    form: str = ""  # of a target written as text, or of labels listed in one column

    @property
    def used(self) -> list[Column]:
        return [c for c in self.columns if c.role in USED]

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns that hold the target."""
        if self.task == "multilabel" and not self.form:
            return self.labels
        return (self.target,) if self.target else ()

    def __getitem__(self, name) -> Column:
        for c in self.columns:
            if c.name == name:
                return c
        raise TableError(unknown_column_message(name, [c.name for c in self.columns]))

    def frame(self, table) -> MixedFrame:
        """The used columns: numbers and codes in one matrix, texts apart."""
        used = self.used
        names = set(table.column_names)
        missing = [c.name for c in used if c.name not in names]
        if missing:
            listed = ", ".join(repr(m) for m in missing)
            word = "column" if len(missing) == 1 else "columns"
            raise TableError(f"The table lacks the {word} {listed}.")
        if table.num_rows <= SHORT:
            return short_frame(used, {
                c.name: table.column(c.name).to_pylist() for c in used
            })  # fmt: skip
        plain = [c for c in used if c.role != "text"]
        found = [read_column(table.column(c.name), c) for c in plain]
        texts = [
            column_values.column_as_texts(table.column(c.name), c.name)
            for c in used
            if c.role == "text"
        ]
        return MixedFrame(
            side_by_side(found, table.num_rows), tuple(map(one_array, texts))
        )

    def rows(self, records) -> MixedFrame:
        """A frame of dicts of values by column name; a value left out is missing.

        For a few rows at a time, such as a request to a server.
        """
        used = self.used
        return short_frame(
            used, {c.name: [r.get(c.name) for r in records] for c in used}
        )

    def goal(self, table) -> np.ndarray:
        """y: numbers, positions in the classes, or (n, L) of 0 and 1 for labels."""
        if not self.targets:
            raise TableError("The schema has no target.")
        require_columns(table, self.targets)
        if self.task == "multilabel" and self.form:
            column = table.column(self.target)
            return targets.label_matrix(column, self.target, self.labels, self.form)
        if self.task == "multilabel":
            found = [
                column_values.column_as_booleans(table.column(n), n)
                for n in self.labels
            ]
            return np.column_stack(found)
        column = table.column(self.target)
        if self.task == "classification":
            return targets.target_class_codes(column, self.target, self.classes)
        y = column_values.column_as_floats(column, self.target, self.form)
        if self.task == "count":
            targets.check_counts(y[~np.isnan(y)], self.target)
        return y

    def weights(self, table) -> np.ndarray | None:
        """The weight of each row, or None; a piece of a table may have none above 0."""
        if self.weight is None:
            return None
        w = self._numbers(table, self.weight, "weights")
        if w.min() < 0:
            raise TableError(
                f"Weight {self.weight!r} has a negative value {w.min():g}."
            )
        return w

    def groups(self, table) -> np.ndarray | None:
        """The group of each row as a code, in order of appearance, or None."""
        if self.group is None:
            return None
        require_columns(table, [self.group])
        column = table.column(self.group)
        if column.null_count:
            raise TableError(
                f"Group {self.group!r} is missing in {column.null_count} rows."
            )
        found = (
            column_values.column_as_texts(column, self.group)
            .dictionary_encode()
            .combine_chunks()
        )
        if len(found.dictionary) < 2:
            raise TableError(f"Group {self.group!r} has one value.")
        return np.asarray(found.indices.to_numpy(), dtype=np.int64)

    def times(self, table) -> np.ndarray | None:
        """When each row was: seconds since 1970, or the number it has; or None."""
        if self.time is None:
            return None
        return self._numbers(table, self.time, "times")

    def _numbers(self, table, name, what) -> np.ndarray:
        require_columns(table, [name])
        known = {c.name: c for c in self.columns}.get(name)
        if known is not None and known.role == "ordinal":
            return read_column(table.column(name), known)
        form, missing = (column_format(known), known.missing) if known else ("", ())
        x = column_values.column_as_floats(table.column(name), name, form, missing)
        lost = int(np.isnan(x).sum())
        if lost:
            rows = "row" if lost == 1 else "rows"
            raise TableError(
                f"Column {name!r} of {what} is missing or infinite in {lost} {rows}."
            )
        return x

    def extra(self, table) -> list[str]:
        """Columns of a table that nothing here knows."""
        known = {c.name for c in self.columns} | set(self.targets)
        return [n for n in table.column_names if n not in known]

    def with_roles(self, table, roles) -> "Schema":
        """The schema with other roles of some columns, read off a table."""
        for name in roles:
            self[name]
        changed = tuple(
            as_role(table.column(c.name), c.name, roles[c.name])
            if c.name in roles else c
            for c in self.columns
        )  # fmt: skip
        return replace(self, columns=changed)

    def write(self, path) -> None:
        """Write the schema as a TOML file that a person can edit."""
        from .schema_file import write_schema

        write_schema(self, path)

    @staticmethod
    def read(path, table=None) -> "Schema":
        """The schema of a file that `write` wrote and somebody may have edited.

        What an edited role needs and the file does not say (levels of a category) is
        read off the table, if one is given.
        """
        from .schema_file import read_schema

        return read_schema(path, table)


def read_column(column, c) -> np.ndarray:
    """One column of a frame."""
    if c.role in ("category", "ordinal"):
        return column_values.level_codes(column, c.levels, c.name)
    return column_values.column_as_floats(column, c.name, column_format(c), c.missing)


def side_by_side(columns, n) -> np.ndarray:
    """Columns as a matrix, written block by block so that it stays in the cache."""
    X = np.empty((n, len(columns)))
    for i in range(0, n, BLOCK):
        part = X[i : i + BLOCK]
        for j, x in enumerate(columns):
            part[:, j] = x[i : i + BLOCK]
    return X


def one_array(column):
    """Texts in one array, as frames are sliced by rows."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column


def infer_schema(
    table, target=None, task="auto", *, group=None, time=None, weight=None, ignore=(),
    roles=None,
) -> Schema:  # fmt: skip
    """Read the roles of all columns off a table.

    Parameters
    ----------
    table : Arrow table
        See `read_table`.
    target : str, list of str or None
        What is to be predicted; several columns of yes and no are labels.
    task : {"auto", "classification", "regression", "count", "multilabel"}
        Read off the target by default; see `detect_task`.
    group, time, weight : str or None
        Columns that keep rows together, order them, and weigh them.
    ignore : list of str
        Columns to leave out.
    roles : dict of str to str or list
        Roles of columns for which the found one is wrong; a list of levels makes an
        ordinal with that order.
    """
    target, group, time, weight = map(targets.text_name, (target, group, time, weight))
    ignore = targets.as_name_list(ignore)
    asked = targets.as_name_list(target)
    roles = {targets.text_name(n): r for n, r in (roles or {}).items()}
    kept = {"group": group, "weight": weight}
    named = [n for n in (group, time, weight) if n is not None]
    check_size(table, target)
    require_columns(table, [*asked, *named, *ignore, *roles])
    for name in [*named, *ignore, *roles]:
        if name in asked:
            raise TableError(f"Column {name!r} is the target and cannot be more.")
    found = targets.find_target(table, target, task)
    roles = {
        **roles,
        **dict.fromkeys(ignore, "ignore"),
        **{n: role for role, n in kept.items() if n is not None},
    }
    columns = tuple(
        as_role(table.column(n), n, roles[n]) if n in roles
        else find_role(table.column(n), n)
        for n in table.column_names if n not in asked
    )  # fmt: skip
    name = target if isinstance(target, str) else ", ".join(asked)
    schema = Schema(
        name, found.task, found.why, columns, found.classes, found.labels,
        group, time, weight, found.form,
    )  # fmt: skip
    check_use(schema)
    some_weight(schema, table), schema.groups(table), schema.times(table)
    return schema


def some_weight(schema, table) -> np.ndarray | None:
    """The weights of a whole table, which cannot all be 0."""
    w = schema.weights(table)
    if w is not None and not w.any():
        raise TableError(f"Weight {schema.weight!r} is 0 in every row.")
    return w


def check_size(table, target):
    """A table from which something can be learned has two columns and two rows."""
    if target is None:
        return
    if table.num_columns == 1:
        name = table.column_names[0]
        hint = ""
        for mark in (",", ";", "\t", "|", ":", " "):
            if mark in name.strip():
                hint = f"; are its columns separated by {mark!r}?"
                break
        raise TableError(f"The table has one column, {name!r}{hint or '.'}")
    if table.num_rows == 1:
        raise TableError("The table has one row; there is nothing to learn.")


def check_use(schema):
    """What predicts needs a column to predict from."""
    if schema.used or not schema.target:
        return
    whys = [f"{c.name!r}: {c.role}, {c.why}" for c in schema.columns[:4]]
    said = "; ".join(whys) + ("; ..." if len(schema.columns) > 4 else "")
    raise TableError(f"No column besides the target can be used ({said}).")

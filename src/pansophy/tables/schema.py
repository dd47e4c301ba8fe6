"""Schema: the inputs and the target of a table, enough to read new rows the same way.

`infer_schema` infers a `Schema` from a table (roles of columns by `roles`, the task by
`targets`); the user may change it, in Python or in a file (`schema_file`). The schema
alone then decides how a table becomes a `MixedFrame` and a target y.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ..core.suggestions import unknown_column_message
from . import column_values, targets
from .column_values import TableError
from .mixed_frame import MixedFrame
from .roles import USED, Column, as_role, column_format, find_role
from .single_row import frame_from_values
from .targets import require_columns

SHORT = 32  # rows that are read one by one
BLOCK = 4096


@dataclass(frozen=True)
class Schema:
    """Roles of all columns, the task, and the group, time and weight columns."""

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
    ordered: bool = False  # whether the classes are in order

    @property
    def used(self) -> list[Column]:
        return [c for c in self.columns if c.role in USED]

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the columns that hold the target."""
        if self.task == "multilabel" and not self.form:
            return self.labels
        return (self.target,) if self.target else ()

    def __getitem__(self, name) -> Column:
        for c in self.columns:
            if c.name == name:
                return c
        raise TableError(unknown_column_message(name, [c.name for c in self.columns]))

    def frame(self, table) -> MixedFrame:
        """The used columns as a MixedFrame: numbers and codes, and texts."""
        used = self.used
        names = set(table.column_names)
        missing = [c.name for c in used if c.name not in names]
        if missing:
            listed = ", ".join(repr(m) for m in missing)
            word = "column" if len(missing) == 1 else "columns"
            raise TableError(f"The table lacks the {word} {listed}.")
        if table.num_rows <= SHORT:
            values = {c.name: table.column(c.name).to_pylist() for c in used}
            return frame_from_values(used, values)
        plain = [c for c in used if c.role != "text"]
        results = [read_column(table.column(c.name), c) for c in plain]
        texts = [
            column_values.column_as_texts(table.column(c.name), c.name)
            for c in used
            if c.role == "text"
        ]
        return MixedFrame(
            _columns_to_matrix(results, table.num_rows),
            tuple(map(combined_chunks, texts)),
        )

    def rows(self, records) -> MixedFrame:
        """A frame of dicts of values by column name; a value left out is missing.

        For a few rows at a time, such as a request to a server.
        """
        used = self.used
        return frame_from_values(
            used, {c.name: [r.get(c.name) for r in records] for c in used}
        )

    def target_values(self, table) -> np.ndarray:
        """The target y: numbers, class codes, or a 0/1 matrix (n, L) of labels."""
        if not self.targets:
            raise TableError("The schema has no target.")
        require_columns(table, self.targets)
        if self.task == "multilabel" and self.form:
            column = table.column(self.target)
            return targets.label_matrix(column, self.target, self.labels, self.form)
        if self.task == "multilabel":
            results = [
                column_values.column_as_booleans(table.column(n), n)
                for n in self.labels
            ]
            return np.column_stack(results)
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
        result = (
            column_values.column_as_texts(column, self.group)
            .dictionary_encode()
            .combine_chunks()
        )
        if len(result.dictionary) < 2:
            raise TableError(f"Group {self.group!r} has one value.")
        return np.asarray(result.indices.to_numpy(), dtype=np.int64)

    def times(self, table) -> np.ndarray | None:
        """The time of each row, in seconds since 1970 or as a number; or None."""
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
        """Names of columns of a table that are not in the schema."""
        known = {c.name for c in self.columns} | set(self.targets)
        return [n for n in table.column_names if n not in known]

    def with_roles(self, table, roles) -> "Schema":
        """The schema with other roles of some columns, read off a table."""
        for name in roles:
            self[name]
        changed = tuple(
            as_role(table.column(c.name), c.name, roles[c.name])
            if c.name in roles
            else c
            for c in self.columns
        )
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
    """Values of one column as floats or level codes."""
    if c.role in ("category", "ordinal"):
        return column_values.level_codes(column, c.levels, c.name)
    return column_values.column_as_floats(column, c.name, column_format(c), c.missing)


def _columns_to_matrix(columns, n) -> np.ndarray:
    """Columns as a matrix, copied in blocks of rows that stay in the cache."""
    X = np.empty((n, len(columns)))
    for i in range(0, n, BLOCK):
        part = X[i : i + BLOCK]
        for j, x in enumerate(columns):
            part[:, j] = x[i : i + BLOCK]
    return X


def combined_chunks(column):
    """A chunked column as one array, which is faster to slice."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column


def infer_schema(
    table,
    target=None,
    task="auto",
    *,
    group=None,
    time=None,
    weight=None,
    ignore=(),
    roles=None,
    positive=None,
) -> Schema:
    """Infer the schema of a table: roles of columns and task.

    Parameters
    ----------
    table : Arrow table, dataframe, path or dict of columns
        See `read_table`.
    target : str, list of str or None
        What is to be predicted; several columns of yes and no are labels.
    task : {"auto", "classification", "ordinal", "regression", "count", "multilabel"}
        Read off the target by default; see `detect_task`.
    group, time, weight : str or None
        Columns that keep rows together, order them, and weigh them.
    ignore : list of str
        Columns to leave out.
    roles : dict of str to str or list
        Roles of columns for which the found one is wrong; a list of levels makes an
        ordinal with that order.
    positive : str, number or None
        The positive one of two classes, which comes second in `classes`; by default 1
        or true or yes, and of other texts the rarer.
    """
    if not isinstance(table, pa.Table):
        from .read import read_table

        table = read_table(table)
    target, group, time, weight = map(targets.text_name, (target, group, time, weight))
    ignore = targets.as_name_list(ignore)
    target_names = targets.as_name_list(target)
    roles = {targets.text_name(n): r for n, r in (roles or {}).items()}
    kept = {"group": group, "weight": weight}
    row_columns = [n for n in (group, time, weight) if n is not None]
    check_size(table, target)
    require_columns(table, [*target_names, *row_columns, *ignore, *roles])
    for name in [*row_columns, *ignore, *roles]:
        if name in target_names:
            raise TableError(f"Column {name!r} is the target and cannot be more.")
    result = targets.find_target(table, target, task, positive)
    roles = {
        **roles,
        **dict.fromkeys(ignore, "ignore"),
        **{n: role for role, n in kept.items() if n is not None},
    }
    columns = tuple(
        as_role(table.column(n), n, roles[n])
        if n in roles
        else _time_role(table.column(n), n)
        if n == time
        else find_role(table.column(n), n)
        for n in table.column_names
        if n not in target_names
    )
    name = target if isinstance(target, str) else ", ".join(target_names)
    schema = Schema(
        name,
        result.task,
        result.why,
        columns,
        result.classes,
        result.labels,
        group=group,
        time=time,
        weight=weight,
        form=result.form,
        ordered=result.ordered,
    )
    check_use(schema)
    some_weight(schema, table)  # these three raise where a column cannot serve
    schema.groups(table)
    schema.times(table)
    return schema


def _time_role(column, name) -> Column:
    """Role of the column of times, which stays an input: it may number the rows."""
    result = find_role(column, name)
    if result.role == "id" and column_values.is_numeric_type(column.type):
        return as_role(column, name, "number")
    return result


def some_weight(schema, table) -> np.ndarray | None:
    """The weights of a whole table, which cannot all be 0."""
    w = schema.weights(table)
    if w is not None and not w.any():
        raise TableError(f"Weight {schema.weight!r} is 0 in every row.")
    return w


def check_size(table, target):
    """Raises TableError unless a table has two columns and two rows."""
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
    """Raises TableError if no column can be used as an input."""
    if schema.used or not schema.target:
        return
    whys = [f"{c.name!r}: {c.role}, {c.why}" for c in schema.columns[:4]]
    listed = "; ".join(whys) + ("; ..." if len(schema.columns) > 4 else "")
    raise TableError(f"No column besides the target can be used ({listed}).")

"""Reads and writes schemas as TOML files that people can edit.

    target = "quit"
    task = "classification"
    classes = ["no", "yes"]

    [columns."satisfaction"]
    role = "ordinal"
    why = "low < medium < high"
    levels = ["low", "medium", "high"]

Roles may be changed, levels reordered or dropped, a `period` given to an angle and a
`format` to dates and numbers written as text. What an edited role needs and the file
omits (the levels of a new category) is inferred from the table, if one is given.
"""

import difflib
import math
import tomllib
from pathlib import Path

from ..core.files.atomic_files import write_text_file
from . import number_formats, targets
from .column_values import TableError
from .roles import UNUSED, USED, Column, as_role
from .schema import Schema

HEAD = """\
# What each column of a table is for, as pansophy read it. Change it and give it back.
# Roles in use: number, category, ordinal (levels in their order), date, text,
# angle (with its period). Left out: id, constant, other, ignore, group, weight.
"""
COLUMN_KEYS = ("role", "why", "levels", "period", "format", "missing", "boolean")
KEYS = (
    "target", "task", "why", "classes", "ordered", "labels", "format", "group", "time",
    "weight", "columns",
)  # fmt: skip


def _toml_string(text) -> str:
    """A text as a TOML string."""
    named = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    escaped = (
        named.get(c) or (f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else c)
        for c in text
    )
    return '"' + "".join(escaped) + '"'


def _toml_value(value) -> str:
    """A value in TOML syntax."""
    if isinstance(value, str):
        return _toml_string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    if isinstance(value, float) and value == int(value) and abs(value) < 1e15:
        return f"{value:.1f}"
    return repr(value)


def write_schema(schema, path) -> None:
    """Writes a schema as a TOML file."""
    lines = [HEAD]
    for key in KEYS[:-1]:
        value = getattr(schema, "form" if key == "format" else key)
        is_set = value is not None if key in ("group", "time", "weight") else value
        if is_set not in (False, (), "") or key in ("target", "task"):
            lines.append(f"{key} = {_toml_value(value)}")
    for c in schema.columns:
        lines += [
            "",
            f"[columns.{_toml_string(c.name)}]",
            f"role = {_toml_string(c.role)}",
        ]
        if c.why:
            lines.append(f"why = {_toml_string(c.why)}")
        if c.levels:
            lines.append(f"levels = {_toml_value(c.levels)}")
        if c.period:
            lines.append(f"period = {_toml_value(float(c.period))}")
        if c.form:
            lines.append(f"format = {_toml_string(c.form)}")
        if c.missing:
            lines.append(f"missing = {_toml_value(c.missing)}")
        if c.boolean:
            lines.append("boolean = true")
    write_text_file(path, "\n".join(lines) + "\n")


def read_schema(path, table=None) -> Schema:
    """Reads a schema file; missing details are inferred from the table."""
    try:
        settings = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise TableError(f"There is no file {path}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise TableError(f"{path} is not a schema file: {error}") from error
    _check_keys(settings, KEYS, f"{path}")
    if not isinstance(settings.get("columns"), dict) or not settings["columns"]:
        raise TableError(f"{path} names no columns.")
    columns = tuple(
        _read_column_entry(name, entry, f"{path}, column {name!r}", table)
        for name, entry in settings["columns"].items()
    )
    return _schema_from_dict(settings, columns, path, table)


def _check_keys(settings, known, where):
    for key in settings:
        if key not in known:
            meant = difflib.get_close_matches(key, known, 1)
            hint = f"; did you mean {meant[0]!r}?" if meant else "."
            raise TableError(f"{where}: there is no setting {key!r}{hint}")


def _text_list(settings, key, where) -> tuple[str, ...]:
    value = settings.get(key, [])
    good = isinstance(value, list) and all(isinstance(v, str) for v in value)
    if not good or len(set(value)) < len(value):
        raise TableError(f"{where}: {key} must be a list of different texts.")
    return tuple(value)


def _read_column_entry(name, settings, where, table) -> Column:
    """Column from its entry in the file."""
    if not isinstance(settings, dict) or not isinstance(settings.get("role"), str):
        raise TableError(f"{where}: a role is missing.")
    _check_keys(settings, COLUMN_KEYS, where)
    role = settings["role"]
    if role not in USED + UNUSED:
        meant = difflib.get_close_matches(role, USED + UNUSED, 1)
        hint = f"; did you mean {meant[0]!r}?" if meant else "."
        raise TableError(f"{where}: {role!r} is not a role{hint}")
    period = settings.get("period", 0.0)
    form = settings.get("format", "")
    number = isinstance(period, (int, float)) and not isinstance(period, bool)
    if not number or not (math.isfinite(period) and period >= 0):
        raise TableError(f"{where}: period must be a number above 0.")
    if not isinstance(form, str) or not _is_known_format(form, role):
        raise TableError(
            f"{where}: format {form!r} is neither an example such as '1,234.5' nor a "
            "date format such as '%d/%m/%Y'."
        )
    boolean = settings.get("boolean", False)
    if not isinstance(boolean, bool):
        raise TableError(f"{where}: boolean must be true or false, got {boolean!r}.")
    c = Column(
        name,
        role,
        str(settings.get("why", "")),
        levels=_text_list(settings, "levels", where),
        period=float(period),
        form=form,
        missing=_text_list(settings, "missing", where),
        boolean=boolean and role == "number",  # the role may have been edited
    )
    lacks = role in ("category", "ordinal") and not c.levels
    lacks = lacks or (role == "angle" and not c.period)
    if table is not None and name in table.column_names and role in USED:
        if lacks or (role in ("number", "date", "angle") and not c.form):
            c = _fill_column_defaults(c, table)
    elif lacks:
        needs = "a period" if role == "angle" else "levels"
        raise TableError(f"{where}: {role} needs {needs}.")
    return c


def _fill_column_defaults(c, table) -> Column:
    """A column with details that the file omits inferred from the table."""
    result = as_role(table.column(c.name), c.name, c.role)
    return c._replace(
        levels=c.levels or result.levels,
        period=c.period or result.period,
        form=c.form or result.form,
        missing=c.missing or result.missing,
        boolean=c.boolean or result.boolean,
        why=c.why or result.why,
    )


def _is_known_format(form, role) -> bool:
    if not form or form == "clock" or number_formats.is_date_form(form):
        return True
    return number_formats.number_format_parts(form) is not None


def _schema_from_dict(settings, columns, path, table) -> Schema:
    """Schema from the settings of a file, checked against its columns."""
    names = {c.name: c for c in columns}
    for key in ("group", "time", "weight"):
        name = settings.get(key)
        if name is not None and name not in names:
            raise TableError(f"{path}: the {key} column {name!r} is not a column.")
    task = settings.get("task", "")
    target = settings.get("target", "")
    if task not in (*targets.TASKS, "unsupervised") or not isinstance(target, str):
        listed = ", ".join(targets.TASKS)
        raise TableError(f"{path}: task must be one of {listed}, got {task!r}.")
    ordered = settings.get("ordered", task == "ordinal")
    if not isinstance(ordered, bool):
        raise TableError(f"{path}: ordered must be true or false, got {ordered!r}.")
    task = "classification" if task == "ordinal" else task
    classes = settings.get("classes", [])
    labels = _text_list(settings, "labels", path)
    form = str(settings.get("format", ""))
    if task == "classification" and not classes and table is not None:
        targets.require_columns(table, [target])
        classes = targets.classes_of(table.column(target), target, table.num_rows)
    plain = all(isinstance(v, (str, int, float)) for v in classes)
    has_classes = len(set(classes)) == len(classes) >= 2 if plain else False
    if task == "classification" and not has_classes:
        raise TableError(f"{path}: classification needs a list of two or more classes.")
    if task == "multilabel" and len(labels) < 2:
        raise TableError(f"{path}: multilabel needs a list of two or more labels.")
    if target in names or (not form and set(labels) & set(names)):
        raise TableError(f"{path}: the target is among the columns.")
    schema = Schema(
        target,
        task,
        str(settings.get("why", "")),
        columns,
        tuple(classes),
        labels,
        group=settings.get("group"),
        time=settings.get("time"),
        weight=settings.get("weight"),
        form=form,
        ordered=ordered,
    )
    if not schema.used:
        raise TableError(f"{path}: no column is in use.")
    return schema

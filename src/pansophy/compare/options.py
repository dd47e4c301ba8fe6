"""What is asked of a comparison: checked before anything runs, and written down."""

import os
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from ..params import ParameterError
from ..tables import TableError
from ..tables.targets import names_of, near
from .evaluation.ranking import KEEP_RULES

TASKS = ("auto", "classification", "regression", "count", "multilabel")
LEAST = {
    "folds": 2,
    "repeats": 1,
    "max_rows": 10,
    "tune": 0,
    "gap": 0,
    "random_state": 0,
}
MAX_ROWS = 1_000_000  # rows beyond which a table is sampled
NOT_KEPT = ("folder", "resume", "workers", "cluster")


def check_settings(asked):
    """One sentence for what cannot be; `Running` checks its own."""
    folder = asked["folder"]
    for name, known in (("task", TASKS), ("keep", KEEP_RULES)):
        if asked[name] not in known:
            raise ParameterError(
                f"{name} must be one of {', '.join(known)}, got {asked[name]!r}."
            )
    for name, least in LEAST.items():
        value = asked[name]
        if value is None and name in ("repeats", "max_rows"):
            continue
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or value < least:
            raise ParameterError(
                f"{name} must be a whole number of at least {least}, got {value!r}."
            )
    for name in ("together", "blend", "calibrate", "resume"):
        if asked[name] is None and name == "blend":
            continue
        if not isinstance(asked[name], bool | np.bool_):
            raise ParameterError(f"{name} must be True or False, got {asked[name]!r}.")
    check_kinds(asked)
    if asked["resume"] and folder is None:
        raise ParameterError("resume needs the folder of the run to go on with.")
    if asked["workers"] == 0 and asked["memory_limit"] is not None:
        raise ParameterError(
            "memory_limit needs worker processes: workers must be at least 1."
        )


def check_kinds(asked):
    """Names, lists and dicts where they belong."""
    if asked["target"] is None or (asked["target"] == [] and asked["schema"] is None):
        raise ParameterError("target must name the column to predict.")
    for name in ("roles", "costs"):
        if not isinstance(asked[name], Mapping | None):
            raise ParameterError(f"{name} must be a dict, got {asked[name]!r}.")
    if not isinstance(asked["metric"], str | None):
        raise ParameterError(f"metric must be a name, got {asked['metric']!r}.")
    if isinstance(asked["methods"], str):
        raise ParameterError(
            f"methods must be a list of names, got the text {asked['methods']!r}."
        )


def check_questions(taken, asked):
    """That what is asked about is there: columns, classes, times, probabilities."""
    by, costs = asked["by"], asked["costs"]
    if asked["calibrate"] and taken.schema.task != "classification":
        raise ParameterError("calibrate is for the probabilities of classes.")
    if asked["gap"] and taken.schema.time is None:
        raise ParameterError("gap is for folds along time: name the column of times.")
    if by is not None and by not in taken.table.column_names:
        raise TableError(near(by, taken.table.column_names))
    if costs is None:
        return
    classes = {str(c) for c in taken.schema.classes}
    if len(classes) != 2 or set(map(str, costs)) != classes:
        raise ParameterError(
            "costs must give one number for each of two classes, which here are "
            f"{', '.join(sorted(classes)) or 'none'}."
        )
    for name, cost in costs.items():
        number = isinstance(cost, Real) and not isinstance(cost, bool)
        if not number or not 0 <= float(cost) < np.inf:
            raise ParameterError(
                f"costs of {name!r} must be a number of at least 0, got {cost!r}."
            )
    if not any(costs.values()):
        raise ParameterError("costs must not all be 0.")


def beyond(asked) -> dict:
    """What else was asked for that can change a score, and is not the default."""
    kept = {k: asked[k] for k in ("together", "gap", "blend", "calibrate", "roles")}
    kept |= {"ignore": names_of(asked["ignore"])}
    if isinstance(asked["schema"], str | os.PathLike):
        kept |= {"schema": named(asked["schema"])}
    if asked["keep"] != "simplest":
        kept |= {"keep": asked["keep"]}
    if asked["max_rows"] != MAX_ROWS:
        kept |= {"max_rows": asked["max_rows"]}
    return {k: v for k, v in kept.items() if v}


def named(table) -> str:
    """Of a file, its full name; of anything else, what it is."""
    if isinstance(table, str | os.PathLike):
        return str(Path(table).resolve())
    return f"a {type(table).__name__}"


def recorded(asked, table) -> dict:
    """The arguments, as far as they can be written down."""
    out: dict[str, Any] = {
        "source": named(table),
        "file": isinstance(table, str | os.PathLike),
    }
    for name, value in asked.items():
        if name in NOT_KEPT:
            continue
        if name == "methods" and isinstance(value, dict):
            out["own_methods"] = list(value)
            continue
        if name in ("schema", "test") and value is not None:
            value = named(value)
        out[name] = value.item() if isinstance(value, np.generic) else value
    return out

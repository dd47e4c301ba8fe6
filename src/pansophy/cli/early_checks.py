"""Wrong names on the command line, found before anything heavy is imported.

A mistyped option, method, metric or column is answered within a few tenths of a second:
options by their own rules, names against lists, columns against the first line of a
plain text table. What cannot be told so cheaply is left to the command itself.
"""

import csv
import json
from functools import cache
from importlib import resources
from pathlib import Path

from ..compare.metric_names import METRIC_NAMES, metric_name
from ..compare.options import Options
from ..core.suggestions import nearest_name, unknown_column_message

SEPARATORS = {".csv": ",;\t|", ".tsv": "\t", ".tab": "\t"}
HEADER_BYTES = 1 << 16
OWN_NAMES = {"blend", "row order"}  # that no list has, and no column needs to
CALIBRATED = "calibrated "


@cache
def method_names() -> list[str]:
    """Names of all methods of the comparison, of any task."""
    here = resources.files("pansophy.compare.methods")
    costs = json.loads(here.joinpath("costs.json").read_text("utf-8"))["methods"]
    return list(dict.fromkeys(key.partition("/")[2] for key in costs))


def check_compare_options(options, table) -> None:
    """One sentence about the first option of `compare` that cannot be."""
    Options.checked(**options)
    for name in (*(options["methods"] or ()), *(options["exclude"] or ())):
        check_method(name)
    if options["metric"] is not None:
        check_metric(options["metric"])
    if options["schema"] is None:
        named = [options[k] for k in ("group", "time", "weight", "by")]
        check_columns(table, [*options["target"], *filter(None, named)])


def check_method(name) -> None:
    plain = name.replace("_", " ").replace("-", " ").lower().removeprefix(CALIBRATED)
    known = {n.replace("-", " ").lower(): n for n in method_names()}
    if plain in known or plain in OWN_NAMES:
        return
    near = nearest_name(plain, known)
    hint = "`pansophy compare --help` lists them."
    if near is not None:
        hint = f"did you mean {known[near]!r}?"
    raise ValueError(f"There is no method {name!r}; {hint}")


def check_metric(name) -> None:
    plain = metric_name(name)
    if plain in METRIC_NAMES:
        return
    near = nearest_name(plain, METRIC_NAMES)
    hint = f"there are {', '.join(METRIC_NAMES)}."
    if near is not None:
        hint = f"did you mean {near!r}?"
    raise ValueError(f"There is no metric {name!r}; {hint}")


def check_columns(table, names) -> None:
    """One sentence about the first name that no column of a plain text table has.

    A comma may join the names of several columns.
    """
    columns = header_columns(table)
    for name in names:
        parts = {name, *(part.strip() for part in name.split(","))}
        if columns and not parts & {*columns, *OWN_NAMES}:
            raise ValueError(unknown_column_message(name, columns))


def header_columns(table) -> list[str]:
    """Names in the first line of a plain text table; none if that is not sure."""
    path = Path(table)
    separators = SEPARATORS.get(path.suffix.lower())
    if separators is None or not path.is_file():
        return []
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            text = file.read(HEADER_BYTES)
    except (OSError, UnicodeDecodeError):
        return []
    line, end, _ = text.partition("\n")
    line = line.rstrip("\r")
    if not end or line.count('"') % 2:
        return []
    by = max(separators, key=line.count)
    if not line.count(by):
        return []
    names = [name.strip() for name in next(csv.reader([line], delimiter=by))]
    return names if len(set(names)) == len(names) and all(names) else []


def check_model_file(path) -> None:
    """One sentence for a file that cannot be a model, by its first bytes.

    A model begins with the length of its head, which is shorter than the file.
    """
    with open(path, "rb") as file:
        head = file.read(8)
    length = int.from_bytes(head, "little")
    text = head.isascii() and b"\0" not in head
    if text and length > path.stat().st_size:
        but = ", but a table" if path.suffix.lower() in SEPARATORS else ""
        raise ValueError(f"{path} is not a model that pansophy has saved{but}.")

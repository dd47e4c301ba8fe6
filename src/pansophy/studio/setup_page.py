"""A table before anything runs: what each column was taken for, and what is asked.

Nothing is kept here: the choices of a visitor are the query of the page's address, and
the answers are made of the table each time, of which the last few are in memory.

Questions are asked where a wrong guess would change the answer: a column of numbers in
which a few values are words ("3a"), and whether rows belong together (several of one
person, shop or machine, or one after the other in time), which decides what the methods
are tested on.
"""

import re
from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from ..tables import TableError

MOST_TABLES = 3  # in memory
SAMPLE_ROWS = 100_000  # of a larger table that are looked at
SHOWN_VALUES = 5
MOST_LETTERS = 40  # of a value that is shown
ROLES = ("number", "category", "ordinal", "date", "text", "angle", "ignore")
TASKS = ("auto", "classification", "ordinal", "regression", "count")
NUMBERS_AMONG_WORDS = 0.8  # share of numbers from which a column is asked about
FEWEST_NUMBERS = 5  # different ones, below which they may be names of classes
TEXT_NAMES = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".json")
TABLE_NAMES = (*TEXT_NAMES, ".parquet", ".pq", ".feather", ".arrow", ".ipc")
PACKED_NAMES = (".gz", ".zst", ".bz2", ".lz4")
FAST_METHODS = "fast"
SPEEDS = ("thorough", FAST_METHODS)


class ColumnReading(NamedTuple):
    """How a column is read, as the page before a run shows it."""

    name: str
    role: str  # as it will be used
    found: str  # as it was found
    why: str
    values: list[str]
    distinct: int
    missing: int
    words: tuple[str, ...] = ()  # among numbers: the column is asked about
    number_share: float = 0.0

    @property
    def telling(self) -> bool:
        """Whether the reason says more than the role and the number of values."""
        return not re.fullmatch(r"numbers|dates|as asked|\d+ levels", self.why)


class RowDesignView(NamedTuple):
    """What rows seem to be, and what is chosen."""

    choice: str  # "independent", "group" or "time"
    column: str
    found: str  # the same, as found: "", "group" or "time"
    found_column: str
    duration: str = ""  # column that is how long the target was waited for


class Setup(NamedTuple):
    """All that the first screen shows of a table."""

    file: str
    rows: int
    sampled: bool
    columns: list[ColumnReading]
    target: str
    task: str  # as found or chosen
    why: str
    classes: list[tuple[str, float]]  # shares
    design: RowDesignView | None
    times: list[str]  # columns that may be the time of a forecast
    numbers: list[str]  # columns that may be forecast
    keys: list[str]  # columns that may name series
    notes: list[str]
    problem: str = ""  # why it cannot run as chosen


class TableShelf:
    """The last tables that were read, by path and time of writing."""

    def __init__(self):
        self.tables: OrderedDict = OrderedDict()
        self.lock = Lock()

    def table(self, path) -> tuple[Any, int]:
        """(rows or a sample of them, rows of the file)."""
        from ..compare.loading import read_or_sample

        status = path.stat()
        key = (str(path), status.st_mtime_ns, status.st_size)
        with self.lock:
            if key not in self.tables:
                table, total = read_or_sample(path, SAMPLE_ROWS, 0)
                if table.num_rows == 0:
                    raise TableError("The table has no rows.")
                self.tables[key] = (table, total or table.num_rows)
            self.tables.move_to_end(key)
            while len(self.tables) > MOST_TABLES:
                self.tables.popitem(last=False)
            return self.tables[key]


def is_table_name(name) -> bool:
    """Whether a file may be a table by its name, packed or not.

    Examples
    --------
    >>> from pansophy.studio.setup_page import is_table_name
    >>> is_table_name("a.csv.gz"), is_table_name("model.pkl")
    (True, False)
    """
    path = Path(name.lower())
    if path.suffix in PACKED_NAMES:
        path = Path(path.stem)
    return path.suffix in TABLE_NAMES


def chosen_roles(query) -> dict[str, str]:
    """Roles that a visitor chose, by column: `role.age=number`."""
    roles = {}
    for key, value in query.items():
        if key.startswith("role.") and value in ROLES:
            roles[key.removeprefix("role.")] = value
    return roles


def make_setup(shelf, path, name, query) -> Setup:
    """The first screen for a table and the choices in its address."""
    from ..tables import reading_notes
    from ..tables.roles import as_role, find_role

    table, rows = shelf.table(path)
    found_columns = [find_role(table.column(n), n) for n in table.column_names]
    target = query.get("target", "")
    target = target if target in table.column_names else ""
    roles = {n: r for n, r in chosen_roles(query).items() if n in table.column_names}
    problem = ""
    columns = []
    for column in found_columns:
        view = _column_preview(table, column)
        if column.name in roles:
            try:
                data = table.column(column.name)
                chosen = as_role(data, column.name, roles[column.name])
                view = view._replace(role=chosen.role, why=chosen.why)
            except TableError as error:
                problem = str(error)
        columns.append(view)
    dated = [c.name for c in columns if c.role == "date"]
    numeric = [c.name for c in columns if c.role in ("number", "angle")]
    setup = Setup(
        name,
        rows,
        rows > table.num_rows,
        columns,
        target,
        "",
        "",
        [],
        None,
        dated or _clocked_columns(columns),
        numeric,
        [c.name for c in columns if c.role in ("category", "ordinal", "id")],
        list(reading_notes(table)),
        problem,
    )
    return setup if not target else _with_target(setup, table, target, query, roles)


def _clocked_columns(columns) -> list[str]:
    """Columns of whole numbers that are named as time is: year, month, t."""
    from ..tables.roles import CLOCKED

    return [
        c.name for c in columns if c.role in ("number", "id") and CLOCKED.search(c.name)
    ]


def _column_preview(table, column) -> ColumnReading:
    """A column with five of its values and its doubtful ones."""
    import pyarrow.compute as pc

    from ..tables.column_values import without_dictionary

    data = without_dictionary(table.column(column.name))
    present = data.drop_null()
    try:
        distinct = pc.unique(present)
        n_distinct = len(distinct)
        first_values = distinct[:SHOWN_VALUES].to_pylist()
    except Exception:  # values that cannot be compared, such as lists
        n_distinct = len(present)
        first_values = present[:SHOWN_VALUES].to_pylist()
    words, share = _words_among_numbers(present, column)
    return ColumnReading(
        column.name,
        column.role,
        column.role,
        column.why,
        [_shown_value(v) for v in first_values],
        n_distinct,
        len(data) - len(present),
        words,
        share,
    )


def _words_among_numbers(present, column) -> tuple[tuple[str, ...], float]:
    """The words of a column that else holds numbers, and the share of the numbers."""
    import pyarrow.compute as pc

    from ..tables.column_values import column_as_texts, is_text
    from ..tables.number_formats import find_number_among_words

    if not is_text(present.type) or column.role in ("number", "date", "angle"):
        return (), 0.0
    texts = column_as_texts(present, column.name)
    detected = find_number_among_words(texts)
    if detected is None or not detected.missing:
        return (), 0.0
    lost = pc.is_in(texts, value_set=_as_arrow(detected.missing))
    share = 1 - (pc.mean(lost).as_py() or 0.0)
    numbers = len(pc.unique(texts.filter(pc.invert(lost))))
    if share < NUMBERS_AMONG_WORDS or numbers < FEWEST_NUMBERS:
        return (), 0.0
    return detected.missing, share


def _as_arrow(texts):
    import pyarrow as pa

    return pa.array(list(texts), pa.string())


def _shown_value(value) -> str:
    """A value as a visitor reads it, not too long."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"


def _with_target(setup, table, target, query, roles) -> Setup:
    """The first screen with what follows from the target."""
    from ..compare.loading import with_found_design
    from ..compare.options import Options
    from ..tables.targets import find_target

    asked = query.get("task", "auto")
    asked = asked if asked in TASKS else "auto"
    try:
        task = find_target(table, target, asked)
    except TableError as error:
        return setup._replace(problem=setup.problem or str(error))
    shares = []
    if task.task == "classification":
        shares = _class_shares(table.column(target), task.classes)
    inputs = {n: r for n, r in roles.items() if n != target}
    design = None
    try:
        options = Options.checked(target=target, roles=inputs or None)
        _, design = with_found_design(table, options, in_order=not setup.sampled)
    except ValueError as error:
        setup = setup._replace(problem=setup.problem or str(error))
    return setup._replace(
        task=task.task if not task.ordered else "ordinal",
        why=task.why.partition("; ask for ")[0],
        classes=shares,
        design=_design_view(design, query, table.column_names),
    )


def _class_shares(column, classes) -> list[tuple[str, float]]:
    """The classes with their shares of the rows, the commonest first."""
    import pyarrow.compute as pc

    from ..tables.column_values import without_dictionary

    counts = pc.value_counts(without_dictionary(column.drop_null()))
    pairs = [(str(c["values"]), c["counts"]) for c in counts.to_pylist()]
    total = sum(k for _, k in pairs) or 1
    pairs.sort(key=lambda pair: -pair[1])
    return [(_shown_value(name), k / total) for name, k in pairs[: len(classes)]]


def _design_view(design, query, names) -> RowDesignView:
    """What one row stands for: as found, unless the visitor chose."""
    found_kind = column = duration = ""
    if design is not None and design.entity is not None:
        found_kind = "group"
        column = ",".join(design.entity.columns)
    if design is not None and design.time is not None:
        found_kind = "time"
        column = design.time.column
    if design is not None and design.event is not None:
        duration = design.event.duration
    choice = query.get("rows", "") or found_kind or "independent"
    choice = choice if choice in ("independent", "group", "time") else "independent"
    chosen = query.get(choice, "") if choice != "independent" else ""
    known = set(names) | {column, "row order"}
    if chosen not in known or not chosen:
        chosen = column if choice == found_kind else ""
    return RowDesignView(choice, chosen, found_kind, column, duration)


def compare_options(query) -> dict:
    """The options of `compare` that a visitor's choices stand for."""
    options: dict[str, Any] = {"target": query["target"]}
    if query.get("task", "auto") != "auto":
        options["task"] = query["task"]
    roles = chosen_roles(query)
    roles.pop(query["target"], None)
    ignored = [n for n, r in roles.items() if r == "ignore"]
    roles = {n: r for n, r in roles.items() if r != "ignore"}
    rows = query.get("rows", "")
    column = query.get(rows, "").strip() if rows in ("group", "time") else ""
    if rows == "independent" and query.get("found", ""):
        options["independent"] = True
    elif column and (rows, column) != (query.get("found"), query.get("found_column")):
        options[rows] = column  # what is found, `compare` finds as well
    held = {options.get("group"), options.get("time")}
    if ignored:
        options["ignore"] = ignored
    if roles:
        options["roles"] = {n: r for n, r in roles.items() if n not in held}
    if query.get("speed") == FAST_METHODS:
        options["repeats"] = 1
        options["exclude"] = ["neural network", "CatBoost", "XGBoost", "LightGBM"]
    if query.get("minutes", "").strip():
        try:
            minutes = float(query["minutes"].replace(",", "."))
        except ValueError:
            raise ValueError("The time must be a number of minutes.") from None
        options["stop_after"] = max(60 * minutes, 5.0)
    return {name: value for name, value in options.items() if value}

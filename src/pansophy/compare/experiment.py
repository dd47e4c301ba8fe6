"""`compare`: a table in, an honest leaderboard out."""

import hashlib
import platform
import time
from datetime import UTC, datetime
from importlib import metadata

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .. import __version__
from ..diagnose.leaks import alarms
from ..tables import TableError, infer, read_table
from .data import Data
from .methods import choose
from .metrics import metrics_for
from .progress import reporter
from .result import Comparison, decide, expect, rank
from .run import folds_of, run


def compare(
    table,
    target,
    *,
    task="auto",
    methods=None,
    folds=5,
    repeats=None,
    metric=None,
    time_limit=600.0,
    random_state=0,
    progress=None,
) -> Comparison:
    """Try every suitable method on the same folds and rank them honestly.

    Parameters
    ----------
    table : path, dataframe, Arrow table or dict of columns
        CSV, Parquet and Feather files, plain or compressed; see `read_table`.
    target : str
        The column to predict. Rows in which it is missing are left out.
    task : {"auto", "classification", "regression"}
        Read off the target by default.
    methods : list of str, dict or None
        Names of methods, or estimators of your own by name; all by default. The
        dummy is always run.
    folds : int
        Parts of one cross-validation; stratified for classes.
    repeats : int or None
        Cross-validations with new folds; by default 10 under 300 rows, 5 up to
        20,000, 2 up to 100,000 and 1 beyond.
    metric : str or None
        What ranks: "log loss" (default), "accuracy", "brier score", "roc auc"; "rmse"
        (default), "r2", "mae".
    time_limit : float or None
        Seconds one method may take for all folds.
    random_state : int
        Seeds folds and methods; the same seed gives the same leaderboard.
    progress : bool or None
        Whether to show a bar; by default when standard error is a terminal.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from pansophy.compare import compare
    >>> from pansophy.datasets import load
    >>> data = load("iris")
    >>> result = compare(data.table, data.target, methods=["decision tree"], repeats=2)
    >>> [row.method for row in result.leaderboard]
    ['decision tree', 'dummy']
    >>> result.winner
    'decision tree'
    """
    begun = time.perf_counter()
    check_settings(task, folds, repeats, random_state)
    table, notes = with_target(read_table(table), target)
    schema = infer(table, target, task)
    metrics = metrics_for(schema.task, metric)
    table, schema, folds = enough(table, schema, folds, notes)
    data = Data(schema.frame(table), schema.goal(table))
    n, y = len(data), data.y
    repeats = repeats or default_repeats(n)
    notes += [f"{c.name!r} left out: {c.why}." for c in schema.columns if c.role not in
              ("number", "category")]  # fmt: skip
    notes += alarms(data.frame, y, schema)
    chosen, not_run = choose(schema.task, methods)
    splits = folds_of(y, schema.task, folds, repeats, random_state)
    with reporter(len(chosen) * len(splits), progress) as show:
        trials, complete = run(
            chosen, data, schema, metrics, splits, folds, random_state, time_limit, show
        )
    tried = {t.method.name for t in trials}
    cut = [
        (m.name, "interrupted before it began") for m in chosen if m.name not in tried
    ]
    rows = rank(trials, metrics, 1 / (folds - 1))
    failed = [(t.method.name, t.failure) for t in trials if t.failure]
    if not rows:
        if not complete:
            raise KeyboardInterrupt
        raise TableError(
            "No method finished: " + "; ".join(": ".join(f) for f in failed)
        )
    winner, verdict = decide(rows, [m.name for m in chosen])
    settings = {
        "metric": metrics[0].name,
        "rows": n,
        "inputs": len(schema.used),
        "folds": folds,
        "repeats": repeats,
        "split": "stratified" if schema.task == "classification" else "plain",
        "seed": random_state,
        "time_limit": time_limit,
        **circumstances(begun, data),
    }
    return Comparison(
        schema,
        settings,
        rows,
        failed + cut,
        not_run,
        notes,
        winner,
        verdict,
        complete,
        expect(trials, rows, metrics[0], random_state),
        trials,
        data,
    )


def check_settings(task, folds, repeats, seed):
    tasks = ("auto", "classification", "regression")
    if task not in tasks:
        raise ValueError(f"task must be one of {', '.join(tasks)}, got {task!r}.")
    if not isinstance(folds, int) or folds < 2:
        raise ValueError(f"folds must be a whole number of at least 2, got {folds!r}.")
    if repeats is not None and (not isinstance(repeats, int) or repeats < 1):
        raise ValueError(f"repeats must be a whole number above 0, got {repeats!r}.")
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ValueError(f"random_state must be a whole number, got {seed!r}.")


def with_target(table, target):
    """The rows in which the target is known."""
    notes = []
    if target in table.column_names:
        column = table.column(target)
        known = pc.is_valid(column)
        if pa.types.is_floating(column.type):
            known = pc.and_(known, pc.fill_null(pc.is_finite(column), False))
        missing = table.num_rows - pc.sum(known).as_py()
        if missing == table.num_rows:
            raise TableError(f"Column {target!r} is empty.")
        if missing:
            table = table.filter(known)
            notes.append(f"{missing} rows without a known {target!r} left out.")
    return table, notes


def enough(table, schema, folds, notes):
    """Fewer folds, or fewer classes, where a class is too rare to be in each fold."""
    if schema.task == "classification":
        counts = pc.value_counts(table.column(schema.target))
        pairs = {e["values"]: e["counts"] for e in counts.to_pylist()}
        single = [c for c, k in pairs.items() if k < 2]
        if single:
            column = table.column(schema.target)
            rare = pc.is_in(column, value_set=pa.array(single, column.type))
            table = table.filter(pc.invert(rare))
            notes.append(f"{len(single)} rows left out: the only ones of their class.")
            if table.num_rows == 0:
                raise TableError("Every class has a single row.")
            schema = infer(table, schema.target, schema.task)
        fewest = min(k for k in pairs.values() if k >= 2)
        if fewest < folds:
            notes.append(f"{fewest} folds, since the rarest class has {fewest} rows.")
            folds = fewest
    if table.num_rows < 2 * folds:
        raise TableError(
            f"{table.num_rows} rows are too few for {folds} folds; at least "
            f"{2 * folds} are needed."
        )
    return table, schema, folds


def default_repeats(n) -> int:
    return next(r for limit, r in REPEATS if n <= limit)


REPEATS = [(300, 10), (20_000, 5), (100_000, 2), (float("inf"), 1)]


def circumstances(begun, data) -> dict:
    """Clock, data and versions: what is needed to repeat or doubt a result."""
    return {
        "seconds": round(time.perf_counter() - begun, 2),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "data_hash": data_hash(data),
        "versions": versions(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def data_hash(data) -> str:
    total = hashlib.sha256(np.ascontiguousarray(data.frame.values).tobytes())
    for column in data.frame.texts:
        total.update("\0".join(v or "" for v in column.to_pylist()).encode())
    total.update(np.ascontiguousarray(data.y).tobytes())
    return total.hexdigest()[:16]


def versions() -> dict[str, str]:
    names = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow")
    found = {name: metadata.version(name) for name in names}
    return {"pansophy": __version__, "python": platform.python_version(), **found}

"""Predict for a table of any size, in bounded memory.

Batches are read one after the other; each is made a frame, prepared and predicted by
one thread (`core.loops.threads.run_tasks`), a few at a time, and written in order while
the next ones are at work. So no more than a handful of batches is in memory, and the
answer does not depend on the number of threads.
"""

import difflib
import os
import time
from contextlib import closing, contextmanager, nullcontext, suppress
from typing import Any, NamedTuple

import pyarrow as pa

from ...core.loops import threads
from ...diagnose.findings import Finding
from ...tables import TableError, table_batches
from ...tables.stream import column_names_of_file
from .prediction_table import prediction_table
from .table_model import ignore_user_warnings
from .table_writers import table_writer as open_sink
from .training_reference import ReferenceCheck, count_out_of_range, evenly_spaced_rows

BATCH_ROWS = 2**16  # rows; that of the readers, so that nothing is cut anew


class StreamResult(NamedTuple):
    """Rows, seconds and findings of a streamed prediction."""

    rows: int
    seconds: float
    findings: list[Finding]

    def __str__(self):
        speed = self.rows / max(self.seconds, 1e-9)
        lines = [f"{self.rows:,} rows in {self.seconds:.1f} s ({speed:,.0f} a second)."]
        return "\n".join(lines + [str(f) for f in self.findings])


def predict_stream(
    model,
    source,
    sink,
    *,
    level=None,
    proba=True,
    explain=False,
    keep=(),
    check=True,
    batch=BATCH_ROWS,
    progress=None,
    overwrite=True,
) -> StreamResult:
    """Predict for every row of `source` and write the answers to `sink`.

    Parameters
    ----------
    model : TableModel
    source : path, dataframe or Arrow table
        Any format and size that `tables.table_batches` reads.
    sink : path, binary file, or function of an Arrow table
        CSV, TSV, Parquet, Feather or JSON lines by its name, complete or absent
        whatever happens; an open file gets CSV.
    level, proba, explain
        As for `TableModel.answer`.
    keep : list of str, or "*"
        Columns of the source to write before the answers. An answer of the same name
        as one of them is called `name (predicted)`.
    check : bool
        Whether to compare the rows with those of training; of long batches an evenly
        spaced subset is used.
    batch : int
        Rows at a time.
    progress : bool or function of (rows done), optional
        By default a bar if standard error is a terminal.
    overwrite : bool
        Whether the file may be replaced whatever it holds; otherwise only if it has the
        columns that are written now, as after an earlier call.

    Returns
    -------
    Streamed
        Rows, seconds, and findings about columns that are unknown, far outside the
        range of training, or have drifted.
    """
    if _same_file(source, sink):
        raise TableError("The predictions cannot replace the table they are made for.")
    start_time = time.perf_counter()
    n_done = 0
    used = model.schema.used
    looked = ReferenceCheck(model.reference if check else None, used)
    parts = table_batches(source, size=batch, schema=model.schema)
    first = None
    kept = []

    def tasks():
        nonlocal first, kept
        for table in parts:
            if first is None:
                first = table.slice(0, 0)
                kept = passthrough_columns(table, keep)
            yield lambda t=table: work(t)

    def work(table):
        frame = model.schema.frame(table)
        answers = prediction_table(model, table, frame, level, proba, explain)
        far = count_out_of_range(frame, looked.ends) if check else None
        return (
            append_predictions(table, kept, answers),
            evenly_spaced_rows(frame, used),
            far,
        )

    opened = nullcontext(sink) if callable(sink) else open_sink(sink)
    with ignore_user_warnings(), opened as write, _progress_bar(progress) as tick:
        results: Any = threads.run_tasks(tasks(), blas=True)
        with closing(results):
            for answers, seen, far in results:
                if n_done == 0 and not overwrite:
                    _refuse_other_columns(sink, answers.column_names)
                write(answers)
                n_done += answers.num_rows
                looked.add(seen, far)
                tick(n_done)
        if first is None:
            raise TableError("The table has no rows.")
    findings = [f for f in model.misfits(first) if f.kind == "unknown column"]
    findings = [f for f in findings if f.column not in kept]
    findings += looked.findings()
    return StreamResult(n_done, time.perf_counter() - start_time, findings)


def _same_file(source, sink) -> bool:
    paths = [p for p in (source, sink) if isinstance(p, (str, os.PathLike))]
    if len(paths) < 2 or not all(os.path.exists(p) for p in paths):
        return False
    return os.path.samefile(*paths)


def _refuse_other_columns(path, names) -> None:
    """Refuse to replace a file that is no table of the columns to be written."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.exists(path):
        return
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        return
    with suppress(OSError, ValueError, StopIteration):
        if column_names_of_file(path) == list(names):
            return
    raise TableError(
        f"{path} is there and holds other columns than these predictions; --overwrite "
        "replaces it."
    )


def passthrough_columns(table, keep) -> list[str]:
    """The columns to pass through, all of which must be there."""
    if keep == "*":
        return table.column_names
    for name in keep:
        if name not in table.column_names:
            near = difflib.get_close_matches(name, table.column_names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise TableError(f"There is no column {name!r} to keep{hint}")
    return list(dict.fromkeys(keep))


def append_predictions(table, kept, out) -> pa.Table:
    """Kept columns, then the answers."""
    names = list(kept)
    for name in out.column_names:
        while name in names:
            name += " (predicted)"
        names.append(name)
    return pa.table([table.column(n) for n in kept] + out.columns, names)


@contextmanager
def _progress_bar(progress):
    """`tick(rows done)`: the caller's own function, a line on a terminal, or none."""
    if callable(progress):
        yield progress
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    screen = Console(stderr=True)
    if progress is False or (progress is None and not screen.is_terminal):
        yield lambda done: None
        return
    text = TextColumn("{task.completed:,.0f} rows predicted")
    with Progress(
        SpinnerColumn(), text, TimeElapsedColumn(), console=screen, transient=True
    ) as shown:
        task = shown.add_task("", total=None)
        yield lambda done: shown.update(task, completed=done)
